"""From scores to figures: the share of won comparisons and the change under edits, over corpora that count the same.

A figure is the mean of the corpora's means. Its interval is a bootstrap over dialogues within each corpus, the corpora
staying as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rejoinder.contract import Metric
from rejoinder.engines.contract import Engine
from rejoinder.robustness.variants import TRUE, Variants
from rejoinder.stats.arrays import NAN, Floats, Ints, encode, generator
from rejoinder.stats.interval import Interval, equal_shares_interval
from rejoinder.stats.percentile import percentile_interval
from rejoinder.stats.resampling import resample_counts


class Scored(NamedTuple):
    """What a metric says of the true replies (``TRUE``) and of what every trial made of them.

    ``sign`` is -1 where less is better; ``unit`` is the unit of changes, NaN where there is none.
    """

    scores: dict[str, Floats]
    sign: float
    unit: float

    def lead(self, trial: str) -> Floats:
        """How much better each true reply is than what a trial made of it."""
        return self.sign * (self.scores[TRUE] - self.scores[trial])

    def change(self, trial: str) -> Floats:
        """How much an edit raises each score, in units of changes."""
        return -self.lead(trial) / self.unit


def scored(metric: Metric, variants: Variants, engine: Engine | None = None) -> Scored:
    """Everything scored by a metric, as one set."""
    scores = variants.scores(metric, engine)
    return Scored(scores, -1.0 if metric.higher_is_better is False else 1.0, _unit(metric, scores[TRUE]))


def _unit(metric: Metric, true: Floats) -> float:
    """The width of the metric's range, or of the middle half of the true replies' scores where it has no bounds."""
    low, high = metric.range
    known = true[~np.isnan(true)]
    if np.isinf([low, high]).any():
        low, high = np.quantile(known, [0.25, 0.75]) if len(known) else (NAN, NAN)
    return float(high - low) or NAN


def won(lead: Floats) -> Floats:
    """1 where the true reply is better, one half for a tie, 0 where it is worse."""
    return np.where(np.isnan(lead), NAN, (np.sign(lead) + 1) / 2)


class Means(NamedTuple):
    """The means of columns by corpus (corpora by columns) and their values on resamples (resamples first)."""

    values: Floats
    samples: Floats
    n: Ints
    n_dialogues: Ints

    def mean(self, column: int, corpus: int | None, is_share: bool = False) -> Interval:
        """The mean of a column in one corpus, or the mean of the means of those corpora that have any value.

        Shares that are all the same do not vary when they are resampled, and yet are not certain.
        """
        here = self.n[:, column] > 0 if corpus is None else np.arange(len(self.n)) == corpus
        n, n_dialogues = int(self.n[here, column].sum()), int(self.n_dialogues[here, column].sum())
        if not n:
            return Interval(NAN, NAN, NAN, 0, 0, 0, "no values")
        value, samples = self.values[here, column].mean(), self.samples[:, here, column].mean(axis=1)
        if is_share and n_dialogues > 1 and not (np.abs(samples - value) > 1e-12).any():
            return equal_shares_interval(float(value), n, n_dialogues)
        return percentile_interval(float(value), samples, n, 0, n_dialogues)


def means(columns: Floats, corpora: Ints, dialogues: list[str], n_resamples: int, seed: int) -> Means:
    """The means of columns (rows by columns, NaN missing) in each corpus, on the data and on seeded resamples."""
    size, width = int(corpora.max(initial=-1)) + 1, columns.shape[1]
    values, samples = np.full((size, width), NAN), np.full((n_resamples, size, width), NAN)
    n, n_dialogues = np.zeros((2, size, width), dtype=np.int64)
    known = ~np.isnan(columns)
    filled = np.where(known, columns, 0.0)
    for corpus in range(size):
        rows = np.flatnonzero(corpora == corpus)
        code, names = encode([dialogues[row] for row in rows], "dialogues")
        sums, counts = np.zeros((2, len(names), width))
        np.add.at(sums, code, filled[rows])
        np.add.at(counts, code, known[rows])
        n[corpus], n_dialogues[corpus] = counts.sum(axis=0), (counts > 0).sum(axis=0)
        drawn = resample_counts(len(names), n_resamples, generator(seed, corpus)).astype(np.float64)
        with np.errstate(invalid="ignore"):
            values[corpus] = sums.sum(axis=0) / counts.sum(axis=0)
            samples[:, corpus] = (drawn @ sums) / (drawn @ counts)
    return Means(values, samples, n, n_dialogues)
