"""Optimal transport between two small bags: the least work that turns one into the other (the earth mover's distance).

Work is what is moved times how far. Replies have few sentences, so most cases need no solver: where one side has one
part, everything goes there; where it has two, a part of the other side prefers one of them by the difference of its two
distances, and filling the first with those that prefer it most is exact (a fractional knapsack). Otherwise it is a
linear program.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def least_work(weights: Array, other: Array, distances: Array) -> float:
    """The least work; the weights of both sides are taken at a sum of 1, ``distances[i, j]`` is from i to j."""
    weights, other = weights / weights.sum(), other / other.sum()
    if len(other) < len(weights):
        weights, other, distances = other, weights, distances.T
    if len(weights) == 1:
        return float(distances[0] @ other)
    if len(weights) == 2:
        return _between_two(weights[0], other, distances)
    return _by_program(weights, other, distances)


def at_least(weights: Array, other: Array, distances: Array) -> float:
    """A lower bound on the least work, found at once: every part goes where it is nearest (Kusner et al. 2015)."""
    leaving = float(weights @ distances.min(axis=1)) / float(weights.sum())
    arriving = float(other @ distances.min(axis=0)) / float(other.sum())
    return max(leaving, arriving)


def _between_two(room: float, other: Array, distances: Array) -> float:
    """The least work where one side has two parts, of which the first takes ``room``."""
    order = np.argsort(distances[0] - distances[1], kind="stable")
    before = np.cumsum(other[order]) - other[order]
    first = np.clip(room - before, 0.0, other[order])
    return float(first @ distances[0][order] + (other[order] - first) @ distances[1][order])


def _by_program(weights: Array, other: Array, distances: Array) -> float:
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron, vstack

    n, m = distances.shape
    leaving = kron(eye_array(n), np.ones((1, m)), format="csr")
    # The last sum follows from the others; left in, rounding could make the program infeasible.
    arriving = kron(np.ones((1, n)), eye_array(m), format="csr")[:-1]
    found = linprog(
        distances.ravel(),
        A_eq=vstack([leaving, arriving], format="csr"),
        b_eq=np.concatenate([weights, other[:-1]]),
        method="highs",
    )
    if found.status != 0:
        raise RuntimeError(f"optimal transport between {n} and {m} parts was not found: {found.message}")
    return float(found.fun)
