"""The losses of SSREM, RSREM and RUBER over the scores of a true reply (the first column) and its negatives.

Each takes scores (n, k) and which of them are there (the first of a row always is), and gives the mean loss of the rows
with its slope for every score.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.speaker_network import Array

Loss: TypeAlias = Literal["classification", "ranking", "margin"]
MARGIN = 0.5  # by which RUBER's true reply must be ahead of its negative
STEP = 0.1  # by which, in the ranking loss, a reply must be ahead of that of the next set


class Lost(NamedTuple):
    """A loss and its slopes."""

    loss: float
    slopes: Array


def classification(scores: Array, there: NDArray[np.bool_], temperature: float) -> Lost:
    """Minus the log-likelihood of the true reply among those that are there (Bak and Oh 2020, equations 4 and 5).

    The likelihood goes by exp(f / temperature); the paper's temperature is 1.
    """
    odds = np.where(there, scores / temperature, -np.inf)
    odds = odds - odds.max(axis=1, keepdims=True)
    chances = np.exp(odds)
    total = chances.sum(axis=1, keepdims=True)
    slopes = chances / total
    loss = float((np.log(total[:, 0]) - odds[:, 0]).mean())
    slopes[:, 0] -= 1
    return Lost(loss, slopes / (temperature * len(scores)))


def ranking(scores: Array, there: NDArray[np.bool_], step: float = STEP) -> Lost:
    """How far each two replies are from their order: true, same conversation, partner, speaker, random.

    A pair whose sets stand d apart in that order must be apart by d steps; what is missing counts, as a mean over the
    pairs of a row. This is the ranking loss that the paper names as its next step (section 8).
    """
    k = scores.shape[1]
    slopes = np.zeros_like(scores)
    loss = np.zeros(len(scores))
    pairs = np.maximum(sum((there[:, i] & there[:, j]) for i in range(k) for j in range(i + 1, k)), 1)
    for i in range(k):
        for j in range(i + 1, k):
            behind = (j - i) * step - (scores[:, i] - scores[:, j])
            short = (behind > 0) & there[:, i] & there[:, j]
            loss += np.where(short, behind, 0) / pairs
            slopes[:, i] -= short / pairs
            slopes[:, j] += short / pairs
    return Lost(float(loss.mean()), slopes / len(scores))


def margin(scores: Array, there: NDArray[np.bool_], ahead: float = MARGIN) -> Lost:
    """How far the true reply is from being ahead of each negative by a margin (Tao et al. 2018)."""
    behind = np.where(there[:, 1:], ahead - scores[:, :1] + scores[:, 1:], 0)
    short = (behind > 0).astype(scores.dtype)
    count = np.maximum(there[:, 1:].sum(axis=1, keepdims=True), 1)
    slopes = np.concatenate([-(short / count).sum(axis=1, keepdims=True), short / count], axis=1)
    loss = float((np.maximum(behind, 0) / count).sum(axis=1).mean())
    return Lost(loss, slopes / len(scores))


def loss_of(name: Loss, scores: Array, there: NDArray[np.bool_], temperature: float) -> Lost:
    """The loss of a name."""
    if name == "classification":
        return classification(scores, there, temperature)
    return ranking(scores, there) if name == "ranking" else margin(scores, there)
