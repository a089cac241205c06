"""Aggregation: one label per unit from several raters, with its uncertainty. One file per model.

A model's file holds ``aggregate``, which takes votes and returns an ``Aggregated``. See docs/agreement.md.
"""

from __future__ import annotations

from importlib import import_module

from rejoinder.errors import SpecError, nearest
from rejoinder.registry import list_modules
from rejoinder.stats.aggregation._votes import Aggregated, Votes
from rejoinder.stats.arrays import Numbers

__all__ = ["Aggregated", "Votes", "aggregate", "list_methods"]


def list_methods() -> list[str]:
    """The names of the models."""
    return list_modules("rejoinder.stats.aggregation")


def aggregate(ratings: Numbers | Votes, method: str = "mean") -> Aggregated:
    """One label for each row of a matrix, units by raters, NaN where a rater did not rate."""
    if method not in list_methods():
        raise SpecError(f"no method of aggregation is called {method!r}; {nearest(method, list_methods())}")
    votes = ratings if isinstance(ratings, Votes) else Votes.of(ratings)
    result = import_module(f"rejoinder.stats.aggregation.{method}").aggregate(votes)
    if not isinstance(result, Aggregated):
        raise TypeError(f"{method} returned {type(result).__name__}, not an Aggregated")
    return result
