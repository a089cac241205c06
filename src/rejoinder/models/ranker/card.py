"""The card of a folder with a ranker: how it reads a question, which word vectors it uses, and the files' digests."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, get_args

import orjson

from rejoinder.errors import InputError
from rejoinder.files import sha256_of_bytes
from rejoinder.models.aptness_card import SpecialTokens
from rejoinder.models.card import check_card_files, read_model_card
from rejoinder.models.ranker.settings import EMBEDDED, RankerKind, RankerLimits, StatementReadingRule

CARD_FILE = "ranker.json"
READER, CHOOSER, COUNTS = "reader.onnx", "chooser.onnx", "words.float32"
TOKENIZER, WEIGHTS, CONFIG = "tokenizer.json", "weights.safetensors", "config.json"
FORMAT = 1
_NEEDED = {  # files by kind and whether the encoder is the embedded one
    ("cross", True): (READER,),
    ("situated", True): (READER, CHOOSER, COUNTS),
    ("cross", False): (WEIGHTS, TOKENIZER, CONFIG),
    ("situated", False): (WEIGHTS, TOKENIZER, CONFIG, CHOOSER, COUNTS),
}


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
    path, hint = folder / CARD_FILE, "use a folder written by rejoinder train ranker"
    parts = {"marks": SpecialTokens, "limits": RankerLimits, "choice": StatementReadingRule, "files": dict}
    card = read_model_card(path, RankerCard, "a ranker", hint, parts, get_args(RankerKind))
    if missing := sorted(set(_NEEDED[card.kind, card.encoder == EMBEDDED]) - card.files.keys()):
        raise InputError(f"{path}: is not the card of a ranker (it lacks the digest of {missing[0]}); {hint}")
    return card


def check_ranker_files(folder: Path, card: RankerCard) -> None:
    """Raise if a file does not match the card."""
    check_card_files(folder, card.files, "install rejoinder again, or train again")
