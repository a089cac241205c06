"""The card of a folder with a ranker: how it reads a question, which word vectors it uses, and the files' digests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import orjson

from rejoinder.errors import InputError
from rejoinder.files import sha256_of, sha256_of_bytes
from rejoinder.models.aptness_card import SpecialTokens
from rejoinder.models.card import load_card
from rejoinder.models.ranker.rows import RankerLimits

CARD_FILE = "ranker.json"
READER, CHOOSER, COUNTS = "reader.onnx", "chooser.onnx", "words.float32"
TOKENIZER, WEIGHTS, CONFIG = "tokenizer.json", "weights.safetensors", "config.json"
FORMAT = 1
EMBEDDED = "embedded"
RankerKind: TypeAlias = Literal["cross", "situated"]
_NEEDED = {  # files by kind and whether the encoder is the embedded one
    ("cross", True): (READER,),
    ("situated", True): (READER, CHOOSER, COUNTS),
    ("cross", False): (WEIGHTS, TOKENIZER, CONFIG),
    ("situated", False): (WEIGHTS, TOKENIZER, CONFIG, CHOOSER, COUNTS),
}


@dataclass(frozen=True)
class StatementReadingRule:
    """Which statements are read for a candidate: all of a short situation, the most likely few of a longer one."""

    whole: int = 8  # statements: a situation with no more than this is read in full
    most: int = 3
    likeness: float = 4.0  # what a statement gains, in log-odds, for words similar to the candidate's


@dataclass(frozen=True)
class RankerCard:
    """How to use the networks of a folder, and where they come from."""

    kind: RankerKind
    encoder: str  # "embedded", or the model that it was trained from, which then needs torch
    given: str  # the input that it was trained with
    files: dict[str, str]  # name: sha256
    marks: SpecialTokens
    words: str = ""  # the sha256 of the word vectors, which are those of aptness; empty for a cross ranker on torch
    limits: RankerLimits = field(default_factory=RankerLimits)
    choice: StatementReadingRule = field(default_factory=StatementReadingRule)
    about: dict[str, Any] = field(default_factory=dict)  # licence, seed, data, measured ...
    format: int = FORMAT

    def digest(self) -> str:
        """Return the digest of everything that determines a score."""
        decides = asdict(self)
        del decides["about"]
        return sha256_of_bytes(orjson.dumps(decides, option=orjson.OPT_SORT_KEYS))


def read_ranker_card(folder: Path) -> RankerCard:
    """Return the card of a folder."""
    path = folder / CARD_FILE
    content = load_card(path, "use a folder written by rejoinder train ranker")
    if not isinstance(content, Mapping) or content.get("format") != FORMAT:
        raise InputError(f"{path}: is not the card of a ranker in format {FORMAT}; train it again")
    try:
        parts = {
            "marks": SpecialTokens(**content["marks"]),
            "limits": RankerLimits(**content["limits"]),
            "choice": StatementReadingRule(**content["choice"]),
        }
        card = RankerCard(**{**content, **parts})
        for name in _NEEDED[card.kind, card.encoder == EMBEDDED]:
            card.files[name]
        return card
    except (KeyError, TypeError):
        raise InputError(f"{path}: is not the card of a ranker (a key is missing or unknown); train it again") from None


def check_ranker_files(folder: Path, card: RankerCard) -> None:
    """Raise if a file does not match the card."""
    for name, digest in card.files.items():
        if not (folder / name).is_file() or sha256_of(folder / name) != digest:
            raise InputError(f"{folder / name}: does not match its card; install rejoinder again, or train again")
