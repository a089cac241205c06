"""Minimax conditional entropy (Zhou, Liu, Platt and Meek 2014), regularised, for ordered and unordered classes.

Rater i gives unit j of class c the label k with probability proportional to exp(s_i(c, k) + t_j(c, k)): s is how the
rater confuses classes, t how the unit lets them be confused. Among all distributions of labels that keep, for every
rater and every unit, how often class c got label k, this one has the largest entropy; and the classes are those that
minimise that entropy. Penalties let the counts be matched only approximately, as few votes demand. In the dual, with
the optimal class probabilities, it is the maximum of

    sum over units of log(sum over classes of the product of P(label | class) over the unit's votes)
        - a/2 sum |s_i|^2 - b/2 sum |t_j|^2,          b = a * votes per rater / votes per unit,

found by L-BFGS, starting from the result of a first run with the shares of the votes as probabilities.

One thing is added: weights that all votes share, without a penalty (``shared``). Without them the penalties pull a
rater with few votes towards answering at random, and classes drift away from the labels that they are named after; with
five votes per unit the model is then often worse than the most frequent label (docs/agreement.md). Without
``shared`` and with a = classes^2 / 4 it is what the authors published.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rejoinder.stats.aggregation._votes import Aggregated, Votes, label_units
from rejoinder.stats.arrays import Floats

STRENGTH = 1 / 6  # of classes^2: the penalty of raters; chosen on simulated raters, other draws than the tests use
PUBLISHED_STRENGTH = 1 / 4
_FIRST, _MOST = 15, 1000
_BIAS_PENALTY = 1e-2  # almost no penalty: keeps the shared weights finite where nobody ever errs


class MinimaxStructure(NamedTuple):
    """Features of each (class, label): shared by all votes, of each rater, of each unit."""

    shared: Floats
    raters: Floats
    units: Floats


class _Dual:
    """The function to maximise, over all weights in one array, and its gradient."""

    def __init__(self, votes: Votes, structure: MinimaxStructure, strength: float) -> None:
        from scipy.sparse import csr_matrix

        self.votes, self.structure = votes, structure
        self.size = len(votes.categories)
        self.rows = np.arange(len(votes))
        ones = np.ones(len(votes))
        self.by_rater = csr_matrix((ones, (votes.rater, self.rows)), (votes.n_raters, len(votes)))
        self.by_unit = csr_matrix((ones, (votes.unit, self.rows)), (votes.n_units, len(votes)))
        rater_penalty = strength * self.size**2
        unit_penalty = rater_penalty * int((votes.sizes > 0).sum()) / len(np.unique(votes.rater))
        self.penalties = _BIAS_PENALTY, rater_penalty, unit_penalty
        heights = 1, votes.n_raters, votes.n_units
        self.shapes = [(n, features.shape[1]) for n, features in zip(heights, structure, strict=True)]
        self.ends = np.cumsum([height * width for height, width in self.shapes])
        self.steepness = self._steepness()

    def _steepness(self) -> Floats:
        """The approximate curvature along each weight; scaled by its root, the weights need fewer steps."""
        votes = [np.array([len(self.votes)]), np.bincount(self.votes.rater, minlength=self.votes.n_raters)]
        votes.append(self.votes.sizes)
        parts = zip(votes, self.penalties, self.shapes, strict=True)
        rows = (np.repeat(penalty + n / self.size**2, width) for n, penalty, (_, width) in parts)
        return np.concatenate(list(rows))

    def classes(self, weights: Floats) -> Floats:
        """The probabilities of each unit's classes."""
        scores = self.by_unit @ self._label_logs(self._logs(weights)).T
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities: Floats = scores / scores.sum(axis=1, keepdims=True)
        return probabilities

    def scaled_value(self, scaled_weights: Floats, probabilities: Floats | None = None) -> tuple[float, Floats]:
        """The same over weights scaled by the root of their steepness."""
        scale = np.sqrt(self.steepness)
        value, slope = self.value(scaled_weights / scale, probabilities)
        return value, slope / scale

    def value(self, weights: Floats, probabilities: Floats | None = None) -> tuple[float, Floats]:
        """The negative value, for a minimiser, and its gradient; at these probabilities, or at the best ones."""
        logs = self._logs(weights)
        label_logs = self._label_logs(logs)
        if probabilities is None:
            scores = self.by_unit @ label_logs.T
            highest = scores.max(axis=1, keepdims=True)
            likelihoods = np.exp(scores - highest)
            total = likelihoods.sum(axis=1, keepdims=True)
            value = float((highest + np.log(total)).sum())
            expected = (likelihoods / total)[self.votes.unit].T
        else:
            expected = probabilities[self.votes.unit].T
            value = float((expected * label_logs).sum())
        slope = np.exp(logs, out=logs)
        slope *= -expected[:, None, :]
        slope[:, self.votes.label, self.rows] += expected
        slope = slope.reshape(self.size**2, -1)
        upwards = slope.sum(axis=1)[None, :], self.by_rater @ slope.T, self.by_unit @ slope.T
        slopes = []
        for part, gradient, features, penalty in zip(
            self._parts(weights), upwards, self.structure, self.penalties, strict=True
        ):
            value -= penalty / 2 * float((part**2).sum())
            slopes.append((gradient @ features - penalty * part).ravel())
        return -value, -np.concatenate(slopes)

    def _parts(self, weights: Floats) -> list[Floats]:
        parts = np.split(weights, self.ends[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def _logs(self, weights: Floats) -> Floats:
        """log P(label | class) of every vote: (classes, labels, votes), so that sums run over long rows."""
        parts = zip(self._parts(weights), self.structure, strict=True)
        shared, raters, units = (features @ part.T for part, features in parts)
        scores: Floats = (shared + raters[:, self.votes.rater]) + units[:, self.votes.unit]
        scores = scores.reshape(self.size, self.size, -1)
        scores -= scores.max(axis=1, keepdims=True)
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return scores

    def _label_logs(self, logs: Floats) -> Floats:
        """The entries of the votes' own labels: (classes, votes)."""
        label_logs: Floats = logs[:, self.votes.label, self.rows]
        return label_logs


def fit_minimax(votes: Votes, structure: MinimaxStructure, strength: float = STRENGTH) -> Aggregated:
    """The most probable class of each unit."""
    from scipy.optimize import minimize

    if len(votes.categories) == 1 or votes.sizes.max() < 2:
        return label_units(votes, votes.shares)  # without two votes on a unit there is nothing to learn from
    dual = _Dual(votes, structure, strength)
    start = np.zeros(int(dual.ends[-1]))
    first_fit = minimize(
        dual.scaled_value, start, (np.nan_to_num(votes.shares),), "L-BFGS-B", jac=True, options={"maxiter": _FIRST}
    )
    settings = {"maxiter": _MOST, "maxfun": 2 * _MOST, "ftol": 1e-10, "gtol": 1e-6}
    fit = minimize(dual.scaled_value, first_fit.x, (), "L-BFGS-B", jac=True, options=settings)
    probabilities = dual.classes(fit.x / np.sqrt(dual.steepness))
    return label_units(votes, probabilities, int(first_fit.nit + fit.nit), bool(fit.success))
