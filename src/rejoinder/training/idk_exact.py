"""The exact optimum of a regularised logistic regression, in liblinear's scaling with C = 1.

The *sum* of the losses of all rows plus the L1 norm of the weights (or half their squared L2 norm); the bias is free.
With the *mean* of the losses and an L1 weight of 1 the optimum is known without computing: all zeros, since features
between -1 and 1 cannot change the mean loss faster than the penalty grows.

Newton steps on a quadratic model of the loss, each solved by coordinate descent (Yuan, Ho and Lin 2012, newGLMNET),
until no coordinate can be improved.
"""

from __future__ import annotations

import numpy as np

from rejoinder.errors import InputError
from rejoinder.models.aptness_calibration import Numbers
from rejoinder.models.contract import Vectors
from rejoinder.training.idk_steps import Fitted, Regularization

_TOLERANCE = 1e-7  # of the violation of the optimality conditions, a row
_MOST_STEPS, _MOST_SWEEPS = 100, 200
_RIDGE = 1e-10  # keeps a coordinate that never varies in its place


def fit_exactly(true: Vectors, false: Vectors, regularization: Regularization = "l1", weight: float = 1.0) -> Fitted:
    """The weights that minimise the penalised sum of losses; the true replies are 1, the false ones 0."""
    if regularization == "none":
        raise InputError(
            "without regularisation an exact optimum need not exist (a fixed negative can be told apart perfectly); "
            "take l1 or l2, or the mode 'paper'"
        )
    rows = np.vstack([true, false]).astype(np.float64)
    rows = np.hstack([rows, np.ones((len(rows), 1))])
    labels = np.r_[np.ones(len(true)), np.zeros(len(false))]
    l1, l2 = (np.r_[np.full(rows.shape[1] - 1, weight * (regularization == kind)), 0.0] for kind in ("l1", "l2"))
    found = np.zeros(rows.shape[1])
    now = objective(rows, labels, found, l1, l2)
    for _ in range(_MOST_STEPS):
        said = 1 / (1 + np.exp(-np.clip(rows @ found, -60, 60)))
        gradient = rows.T @ (said - labels) + l2 * found
        if _violation(gradient, found, l1) <= _TOLERANCE * len(rows):
            break
        bend = (rows * (said * (1 - said))[:, None]).T @ rows + np.diag(l2 + _RIDGE)
        step = _solve_model(gradient, bend, found, l1)
        promised = gradient @ step + (l1 * (np.abs(found + step) - np.abs(found))).sum()
        size = 1.0
        while (new := objective(rows, labels, found + size * step, l1, l2)) > now + 0.01 * size * promised:
            size /= 2
            if size < 1e-12:
                return Fitted(found[:-1], float(found[-1]))  # no smaller loss can be told from this one
        found, now = found + size * step, new
    return Fitted(found[:-1], float(found[-1]))


def objective(rows: Numbers, labels: Numbers, weights: Numbers, l1: Numbers, l2: Numbers) -> float:
    """The penalised sum of losses."""
    odds = rows @ weights
    losses = np.logaddexp(0, odds) - labels * odds
    return float(losses.sum() + (l1 * np.abs(weights)).sum() + 0.5 * (l2 * weights**2).sum())


def _violation(gradient: Numbers, weights: Numbers, l1: Numbers) -> float:
    """How far the worst coordinate is from its optimality condition."""
    at_zero = np.maximum(np.abs(gradient) - l1, 0)
    return float(np.where(weights == 0, at_zero, np.abs(gradient + l1 * np.sign(weights))).max())


def _solve_model(gradient: Numbers, bend: Numbers, weights: Numbers, l1: Numbers) -> Numbers:
    """The step that minimises the quadratic model plus the L1 norm, a coordinate at a time."""
    if not l1.any():
        return np.asarray(-np.linalg.solve(bend, gradient), np.float64)
    step = np.zeros_like(weights)
    slope = gradient.copy()  # of the model at the present step
    curvature = np.diag(bend).tolist()
    active = np.arange(len(weights))
    for _ in range(_MOST_SWEEPS):
        largest = 0.0
        for j in active.tolist():
            at = weights[j] + step[j]
            wanted = at - slope[j] / curvature[j]
            moved = np.sign(wanted) * max(abs(wanted) - l1[j] / curvature[j], 0.0) - at
            if moved != 0:
                step[j] += moved
                slope += moved * bend[j]
                largest = max(largest, abs(moved) * curvature[j])
        whole = len(active) == len(weights)
        if largest <= 1e-9 * max(1.0, float(np.abs(gradient).max())):
            if whole:
                break
            active = np.arange(len(weights))
        elif whole:
            active = np.flatnonzero((weights + step != 0) | (l1 == 0))
    return step
