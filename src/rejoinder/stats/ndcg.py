"""nDCG of one ranking (Järvelin and Kekäläinen 2002), with linear gains; ties are averaged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from rejoinder.stats.arrays import NAN

DEFAULT_K = 3


def ndcg(gains: Sequence[float], scores: Sequence[float], k: int = DEFAULT_K) -> float:
    """nDCG@k with linear gains, averaged over all orders that equal scores allow.

    NaN where a candidate has no score, and where all gains are equal: then every order is equally good.
    """
    if any(map(math.isnan, scores)) or len(set(gains)) < 2:
        return NAN
    order = sorted(range(len(scores)), key=lambda index: -scores[index])
    expected: list[float] = []
    for _, indices in groupby(order, key=lambda index: scores[index]):
        tied_gains = [gains[index] for index in indices]
        expected += [math.fsum(tied_gains) / len(tied_gains)] * len(tied_gains)
    return _discounted_gain(expected, k) / _discounted_gain(sorted(gains, reverse=True), k)


def _discounted_gain(gains: Sequence[float], k: int) -> float:
    return math.fsum(gain / math.log2(index + 2) for index, gain in enumerate(gains[:k]))
