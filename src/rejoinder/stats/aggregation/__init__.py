"""Aggregation: one label a unit from what several raters gave, with how sure it is. One file a model.

A model's file holds ``aggregate``, which takes votes and gives an ``Aggregated``. See docs/agreement.md.
"""

from __future__ import annotations

from collections.abc import Callable

from rejoinder.registry import Registry
from rejoinder.stats.aggregation._votes import Aggregated, Votes
from rejoinder.stats.arrays import Numbers

__all__ = ["Aggregated", "Votes", "aggregate", "methods"]


_REGISTRY: Registry[Callable[[Votes], Aggregated]] = Registry(
    __name__, "method of aggregation", lambda module: module.aggregate
)


def list_methods() -> list[str]:
    """The models by name."""
    return _REGISTRY.names()


def aggregate(ratings: Numbers | Votes, method: str = "mean") -> Aggregated:
    """One label for each line of a matrix, units by raters, NaN where a rater did not rate; by the model named."""
    model = _REGISTRY.load(method)
    votes = ratings if isinstance(ratings, Votes) else Votes.of(ratings)
    found = model(votes)
    if not isinstance(found, Aggregated):
        raise TypeError(f"{method} gave {type(found).__name__}, not an Aggregated")
    return found
