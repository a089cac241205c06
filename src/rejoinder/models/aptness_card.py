"""The card of a folder with the networks of `aptness`: what determines a score besides the weights, and digests."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from rejoinder.files import sha256_of_bytes
from rejoinder.models.card import check_card_files, read_model_card

CARD_FILE = "aptness.json"
TOKENIZER = "tokenizer.json"
UTTERANCE, CONTEXT, REPLY, CROSS = "bi.onnx", "context.onnx", "reply.onnx", "cross.onnx"
EMBEDDINGS = "embeddings.int8"  # of both networks: a row per word, then a float32 scale for each
FORMAT = 1


@dataclass(frozen=True)
class AptnessLimits:
    """How much of a text the networks read."""

    utterances: int = 6  # the last ones of a context, for the bi-encoder
    utterance_tokens: int = 128  # of each of them and of a reply, with the two special tokens around it
    context_tokens: int = 96  # for the cross-encoder: the last ones, with separators between utterances
    reply_tokens: int = 128  # for the cross-encoder: the first ones, or those of a window
    windows: bool = False  # whether both networks read a longer reply in windows, to its end


@dataclass(frozen=True)
class SpecialTokens:
    """The ids of special tokens: before and after a text, between two utterances, and padding."""

    first: int
    last: int
    between: int
    padding: int


@dataclass(frozen=True)
class AptnessCard:
    """How to use the networks of a folder, and where they come from."""

    files: dict[str, str]  # name: sha256
    networks: dict[str, dict[str, Any]]  # the shape of each trunk, in the terms of transformers
    marks: SpecialTokens
    calibration: dict[str, dict[str, float]]  # for each model: the weights of its features, see calibration.py
    limits: AptnessLimits = field(default_factory=AptnessLimits)
    about: dict[str, Any] = field(default_factory=dict)  # version, licence, base, seed, data, measured ...
    format: int = FORMAT

    @property
    def licence(self) -> str:
        """Return the licence of the weights."""
        return str(self.about.get("licence", ""))

    @property
    def dimensions(self) -> int:
        """Return the dimension of an utterance's vector."""
        return int(self.networks["bi"]["hidden_size"])

    def digest(self, names: tuple[str, ...] = ()) -> str:
        """Return the digest of what determines a score: the files (all, or the named ones), limits and calibration."""
        decides = asdict(self)
        del decides["about"], decides["networks"]
        if not self.limits.windows:  # cards from before there were windows keep their digest
            del decides["limits"]["windows"]
        if names:
            del decides["calibration"]
            decides["files"] = {name: self.files[name] for name in names}
        return sha256_of_bytes(orjson.dumps(decides, option=orjson.OPT_SORT_KEYS))


def read_aptness_card(folder: Path) -> AptnessCard:
    """Return the card of a folder."""
    parts = {"marks": SpecialTokens, "limits": AptnessLimits}
    return read_model_card(folder / CARD_FILE, AptnessCard, "aptness", "use a folder with aptness weights", parts)


def check_aptness_files(folder: Path, card: AptnessCard, *names: str) -> None:
    """Raise if a file does not match the card."""
    hint = "install rejoinder again or, if the networks are your own, export them again"
    check_card_files(folder, {name: card.files.get(name, "") for name in names}, hint)
