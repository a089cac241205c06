"""Forbidden words: whether a reply keeps clear of a list of words; a rule."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rejoinder.errors import SpecError, shorten_path
from rejoinder.files import sha256_of_bytes
from rejoinder.metric import Metric
from rejoinder.types import Pair

# Letters of scripts that put no spaces between words: there, a word has no visible ends.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


@dataclass(frozen=True)
class ForbiddenWords(Metric):
    """1 where a reply has none of the words or phrases of a list, else 0.

    The list is ``words``, separated by commas, or the file ``path``, one per line, where empty lines and those that
    start with # do not count. Whole words match, in upper or lower case; ``refund*`` also matches *refunds*. Spaces in
    a phrase match any white space, and a straight apostrophe a curly one.
    """

    words: str = ""
    path: str | None = None

    citation = "a rule"
    is_rule = True
    thread_safe = True

    def __post_init__(self) -> None:
        if bool(self.words.strip()) == (self.path is not None):
            raise SpecError(
                "forbidden_words needs either words or path, e.g. forbidden_words(words='guarantee, refund*') or "
                "forbidden_words(path='words.txt')"
            )

    def details(self) -> dict[str, str]:
        """Return the digest of the file, which its name alone does not determine."""
        return {} if self.path is None else {"file": sha256_of_bytes(_read_file(self.path))[:12]}

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return whether each response is free of the words."""
        pattern = _compile(self._list_words())
        return [float(pattern.search(_normalise(pair.response.text)) is None) for pair in pairs]

    def _list_words(self) -> tuple[str, ...]:
        if self.path is None:
            words = [word.strip() for word in self.words.split(",")]
        else:
            lines = _decode(self.path, _read_file(self.path)).splitlines()
            words = [line.strip() for line in lines if not line.lstrip().startswith("#")]
        usable = tuple(dict.fromkeys(_normalise(word) for word in words if word.strip("* ")))
        if not usable:
            where = "words" if self.path is None else shorten_path(self.path)
            raise SpecError(f"forbidden_words: {where} has no words; write one per line, or separate them by commas")
        return usable


def _read_file(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise SpecError(f"{shorten_path(path)}: {error.strerror}; forbidden_words needs a text file there") from None


def _decode(path: str, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SpecError(f"{shorten_path(path)}: not UTF-8; save the list of words as UTF-8") from None


def _normalise(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).replace("’", "'")


@functools.lru_cache(maxsize=64)
def _compile(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(_patterns(words)))


def _patterns(words: Iterable[str]) -> Iterable[str]:
    """Yield a pattern per word: literal, with the ends of words where the script shows them."""
    for word in words:
        stem = word.rstrip("*").rstrip()
        start = "" if _UNSPACED.match(stem) else r"(?<!\w)"
        end = "" if stem != word or _UNSPACED.match(stem[-1]) else r"(?!\w)"
        yield start + r"\s+".join(map(re.escape, stem.split())) + end
