"""Which system is better: means with intervals, paired differences, and the range of ranks of each system.

Two systems are compared on the items that both answered. Whole conversations are resampled (ranks) or swapped
(differences); p-values are corrected by Holm's method over all pairs of systems under one metric.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from rejoinder.comparison.rating_column import add_rating_columns, is_rating, make_rating_column
from rejoinder.comparison.run_comparison import ALPHA, FLIPS, RunComparison, compare_runs
from rejoinder.comparison.run_pair import load_run, pair_runs, refuse_differing
from rejoinder.comparison.slices import (
    SliceComparison,
    Slicing,
    SystemDifference,
    compute_slice_differences,
    compute_slice_means,
    cut_slices,
)
from rejoinder.data.collection import Collection
from rejoinder.errors import InputError
from rejoinder.metric import Unit
from rejoinder.scoring.fields import ReplyFields
from rejoinder.scoring.result import Cluster, Scores
from rejoinder.scoring.run import Run, load
from rejoinder.stats.holm import holm
from rejoinder.stats.paired_difference import paired_difference
from rejoinder.stats.rank_range import rank_ranges
from rejoinder.table import Cell, Estimate, Probability, Table, format_count, join_names


class MetricStanding(NamedTuple):
    """One system's mean and rank under one metric."""

    system: str
    n: int
    n_missing: int
    mean: Estimate
    rank: float
    rank_low: float
    rank_high: float


@dataclass(frozen=True)
class Comparison:
    """All systems under one metric, best first; under a descriptive one, in the order of the run."""

    metric: str
    higher_is_better: bool | None
    range: tuple[float, float]
    standings: Sequence[MetricStanding]
    differences: Sequence[SystemDifference]
    slices: SliceComparison | None = None
    notes: Sequence[str] = ()
    unit: Unit = "reply"
    cluster: Cluster = "conversation"

    def leaderboard(self) -> Table:
        """One line per system: mean with interval, range of ranks."""
        rows: list[list[Cell]] = [
            [s.system, s.n, s.n_missing, s.mean, _format_ranks(s.rank_low, s.rank_high) if s.n else None]
            for s in self.standings
        ]
        heads = ["system", "n", "missing", "mean", "ranks"]
        way = {True: "higher is better", False: "lower is better", None: "descriptive: neither way is better"}
        notes = [f"ranks: the range that holds the system's rank in 95% of resampled sets of {self.cluster}s."]
        if len(self.standings) == 1:
            notes = ["There is only one system, so there is nothing to compare it with."]
        if self.is_descriptive:
            heads, rows, notes = heads[:-1], [row[:-1] for row in rows], notes if len(rows) == 1 else []
        return Table(f"{self.metric} ({way[self.higher_is_better]})", heads, rows, [*notes, *self.notes])

    @property
    def is_descriptive(self) -> bool:
        """Whether neither way is better, so that systems are not ranked but listed in the order of the run."""
        return self.higher_is_better is None

    def matrix(self) -> Table:
        """One line per pair of systems: the difference and whether it survives correction."""
        rows: list[list[Cell]] = []
        for d in self.differences:
            differ = d.reason or ("yes" if d.survives else "no")
            rows.append([d.first, d.second, d.n, d.difference, Probability(d.p), Probability(d.corrected), differ])
        pairs = "items" if self.unit == "reply" else "dialogues"
        heads = ["system", "minus", pairs, "difference", "p", "p (Holm)", "differ?"]
        notes = [
            f"difference: paired on {pairs}, with its 95% interval over {self.cluster}s; p: approximate "
            f"randomisation over {self.cluster}s, corrected for skewness; p (Holm): corrected over "
            f"{format_count(len(rows), 'pair')}; differ? at {ALPHA:g}."
        ]
        return Table(f"{self.metric}: differences", heads, rows, notes)

    def _ahead(self, difference: SystemDifference) -> bool:
        """Whether the first system is surely ahead of the second on the items that both answered."""
        value = difference.difference.value
        return difference.survives and (value < 0 if self.higher_is_better is False else value > 0)

    def sentence(self) -> str:
        """The comparison in one sentence."""
        known = [s for s in self.standings if s.n]
        if len(known) < 2:
            return f"{self.metric}: fewer than two systems have scores, so there is nothing to compare."
        if self.is_descriptive:
            real, total = sum(d.survives for d in self.differences), len(self.differences)
            verb = "survives" if real == 1 else "survive"
            which = f"{real} of {total} differences {verb} correction" if real else "no difference survives correction"
            which = "the difference survives correction" if real == total == 1 else which
            return f"{self.metric}: descriptive, so it ranks no system; {which}."
        best = known[0].system
        beaten = [d.second for d in self.differences if d.first == best and self._ahead(d)]
        undecided = [s.system for s in known[1:] if s.system not in beaten]
        tied = [s.system for s in known if s.mean.value == known[0].mean.value]
        if not beaten and len(tied) > 1:
            return f"{self.metric}: {join_names(tied)} share the best mean, and no difference survives correction."
        if not beaten:
            return f"{self.metric}: {best} comes first, but no difference from another system survives correction."
        rest = f"; the difference from {join_names(undecided)} may be chance" if undecided else ""
        return f"{self.metric}: {best} is best, surely ahead of {join_names(beaten)}{rest}."


