"""A head: a small network over the vectors of a frozen encoder; its folder has ``head.json`` and its weights.

The baselines that other papers name (BERT-RUBER, USL-H, USR, ADEM, GRADE, DynaEval) are trained here as heads, so that
each is small and is trained in minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray

from rejoinder.files import sha256_of_bytes
from rejoinder.model_use import ModelUse, record_use
from rejoinder.models.base import Encoder, Side, Vectors
from rejoinder.models.card import check_model_files, read_model_card, write_small_model
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.models.tensors import read_tensors
from rejoinder.models.weight_sets import WeightSet, default_set
from rejoinder_lab.models.shipped import SET, WEIGHTS

CARD_FILE, TENSORS = "head.json", "weights.safetensors"
FORMAT = 1
HeadKind: TypeAlias = Literal["adem", "bert_ruber", "dynaeval", "grade", "usl_h", "usr"]
Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class HeadCard:
    """What determines a head's scores, besides its weights, and where it comes from."""

    kind: HeadKind
    encoder: str
    features: str  # the digest of the encoder
    settings: dict[str, Any] = field(default_factory=dict)  # of the network, as far as they determine a score
    weights: str = ""  # the sha256 of the weights file
    about: dict[str, Any] = field(default_factory=dict)  # recipe, data, licence, measured
    format: int = FORMAT

    def digest(self) -> str:
        """Return the digest of everything that determines a score."""
        content = [self.kind, self.features, self.settings, self.weights]
        return sha256_of_bytes(orjson.dumps(content, option=orjson.OPT_SORT_KEYS))


@dataclass(frozen=True, eq=False)
class Head:
    """An open head: its card, its weights in double precision, and its encoder."""

    card: HeadCard
    weights: Mapping[str, Array]
    encoder: Encoder

    def encode(self, texts: Sequence[str], cut: Side = "right") -> Vectors:
        """Return the vector of each text; zeros for a blank one."""
        return encode_texts(self.encoder, texts, cut)


def encode_texts(encoder: Encoder, texts: Sequence[str], cut: Side = "right") -> Vectors:
    """Return the vector of each text, equal texts encoded once; zeros for a blank text."""
    distinct = [text for text in dict.fromkeys(texts) if text.strip()]
    rows = {text: i for i, text in enumerate(distinct)}
    vectors = np.zeros((len(distinct) + 1, encoder.dimensions), np.float32)
    if distinct:
        vectors[:-1] = encoder.encode(distinct, cut)
    return vectors[[rows.get(text, len(distinct)) for text in texts]]


def read_head_card(folder: Path, kind: HeadKind) -> HeadCard:
    """Return the card of a folder, which must be of the kind."""
    return read_model_card(folder / CARD_FILE, HeadCard, kind, _retrain_hint(kind), kinds=(kind,))


def write_head(folder: Path, card: HeadCard, weights: Mapping[str, Array]) -> HeadCard:
    """Write a head with weights in half precision (the same head gives the same bytes); return the written card."""
    write_small_model(folder / CARD_FILE, folder / TENSORS, card, weights)
    return read_head_card(folder, card.kind)


def open_head(kind: HeadKind, folder: str | Path | None = None) -> Head:
    """Open the head of a folder, by default the one in the lab; raise if its files or encoder do not match."""
    location = WEIGHTS / kind if folder is None else Path(folder)
    path = location / CARD_FILE
    head = _open_cached(kind, location, path.stat().st_mtime_ns if path.is_file() else 0, default_set())
    record_use(
        ModelUse.of(
            kind,
            str(head.card.about.get("licence", "")),
            head.card.digest(),
            SET if location.parent == WEIGHTS else None,
        )
    )
    return head


@lru_cache(maxsize=8)
def _open_cached(kind: HeadKind, folder: Path, changed: int, weight_set: WeightSet) -> Head:
    card = read_head_card(folder, kind)
    # A baseline of the lab reads the vectors that it was trained on, whatever the default set is.
    encoder = load_encoder(f"{card.encoder}:{SET}" if folder.parent == WEIGHTS else card.encoder)
    digests = card.features, card.weights
    check_model_files(folder / CARD_FILE, folder / TENSORS, digests, encoder, _retrain_hint(kind))
    weights = {name: array.astype(np.float64) for name, array in read_tensors(folder / TENSORS).items()}
    return Head(card, weights, encoder)


def apply_layers(weights: Mapping[str, Array], rows: Array) -> Array:
    """Return the output of dense layers with tanh between them, one number per row.

    The weights are ``0.matrix``, ``0.bias``, ``1.matrix``, ...
    """
    depth = sum(name.endswith(".matrix") for name in weights)
    for layer in range(depth):
        rows = rows @ weights[f"{layer}.matrix"] + weights[f"{layer}.bias"]
        if layer + 1 < depth:
            rows = np.tanh(rows)
    return np.asarray(rows[:, 0])


def logistic(odds: Array) -> Array:
    """Return the probability of log-odds."""
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -60, 60))))


def _retrain_hint(kind: HeadKind) -> str:
    return f"train one with: rejoinder train {kind} -o FOLDER"
