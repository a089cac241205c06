"""Strengths of systems and their ties by maximum likelihood: Davidson's (1970) model, and whether they exist.

Of two systems with strengths a and b, the weights of the outcomes are exp((a - b) / 2), exp((b - a) / 2) and, for a
tie, v. The likelihood is log-concave in the strengths and in the logarithm of v, which is minus infinity where
nothing is tied: then the model is that of Bradley and Terry (1952).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rejoinder.stats.arrays import NAN, Bools, Floats, Ints, sum_by_code

REMEDY = "; set shrinkage"
_MAX_STEPS = 100


def explain_no_strengths(wins: Floats, tied: Floats, names: list[Any], shrinkage: float) -> str | None:
    """Why these wins (one row per system, against each system in a column) and ties give no strengths, or None."""
    if len(names) < 2:
        return "fewer than 2 systems"
    reachable = find_reachable(wins + wins.T + tied > 0)[0]
    if not reachable.all():
        others = ", ".join(str(name) for name, is_reachable in zip(names, reachable, strict=True) if not is_reachable)
        return f"no judgement connects {names[0]} with {others}"
    if shrinkage > 0:
        return None
    if not wins.any():
        return "every judgement is a tie"
    beats = find_reachable(wins + tied > 0)
    for s, name in enumerate(names):
        if not beats[:, s].all():
            return f"nobody took a point from {name} or its equals, so its strength is infinite{REMEDY}"
    if tied.any() and not _has_winning_circle(wins, tied):
        return f"wins go one way only, so that strengths and ties are infinite{REMEDY}"
    return None


def find_reachable(edges: Bools) -> Bools:
    """Which nodes each node reaches along edges, itself included."""
    reach: Bools = edges | np.eye(len(edges), dtype=bool)
    for middle in range(len(reach)):
        reach |= reach[:, middle][:, None] & reach[middle][None, :]
    return reach


def _has_winning_circle(wins: Floats, tied: Floats) -> bool:
    """Whether some circle of judgements has more wins than ties.

    Otherwise there are strengths in which every win is a lead by a step and every tie at most a step; multiplied by any
    number, with ties as much likelier, they fit ever better.
    """
    longest: Floats = np.where(wins > 0, 1.0, np.where(tied > 0, -1.0, -np.inf))
    for middle in range(len(longest)):
        longest = np.maximum(longest, longest[:, middle][:, None] + longest[middle][None, :])
        if (np.diag(longest) > 0).any():
            return True
    return False


class StrengthFit(NamedTuple):
    """The strengths, and the logarithm of the tie parameter: minus infinity where there is none."""

    strengths: Floats
    log_ties: float


def fit_strengths(wins: Floats, tied: Floats, shrinkage: float) -> StrengthFit:
    """The strengths and the tie parameter that solve the score equations, by Newton's method with halved steps."""
    n, n_tied = len(wins), tied.sum() / 2
    points, played = wins + tied / 2, wins + wins.T + tied
    if not wins.any():
        return StrengthFit(np.zeros(n), np.inf if n_tied else -np.inf)

    def objective(fit: StrengthFit) -> float:
        ahead = fit.strengths[:, None] - fit.strengths[None, :]
        odds = _tie_odds(ahead, fit.log_ties)
        loss = float((wins * np.logaddexp(0, -ahead)).sum() + shrinkage / 2 * (fit.strengths**2).sum())
        if n_tied:
            loss += float((wins * np.logaddexp(0, odds)).sum() + (tied * np.logaddexp(0, -odds)).sum() / 2)
        return loss

    fit = StrengthFit(np.zeros(n), float(np.log(2 * n_tied / wins.sum())) if n_tied else -np.inf)
    for _ in range(_MAX_STEPS):
        expected, tie = _predict(fit.strengths[:, None] - fit.strengths[None, :], fit.log_ties)
        gradient = (points - played * expected).sum(axis=1) - shrinkage * fit.strengths
        gradient = np.append(gradient, (tied - played * tie).sum() / 2) if n_tied else gradient
        step = np.linalg.solve(_information_matrix(fit, played, shrinkage), gradient)
        before, scale = objective(fit), 1.0
        while objective(_move(fit, scale * step)) > before + 1e-12 and scale > 1e-10:
            scale /= 2
        fit = _move(fit, scale * step)
        if np.abs(step).max() < 1e-12:
            break
    return fit


def _move(fit: StrengthFit, step: Floats) -> StrengthFit:
    strengths = fit.strengths + step[: len(fit.strengths)]
    return StrengthFit(strengths - strengths.mean(), fit.log_ties + float(step[len(strengths) :].sum()))


def _tie_odds(ahead: Floats, log_ties: float) -> Floats:
    """The log-odds of a tie between systems whose strengths differ by so much."""
    odds: Floats = log_ties - np.logaddexp(ahead / 2, -ahead / 2)
    return odds


def _predict(ahead: Floats, log_ties: float) -> tuple[Floats, Floats]:
    """The expected points of a system that is ahead by so much, and the probability of a tie."""
    from scipy.special import expit

    tie: Floats = expit(_tie_odds(ahead, log_ties))
    expected: Floats = expit(ahead) * (1 - tie) + tie / 2
    return expected, tie


def _information_matrix(fit: StrengthFit, played: Floats, shrinkage: float) -> Floats:
    """The negative second derivative, made invertible along the one direction without meaning.

    The last row and column are those of the tie parameter, where there is one.
    """
    expected, tie = _predict(fit.strengths[:, None] - fit.strengths[None, :], fit.log_ties)
    weights = played * (expected * (1 - expected) - tie / 4)
    information: Floats = np.diag(weights.sum(axis=1) + shrinkage) - weights + 1 / len(fit.strengths)
    if np.isinf(fit.log_ties):
        return information
    both = (played * tie * (0.5 - expected)).sum(axis=1)
    own = (played * tie * (1 - tie)).sum() / 2
    return np.block([[information, both[:, None]], [both[None, :], np.array([[own]])]])


def robust_errors(fit: StrengthFit, shrinkage: float, y: Floats, a: Ints, b: Ints, groups: Ints) -> Floats:
    """Robust standard errors of the strengths around their mean and, where there is one, of the tie parameter's log."""
    size, has_ties = len(fit.strengths), bool(np.isfinite(fit.log_ties))
    n_groups = len(np.unique(groups))
    if n_groups < 2:
        return np.full(size + has_ties, NAN)
    expected, tie = _predict(fit.strengths[a] - fit.strengths[b], fit.log_ties)
    residuals = y - expected
    scores = sum_by_code(groups * size + a, residuals, size * n_groups)
    scores -= sum_by_code(groups * size + b, residuals, size * n_groups)
    scores = scores.reshape(n_groups, size)
    played = np.bincount(a * size + b, minlength=size**2).reshape(size, size).astype(np.float64)
    centre = np.eye(size + has_ties)
    centre[:size, :size] -= 1 / size
    if has_ties:
        scores = np.column_stack([scores, sum_by_code(groups, (y == 0.5) - tie, n_groups)])
    bread = centre @ np.linalg.inv(_information_matrix(fit, played + played.T, shrinkage))
    spread = bread @ scores.T
    errors: Floats = np.sqrt((spread**2).sum(axis=1) * n_groups / (n_groups - 1))
    return errors