@overload
def compare(
    run: Scores | Run | Collection | str | Path,
    new: None = None,
    *,
    metrics: Sequence[str] | None = None,
    resamples: int = 2000,
    seed: int = 0,
    by: str | None = None,
    ignore_signatures: bool = False,
) -> list[Comparison]: ...


@overload
def compare(
    run: Scores | Run | Collection | str | Path,
    new: Scores | Run | Collection | str | Path,
    *,
    metrics: Sequence[str] | None = None,
    resamples: int = 2000,
    seed: int = 0,
    by: str | None = None,
    ignore_signatures: bool = False,
) -> RunComparison: ...


def compare(
    run: Scores | Run | Collection | str | Path,
    new: Scores | Run | Collection | str | Path | None = None,
    *,
    metrics: Sequence[str] | None = None,
    resamples: int = 2000,
    seed: int = 0,
    by: str | None = None,
    ignore_signatures: bool = False,
) -> list[Comparison] | RunComparison:
    """Which system of a run is better, or what changed from one run to another.

    - ``run``: the run folder, or scores; for ratings alone, also a file or a collection.
    - ``new``: a newer run: its replies are compared with those of ``run``, item by item.
    - ``metrics``: only these metrics, by their specs; ``rating:ASPECT`` stands for people's ratings.
    - ``resamples``: how often conversations are resampled for ranks, and swapped for differences (at least 4,999).
    - ``seed``: the seed of both.
    - ``by``: also by slices of the replies (``slices`` of the comparison): ``meta.KEY``, or ``turns`` of the context.
    - ``ignore_signatures``: whether a metric may have another signature in the new run; by default that is an error.

    One run gives one comparison of all its systems per metric, best first; two runs give one ``RunComparison``. What
    people prefer is ranked by ``rank_by_preference``.

    >>> import rejoinder
    >>> comparison = rejoinder.compare("RUN", metrics=["meteor"])[0]
    >>> [standing.system for standing in comparison.standings]
    ['attentive', 'drifter', 'plain', 'parrot']
    >>> print(comparison.sentence())
    meteor: attentive is best, surely ahead of drifter, plain and parrot.
    >>> by_people = rejoinder.compare("RUN", metrics=["rating:appropriate"])[0]
    >>> by_people.standings[0].system
    'attentive'
    >>> print(rejoinder.compare("old", "RUN", metrics=["meteor"]).sentences()[0])
    meteor: attentive did not change: its replies to 48 items are the same.
    """
    if new is not None:
        pair = refuse_differing(pair_runs(run, new, metrics, ignore_signatures=ignore_signatures))
        return compare_runs(pair, resamples, seed, by)
    if metrics is None or not any(map(is_rating, metrics)):
        scores, data = (load_run(run).scores if isinstance(run, Collection) else load(run)), None
    else:
        scores, data = load_run(run)
        scores = add_rating_columns(scores, data, metrics)
    specs = list(scores.metrics) if metrics is None else [scores.spec(name) for name in metrics]
    comparisons = [_compare_by_metric(scores, spec, resamples, seed) for spec in specs]
    comparisons = [
        replace(one, notes=make_rating_column(scores, data, one.metric).notes) if is_rating(one.metric) else one
        for one in comparisons
    ]
    if by is None:
        return comparisons
    if by == "system":
        raise InputError("systems are what is compared; cut the replies by something else, such as turns or meta.KEY")
    slicing = replace(cut_slices(ReplyFields(scores).column(by), by), cluster=scores.cluster)
    return [replace(one, slices=_compare_slices(scores, one, slicing, resamples, seed)) for one in comparisons]


