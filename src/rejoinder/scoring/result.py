"""The scores of a set of responses, and what is computed from them: means by system, scores of whole dialogues."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import RunError, nearest
from rejoinder.metric import Metric, parse, signature
from rejoinder.scoring.flags import MEANINGS
from rejoinder.stats.interval import Interval, mean_interval
from rejoinder.table import Cell, Estimate, Table

Values = NDArray[np.float64]
Codes = NDArray[np.int64]


class DialogueScore(NamedTuple):
    """The scores of one system's turns in one dialogue under one metric, summarised."""

    dialogue: str
    system: str
    metric: str
    mean: float
    minimum: float
    last: float
    n: int


class MetricFacts(NamedTuple):
    """What a reader of scores must know about a metric; stored with them, because its file may be gone."""

    signature: str
    range: tuple[float, float]
    higher_is_better: bool | None
    needs: frozenset[str]

    @classmethod
    def of(cls, metric: Metric, reference_sources: Iterable[str] = ()) -> MetricFacts:
        """Return the facts of a metric whose references come from these sources."""
        return cls(signature(metric, reference_sources), metric.range, metric.higher_is_better, metric.needs)


@dataclass(frozen=True)
class Scores:
    """One score per response and metric, by column; ``nan`` where there is none.

    ``facts`` says for each spec what the metric is; ``clusters`` which responses belong to one conversation.
    """

    facts: Mapping[str, MetricFacts]
    values: Mapping[str, Values]
    responses: Sequence[str]
    items: Sequence[str]
    systems: Sequence[str]
    system_codes: Codes
    dialogues: Sequence[str]
    dialogue_codes: Codes
    clusters: Codes
    flags: Mapping[str, int] = field(default_factory=dict)
    matched: Mapping[str, Sequence[int | None]] = field(default_factory=dict)
    cut: Mapping[str, int] = field(default_factory=dict)  # how often a metric could not read a text whole
    imported: Sequence[str] = ()  # what was taken for what in data of other formats, one line each

    @property
    def metrics(self) -> dict[str, str]:
        """The signature of each metric, by its spec."""
        return {spec: facts.signature for spec, facts in self.facts.items()}

    def spec(self, typed: str) -> str:
        """Return the spec of a metric of these scores for what a user typed."""
        if typed in self.facts:
            return typed
        canonical = str(parse(typed))
        if canonical not in self.facts:
            raise RunError(f"the run has no scores of {canonical}; {nearest(canonical, self.facts)}")
        return canonical

    def __len__(self) -> int:
        return len(self.responses)

    def __getitem__(self, spec: str) -> Values:
        """The scores of one metric, in the order of the responses."""
        return self.values[spec]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one plain dictionary per response, for a data frame or a file."""
        for i, response in enumerate(self.responses):
            yield {
                "response": response,
                "item": self.items[i],
                "system": self.systems[self.system_codes[i]],
                **{spec: float(column[i]) for spec, column in self.values.items()},
            }

    def mean(self, spec: str, system: str | None = None) -> Estimate:
        """Return the mean of a metric (over one system's responses) with its 95% interval, cut to the range."""
        rows = np.ones(len(self), bool) if system is None else self.system_codes == list(self.systems).index(system)
        return self._within_range(spec, mean_interval(self.values[spec][rows], self.clusters[rows]))

    def table(self) -> Table:
        """Return the means by system with their 95% intervals, best first under the first metric."""
        specs = list(self.metrics)
        rows = [self._row(system) for system in self.systems]
        rows.sort(key=lambda row: -row[2].value if isinstance(row[2], Estimate) and row[2].value == row[2].value else 0)
        return Table("Mean score by system", ["system", "n", *specs], rows, self.notes())

    def _row(self, system: str) -> list[Cell]:
        n = int((self.system_codes == list(self.systems).index(system)).sum())
        return [system, n, *(self.mean(spec, system) for spec in self.metrics)]

    def notes(self) -> list[str]:
        """Return the notes under the table: the interval, missing scores, and flags."""
        kind = "conversation" if len(self.dialogues) else "item"
        notes = [f"[low, high]: 95% interval of the mean, clustered by {kind}."]
        for spec, column in self.values.items():
            missing = int(np.isnan(column).sum())
            if missing:
                notes.append(
                    f"{spec}: {missing:,} of {len(self):,} responses have no score (NaN, left out of the mean)."
                )
        notes += [
            f"{spec}: {n:,} of {len(self):,} responses, or what they were read with, were cut: the model reads no more."
            for spec, n in self.cut.items()
            if n
        ]
        notes += [f"{flag}: {n:,} {MEANINGS[flag]}." for flag, n in self.flags.items() if n]
        return notes

    def dialogue_scores(self) -> Iterator[DialogueScore]:
        """Yield mean, minimum and last turn per dialogue, system and metric; turns without a score are left out."""
        inside = self.dialogue_codes >= 0
        key = self.dialogue_codes[inside] * max(len(self.systems), 1) + self.system_codes[inside]
        groups, first, group_of_row = np.unique(key, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        for spec, column in self.values.items():
            mean, low, last, n = _reduce_groups(column[inside], group_of_row, len(groups))
            for g in order.tolist():
                dialogue, system = divmod(int(groups[g]), max(len(self.systems), 1))
                names = self.dialogues[dialogue], self.systems[system], spec
                yield DialogueScore(*names, float(mean[g]), float(low[g]), float(last[g]), int(n[g]))

    def dialogue_table(self) -> Table:
        """Return, for each system, the mean over its dialogues of their mean, lowest and last turn."""
        groups: dict[tuple[str, str], list[DialogueScore]] = {}
        for one in self.dialogue_scores():
            groups.setdefault((one.system, one.metric), []).append(one)
        rows: list[list[Cell]] = []
        for (system, spec), dialogues in groups.items():
            folds = ([getattr(d, fold) for d in dialogues] for fold in ("mean", "minimum", "last"))
            rows.append(
                [system, spec, len(dialogues), *(self._within_range(spec, mean_interval(values)) for values in folds)]
            )
        notes = ["Each cell: the mean over dialogues with its 95% interval. Turns without a score are left out."]
        if not rows:
            notes = ["No item of this run names a dialogue."]
        heads = ["system", "metric", "dialogues", "mean turn", "lowest turn", "last turn"]
        return Table("Scores of whole dialogues", heads, rows, notes)

    def _within_range(self, spec: str, interval: Interval) -> Estimate:
        low, high = self.facts[spec].range
        return Estimate(interval.value, max(interval.low, low), min(interval.high, high))

    def __str__(self) -> str:
        return str(self.table())

    def __repr__(self) -> str:
        return f"Scores({len(self)} responses, {len(self.systems)} systems, metrics: {', '.join(self.metrics)})"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


class ScoresBuilder:
    """Names the responses of ``Scores`` one after the other, as codes.

    ``systems`` lists all systems where they are known beforehand (another one is then a KeyError), and ``dialogues``
    those that come first.
    """

    def __init__(self, systems: Sequence[str] | None = None, dialogues: Sequence[str] = ()) -> None:
        self._responses: list[str] = []
        self._items: list[str] = []
        self._systems = {name: code for code, name in enumerate(systems or ())}
        self._systems_known = systems is not None
        self._dialogues = {name: code for code, name in enumerate(dialogues)}
        self._system_codes, self._dialogue_codes = array("q"), array("q")

    def add(self, response: str, item: str, system: str, dialogue: str | None) -> None:
        """Add a response."""
        if self._systems_known:
            self._system_codes.append(self._systems[system])
        else:
            self._system_codes.append(self._systems.setdefault(system, len(self._systems)))
        self._responses.append(response)
        self._items.append(item)
        code = -1 if dialogue is None else self._dialogues.setdefault(dialogue, len(self._dialogues))
        self._dialogue_codes.append(code)

    def build(
        self,
        facts: Mapping[str, MetricFacts],
        values: Mapping[str, Values],
        flags: Mapping[str, int],
        cut: Mapping[str, int],
        matched: Mapping[str, Sequence[int | None]] | None = None,
    ) -> Scores:
        """Return the scores of the responses that were added, in their order."""
        return Scores(
            facts=facts,
            values=values,
            responses=self._responses,
            items=self._items,
            systems=list(self._systems),
            system_codes=np.array(self._system_codes, dtype=np.int64),
            dialogues=list(self._dialogues),
            dialogue_codes=np.array(self._dialogue_codes, dtype=np.int64),
            clusters=self._clusters(),
            flags=flags,
            matched=matched or {},
            cut=cut,
        )

    def _clusters(self) -> Codes:
        """The conversation of each response: its dialogue, or else its item."""
        numbers: dict[str, int] = {}
        items = np.array([numbers.setdefault(item, len(numbers)) for item in self._items], dtype=np.int64)
        dialogues = np.array(self._dialogue_codes, dtype=np.int64)
        return np.where(dialogues >= 0, dialogues, len(self._dialogues) + items)


def _reduce_groups(column: Values, group_of_row: Codes, groups: int) -> tuple[Values, Values, Values, Codes]:
    """Return mean, minimum, last value and number of the scores of each group."""
    known = ~np.isnan(column)
    group, values = group_of_row[known], column[known]
    n = np.bincount(group, minlength=groups)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(group, weights=values, minlength=groups) / np.where(n, n, math.nan)
    low = np.full(groups, math.inf)
    np.minimum.at(low, group, values)
    low[n == 0] = math.nan
    last = np.full(groups, math.nan)
    last[group] = values  # the later turn overwrites the earlier
    return mean, low, last, n
