"""A metric inside another: one that scores a reply by its context, scaled to the unit range."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rejoinder.errors import SpecError
from rejoinder.metric import Metric, SetMetric, parse
from rejoinder.types import Pair


def parse_context_metric(outer: str, parameter: str, spec: str) -> Metric:
    """Return the metric of a spec; raise if it needs more than the context or has no bounds."""
    metric = parse(spec)
    if metric.needs - {"context"} or isinstance(metric, SetMetric) or not all(map(math.isfinite, metric.range)):
        raise SpecError(
            f"{outer}: {parameter} must be a metric with bounds that scores a reply by its context, not {metric}; "
            f"write e.g. {parameter}='nsp'"
        )
    return metric


def unit_scores(metric: Metric, pairs: Sequence[Pair]) -> list[float]:
    """Return the scores of a metric with bounds, scaled to 0 to 1."""
    low, high = metric.range
    return [(score - low) / (high - low) for score in metric.score(pairs)] if pairs else []
