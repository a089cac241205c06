"""Are scores that look like probabilities calibrated? Expected calibration error, reliability bins, Brier score.

The expected calibration error (Naeini et al. 2015; Guo et al. 2017) is the mean over bins, weighted by size, of the
distance between the mean probability and the mean outcome in the bin.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import NAN, Floats, Ints, Numbers, as_paired_floats, check_at_least, check_one_of

Binning: TypeAlias = Literal["width", "mass"]


class ReliabilityBin(NamedTuple):
    """One bin of a reliability diagram."""

    low: float
    high: float
    probability: float
    outcome: float
    n: int


class Calibration(NamedTuple):
    """The expected and the largest calibration error, and the bins that are not empty."""

    error: float
    largest: float
    bins: tuple[ReliabilityBin, ...]
    n: int
    n_missing: int
    reason: str | None = None


class Brier(NamedTuple):
    """The mean squared distance between probability and outcome (Brier 1950)."""

    value: float
    n: int
    n_missing: int
    reason: str | None = None


def calibration(probabilities: Numbers, outcomes: Numbers, n_bins: int = 10, binning: Binning = "width") -> Calibration:
    """Reliability in bins of equal width (the last one closed) or of equal mass (equal probabilities stay together)."""
    check_at_least(n_bins, 1, "n_bins")
    check_one_of(binning, Binning, "binning")
    p, y, n_missing = _drop_missing(probabilities, outcomes)
    if not len(p):
        return Calibration(NAN, NAN, (), 0, n_missing, "no pairs")
    codes = np.minimum((p * n_bins).astype(np.int64), n_bins - 1) if binning == "width" else _equal_mass(p, n_bins)
    bins = []
    for code in np.unique(codes):
        inside = codes == code
        edges = (code / n_bins, (code + 1) / n_bins) if binning == "width" else (p[inside].min(), p[inside].max())
        means = float(p[inside].mean()), float(y[inside].mean())
        bins.append(ReliabilityBin(float(edges[0]), float(edges[1]), *means, int(inside.sum())))
    gaps = [abs(b.probability - b.outcome) for b in bins]
    error = sum(gap * b.n for gap, b in zip(gaps, bins, strict=True)) / len(p)
    return Calibration(error, max(gaps), tuple(bins), len(p), n_missing)


def brier(probabilities: Numbers, outcomes: Numbers) -> Brier:
    """The Brier score; 0 is perfect, 0.25 is what saying 0.5 always gets."""
    p, y, n_missing = _drop_missing(probabilities, outcomes)
    if not len(p):
        return Brier(NAN, 0, n_missing, "no pairs")
    return Brier(float(((p - y) ** 2).mean()), len(p), n_missing)


def _equal_mass(p: Floats, n_bins: int) -> Ints:
    """The bin of each probability when bins are equally full; ties go where their middle goes."""
    from rejoinder.stats.correlation import midranks

    return np.minimum(((midranks(p) - 0.5) * n_bins / len(p)).astype(np.int64), n_bins - 1)


def _drop_missing(probabilities: Numbers, outcomes: Numbers) -> tuple[Floats, Floats, int]:
    p, y = as_paired_floats(probabilities=probabilities, outcomes=outcomes)
    known = ~(np.isnan(p) | np.isnan(y))
    p, y = p[known], y[known]
    for name, values in (("probabilities", p), ("outcomes", y)):
        outside = values[(values < 0) | (values > 1)]
        if len(outside):
            raise InputError(f"{name} must lie between 0 and 1; found {outside[0]:g}: rescale or calibrate them first")
    return p, y, int((~known).sum())
