"""The bi-encoder of `aptness` as an encoder of utterances, without torch; pooling is part of its graph."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.errors import SpecError
from rejoinder.models import aptness_card as cards
from rejoinder.models.aptness_card import EMBEDDINGS, TOKENIZER, UTTERANCE
from rejoinder.models.base import Side, TokenVectors, Vectors
from rejoinder.models.batching import Rows, pad_token_ids, split_into_batches
from rejoinder.models.onnx.session import compute_in_parallel, open_session
from rejoinder.models.tokenization import read_tokenizer, separate_special_tokens

_FILES = (TOKENIZER, EMBEDDINGS, UTTERANCE)


class AptnessEncoder:
    """The graph for utterances in a folder with ``aptness.json``."""

    def __init__(self, folder: Path, name: str = "aptness") -> None:
        card = cards.read_aptness_card(folder)
        cards.check_aptness_files(folder, card, *_FILES)
        self.name = name
        self.dimensions = card.dimensions
        self.max_tokens = card.limits.utterance_tokens
        self.digest = card.digest(_FILES)
        self._padding = card.marks.padding
        self._tokenizer = read_tokenizer(folder / TOKENIZER, self.max_tokens)
        self._session = open_session(folder / UTTERANCE)

    def encode(self, texts: Sequence[str], cut: Side = "right") -> Vectors:
        """Return one vector of length 1 per text, in order; a text of more than ``max_tokens`` is cut on one side."""
        ids = self._tokenizer.ids(texts, cut)
        vectors = np.zeros((len(ids), self.dimensions), np.float32)

        def fill(batch: Rows) -> None:
            vectors[batch] = self._run("vectors", [ids[i] for i in batch])

        compute_in_parallel(fill, split_into_batches([len(row) for row in ids]))
        return vectors

    def encode_tokens(self, texts: Sequence[str], layer: int = -1, cut: Side = "right") -> list[TokenVectors]:
        """Return the last layer's vectors of each text's tokens; the graph has no other layer as output."""
        if layer != -1:
            raise SpecError(f"{self.name!r} has only its last layer (layer=-1), not {layer}")
        encodings = self._tokenizer.encode(texts, cut)
        results: list[TokenVectors] = [TokenVectors((), np.zeros((0, self.dimensions), np.float32))] * len(encodings)

        def fill(batch: Rows) -> None:
            for i, vectors in zip(batch, self._run("token_vectors", [encodings[i].ids for i in batch]), strict=True):
                results[i] = separate_special_tokens(encodings[i], vectors)

        compute_in_parallel(fill, split_into_batches([len(e.ids) for e in encodings]))
        return results

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return which of the texts are too long to be read in full."""
        return self._tokenizer.truncated(texts)

    def _run(self, output: str, rows: Sequence[Sequence[int]]) -> Any:
        tokens, mask = pad_token_ids(rows, self._padding)
        return self._session.run([output], {"input_ids": tokens, "attention_mask": mask})[0]
