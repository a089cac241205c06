"""The mean of a measure over folds, its standard deviation between folds, and an interval by resampling whole requests.

The value is the mean of the folds' means, as usual in cross-validation; with one fold it is the plain mean. Requests
repeat, within a fold and between folds, so questions with the same request are resampled together. Resampling cannot
account for requests that also occur in training: see ``train_overlap``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rejoinder.stats.arrays import NAN, Floats, Ints, make_generator
from rejoinder.stats.resampling import percentile_interval, resample_counts
from rejoinder.table import Estimate

RESAMPLES = 2000
_CELLS = 2**18  # resamples times requests that are in memory at once


class FoldMean(NamedTuple):
    """A mean over folds: its interval, the mean of each fold, the sample standard deviation between them."""

    estimate: Estimate
    of_folds: tuple[float, ...]
    n: int
    n_missing: int

    @property
    def deviation(self) -> float:
        """The standard deviation of the folds' means; NaN for fewer than two folds."""
        return float(np.std(self.of_folds, ddof=1)) if len(self.of_folds) > 1 else NAN


def mean_over_folds(
    values: Floats, folds: Ints, clusters: Ints, n_resamples: int = RESAMPLES, seed: int = 0
) -> FoldMean:
    """The mean over folds of the values that are not missing."""
    present = ~np.isnan(values)
    n_missing = int((~present).sum())
    if not present.any():
        return FoldMean(Estimate(NAN, NAN, NAN), (), 0, n_missing)
    x = values[present]
    _, fold = np.unique(folds[present], return_inverse=True)
    _, cluster = np.unique(clusters[present], return_inverse=True)
    shape = (int(cluster.max()) + 1, int(fold.max()) + 1)
    sums, sizes = np.zeros(shape), np.zeros(shape)
    np.add.at(sums, (cluster, fold), x)
    np.add.at(sizes, (cluster, fold), 1.0)
    of_folds = sums.sum(axis=0) / sizes.sum(axis=0)
    random = make_generator(seed)
    samples = []
    at_once = max(1, _CELLS // shape[0])
    for start in range(0, n_resamples, at_once):
        counts = resample_counts(shape[0], min(at_once, n_resamples - start), random)
        with np.errstate(invalid="ignore"):  # a fold without any resampled question has no mean
            samples.append(((counts @ sums) / (counts @ sizes)).mean(axis=1))
    value = float(of_folds.mean())
    interval = percentile_interval(value, np.concatenate(samples), len(x), n_missing, shape[0])
    if (x == x[0]).all():  # resampled, equal values stay equal, but that is not certainty
        interval = interval._replace(low=NAN, high=NAN)
    return FoldMean(Estimate(value, interval.low, interval.high), tuple(of_folds.tolist()), len(x), n_missing)
