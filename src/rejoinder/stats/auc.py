"""The area under the ROC curve: how probable it is that one of the first scores is above one of the others."""

from __future__ import annotations

import numpy as np

from rejoinder.stats.arrays import Floats
from rejoinder.stats.correlation import midranks


def auc(true: Floats, other: Floats) -> float:
    """Return how probable it is that one of ``true`` is above one of ``other``; ties count half (Mann-Whitney 1947)."""
    ranks = midranks(np.concatenate([true, other]).astype(np.float64))
    return float((ranks[: len(true)].sum() - len(true) * (len(true) + 1) / 2) / (len(true) * len(other)))
