"""Which replies a page lists, and how: read from the address, written back to it, applied to an index.

The address holds everything: ``q`` (words in the reply or its context), ``system``, ``range`` (NAME:LOW..HIGH of a
score or a mean rating), ``flag``, ``slice`` (meta.KEY=VALUE), ``only=apart`` (where ``metric`` and the ratings in
``aspect`` disagree), ``sort`` (NAME, or -NAME for the highest first), ``column`` and ``page``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

import numpy as np

from rejoinder.errors import SpecError
from rejoinder.json_schema import Schema
from rejoinder.scoring.fields import META
from rejoinder.scoring.frames import RATING
from rejoinder.server.pages.reply_index import Mask, ReplyIndex, Rows, Values

_Value = TypeVar("_Value")
CONTEXT, SYSTEM, FLAGS, APART = "context", "system", "flags", "apart"
MIN_DISAGREEMENT = 0.3  # difference of the two percentiles from which it is called disagreement
_MAX_SHOWN = 5  # columns of numbers that are shown unless others are chosen
_TERMS = re.compile(r'"([^"]+)"|(\S+)')
_END = r"(?:[+-]?(?:[0-9]{1,18}(?:\.[0-9]{0,18})?|\.[0-9]{1,18})(?:e[+-]?[0-9]{1,3})?)?"  # a number, or nothing
_RANGE = re.compile(rf"(?P<name>.+):(?P<low>{_END})\.\.(?P<high>{_END})", re.IGNORECASE)
_LONG: Schema = {"type": "string", "maxLength": 300}
_LIST: Schema = {"type": "array", "items": _LONG, "maxItems": 60}
QUERY: dict[str, Schema] = {
    "q": _LONG,
    "system": _LIST,
    "range": _LIST,
    "of": _LONG,
    "from": {"type": "number"},
    "to": {"type": "number"},
    "flag": _LIST,
    "slice": _LIST,
    "only": {"type": "string", "enum": [APART]},
    "metric": _LONG,
    "aspect": _LONG,
    "sort": _LONG,
    "column": _LIST,
}


class ValueRange(NamedTuple):
    """A range of a column of numbers, with both ends; infinite where an end is open."""

    name: str
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.name}:{_format_end(self.low)}..{_format_end(self.high)}"

    @property
    def words(self) -> str:
        """The range as a reader would say it."""
        if math.isinf(self.low) and math.isinf(self.high):
            return f"{self.name} is known"
        if math.isinf(self.low) or math.isinf(self.high):
            end = self.high if math.isinf(self.low) else self.low
            return f"{self.name} {'at most' if math.isinf(self.low) else 'at least'} {end:g}"
        return f"{self.name} {self.low:g} to {self.high:g}"


def _format_end(value: float) -> str:
    return "" if math.isinf(value) else f"{value:.10g}"


class FilterPart(NamedTuple):
    """One condition in words, and the address without it."""

    words: str
    without: str


@dataclass(frozen=True)
class ReplyFilter:
    """The conditions, the order and the columns of a list of replies."""

    q: str = ""
    systems: tuple[str, ...] = ()
    ranges: tuple[ValueRange, ...] = ()
    flags: tuple[str, ...] = ()
    slices: tuple[tuple[str, str], ...] = ()
    apart: bool = False
    metric: str = ""
    aspect: str = ""
    sort: str = ""
    columns: tuple[str, ...] = ()

    def pairs(self) -> list[tuple[str, str]]:
        """Return the parameters of the address, in a fixed order, without empty ones."""
        pairs = [("q", self.q), *(("system", one) for one in self.systems)]
        pairs += [("range", str(one)) for one in self.ranges]
        pairs += [("flag", one) for one in self.flags]
        pairs += [("slice", f"{key}={value}") for key, value in self.slices]
        pairs += [("only", APART if self.apart else ""), ("metric", self.metric), ("aspect", self.aspect)]
        pairs += [("sort", self.sort), *(("column", one) for one in self.columns)]
        return [(name, value) for name, value in pairs if value]

    def address(self, **more: Any) -> str:
        """Return the parameters as the end of an address, with its question mark; empty if there are none."""
        pairs = [*self.pairs(), *((name, str(value)) for name, value in more.items() if value is not None)]
        return "?" + urlencode(pairs) if pairs else ""

    def sorted_by(self, name: str) -> str:
        """Return the address of the same list sorted by a column: highest first, or lowest if it is that already."""
        return replace(self, sort=name if self.sort == f"-{name}" else f"-{name}").address()

    def with_range(self, name: str, low: float, high: float) -> ReplyFilter:
        """Return the same list within a range of one column, instead of an earlier range of it."""
        others = tuple(one for one in self.ranges if one.name != name)
        return replace(self, ranges=(*others, ValueRange(name, low, high)))

    def parts(self) -> list[FilterPart]:
        """Return each condition in words, with the address without it."""
        rest: list[tuple[str, ReplyFilter]] = [(f"contains “{self.q}”", replace(self, q=""))] if self.q else []
        rest += [(f"system {one}", replace(self, systems=_without(self.systems, one))) for one in self.systems]
        rest += [(one.words, replace(self, ranges=_without(self.ranges, one))) for one in self.ranges]
        rest += [
            (f"flag {one.replace('_', ' ')}", replace(self, flags=_without(self.flags, one))) for one in self.flags
        ]
        rest += [
            (" = ".join(one).removeprefix(META), replace(self, slices=_without(self.slices, one)))
            for one in self.slices
        ]
        rest += [("metric and people disagree", replace(self, apart=False))] if self.apart else []
        return [FilterPart(words, other.address()) for words, other in rest]

    def mask(self, index: ReplyIndex) -> Mask:
        """Return which replies meet all conditions."""
        mask = np.ones(len(index), dtype=bool)
        if self.systems:
            mask &= np.isin(index.scores.system_codes, [list(index.scores.systems).index(one) for one in self.systems])
        for name, low, high in self.ranges:
            column = index.numbers[name]
            mask &= (column >= low) & (column <= high)  # False where there is no value
        for flag in self.flags:
            mask &= index.flags[flag]
        for key, value in self.slices:
            mask &= index.slices[key].mask(value, len(index))
        if self.apart:
            mask &= self.disagreement(index) >= MIN_DISAGREEMENT
        if words := search_terms(self.q):
            mask &= index.search(words)
        return mask

    def disagreement(self, index: ReplyIndex) -> Values:
        """Return how far the percentiles by score and by rating are apart; NaN without both."""
        if not self.metric or not self.aspect:
            return np.full(len(index), np.nan)
        by_score, by_rating = index.percentiles(self.metric, self.aspect)
        gaps: Values = np.abs(by_score - by_rating)
        return gaps

    def rows(self, index: ReplyIndex) -> Rows:
        """Return the replies that meet all conditions, in order."""
        mask, name = self.mask(index), self.sort.removeprefix("-")
        if not name:
            return np.flatnonzero(mask)
        if name == APART:
            rows = np.flatnonzero(mask)
            gaps = np.nan_to_num(self.disagreement(index)[rows], nan=-1.0)
            return rows[np.argsort(-gaps if self.sort.startswith("-") else gaps, kind="stable")]
        order = index.order(name, self.sort.startswith("-"))
        return order[mask[order]]


def _without(values: tuple[_Value, ...], value: _Value) -> tuple[_Value, ...]:
    return tuple(one for one in values if one != value)


def search_terms(text: str) -> tuple[str, ...]:
    """The words of a search, each to be found; those between double quotes are one."""
    return tuple(phrase or word for phrase, word in _TERMS.findall(text))


def read_filter(query: Mapping[str, Any], index: ReplyIndex) -> ReplyFilter:
    """Return the filter of an address; a name that the run does not have is an error."""
    scores = index.scores
    for system in query.get("system", ()):
        index.check_name(system, scores.systems, "system")
    for flag in query.get("flag", ()):
        index.check_name(flag, list(index.flags), "reply with the flag")
    metric = index.check_name(query["metric"], list(scores.facts), "metric") if "metric" in query else ""
    aspect = index.check_name(query["aspect"], list(index.ratings), "rated aspect") if "aspect" in query else ""
    apart, sort = query.get("only") == APART, query.get("sort", "")
    if apart or sort.removeprefix("-") == APART:
        if not index.ratings:
            raise SpecError("nobody rated replies of this run, so metrics and people cannot disagree")
        metric, aspect = metric or next(iter(scores.facts)), aspect or next(iter(index.ratings))
        sort = sort or f"-{APART}"
    if sort:
        index.check_name(sort.removeprefix("-"), sortable_names(index), "column to sort by called")
    for column in query.get("column", ()):
        index.check_name(column, column_names(index), "column")
    return ReplyFilter(
        query.get("q", "").strip(),
        tuple(query.get("system", ())),
        _read_ranges(query, index),
        tuple(query.get("flag", ())),
        tuple(_read_slice(one, index) for one in query.get("slice", ())),
        apart,
        metric,
        aspect,
        sort,
        tuple(query.get("column", ())),
    )


def _read_ranges(query: Mapping[str, Any], index: ReplyIndex) -> tuple[ValueRange, ...]:
    ranges = []
    for text in query.get("range", ()):
        match = _RANGE.fullmatch(text)
        if match is None:
            raise SpecError(f"range is {text!r}; write NAME:LOW..HIGH, e.g. aptness:0.2..0.5")
        ends = float(match["low"] or "-inf"), float(match["high"] or "inf")
        ranges.append(ValueRange(index.check_name(match["name"], list(index.numbers), "column of numbers"), *ends))
    if "of" in query and ("from" in query or "to" in query):
        name = index.check_name(query["of"], list(index.numbers), "column of numbers")
        ranges = [one for one in ranges if one.name != name]
        ranges.append(ValueRange(name, query.get("from", -math.inf), query.get("to", math.inf)))
    return tuple(dict.fromkeys(ranges))


def _read_slice(text: str, index: ReplyIndex) -> tuple[str, str]:
    key = next((key for key in sorted(index.slices, key=len, reverse=True) if text.startswith(f"{key}=")), None)
    if key is None:
        index.check_name(text.partition("=")[0], list(index.slices), "slice by")
    return str(key), text.removeprefix(f"{key}=")


def sortable_names(index: ReplyIndex) -> list[str]:
    """The columns by which replies can be sorted."""
    return [*index.numbers, SYSTEM, "item", *([APART] if index.ratings else []), *index.slices]


def column_names(index: ReplyIndex) -> list[str]:
    """The columns that can be shown beside the reply."""
    return [CONTEXT, SYSTEM, *index.numbers, *([FLAGS] if index.flags else []), *index.slices]


def shown_columns(selected: ReplyFilter, index: ReplyIndex) -> Sequence[str]:
    """The columns to show: those that were chosen, else the context, the system, some numbers, and what sorts."""
    if selected.columns:
        return selected.columns
    metrics = list(index.scores.facts)[:_MAX_SHOWN]
    ratings = [name for name in index.numbers if name.startswith(RATING)][:_MAX_SHOWN]
    used = [one.name for one in selected.ranges] + [key for key, _ in selected.slices]
    used += [name for name in [selected.sort.removeprefix("-")] if name in column_names(index)]
    flags = [FLAGS] if index.flags else []
    return list(dict.fromkeys([CONTEXT, SYSTEM, *metrics, *ratings, *used, *flags]))
