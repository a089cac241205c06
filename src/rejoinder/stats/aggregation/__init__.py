"""Aggregation: one label per unit from several raters, with its uncertainty. One file per model.

A model's file holds ``aggregate``, which takes votes and returns an ``Aggregated``. See docs/agreement.md.
"""

from __future__ import annotations

from collections.abc import Callable

from rejoinder.registry import Registry
from rejoinder.stats.aggregation._votes import Aggregated, Votes
from rejoinder.stats.arrays import Numbers

__all__ = ["Aggregated", "Votes", "aggregate", "list_methods"]


_REGISTRY: Registry[Callable[[Votes], Aggregated]] = Registry(
    __name__, "method of aggregation", lambda module: module.aggregate
)


def list_methods() -> list[str]:
    """The names of the models."""
    return _REGISTRY.names()


def aggregate(ratings: Numbers | Votes, method: str = "mean") -> Aggregated:
    """One label for each row of a matrix, units by raters, NaN where a rater did not rate."""
    model = _REGISTRY.load(method)
    votes = ratings if isinstance(ratings, Votes) else Votes.of(ratings)
    result = model(votes)
    if not isinstance(result, Aggregated):
        raise TypeError(f"{method} returned {type(result).__name__}, not an Aggregated")
    return result
