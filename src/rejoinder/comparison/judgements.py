"""What people answered, sorted by rater: ratings by aspect, times, and checks with a known answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from rejoinder.errors import InputError
from rejoinder.scoring.texts import AGGREGATE as AGGREGATE
from rejoinder.scoring.texts import JUDGE as JUDGE
from rejoinder.stats.arrays import Ints
from rejoinder.stats.rating_matrix import RatingMatrix, rating_matrix
from rejoinder.table import format_count
from rejoinder.types import Item, Preference, Rating, Record, Response, is_unnamed


class CheckTally(NamedTuple):
    """How many checks a rater answered, and how many of them correctly."""

    right: int
    n: int


@dataclass(frozen=True)
class AspectJudgements:
    """The judgements in one aspect: one row per unit, one column per rater.

    A preference is a unit with the value 1 where the response whose id comes first is preferred, -1 for the other and 0
    for a tie, whichever was on the left.
    """

    aspect: str
    matrix: RatingMatrix
    is_preference: bool = False
    dialogues: tuple[str, ...] | None = None  # the dialogue of each unit, else its item, else itself

    @property
    def named_columns(self) -> Ints:
        """The columns of raters with names; any other column holds a different person on every row."""
        return np.flatnonzero([not is_unnamed(str(rater)) for rater in self.matrix.raters])

    @property
    def name(self) -> str:
        """The name of the aspect in tables."""
        return f"{self.aspect} (preference)" if self.is_preference else self.aspect


@dataclass(frozen=True)
class Judgements:
    """Everything that people answered; aggregated ratings and judges' preferences are counted and left out."""

    aspects: Mapping[str, AspectJudgements]
    seconds: Mapping[str, list[float]] = field(default_factory=dict)
    checks: Mapping[str, CheckTally] = field(default_factory=dict)
    aggregated: int = 0
    by_judges: int = 0

    @property
    def raters(self) -> list[str]:
        """All raters with names, in the order in which they appear."""
        named = (rater for judged in self.aspects.values() for rater in judged.matrix.raters if not is_unnamed(rater))
        return list(dict.fromkeys([*named, *self.seconds, *self.checks]))


def sort_judgements(records: Iterable[Record], checks: Mapping[str, CheckTally] | None = None) -> Judgements:
    """Sort ratings and preferences; other records are skipped.

    A rating with ``right`` (true or false) in its meta is a check and nothing else; ``seconds`` is how long the
    answer took, where all ratings with the same ``unit`` are one answer.
    """
    rows: dict[tuple[str, bool], tuple[list[Any], list[str], list[float]]] = {}
    places = _JudgedDialogues()
    seconds: dict[str, dict[Any, float]] = {}
    tallies: dict[str, CheckTally] = dict(checks or {})
    aggregated = by_judges = 0
    for record in records:
        places.add(record)
        if not isinstance(record, Rating | Preference):
            continue
        if record.rater.startswith(AGGREGATE):
            aggregated += 1
            continue
        if is_by_judge(record):
            by_judges += 1
            continue
        if isinstance(record, Preference):
            check_preferences([record], {})
        unit, value = judged_unit(record), _judgement_value(record)
        duration = record.meta.get("seconds")
        if isinstance(duration, int | float) and not isinstance(duration, bool) and math.isfinite(duration):
            seconds.setdefault(record.rater, {})[record.meta.get("unit", unit)] = float(duration)
        right = record.meta.get("right")
        if isinstance(right, bool):
            before = tallies.get(record.rater, CheckTally(0, 0))
            tallies[record.rater] = CheckTally(before.right + right, before.n + 1)
            continue
        units, raters, values = rows.setdefault((record.aspect, isinstance(record, Preference)), ([], [], []))
        units.append(unit)
        raters.append(record.rater)
        values.append(value)
    matrices = {key: rating_matrix(*columns) for key, columns in rows.items()}
    aspects = [
        AspectJudgements(key[0], matrix, key[1], places.dialogues(matrix.units)) for key, matrix in matrices.items()
    ]
    times = {rater: list(by_unit.values()) for rater, by_unit in seconds.items()}
    return Judgements({judged.name: judged for judged in aspects}, times, tallies, aggregated, by_judges)


