"""Binary logistic regression with an L2 penalty, by L-BFGS: what Algorithm 2 trains in every fold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rejoinder.stats.arrays import Bools, Floats


class Regression(NamedTuple):
    """Weights and intercept."""

    weights: Floats
    intercept: float


def fit(rows: Floats, labels: Bools, penalty: float = 1.0) -> Regression:
    """The minimum of the summed log loss and the penalty on half the squared weights; the intercept is free.

    The same as scikit-learn's with C = 1 / penalty.
    """
    from scipy.optimize import minimize

    signs = np.where(labels, 1.0, -1.0)

    def loss(point: Floats) -> tuple[float, Floats]:
        weights, intercept = point[:-1], point[-1]
        margins = signs * (rows @ weights + intercept)
        pull = -signs * np.exp(-np.logaddexp(0.0, margins))
        total = float(np.logaddexp(0.0, -margins).sum() + penalty / 2 * (weights @ weights))
        return total, np.append(rows.T @ pull + penalty * weights, pull.sum())

    found = minimize(
        loss, np.zeros(rows.shape[1] + 1), jac=True, method="L-BFGS-B", options={"gtol": 1e-6, "maxiter": 500}
    )
    return Regression(found.x[:-1], float(found.x[-1]))


def probability(scores: Floats) -> Floats:
    """The logistic curve."""
    found: Floats = np.exp(-np.logaddexp(0.0, -scores))
    return found
