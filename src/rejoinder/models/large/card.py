"""The card of a folder with an adapter: which base it belongs to, and all that determines a score besides weights."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from rejoinder.errors import InputError
from rejoinder.files import sha256_of_bytes
from rejoinder.models.card import read_model_card

CARD_FILE = "large.json"
FORMAT = 1
PROMPT = 1  # the version of prompt.py's text: an adapter knows only the one that it was trained with
HINT = "use a folder with an adapter for aptness(model='large')"


@dataclass(frozen=True)
class LargeBase:
    """The language model that an adapter adds to: its name in the catalog and the digest of its GGUF file."""

    name: str
    sha256: str


@dataclass(frozen=True)
class LargeLimits:
    """How many tokens are read: of a context its last whole turns, of a reply its beginning."""

    context_tokens: int = 1024
    # The mask of attention grows with the square of a sequence: 8,192 tokens are 6,000 words and 64 MB of it.
    reply_tokens: int = 8192


@dataclass(frozen=True)
class LargeCalibration:
    """From the log-odds x of the head to a probability: the logistic function of slope * x + intercept."""

    slope: float = 1.0
    intercept: float = 0.0


@dataclass(frozen=True)
class LargeCard:
    """How to use the adapter of a folder, and where it comes from."""

    files: dict[str, str]  # name: sha256
    base: LargeBase
    calibration: LargeCalibration = field(default_factory=LargeCalibration)
    limits: LargeLimits = field(default_factory=LargeLimits)
    about: dict[str, Any] = field(default_factory=dict)  # licence, data, seed, measured ...
    prompt: int = PROMPT
    format: int = FORMAT

    @property
    def licence(self) -> str:
        """Return the licence of the adapter."""
        return str(self.about.get("licence", ""))

    def digest(self) -> str:
        """Return the digest of what determines a score: adapter, base, prompt, limits and calibration."""
        content = asdict(self)
        del content["about"]
        return sha256_of_bytes(orjson.dumps(content, option=orjson.OPT_SORT_KEYS))


def read_large_card(folder: Path) -> LargeCard:
    """Return the card of a folder."""
    path = folder / CARD_FILE
    parts = {"base": LargeBase, "calibration": LargeCalibration, "limits": LargeLimits}
    card = read_model_card(path, LargeCard, "an adapter", HINT, parts)
    if card.prompt != PROMPT:
        raise InputError(f"{path}: was trained with the prompt {card.prompt}, not {PROMPT}; use another rejoinder")
    return card
