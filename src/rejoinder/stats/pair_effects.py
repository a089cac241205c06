"""What decides a choice between two replies besides the systems: the place, the length.

Bradley and Terry's model with covariates: the log-odds that the first of two replies is chosen are the difference of
two systems' strengths plus an effect for each covariate. A tie is half a choice for each. Intervals come from the
robust (sandwich) covariance over clusters, with the factor G / (G - 1) and Student's t, as in ``bradley_terry``. The
strengths are shrunk a little, so that a system that always wins does not hide the effects.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rejoinder.stats.arrays import NAN, Floats, Ints, Labels, Numbers, as_floats, check_same_length, encode_labels
from rejoinder.stats.interval import Interval

_SHRINKAGE = 0.01
_MAX_STEPS = 100
_LARGEST = 30.0  # log-odds: beyond, the covariate decides every choice
_SAME = 1e-9


def estimate_pair_effects(
    first: Labels,
    second: Labels,
    points: Numbers,
    covariates: Mapping[str, Numbers],
    clusters: Labels | None = None,
    level: float = 0.95,
) -> dict[str, Interval]:
    """The effect of each covariate on the log-odds that the first is chosen, with the systems' strengths removed.

    ``points`` are 1 (the first was chosen), 0.5 (a tie), 0, or NaN for no answer. NaN where the covariates always
    decide or cannot be told apart from the systems; ``reason`` says so.
    """
    y = as_floats(points, "points")
    columns = {name: as_floats(values, name) for name, values in covariates.items()}
    groups = np.arange(len(y)) if clusters is None else encode_labels(clusters, "clusters")[0]
    check_same_length(first=first, second=second, points=y, clusters=groups, **columns)
    known = ~np.isnan(y)
    codes, names = encode_labels([*first, *second], "systems")
    systems = np.zeros((len(y), len(names)))
    rows = np.arange(len(y))
    np.add.at(systems, (rows, codes[: len(y)]), 1.0)
    np.add.at(systems, (rows, codes[len(y) :]), -1.0)
    design = np.hstack([systems, *(column[:, None] for column in columns.values())])[known]
    groups = np.unique(groups[known], return_inverse=True)[1]
    n_clusters = int(groups.max(initial=-1)) + 1
    empty = Interval(NAN, NAN, NAN, int(known.sum()), int((~known).sum()), n_clusters)
    if reason := _explain_no_effects(design, len(names), n_clusters):
        return {name: empty._replace(reason=reason) for name in columns}
    penalty = np.zeros(design.shape[1])
    penalty[: len(names)] = _SHRINKAGE
    fit = _fit_logistic(design, y[known], penalty)
    if fit is None:
        return {name: empty._replace(reason="the covariates decide every choice") for name in columns}
    errors = _robust_errors(design, y[known], fit, penalty, groups)
    return {
        name: _make_interval(empty, fit[len(names) + i], errors[len(names) + i], level)
        for i, name in enumerate(columns)
    }


def _explain_no_effects(design: Floats, n_systems: int, n_clusters: int) -> str | None:
    """Why the effects cannot be estimated; None if they can."""
    if n_clusters < 2:
        return "fewer than 2 clusters"
    systems, others = design[:, :n_systems], design[:, n_systems:]
    rest = others - systems @ np.linalg.lstsq(systems, others, rcond=None)[0]
    scale = np.maximum(1.0, np.abs(others).max(initial=0.0))
    if np.linalg.matrix_rank(rest, tol=_SAME * scale * len(design)) < others.shape[1]:
        return "they do not vary apart from the systems"
    return None


def _fit_logistic(design: Floats, y: Floats, penalty: Floats) -> Floats | None:
    """The coefficients, by Newton's method with halved steps; None where they are infinite."""
    from scipy.special import expit

    fit: Floats = np.zeros(design.shape[1])

    def loss(coefficients: Floats) -> float:
        odds = design @ coefficients
        return float((np.logaddexp(0, odds) - y * odds).sum() + (penalty * coefficients**2).sum() / 2)

    for _ in range(_MAX_STEPS):
        share = expit(design @ fit)
        gradient = design.T @ (y - share) - penalty * fit
        step = np.linalg.lstsq(_information(design, share, penalty), gradient, rcond=None)[0]
        before, scale = loss(fit), 1.0
        while loss(fit + scale * step) > before + 1e-12 and scale > 1e-10:
            scale /= 2
        fit = fit + scale * step
        if np.abs(design @ fit).max() > _LARGEST:
            return None
        if np.abs(step).max() < 1e-10:
            return fit
    return None


def _information(design: Floats, share: Floats, penalty: Floats) -> Floats:
    information: Floats = (design * (share * (1 - share))[:, None]).T @ design + np.diag(penalty)
    return information


def _robust_errors(design: Floats, y: Floats, fit: Floats, penalty: Floats, groups: Ints) -> Floats:
    from scipy.special import expit

    share = expit(design @ fit)
    n_clusters = int(groups.max()) + 1
    scores = np.zeros((n_clusters, design.shape[1]))
    np.add.at(scores, groups, design * (y - share)[:, None])
    spread = np.linalg.pinv(_information(design, share, penalty)) @ scores.T
    errors: Floats = np.sqrt((spread**2).sum(axis=1) * n_clusters / (n_clusters - 1))
    return errors


def _make_interval(empty: Interval, value: float, error: float, level: float) -> Interval:
    from scipy.special import stdtrit

    margin = float(stdtrit(empty.n_clusters - 1, (1 + level) / 2)) * float(error)
    return empty._replace(value=float(value), low=float(value) - margin, high=float(value) + margin)