class _JudgedDialogues:
    """The dialogue that each judged unit belongs to, as far as the file says."""

    def __init__(self) -> None:
        self._dialogue_of_item: dict[str, str] = {}
        self._item_of_response: dict[str, str] = {}
        self._judged: dict[str, Rating | Preference] = {}

    def add(self, record: Record) -> None:
        """Record an item's dialogue, a response's item, or what was judged."""
        if isinstance(record, Item) and record.dialogue is not None:
            self._dialogue_of_item[record.id] = record.dialogue
        elif isinstance(record, Response):
            self._item_of_response[record.id] = record.item
        elif isinstance(record, Rating | Preference):
            self._judged.setdefault(judged_unit(record), record)

    def dialogues(self, units: Sequence[str]) -> tuple[str, ...] | None:
        """The dialogue (else the item) of each unit; None where no dialogue has several items that were judged."""
        items = [self._item(unit) for unit in units]
        item_dialogues = {item: self._dialogue_of_item.get(item) for item in items if item is not None}
        known = [dialogue for dialogue in item_dialogues.values() if dialogue is not None]
        if len(set(known)) == len(known):
            return None
        return tuple(
            f"unit {unit}"
            if item is None
            else f"dialogue {item_dialogues[item]}"
            if item_dialogues[item]
            else f"item {item}"
            for unit, item in zip(units, items, strict=True)
        )

    def _item(self, unit: str) -> str | None:
        record = self._judged[unit]
        if isinstance(record, Preference):
            return record.item
        return self._item_of_response.get(record.response or "")


def describe_raters(raters: Iterable[str]) -> str:
    """How many people rated, as far as they have names."""
    names = set(raters)
    named = [name for name in names if not is_unnamed(name)]
    if len(named) == len(names):
        return format_count(len(named), "rater")
    return f"{format_count(len(named), 'rater')} and people without names" if named else "people without names"


def is_by_judge(record: Rating | Preference) -> bool:
    """Whether a preference is that of a model, as ``rejoinder arena`` writes them, and not of a person."""
    return isinstance(record, Preference) and record.rater.startswith(JUDGE)


def check_preferences(preferences: Iterable[Preference], items: Mapping[str, str]) -> None:
    """Raise an error where a preference is not between two replies to its item, as far as the items are known."""
    for preference in preferences:
        what = f"a preference by {preference.rater!r}"
        if preference.first == preference.second:
            raise InputError(f"{what} compares the response {preference.first!r} with itself; name two responses")
        first, second = (items.get(response, preference.item) for response in (preference.first, preference.second))
        if first != second:
            raise InputError(
                f"{what} compares {preference.first!r} and {preference.second!r}, replies to the items {first!r} and "
                f"{second!r}; compare replies to one item"
            )
        if first != preference.item:
            raise InputError(
                f"{what} names the item {preference.item!r}, but {preference.first!r} and {preference.second!r} reply "
                f"to {first!r}; correct its item"
            )


def judged_unit(record: Rating | Preference) -> str:
    """The name of what was judged."""
    if isinstance(record, Preference):
        return " | ".join(sorted((record.first, record.second)))
    return record.response if record.response is not None else f"dialogue {record.dialogue}"


def _judgement_value(record: Rating | Preference) -> float:
    if isinstance(record, Rating):
        return record.value
    side = {"first": 1.0, "second": -1.0, "tie": 0.0}[record.choice]
    return side if record.first <= record.second else 0.0 - side


def binarise_judgements(judged: AspectJudgements, above: float) -> AspectJudgements:
    """The same judgements with 1 for ratings above a number and 0 for the rest."""
    values = judged.matrix.values
    binary = np.where(np.isnan(values), np.nan, (values > above).astype(np.float64))
    matrix = judged.matrix._replace(values=binary)
    return replace(judged, aspect=f"{judged.aspect} > {above:g}", matrix=matrix)
