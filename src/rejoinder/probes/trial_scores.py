"""A metric's scores under every trial: how far the true reply leads, and means by corpus with their resamples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rejoinder.engines.base import Engine
from rejoinder.metric import Metric
from rejoinder.probes.variants import TRUE, TrialVariants
from rejoinder.stats.arrays import NAN, Floats, Ints, encode_labels, make_generator
from rejoinder.stats.interval import Interval, equal_shares_interval
from rejoinder.stats.resampling import percentile_interval, resample_counts


class TrialScores(NamedTuple):
    """A metric's scores of the true replies (``TRUE``) and of every trial's texts.

    ``sign`` is -1 where lower is better; ``unit`` is the unit of changes, NaN where there is none.
    """

    scores: dict[str, Floats]
    sign: float
    unit: float

    def lead(self, trial: str) -> Floats:
        """How much better each true reply scores than the trial's text."""
        return self.sign * (self.scores[TRUE] - self.scores[trial])

    def change(self, trial: str) -> Floats:
        """How much an edit raises each score, in units of changes."""
        return -self.lead(trial) / self.unit


def score_variants(metric: Metric, variants: TrialVariants, engine: Engine | None = None) -> TrialScores:
    """Score all texts with a metric, as one set."""
    scores = variants.scores(metric, engine)
    return TrialScores(scores, -1.0 if metric.higher_is_better is False else 1.0, _change_unit(metric, scores[TRUE]))


def _change_unit(metric: Metric, true: Floats) -> float:
    """The width of the metric's range, or of the middle half of the true replies' scores where it has no bounds."""
    low, high = metric.range
    known = true[~np.isnan(true)]
    if np.isinf([low, high]).any():
        low, high = np.quantile(known, [0.25, 0.75]) if len(known) else (NAN, NAN)
    return float(high - low) or NAN


def score_wins(lead: Floats) -> Floats:
    """1 where the true reply is better, one half for a tie, 0 where it is worse."""
    return np.where(np.isnan(lead), NAN, (np.sign(lead) + 1) / 2)


class CorpusMeans(NamedTuple):
    """The means of columns by corpus (corpora by columns) and their values on resamples (resamples first)."""

    values: Floats
    samples: Floats
    n: Ints
    n_dialogues: Ints

    def mean(self, column: int, corpus: int | None, is_share: bool = False) -> Interval:
        """The mean of a column in one corpus, or the mean of the means of the corpora that have any value.

        Shares that are all equal do not vary when resampled, but are still uncertain.
        """
        here = self.n[:, column] > 0 if corpus is None else np.arange(len(self.n)) == corpus
        n, n_dialogues = int(self.n[here, column].sum()), int(self.n_dialogues[here, column].sum())
        if not n:
            return Interval(NAN, NAN, NAN, 0, 0, 0, "no values")
        value, samples = self.values[here, column].mean(), self.samples[:, here, column].mean(axis=1)
        if is_share and n_dialogues > 1 and not (np.abs(samples - value) > 1e-12).any():
            return equal_shares_interval(float(value), n, n_dialogues)
        return percentile_interval(float(value), samples, n, 0, n_dialogues)


def average_by_corpus(columns: Floats, corpora: Ints, dialogues: list[str], n_resamples: int, seed: int) -> CorpusMeans:
    """The means of columns (rows by columns, NaN missing) in each corpus, on the data and on seeded resamples."""
    size, width = int(corpora.max(initial=-1)) + 1, columns.shape[1]
    values, samples = np.full((size, width), NAN), np.full((n_resamples, size, width), NAN)
    n, n_dialogues = np.zeros((2, size, width), dtype=np.int64)
    known = ~np.isnan(columns)
    filled = np.where(known, columns, 0.0)
    for corpus in range(size):
        rows = np.flatnonzero(corpora == corpus)
        code, names = encode_labels([dialogues[row] for row in rows], "dialogues")
        sums, counts = np.zeros((2, len(names), width))
        np.add.at(sums, code, filled[rows])
        np.add.at(counts, code, known[rows])
        n[corpus], n_dialogues[corpus] = counts.sum(axis=0), (counts > 0).sum(axis=0)
        draws = resample_counts(len(names), n_resamples, make_generator(seed, corpus)).astype(np.float64)
        with np.errstate(invalid="ignore"):
            values[corpus] = sums.sum(axis=0) / counts.sum(axis=0)
            samples[:, corpus] = (draws @ sums) / (draws @ counts)
    return CorpusMeans(values, samples, n, n_dialogues)
