"""Ranks, with ties given the mean of the ranks that they share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rejoinder.stats.arrays import Floats, Ints


class Ties(NamedTuple):
    """An array as its sorted distinct values: which of them each entry is, and how often each occurs."""

    codes: Ints
    counts: Ints


def ties(values: Floats) -> Ties:
    """The groups of equal values, from the smallest to the largest; there must be no NaN."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    new = np.ones(len(values), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    codes = np.empty(len(values), dtype=np.int64)
    codes[order] = np.cumsum(new) - 1
    return Ties(codes, np.diff(np.append(np.flatnonzero(new), len(values))))


def midranks(values: Floats) -> Floats:
    """Ranks from 1 to n; equal values get the mean of their ranks. There must be no NaN."""
    codes, counts = ties(values)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[codes]
    return ranks
