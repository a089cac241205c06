"""How metrics use models: sentence vectors, texts that are too long, and what a signature says about a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rejoinder.models.base import Vectors
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.models.language_model.model import open_language_model
from rejoinder.types import Pair


def sentence_vectors(texts: Sequence[str], encoder: str) -> Vectors:
    """Return one vector per text; zeros for a blank text."""
    model = load_encoder(encoder)
    has_text = np.array([bool(text.strip()) for text in texts], bool)
    vectors = np.zeros((len(texts), model.dimensions), np.float32)
    if has_text.any():
        vectors[has_text] = model.encode([text for text, is_kept in zip(texts, has_text, strict=True) if is_kept])
    return vectors


def find_truncated(pairs: Sequence[Pair], encoder: str) -> list[bool]:
    """Return which pairs contain a reply or a reference that is too long for the encoder."""
    texts = [[pair.response.text, *(r.text for r in pair.item.references)] for pair in pairs]
    cut = iter(load_encoder(encoder).truncated([text for of_pair in texts for text in of_pair]))
    # A sum, because any() would leave some of a pair's texts in the iterator.
    return [sum(next(cut) for _ in of_pair) > 0 for of_pair in texts]


def encoder_details(encoder: str) -> dict[str, str]:
    """Return what a signature says about an encoder; raise if it is missing."""
    model = load_encoder(encoder)
    return {"model": f"{Path(model.name).name} {model.digest[:12]}"}


def language_model_details(name: str) -> dict[str, str]:
    """Return the digest of a language model and how it reads turns; raise if it is missing."""
    details = open_language_model(name).details()
    return {"weights": details["digest"], "join": details["join"], "window": details["window"]}
