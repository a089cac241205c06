"""What a pilot says for planning: how much paired differences spread, and how alike they are within a cluster."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rejoinder.stats.arrays import NAN, Labels, Numbers, sums_by
from rejoinder.stats.comparison import paired_differences


class Spread(NamedTuple):
    """The standard deviation of paired differences, their correlation within clusters, and rows a cluster."""

    sd: float
    icc: float
    cluster_size: float
    n: int
    n_missing: int
    n_clusters: int
    reason: str | None = None


def spread(first: Numbers, second: Numbers, clusters: Labels | None = None) -> Spread:
    """The numbers to plan with, from a pilot: sd of the differences, intraclass correlation, rows a cluster.

    The correlation is the one of the analysis of variance, not below 0; the size is that which the design effect needs
    when clusters differ, the sum of squared sizes over the rows.
    """
    differences, codes, n_missing = paired_differences(first, second, clusters)
    n, sizes = len(differences), np.bincount(codes).astype(np.float64)
    found = Spread(NAN, NAN, NAN, n, n_missing, len(sizes))
    if n < 2:
        return found._replace(reason="fewer than 2 pairs")
    scale = float(np.abs(differences).max()) or 1.0
    x = differences / scale
    found = found._replace(sd=float(x.std(ddof=1)) * scale, cluster_size=float((sizes**2).sum() / n))
    if len(sizes) == n:
        return found._replace(icc=0.0)
    if len(sizes) < 2:
        return found._replace(reason="fewer than 2 clusters")
    means = sums_by(codes, x, len(sizes)) / sizes
    between = float((sizes * (means - x.mean()) ** 2).sum()) / (len(sizes) - 1)
    inside = float(((x - means[codes]) ** 2).sum()) / (n - len(sizes))
    typical = (n - float((sizes**2).sum()) / n) / (len(sizes) - 1)
    total = between + (typical - 1) * inside
    return found._replace(icc=max(0.0, (between - inside) / total) if total > 0 else 0.0)
