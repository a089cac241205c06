"""IDK's regression as its authors trained it: Adam over batches of six dialogues, in numpy.

The paper says Adam, a learning rate of .001, batches of 6, two epochs, BCE and an L1 weight of 1; the authors' released
program settles the rest: a step's loss is the *sum* of the cross-entropies of its dialogues (each with its true reply
and its negative) plus the whole penalty, the bias is not penalised, L2 is the squared norm, and the triplet loss is a
mean. So the penalty weighs as much as six dialogues do, whatever the size of the data.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.aptness_calibration import Numbers
from rejoinder.models.contract import Vectors

Regularization: TypeAlias = Literal["l1", "l2", "none"]
Loss: TypeAlias = Literal["bce", "triplet"]
RATE, BATCH, EPOCHS, MARGIN = 0.001, 6, 2, 0.4
_DECAYS, _SMALL = (0.9, 0.999), 1e-8


class Fitted(NamedTuple):
    """The weights of a regression and its bias."""

    weights: Numbers
    bias: float


class Drawn(NamedTuple):
    """All that is drawn for a training: the first weights (the bias is the last) and the order of each epoch."""

    start: Numbers
    orders: list[NDArray[np.int64]]


def draw(rows: int, dimensions: int, seed: int) -> Drawn:
    """First weights as torch draws those of a linear layer, evenly from ±1/√d, and two orders."""
    random = np.random.default_rng([seed, 0])
    reach = dimensions**-0.5
    return Drawn(random.uniform(-reach, reach, dimensions + 1), [random.permutation(rows) for _ in range(EPOCHS)])


def fit_by_steps(
    true: Vectors,
    false: Vectors,
    seed: int,
    regularization: Regularization = "l1",
    loss: Loss = "bce",
    weight: float = 1.0,
) -> Fitted:
    """Train on pairs of vectors: row i of ``true`` and of ``false`` have one context."""
    drawn = draw(len(true), true.shape[1], seed)
    ones = np.ones((len(true), 1))
    rows = np.stack([np.hstack([part.astype(np.float64), ones]) for part in (true, false)], axis=1)
    found = drawn.start.copy()
    mean, spread = np.zeros_like(found), np.zeros_like(found)
    step = 0
    for order in drawn.orders:
        for begin in range(0, len(order), BATCH):
            step += 1
            gradient = slope(rows[order[begin : begin + BATCH]], found, loss)
            gradient[:-1] += weight * _of_penalty(found[:-1], regularization)
            mean += (1 - _DECAYS[0]) * (gradient - mean)
            spread += (1 - _DECAYS[1]) * (gradient**2 - spread)
            unbiased = spread / (1 - _DECAYS[1] ** step)
            found -= RATE * (mean / (1 - _DECAYS[0] ** step)) / (np.sqrt(unbiased) + _SMALL)
    return Fitted(found[:-1], float(found[-1]))


def slope(rows: Numbers, weights: Numbers, loss: Loss) -> Numbers:
    """The gradient of a batch's loss; rows are (dialogues, true and false, dimensions and 1)."""
    said = 1 / (1 + np.exp(-np.clip(rows @ weights, -60, 60)))
    if loss == "bce":
        errors = said - np.array([1.0, 0.0])
        found: Numbers = np.einsum("ij,ijk->k", errors, rows)
        return found
    # Appendix H prints y(c, r) - y(c, r') where y is the probability of a false reply, as in the authors' program;
    # here y is that of a true one, so the difference is turned round: the true reply must be ahead by the margin.
    behind = said[:, 1] - said[:, 0] + MARGIN
    steep = np.where(behind > 0, 1 / (1 + MARGIN - np.maximum(behind, 0)), 0) / len(rows)
    bend = said * (1 - said) * np.array([-1.0, 1.0])
    found = np.einsum("i,ij,ijk->k", steep, bend, rows)
    return found


def _of_penalty(weights: Numbers, regularization: Regularization) -> Numbers:
    if regularization == "l1":
        return np.sign(weights)
    return 2 * weights if regularization == "l2" else np.zeros_like(weights)
