"""The card of an encoder's folder, ``encoder.json``: what determines its vectors besides weights and tokeniser."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

import orjson

from rejoinder.errors import InputError
from rejoinder.files import sha256_of
from rejoinder.models.card import check_card_files, join_digests, load_card

CARD_FILE = "encoder.json"
GRAPH = "model.onnx"
TOKENIZER = "tokenizer.json"
Pooling: TypeAlias = Literal["mean", "first"]
Weights: TypeAlias = Literal["float32", "int8"]


@dataclass(frozen=True)
class EncoderCard:
    """How to use an exported encoder, and where it comes from."""

    name: str
    dimensions: int
    max_tokens: int
    pooling: Pooling = "mean"  # of the token vectors: their mean, or the first one
    padding: int = 0  # the id that pads a row
    weights: Weights = "float32"
    base: str = ""
    licence: str = ""
    source: str = ""  # the sha256 of the weights that were exported
    graph: str = ""  # the sha256 of the graph
    measured: dict[str, Any] = field(default_factory=dict)


def read_encoder_card(folder: Path) -> EncoderCard:
    """Return the card of a folder."""
    path = folder / CARD_FILE
    hint = "export one with: rejoinder models export"
    content = load_card(path, hint)
    known = {f.name for f in fields(EncoderCard)}
    if not isinstance(content, dict) or not {"name", "dimensions", "max_tokens"} <= content.keys() <= known:
        raise InputError(f"{path}: is not the card of an encoder; {hint}")
    return EncoderCard(**content)


def write_encoder_card(folder: Path, card: EncoderCard) -> None:
    """Write the card of a folder, the last file of an export."""
    (folder / CARD_FILE).write_bytes(orjson.dumps(asdict(card), option=orjson.OPT_INDENT_2))


def encoder_digest(folder: Path, card: EncoderCard) -> str:
    """Return the digest of what determines the vectors: the weights as published and as stored, tokeniser, pooling.

    It uses the weights and not the graph, which another version of the exporter would write differently; that the graph
    belongs to the card is checked here.
    """
    check_card_files(folder, {GRAPH: card.graph}, "export the encoder again")
    tokenizer = sha256_of(folder / TOKENIZER)
    return join_digests(card.source, card.weights, tokenizer, card.pooling, card.max_tokens, card.padding)
