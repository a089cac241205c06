"""The first cut of a search: a value that enough scores reach, found in one pass over all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_GROUPS = 1024
_GROUPS_PER_HIT = 16


def floor_of(scores: NDArray[np.float32], k: int) -> float:
    """A value that at least k of the scores reach, little below the k-th largest; minus infinity where k are not there.

    The k-th largest of the maxima of groups will do, since groups share no score, and costs a thirtieth of a partition
    of all scores.
    """
    groups = max(_GROUPS, _GROUPS_PER_HIT * k)
    rows = len(scores) // groups
    if rows > 1:
        scores = scores[: rows * groups].reshape(rows, groups).max(axis=0)
    if k > len(scores):
        return -np.inf
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])
