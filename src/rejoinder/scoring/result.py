"""The scores of a set of responses, and what is computed from them: means by system, scores of whole dialogues."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import RunError, nearest
from rejoinder.metric import Languages, Metric, Unit, names_user_file, parse_stored, signature
from rejoinder.scoring.flags import MEANINGS, describe_languages
from rejoinder.stats.interval import Interval, mean_interval
from rejoinder.table import Cell, Estimate, Table

if TYPE_CHECKING:
    from pathlib import Path

    from rejoinder.data.collection import Collection

Values = NDArray[np.float64]
Codes = NDArray[np.int64]
Cluster: TypeAlias = Literal["conversation", "item"]


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
    unit: Unit = "reply"
    languages: Languages | None = None

    @classmethod
    def of(cls, metric: Metric, reference_sources: Iterable[str] = ()) -> MetricFacts:
        """Return the facts of a metric whose references come from these sources."""
        unit: Unit = "dialogue" if metric.whole_dialogues else "reply"
        known = signature(metric, reference_sources), metric.range, metric.higher_is_better, metric.needs
        return cls(*known, unit, metric.languages)


class TableRows(NamedTuple):
    """The rows of a table in memory: the place of each one's reply (-1: none), its own ratings, the table's index."""

    places: Codes
    ratings: Mapping[str, Values]
    index: Any = None

    def take(self, column: Values) -> Values:
        """Return a column of the replies row by row."""
        values = np.append(column, math.nan)
        taken: Values = values[self.places]
        return taken


@dataclass(frozen=True)
class Scores:
    """One score per response and metric, by column; ``nan`` where there is none.

    ``facts`` says for each spec what the metric is; ``clusters`` which responses belong to one conversation;
    ``is_last`` which are the last of their system in it, at which whole dialogues are scored (None: not known, because
    no metric does that); ``data`` what was scored, or the run folder that holds it.
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
    data: Collection | Path | None = field(default=None, compare=False, repr=False)
    imported: Sequence[str] = ()  # what was taken for what in data of other formats, one line each
    is_last: NDArray[np.bool_] | None = field(default=None, compare=False)
    table_rows: TableRows | None = field(default=None, compare=False, repr=False)

    @property
    def metrics(self) -> dict[str, str]:
        """The signature of each metric, by its spec."""
        return {spec: facts.signature for spec, facts in self.facts.items()}

    def spec(self, typed: str) -> str:
        """Return the spec of a metric of these scores for what a user typed.

        A name alone also means the only metric of that name, whatever its parameters: ``judge`` is
        ``judge(model='NAME')`` where the run has no other judge. A user's file is not run for it.
        """
        if typed in self.facts:
            return typed
        canonical = typed.strip() if names_user_file(typed) else str(parse_stored(typed))
        if canonical not in self.facts:
            named = [one for one in self.facts if one.partition("(")[0] == typed]
            if len(named) == 1:
                return named[0]
            if named:
                raise RunError(f"the run has {len(named)} metrics called {typed}; name one: {', '.join(named)}")
            raise RunError(f"the run has no scores of {canonical}; {nearest(canonical, self.facts)}")
        return canonical

    def __len__(self) -> int:
        return len(self.responses)

    def __getitem__(self, spec: str) -> Values:
        """The scores of one metric: of a table in memory row by row, else in the order of the responses."""
        return self.values[spec] if self.table_rows is None else self.table_rows.take(self.values[spec])

    def unit_rows(self, spec: str) -> NDArray[np.bool_]:
        """Which responses a metric scores: all, or the ends of dialogues if it scores whole dialogues."""
        if self.facts[spec].unit == "reply" or self.is_last is None:
            return np.ones(len(self), bool)
        return self.is_last

    @property
    def cluster(self) -> Cluster:
        """What replies are clustered by: conversations where the data names any, else items."""
        return "conversation" if len(self.dialogues) else "item"

    def unit_name(self, spec: str) -> str:
        """What a metric scores, in the plural."""
        return "responses" if self.facts[spec].unit == "reply" else "dialogues"

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one plain dictionary per response, for a data frame or a file."""
        for i, response in enumerate(self.responses):
            yield {
                "response": response,
                "item": self.items[i],
                "system": self.systems[self.system_codes[i]],
                **{spec: float(column[i]) for spec, column in self.values.items()},
            }

    def subset(self, rows: Codes | NDArray[np.bool_]) -> Scores:
        """Return the scores of some responses: by their places, or by true and false for every one."""
        places = np.flatnonzero(rows) if rows.dtype == bool else rows
        return replace(
            self,
            values={spec: column[places] for spec, column in self.values.items()},
            responses=[self.responses[i] for i in places],
            items=[self.items[i] for i in places],
            system_codes=self.system_codes[places],
            dialogue_codes=self.dialogue_codes[places],
            clusters=self.clusters[places],
            matched={spec: [column[i] for i in places] for spec, column in self.matched.items()},
            flags={},
            cut={},
            is_last=None if self.is_last is None else self.is_last[places],
            table_rows=None,
        )

    def to_pandas(self, texts: bool = True, references: bool = False) -> Any:
        """Return a pandas DataFrame with ids, texts, scores and mean ratings: one row per response.

        Of a table in memory, it has that table's rows and index, and each row its own rating.
        """
        from rejoinder.scoring.frames import make_pandas

        return make_pandas(self, texts, references)

    def to_polars(self, texts: bool = True, references: bool = False) -> Any:
        """Return a polars DataFrame with the columns of ``to_pandas``."""
        from rejoinder.scoring.frames import make_polars

        return make_polars(self, texts, references)

    def to_arrow(self, texts: bool = True, references: bool = False) -> Any:
        """Return a pyarrow Table with the columns of ``to_pandas``."""
        from rejoinder.scoring.frames import make_arrow

        return make_arrow(self, texts, references)

    def mean(self, spec: str, system: str | None = None) -> Estimate:
        """Return the mean of a metric (over one system's responses) with its 95% interval, cut to the range."""
        rows = self.unit_rows(spec)
        rows = rows if system is None else rows & (self.system_codes == list(self.systems).index(system))
        return self._within_range(spec, mean_interval(self.values[spec][rows], self.clusters[rows]))

    def table(self) -> Table:
        """Return the means by system with their 95% intervals, best first under the first metric that can rank."""
        specs = list(self.metrics)
        rows = [self._row(system) for system in self.systems]
        ranking = [i for i, spec in enumerate(specs) if self.facts[spec].higher_is_better is not None]
        if ranking:
            sign = 1 if self.facts[specs[ranking[0]]].higher_is_better is False else -1
            rows.sort(key=lambda row: _sort_key(row[2 + ranking[0]], sign))
        return Table("Mean score by system", ["system", "n", *specs], rows, self.notes())

    def _row(self, system: str) -> list[Cell]:
        n = int((self.system_codes == list(self.systems).index(system)).sum())
        return [system, n, *(self.mean(spec, system) for spec in self.metrics)]

    def notes(self) -> list[str]:
        """Return the notes under the table: the interval, missing scores, and flags."""
        notes = [f"[low, high]: 95% interval of the mean, clustered by {self.cluster}."]
        sizes = {spec: f"{self.unit_rows(spec).sum():,} {self.unit_name(spec)}" for spec in self.values}
        for spec, column in self.values.items():
            missing = int(np.isnan(column[self.unit_rows(spec)]).sum())
            if missing:
                notes.append(f"{spec}: {missing:,} of {sizes[spec]} have no score (NaN, left out of the mean).")
        notes += [
            f"{spec}: {n:,} of {sizes[spec]}, or what they were read with, were cut: the model reads no more."
            for spec, n in self.cut.items()
            if n
        ]
        notes += [note for spec in self.values for note in self.dialogue_notes(spec)]
        notes += [f"{flag}: {n:,} {MEANINGS[flag]}." for flag, n in self.flags.items() if n]
        if self.flags.get("not_english"):
            notes += describe_languages({spec: self.facts[spec].languages for spec in self.values})
        return notes

    def dialogue_notes(self, spec: str) -> list[str]:
        """Return what a reader must know about scores of whole dialogues; nothing where a metric scores replies."""
        if self.facts[spec].unit == "reply" or self.is_last is None:
            return []
        n = int(self.is_last.sum())
        notes = [f"{spec}: one score per dialogue and system ({n:,}), at the system's last reply."]
        if shared := count_shared_ends(self):
            notes.append(
                f"{spec}: in {shared:,} of the dialogues several systems answered the same last context, so the "
                "replies in it cannot all be their own; there the score tells little but of the last reply."
            )
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
        data: Collection | Path | None = None,
        is_last: NDArray[np.bool_] | None = None,
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
            data=data,
            is_last=is_last if any(one.unit == "dialogue" for one in facts.values()) else None,
        )

    def _clusters(self) -> Codes:
        """The conversation of each response: its dialogue, or else its item."""
        numbers: dict[str, int] = {}
        items = np.array([numbers.setdefault(item, len(numbers)) for item in self._items], dtype=np.int64)
        dialogues = np.array(self._dialogue_codes, dtype=np.int64)
        return np.where(dialogues >= 0, dialogues, len(self._dialogues) + items)


def count_shared_ends(scores: Scores) -> int:
    """Return in how many dialogues several systems, after several replies of their own, answered the same last item."""
    if scores.is_last is None:
        return 0
    replies = Counter(zip(scores.clusters.tolist(), scores.system_codes.tolist(), strict=True))
    ends: dict[tuple[int, str], set[int]] = {}
    for i in np.flatnonzero(scores.is_last).tolist():
        cluster, system = int(scores.clusters[i]), int(scores.system_codes[i])
        if replies[cluster, system] > 1:
            ends.setdefault((cluster, scores.items[i]), set()).add(system)
    return len({cluster for (cluster, _), systems in ends.items() if len(systems) > 1})


def _sort_key(cell: Cell, sign: int) -> float:
    return math.inf if not isinstance(cell, Estimate) or math.isnan(cell.value) else sign * cell.value


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