def _compare_slices(
    scores: Scores, comparison: Comparison, slicing: Slicing, resamples: int, seed: int
) -> SliceComparison:
    """The means of each slice under one metric, and the systems compared within it, in the order of the whole run."""
    spec = comparison.metric
    order = [standing.system for standing in comparison.standings if standing.n]

    def compare_pairs(part: Scores) -> list[SystemDifference]:
        paired = _PairedScores(part, spec)
        return [paired.difference(a, b, resamples, seed) for a, b in itertools.combinations(order, 2)]

    means = compute_slice_means(spec, scores.values[spec], scores, slicing, comparison.range)
    return replace(means, differences=compute_slice_differences(scores, slicing, compare_pairs))


def _compare_by_metric(scores: Scores, spec: str, resamples: int, seed: int) -> Comparison:
    better = scores.facts[spec].higher_is_better
    values, systems = scores.values[spec], scores.systems
    ranked = rank_ranges(
        values,
        scores.system_codes,
        scores.clusters,
        higher_is_better=better is not False,
        n_resamples=resamples,
        seed=seed,
    )
    standings = []
    for rank_range in ranked.ranges:
        own = (scores.system_codes == rank_range.system) & scores.unit_rows(spec)
        n = int((~np.isnan(values[own])).sum())
        name = systems[rank_range.system]
        counts = n, int(own.sum()) - n
        standings.append(
            MetricStanding(name, *counts, scores.mean(spec, name), rank_range.rank, rank_range.low, rank_range.high)
        )
    if better is None:
        standings = [s._replace(rank=math.nan, rank_low=math.nan, rank_high=math.nan) for s in standings]
        standings.sort(key=lambda standing: list(systems).index(standing.system))
    paired = _PairedScores(scores, spec)
    order = [s.system for s in standings if s.n]
    pairs = [paired.difference(a, b, resamples, seed) for a, b in itertools.combinations(order, 2)]
    corrected = holm([d.p for d in pairs])
    differences = [d._replace(corrected=float(c)) for d, c in zip(pairs, corrected, strict=True)]
    notes = scores.dialogue_notes(spec)
    facts = scores.facts[spec]
    return Comparison(
        spec, better, facts.range, standings, differences, notes=notes, unit=facts.unit, cluster=scores.cluster
    )


class _PairedScores:
    """The scores of one metric as a table of items by systems; several replies of a system to an item are averaged.

    Scores of whole dialogues are paired by dialogue: the systems' last items differ where their replies do.
    """

    def __init__(self, scores: Scores, spec: str) -> None:
        rows: dict[str | int, int] = {}
        names = scores.items if scores.facts[spec].unit == "reply" else scores.clusters.tolist()
        items = np.array([rows.setdefault(name, len(rows)) for name in names], dtype=np.int64)
        width = len(scores.systems)
        known = ~np.isnan(scores.values[spec])
        cells = (items * width + scores.system_codes)[known]
        n = np.bincount(cells, minlength=len(rows) * width)
        sums = np.bincount(cells, weights=scores.values[spec][known], minlength=len(rows) * width)
        means = np.where(n > 0, sums / np.maximum(n, 1), math.nan)
        self._table: NDArray[np.float64] = means.reshape(len(rows), width)
        self._clusters = np.zeros(len(rows), dtype=np.int64)
        self._clusters[items] = scores.clusters
        self._column = {name: code for code, name in enumerate(scores.systems)}

    def difference(self, first: str, second: str, resamples: int, seed: int) -> SystemDifference:
        x, y = (self._table[:, self._column[name]] for name in (first, second))
        both = ~(np.isnan(x) | np.isnan(y))
        x, y, clusters = x[both], y[both], self._clusters[both]
        paired = paired_difference(x, y, clusters, n_permutations=max(FLIPS, resamples), seed=seed)
        estimate = Estimate(paired.value, paired.low, paired.high)
        reason = "no common items" if not both.any() else paired.reason
        return SystemDifference(first, second, estimate, paired.p, math.nan, paired.n, reason)


def _format_ranks(low: float, high: float) -> str | None:
    if math.isnan(low) or math.isnan(high):
        return None
    return f"{low:g}" if low == high else f"{low:g}–{high:g}"
