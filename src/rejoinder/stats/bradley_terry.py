"""The model of Bradley and Terry (1952), fitted to a matrix of points; a tie is half a point for each.

With ties the likelihood is a quasi-likelihood: the expected points are right, their variance need not be, so standard
errors are the robust ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rejoinder.stats.arrays import NAN, Bools, Floats, Ints, sums_by

_STEPS = 100


def why_not(won: Floats, names: list[Any], shrinkage: float) -> str | None:
    """Why points, each system's (line) against each other (column), give no strengths; None where they do."""
    if len(names) < 2:
        return "fewer than 2 systems"
    met = won + won.T > 0
    part = reachable(met)[0]
    if not part.all():
        apart = ", ".join(str(name) for name, here in zip(names, part, strict=True) if not here)
        return f"no judgement connects {names[0]} with {apart}"
    if shrinkage > 0:
        return None
    beats = reachable(won > 0)
    for s, name in enumerate(names):
        if not beats[:, s].all():
            return f"nobody took a point from {name} or its equals, so its strength is infinite; set shrinkage"
    return None


def reachable(edges: Bools) -> Bools:
    """Which node reaches which along edges, itself included."""
    reach: Bools = edges | np.eye(len(edges), dtype=bool)
    for middle in range(len(reach)):
        reach |= reach[:, middle][:, None] & reach[middle][None, :]
    return reach


def fit(won: Floats, shrinkage: float) -> Floats:
    """The strengths that solve the score equations, by Newton's method with halved steps."""
    played = won + won.T
    strengths = np.zeros(len(won))

    def objective(theta: Floats) -> float:
        ahead = theta[:, None] - theta[None, :]
        return float((won * np.logaddexp(0, -ahead)).sum() + shrinkage / 2 * (theta**2).sum())

    for _ in range(_STEPS):
        expected = _expected(strengths[:, None] - strengths[None, :])
        gradient = (won - played * expected).sum(axis=1) - shrinkage * strengths
        step = np.linalg.solve(_information(strengths, played, shrinkage), gradient)
        before, scale = objective(strengths), 1.0
        while objective(strengths + scale * step) > before + 1e-12 and scale > 1e-10:
            scale /= 2
        strengths = strengths + scale * step
        strengths -= strengths.mean()
        if np.abs(step).max() < 1e-12:
            break
    return strengths


def _expected(ahead: Floats) -> Floats:
    from scipy.special import expit

    share: Floats = expit(ahead)
    return share


def _information(strengths: Floats, played: Floats, shrinkage: float) -> Floats:
    """The negative second derivative, made invertible along the one direction that means nothing."""
    expected = _expected(strengths[:, None] - strengths[None, :])
    weights = played * expected * (1 - expected)
    return np.diag(weights.sum(axis=1) + shrinkage) - weights + 1 / len(strengths)


def robust_errors(strengths: Floats, shrinkage: float, y: Floats, a: Ints, b: Ints, groups: Ints) -> Floats:
    """Robust standard errors of the strengths around their mean."""
    size = len(strengths)
    n_groups = len(np.unique(groups))
    if n_groups < 2:
        return np.full(size, NAN)
    residuals = y - _expected(strengths[a] - strengths[b])
    scores = sums_by(groups * size + a, residuals, size * n_groups)
    scores -= sums_by(groups * size + b, residuals, size * n_groups)
    played = np.bincount(a * size + b, minlength=size**2).reshape(size, size).astype(np.float64)
    centre = np.eye(size) - 1 / size
    bread = centre @ np.linalg.inv(_information(strengths, played + played.T, shrinkage))
    spread = bread @ scores.reshape(n_groups, size).T
    errors: Floats = np.sqrt((spread**2).sum(axis=1) * n_groups / (n_groups - 1))
    return errors
