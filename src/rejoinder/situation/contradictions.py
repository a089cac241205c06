"""Which statements contradict each other, as far as keywords show (SUGAR, Appendix B.2); the words are a data file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.errors import InputError
from rejoinder.situation.overlap import OverlapIndex
from rejoinder.stats.arrays import Bools

SHIPPED = "contradictions.toml"
_KEYS = {"discard", "negations", "exclude"}


@dataclass(frozen=True)
class ContradictionKeywords:
    """Words that no added statement may have, negations, and groups of words that exclude one another."""

    discard: tuple[str, ...] = ()
    negations: tuple[str, ...] = ()
    groups: tuple[tuple[tuple[str, ...], ...], ...] = ()


def read_contradiction_keywords(path: str | Path | None = None) -> ContradictionKeywords:
    """Read the keywords of a file, or those of the package."""
    name = Path(path).name if path is not None else SHIPPED
    try:
        source = files(__package__) / SHIPPED if path is None else Path(path)
        table = tomllib.loads(source.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{name}: cannot be read ({error.strerror})") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{name}: is not valid TOML ({error})") from None
    if unknown := sorted(table.keys() - _KEYS):
        raise InputError(f"{name}: has the unknown key {unknown[0]!r}; known: {', '.join(sorted(_KEYS))}")
    groups = table.get("exclude", [])
    if not isinstance(groups, list) or not all(isinstance(group, dict) and "words" in group for group in groups):
        raise InputError(f"{name}: each [[exclude]] must have 'words', a list of lists of words")
    if not all(isinstance(group["words"], list) for group in groups):
        raise InputError(f"{name}: each [[exclude]] must have 'words', a list of lists of words")
    return ContradictionKeywords(
        _parse_words(table.get("discard", []), name),
        _parse_words(table.get("negations", []), name),
        tuple(tuple(_parse_words(part, name) for part in group["words"]) for group in groups),
    )


def _parse_words(words: Any, name: str) -> tuple[str, ...]:
    if not isinstance(words, list) or not all(isinstance(word, str) and word.strip() for word in words):
        raise InputError(f"{name}: expected a list of words, found {str(words)[:60]!r}")
    return tuple(word.casefold() for word in words)


@dataclass(frozen=True, eq=False)
class Contradictions:
    """Statements and the keywords that they contain."""

    discarded: Bools
    _denies: Bools = field(repr=False)
    _values: tuple[Bools, ...] = field(repr=False)  # for each group, statements by lists of words
    _overlaps: OverlapIndex = field(repr=False)
    _texts: tuple[str, ...] = field(repr=False)
    _least: float = 0.75

    def find(self, place: int) -> Bools:
        """Which of the statements contradict the one at that place."""
        contradicting: Bools = (self._denies != self._denies[place]) & self._overlaps.near(
            self._texts[place], self._least
        )
        for values in self._values:
            own_values = values[place]
            if own_values.any():
                contradicting = contradicting | (values.any(axis=1) & ~values[:, own_values].any(axis=1))
        return contradicting


def find_contradictions(
    texts: Sequence[str], keywords: ContradictionKeywords, overlaps: OverlapIndex, least: float
) -> Contradictions:
    """Look up the keywords of statements; ``least`` is the overlap from which a negation makes two contradict."""
    values = tuple(
        np.stack([_contain_any(texts, part) for part in group], axis=1) for group in keywords.groups if group
    )
    return Contradictions(
        _contain_any(texts, keywords.discard),
        _contain_any(texts, keywords.negations),
        values,
        overlaps,
        tuple(texts),
        least,
    )


def _contain_any(texts: Sequence[str], words: Sequence[str]) -> Bools:
    if not words:
        return np.zeros(len(texts), bool)
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)")
    return np.array([pattern.search(text.casefold()) is not None for text in texts], bool)
