"""Two ways to train compared: by the three runs that the authors released of each, and by our own scores of every row.

The authors' correlations are of runs on the same rows, so an interval over runs says what another seed would give on
these rows, not what other rows would. Of our own regressions every row's score is here: rows are resampled in pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rejoinder_lab.papers.base import OURS, Figure
from rejoinder_lab.papers.idk.correlations import AUTHORS_IDK, HEAD, OWN_HEAD, Measured
from rejoinder_lab.papers.idk.rows import SPEARMAN
from rejoinder_lab.papers.idk.variants import SETS, IdkVariant
from rejoinder_lab.papers.own.relevance.measures import ColumnCorrelation
from rejoinder_lab.papers.own.relevance.rows import FIVE

BY_RUNS = "Ablations, Spearman: differences over the authors' three runs"
BY_ROWS = "IDK (H) and the bare head, Spearman: difference over resampled rows"
MEAN = "mean of five"
OUTSIDE_FED, OF_FED = FIVE[:3], FIVE[3:]
_LEVEL = 0.95


class Difference(NamedTuple):
    """A difference in correlation and its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"

    def is_within(self, limit: float) -> bool:
        """Whether the whole interval is closer to zero than a limit."""
        return max(abs(self.low), abs(self.high)) <= limit


class Comparison(NamedTuple):
    """Two variants, the first of which the paper prefers."""

    first: IdkVariant
    second: IdkVariant

    @property
    def name(self) -> str:
        """What is subtracted, by the names of Table 10."""
        return f"{self.first.short} less {self.second.short}"


L1_OR_NONE = {data: Comparison(IdkVariant(data), IdkVariant(data, "idk", "none")) for data in SETS}
L1_OR_L2 = {data: Comparison(IdkVariant(data), IdkVariant(data, "idk", "l2")) for data in SETS}
FIXED_OR_RANDOM = {data: Comparison(IdkVariant(data), IdkVariant(data, "random")) for data in SETS}
L1_OR_NONE_RANDOM = {data: Comparison(IdkVariant(data, "random"), IdkVariant(data, "random", "none")) for data in SETS}
H_OR_TC = {
    negative: Comparison(IdkVariant("H", negative), IdkVariant("TC-S", negative)) for negative in ("idk", "ics", "ok")
}
COMPARISONS: Sequence[Comparison] = [
    one for group in (L1_OR_NONE, L1_OR_L2, L1_OR_NONE_RANDOM, FIXED_OR_RANDOM, H_OR_TC) for one in group.values()
]


def compare_runs(
    authors: Mapping[IdkVariant, Sequence[Mapping[str, float]]], comparison: Comparison, cells: Sequence[str]
) -> Difference:
    """The difference in the mean over some cells, with Welch's interval over the runs of the two variants."""
    from scipy.stats import ttest_ind

    first, second = (
        np.array([np.mean([run[cell] for cell in cells]) for run in authors[variant]]) for variant in comparison
    )
    value = float(first.mean() - second.mean())
    if not first.std() and not second.std():
        return Difference(value, value, value)
    interval = ttest_ind(first, second, equal_var=False).confidence_interval(_LEVEL)
    return Difference(value, float(interval.low), float(interval.high))


def compare_rows(first: Sequence[ColumnCorrelation], second: Sequence[ColumnCorrelation]) -> Difference:
    """The difference in the mean over some columns, with its interval over the rows, resampled in pairs."""
    values = [np.mean([one.interval.value for one in of_row]) for of_row in (first, second)]
    samples = np.mean([a.samples - b.samples for a, b in zip(first, second, strict=True)], axis=0)
    low, high = np.quantile(samples, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Difference(float(values[0] - values[1]), float(low), float(high))


def spearman_cells(columns: Sequence[str]) -> list[str]:
    """The names of the cells of Spearman's correlation."""
    return [f"{column} {SPEARMAN}" for column in columns]


def smallest_difference(test: Measured) -> float:
    """The least difference in the mean of five that rows could show of two scores that agree no more than by chance."""
    samples = np.mean([one.samples for one in test.prior.spearmans(AUTHORS_IDK)], axis=0)
    low, high = np.quantile(samples, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return float(high - low) / 2 * math.sqrt(2)


def ablation_figures(test: Measured) -> Iterator[Figure]:
    """The difference of each comparison in every column and in the mean of five, theirs and ours."""
    parts = {**{column: [column] for column in FIVE}, MEAN: list(FIVE)}
    for comparison in COMPARISONS:
        for name, columns in parts.items():
            cells = spearman_cells(columns)
            if test.authors:
                by_runs = compare_runs(test.authors, comparison, cells)
                yield Figure(BY_RUNS, comparison.name, name, None, *by_runs)
            own = [[test.own.mean(variant.short, cell) for cell in cells] for variant in comparison]
            first, second = ([one for one in of_row if one is not None] for of_row in own)
            if len(first) == len(second) == len(cells):
                yield Figure(BY_RUNS, comparison.name, name + OURS, None, *compare_rows(first, second))
    parts = {**parts, "mean outside FED": list(OUTSIDE_FED), "mean of FED": list(OF_FED)}
    for name, columns in parts.items():
        if AUTHORS_IDK in test.prior.names and HEAD in test.prior.names:
            yield Figure(BY_ROWS, f"{AUTHORS_IDK}, less {HEAD}", name, None, *compare_with_head(test, columns))
        rows = [IdkVariant("H").short, OWN_HEAD]
        first, second = ([one for cell in spearman_cells(columns) if (one := test.own.mean(row, cell))] for row in rows)
        if len(first) == len(second) == len(columns):
            yield Figure(BY_ROWS, "our regression H_IDK_bce_L1 less our head", name, None, *compare_rows(first, second))


def compare_with_head(test: Measured, columns: Sequence[str]) -> Difference:
    """The authors' IDK (H), one run, less BERT NSP in some columns."""
    places = [FIVE.index(column) for column in columns]
    own, head = (test.prior.spearmans(row) for row in (AUTHORS_IDK, HEAD))
    return compare_rows([own[i] for i in places], [head[i] for i in places])
