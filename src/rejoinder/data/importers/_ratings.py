"""Ratings in chat logs: numbers, thumbs and words such as "good", with the name of the aspect and of the rater."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from rejoinder.data.tables.rating_cells import parse_word
from rejoinder.data.tables.rating_columns import fold_name

NOT_NUMBERS = "ratings that are not numbers"

# The keys of a log or of a message whose values are ratings, without case, spaces, - and _.
_RATING_KEYS = frozenset(
    "rating ratings feedback thumbs thumb thumbsup score scores stars userrating userfeedback userscore "
    "messagefeedback chatfeedback".split()
)
# The parts of a rating that is an object, the first that is there.
_VALUES = ("value", "score", "rating", "thumbs", "feedback", "stars", "type", "label", "stringvalue")
_NAMES = ("name", "key", "aspect", "metric", "evaluationname", "evaluator")
_RATERS = ("rater", "authoruserid", "userid", "user", "annotator", "author", "createdby")
_COMMENTS = ("comment", "explanation", "reason", "text", "reasoning", "tags")


class LogRating(NamedTuple):
    """A rating in a log; the rater is None if the log does not name one."""

    aspect: str
    value: float
    rater: str | None = None
    comment: str | None = None
    is_word: bool = False  # written as "good", "down" or true and not as a number


def is_rating_key(key: str) -> bool:
    """Whether the value under a key of a log or a message is a rating."""
    return fold_name(key) in _RATING_KEYS


def parse_value(value: Any) -> float | None:
    """Return a rating as a number: thumbs up and words such as "good" are 1, their opposites 0."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int | float):
        return _finite(value)
    if not isinstance(value, str):
        return None
    if (word := parse_word(value)) is not None:
        return word
    try:
        return _finite(float(value))
    except ValueError:
        return None


def is_word(value: Any) -> bool:
    """Whether a rating is written as a word or a truth value."""
    return isinstance(value, bool) or (isinstance(value, str) and parse_word(value) is not None)


def _finite(number: float) -> float | None:
    try:
        number = float(number)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def find_ratings(values: Mapping[str, Any], left_out: Counter[str]) -> tuple[LogRating, ...]:
    """Return the ratings under the keys of a log or of a message; those that are not numbers are counted."""
    return tuple(r for key in values if is_rating_key(key) for r in parse_ratings(key, values[key], left_out))


def parse_ratings(aspect: str, value: Any, left_out: Counter[str], rater: str | None = None) -> Iterator[LogRating]:
    """Yield the ratings in a value: a number, a word, an object with a value and a name, or several of them."""
    if value is None or value in ("", [], {}):
        return
    if isinstance(value, list):
        for entry in value:
            yield from parse_ratings(aspect, entry, left_out, rater)
        return
    if not isinstance(value, Mapping):
        number = parse_value(value)
        if number is None:
            left_out[NOT_NUMBERS] += 1
        else:
            yield LogRating(aspect, number, rater, is_word=is_word(value))
        return
    parts = {fold_name(str(key)): part for key, part in value.items()}
    held = next((parts[key] for key in _VALUES if parts.get(key) is not None), None)
    if held is None or isinstance(held, Mapping | list):
        # An object of aspects: {"helpful": 1, "polite": {"score": 0}}.
        for key, part in value.items():
            yield from parse_ratings(str(key), part, left_out, rater)
        return
    holder = next((parts[key] for key in _VALUES if parse_value(parts.get(key)) is not None), None)
    number = parse_value(holder)
    if number is None:
        left_out[NOT_NUMBERS] += 1
        return
    yield LogRating(
        _first_text(parts, _NAMES) or aspect,
        number,
        _first_text(parts, _RATERS) or rater,
        _first_text(parts, _COMMENTS),
        is_word(holder),
    )


def _first_text(parts: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    return next((part for key in keys if isinstance(part := parts.get(key), str) and part.strip()), None)
