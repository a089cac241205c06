"""Cells of ratings: a column is written in one way throughout, as numbers, words, fractions, stars or percentages.

"good" is 1 where all cells are words; beside numbers it could be anything, so such a column is an error.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief

# Thumbs and the like: 1, and their opposites: 0.
_UP = "up thumbsup thumbup 👍 like liked upvote upvoted true positive good yes helpful useful".split()
_DOWN = "down thumbsdown thumbdown 👎 dislike disliked downvote downvoted false negative bad no unhelpful".split()
_WORDS = {**dict.fromkeys(_UP, 1.0), **dict.fromkeys(_DOWN, 0.0)}
_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_VARIANT = "\ufe0f"  # after a sign that is shown as a picture
_BLANK = frozenset(
    (
        *("", "not rated", "no rating", "no answer", "k. a.", "n. a."),
        *"na n/a n.a. k.a. #n/a #nv nan null none nil - -- – — . unrated skipped missing".split(),
    )
)
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
_FRACTION = re.compile(r"(\d+(?:[.,]\d+)?)\s*(?:/|out of|of)\s*(\d+)")
_STARS = re.compile(r"(\d+(?:[.,]\d+)?)[\s-]*stars?")
_STAR_SIGNS = re.compile(r"([★⭐🌟]+)([☆✩✰]*)")
_PERCENTAGE = re.compile(r"([+-]?\d+(?:[.,]\d+)?)\s*%")
_MOST_EXAMPLES = 3

NUMBERS, WORDS, STARS, PERCENTAGES, OTHER = "numbers", "words such as good", "stars", "percentages", "neither"


class RatingCell(NamedTuple):
    """The way in which a cell is written, and its value; there is no value where it is not a rating."""

    kind: str
    value: float


def parse_word(text: str) -> float | None:
    """Return what a word such as "good" or a thumb is worth, 1 or 0; None for any other text."""
    word = re.sub(r"[\s_:-]+", "", text.casefold()).replace(_VARIANT, "").rstrip(_SKIN_TONES)
    return _WORDS.get(word)


def parse_rating(value: Any) -> RatingCell | None:
    """Return what a cell says; None if it is blank, "n/a" or the like."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return RatingCell(WORDS, float(value))
    if isinstance(value, int | float):
        return _finite(NUMBERS, value)
    if not isinstance(value, str):
        return RatingCell(OTHER, math.nan)
    text = value.strip().casefold()
    if text in _BLANK:
        return None
    if (word := parse_word(text)) is not None:
        return RatingCell(WORDS, word)
    signs = _STAR_SIGNS.fullmatch(re.sub(r"\s", "", value).replace(_VARIANT, ""))
    if signs:
        return RatingCell(STARS, float(len(signs[1])))
    for pattern, kind in ((_STARS, STARS), (_PERCENTAGE, PERCENTAGES)):
        match = pattern.fullmatch(text)
        if match:
            return RatingCell(kind, _parse_decimal(match[1]))
    fraction = _FRACTION.fullmatch(text)
    if fraction:
        return RatingCell(f"numbers of {fraction[2]}", _parse_decimal(fraction[1]))
    try:
        return _finite(
            NUMBERS, float(text.replace(",", ".") if _DECIMAL_COMMA.fullmatch(text) else text.replace("_", "x"))
        )
    except ValueError:
        return RatingCell(OTHER, math.nan)


def _parse_decimal(text: str) -> float:
    return float(text.replace(",", "."))


def _finite(kind: str, number: float) -> RatingCell:
    try:
        value = float(number)
    except OverflowError:
        value = math.inf
    return RatingCell(kind, value) if math.isfinite(value) else RatingCell(OTHER, math.nan)


@dataclass
class RatingColumn:
    """The ratings in one column so far, by the way in which they are written."""

    name: str
    kinds: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[tuple[Any, Place]]] = field(default_factory=dict)
    blank: int = 0

    def read(self, value: Any, place: Place) -> float | None:
        """Return the rating in a cell; None where it is blank, or not a rating."""
        cell = parse_rating(value)
        if cell is None:
            self.blank += 1
            return None
        self.kinds[cell.kind] += 1
        examples = self.examples.setdefault(cell.kind, [])
        if len(examples) < _MOST_EXAMPLES:
            examples.append((value, place))
        return None if cell.kind == OTHER else cell.value

    @property
    def has_ratings(self) -> bool:
        """Whether any cell is a rating."""
        return any(kind != OTHER for kind in self.kinds)

    def check(self, advice: str) -> None:
        """Raise if the column is written in more than one way; the rarer cells are the odd ones."""
        if len(self.kinds) < 2 and self.has_ratings:
            return
        if not self.has_ratings:
            if not self.kinds:
                return
            value, place = self.examples[OTHER][0]
            raise InputError(
                f"{place}: {self.name!r} holds {brief(value)}; a rating must be a number, a word such as good or bad, "
                f"a thumb, stars, or like 4/5; correct it, name another column, or {advice}"
            )
        usual = max((kind for kind in self.kinds if kind != OTHER), key=lambda kind: self.kinds[kind])
        odd = [pair for kind, pairs in self.examples.items() if kind != usual for pair in pairs]
        odd.sort(key=lambda pair: pair[1].line)
        number = sum(count for kind, count in self.kinds.items() if kind != usual)
        shown = ", ".join(f"{brief(value)} ({place})" for value, place in odd[:_MOST_EXAMPLES])
        more = f" and {number - _MOST_EXAMPLES:,} more" if number > _MOST_EXAMPLES else ""
        raise InputError(
            f"the ratings in {self.name!r} are not written in one way: {self.kinds[usual]:,} are {usual}, but not "
            f"{shown}{more}; correct these cells, or {advice}"
        )


def describe_kinds(columns: Mapping[str, RatingColumn]) -> Sequence[str]:
    """Return what the ratings that are not plain numbers were taken for."""
    return [
        f"{name} holds {next(iter(column.kinds))}" + (" (1, their opposites 0)" if WORDS in column.kinds else "")
        for name, column in columns.items()
        if column.has_ratings and NUMBERS not in column.kinds
    ]
