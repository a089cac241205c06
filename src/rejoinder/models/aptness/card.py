"""The card of a folder with the networks of `aptness`: what decides a score besides the weights, and their digests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from rejoinder.errors import InputError
from rejoinder.files import sha256_of, sha256_of_bytes

CARD_FILE = "aptness.json"
TOKENIZER = "tokenizer.json"
UTTERANCE, CONTEXT, REPLY, CROSS = "bi.onnx", "context.onnx", "reply.onnx", "cross.onnx"
EMBEDDINGS = "embeddings.int8"  # of both networks: the words' rows, then a scale for each as float32
FORMAT = 1


@dataclass(frozen=True)
class AptnessLimits:
    """How much of a text the networks read, in tokens."""

    utterances: int = 6  # of a context, the last ones, for the bi-encoder
    utterance_tokens: int = 128  # of one of them or of a reply, with the two marks around it
    context_tokens: int = 96  # for the cross-encoder: the last ones, with what stands between utterances
    reply_tokens: int = 128  # for the cross-encoder: the first ones


@dataclass(frozen=True)
class SpecialTokens:
    """The ids that are no words: before and after a text, between two utterances, and what fills a row up."""

    first: int
    last: int
    between: int
    padding: int


@dataclass(frozen=True)
class AptnessCard:
    """How the networks of a folder are used, and where they come from."""

    files: dict[str, str]  # name: sha256
    networks: dict[str, dict[str, Any]]  # the shape of each trunk, as transformers names it
    marks: SpecialTokens
    calibration: dict[str, dict[str, float]]  # for each model: the weights of its features, see aptness_calibration
    limits: AptnessLimits = field(default_factory=AptnessLimits)
    about: dict[str, Any] = field(default_factory=dict)  # version, licence, base, seed, data, measured ...
    format: int = FORMAT

    @property
    def licence(self) -> str:
        """The licence of the weights."""
        return str(self.about.get("licence", ""))

    @property
    def dimensions(self) -> int:
        """How many numbers an utterance's vector has."""
        return int(self.networks["bi"]["hidden_size"])

    def digest(self, names: tuple[str, ...] = ()) -> str:
        """Of what decides a number: the files (all, or those named), the limits and the calibration."""
        decides = asdict(self)
        del decides["about"], decides["networks"]
        if names:
            del decides["calibration"]
            decides["files"] = {name: self.files[name] for name in names}
        return sha256_of_bytes(orjson.dumps(decides, option=orjson.OPT_SORT_KEYS))


def read_card(folder: Path) -> AptnessCard:
    """The card of a folder."""
    path = folder / CARD_FILE
    try:
        found = orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); name a folder with aptness's weights") from None
    except ValueError as error:
        raise InputError(f"{path}: is not JSON ({error})") from None
    if not isinstance(found, Mapping) or found.get("format") != FORMAT:
        raise InputError(f"{path}: is not a card of aptness in format {FORMAT}; export the networks again")
    try:
        return AptnessCard(
            **{**found, "marks": SpecialTokens(**found["marks"]), "limits": AptnessLimits(**found["limits"])}
        )
    except (KeyError, TypeError):
        raise InputError(f"{path}: is not a card of aptness (a key is missing or unknown); export it again") from None


def write_card(folder: Path, card: AptnessCard) -> None:
    """Write the card of a folder; the last file of an export."""
    option = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    (folder / CARD_FILE).write_bytes(orjson.dumps(asdict(card), option=option))


def check_files(folder: Path, card: AptnessCard, *names: str) -> None:
    """Raise where a file is not the one that the card was written for."""
    for name in names:
        if (found := sha256_of(folder / name)) != card.files.get(name):
            raise InputError(
                f"{folder / name}: is not the file of its card (sha256 {found[:12]}…); install rejoinder again, or, "
                "where the networks are your own, export them again"
            )
