"""A run in memory as pages need it: columns of numbers, texts to search, slices, sorted orders, and where records are.

It is read once. Whole records stay in the files; their places are known, so that one conversation is read when it is
opened. Every page of a large run then takes a few milliseconds.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from rejoinder.data.schema import Place, from_object
from rejoinder.errors import RunError, SpecError, nearest
from rejoinder.scoring.frames import RATING
from rejoinder.scoring.result import Scores
from rejoinder.stats.correlation import midranks
from rejoinder.types import Item, Response

Values = NDArray[np.float64]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
LENGTH = "words"  # the name of the column of lengths
_WORD = re.compile(r"\w+")
_MAX_SEARCHES = 16  # searches whose result is remembered


class RecordPlace(NamedTuple):
    """Where the line of a record is."""

    path: Path
    start: int
    length: int


@dataclass(frozen=True)
class SliceColumn:
    """What ``meta`` holds under one key: the values, and which row has which; a list is in the slice of each member."""

    values: Sequence[str]
    rows: Rows
    codes: Rows

    def mask(self, value: str, n: int) -> Mask:
        """Which of n replies have a value."""
        mask = np.zeros(n, dtype=bool)
        if value in self.values:
            mask[self.rows[self.codes == list(self.values).index(value)]] = True
        return mask

    def text(self, row: int) -> str:
        """The value of one reply."""
        start, end = np.searchsorted(self.rows, [row, row + 1])
        return ", ".join(self.values[code] for code in self.codes[start:end].tolist())


@dataclass(frozen=True)
class ReplyIndex:
    """All replies of a run; rows are their places in it, items are numbered by their first reply."""

    scores: Scores
    inputs: Sequence[str]
    replies: Sequence[str]
    contexts: Sequence[str]  # of the items, a line per turn
    last_turns: Sequence[str]
    item_ids: Sequence[str]
    item_codes: Rows
    ratings: Mapping[str, Values]
    flags: Mapping[str, Mask]
    slices: Mapping[str, SliceColumn]
    response_places: Sequence[RecordPlace]
    item_places: Sequence[RecordPlace]

    def __len__(self) -> int:
        return len(self.replies)

    @functools.cached_property
    def numbers(self) -> dict[str, Values]:
        """The columns of numbers by name: scores, mean ratings and, unless a metric counts them, the words."""
        columns = {**self.scores.values, **{RATING + aspect: column for aspect, column in self.ratings.items()}}
        if "length" not in columns:
            counts = [len(_WORD.findall(text)) for text in self.replies]
            columns[LENGTH] = np.array(counts, dtype=np.float64)
        return columns

    @functools.cached_property
    def folded(self) -> tuple[list[str], list[str]]:
        """The replies, and the contexts of the items, in lower case for searches."""
        return [text.casefold() for text in self.replies], [text.casefold() for text in self.contexts]

    @functools.cached_property
    def _item_order(self) -> tuple[Rows, Rows]:
        """The rows in the order of their items, and where each item begins among them."""
        order = np.argsort(self.item_codes, kind="stable")
        return order, np.searchsorted(self.item_codes[order], np.arange(len(self.item_ids) + 1))

    @functools.cached_property
    def reply_matrix(self) -> Rows:
        """The row of the first reply to each item (down) by each system (across); -1 where there is none."""
        matrix = np.full((len(self.item_ids), len(self.scores.systems)), -1, dtype=np.int64)
        rows = np.arange(len(self))[::-1]
        matrix[self.item_codes[rows], self.scores.system_codes[rows]] = rows
        return matrix

    def item_scores(self, name: str) -> Values:
        """Return a column of numbers as items (down) by systems (across), of the first reply each; NaN without one."""
        column = np.append(self.numbers[name], np.nan)
        return column[self.reply_matrix]

    def system(self, row: int) -> str:
        """Return the system of a reply."""
        return self.scores.systems[int(self.scores.system_codes[row])]

    def item_rows(self, item: int) -> list[int]:
        """Return the replies to an item."""
        order, starts = self._item_order
        return [int(row) for row in order[starts[item] : starts[item + 1]]]

    def higher_is_better(self, name: str) -> bool | None:
        """Return the direction of a column: that of a metric, and more is better for ratings."""
        if name.startswith(RATING):
            return True
        return self.scores.facts[name].higher_is_better if name in self.scores.facts else None

    def search(self, words: tuple[str, ...]) -> Mask:
        """Return which replies contain all words, each in the reply or in its context, in upper or lower case."""
        mask: Mask = self._cached_search(words)
        return mask

    @functools.cached_property
    def _cached_search(self) -> Any:
        # Over the texts and not over the index itself, which would then be freed only by the garbage collector.
        search = functools.partial(_search_texts, *self.folded, self.item_codes)
        return functools.lru_cache(_MAX_SEARCHES)(search)

    @functools.cached_property
    def _orders(self) -> dict[tuple[str, bool], Rows]:
        return {}

    def order(self, name: str, descending: bool) -> Rows:
        """Return all rows sorted by a column; those without a value come last."""
        if (name, descending) not in self._orders:
            column = self.sort_column(name)
            keys = np.where(np.isnan(column), np.inf, -column if descending else column)
            self._orders[name, descending] = np.argsort(keys, kind="stable")
        return self._orders[name, descending]

    def sort_column(self, name: str) -> Values:
        """Return the numbers by which replies are sorted under a name; texts are ranked."""
        if name in self.numbers:
            return self.numbers[name]
        if name == "system":
            return _rank_codes(self.scores.systems, self.scores.system_codes)
        if name == "item":
            return self.item_codes.astype(np.float64)
        column = self.slices[name]
        ranks = _rank_codes(column.values, column.codes)
        values = np.full(len(self), np.nan)
        values[column.rows[::-1]] = ranks[::-1]  # of several values the first counts
        return values

    @functools.cached_property
    def _percentiles(self) -> dict[tuple[str, str], tuple[Values, Values]]:
        return {}

    def percentiles(self, metric: str, aspect: str) -> tuple[Values, Values]:
        """Return the share of rated replies that each rated reply is better than, by its score and by its rating."""
        if (metric, aspect) not in self._percentiles:
            sign = -1.0 if self.higher_is_better(metric) is False else 1.0
            scores, ratings = sign * self.scores[metric], self.ratings[aspect]
            rated = np.flatnonzero(~(np.isnan(scores) | np.isnan(ratings)))
            pair = (np.full(len(self), np.nan), np.full(len(self), np.nan))
            if len(rated) > 2:
                for target, values in zip(pair, (scores, ratings), strict=True):
                    target[rated] = (midranks(values[rated]) - 1) / (len(rated) - 1)
            self._percentiles[metric, aspect] = pair
        return self._percentiles[metric, aspect]

    def row_flags(self, row: int) -> list[str]:
        """Return the flags of a reply."""
        return [flag for flag, mask in self.flags.items() if mask[row]]

    def read_item(self, item: int) -> Item:
        """Read the whole record of an item."""
        record = _read_record(self.item_places[item])
        if not isinstance(record, Item):
            raise RunError("the data of the run changed while it was read; reload the page")
        return record

    def read_response(self, row: int) -> Response:
        """Read the whole record of a reply."""
        record = _read_record(self.response_places[row])
        if not isinstance(record, Response):
            raise RunError("the data of the run changed while it was read; reload the page")
        return record

    def check_name(self, name: str, names: Sequence[str], what: str) -> str:
        """Return a name if it is known here, or raise an error that suggests another."""
        if name not in names:
            raise SpecError(f"this run has no {what} {name!r}; {nearest(name, names)}")
        return name


def _search_texts(replies: Sequence[str], contexts: Sequence[str], item_codes: Rows, words: tuple[str, ...]) -> Mask:
    mask = np.ones(len(replies), dtype=bool)
    for word in (word.casefold() for word in words):
        in_reply = np.fromiter([word in text for text in replies], dtype=bool, count=len(replies))
        in_context = np.fromiter([word in text for text in contexts], dtype=bool, count=len(contexts))
        mask &= in_reply | in_context[item_codes]
    return mask


def _rank_codes(names: Sequence[str], codes: Rows) -> Values:
    """The places of coded texts in alphabetical order."""
    order = sorted(range(len(names)), key=lambda code: names[code].casefold())
    ranks = np.empty(len(names), dtype=np.float64)
    ranks[order] = np.arange(len(names))
    return ranks[codes]


def _read_record(place: RecordPlace) -> Any:
    try:
        with place.path.open("rb") as file:
            file.seek(place.start)
            return from_object(orjson.loads(file.read(place.length)), Place(place.path.name, 0), allow_empty=True)
    except (OSError, orjson.JSONDecodeError) as error:
        raise RunError(f"{place.path}: cannot be read ({error}); the run is damaged: score the input again") from None
