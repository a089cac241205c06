"""The training loop of SSREM, RSREM and RUBER: Adam (Kingma and Ba 2015) over places in a random order.

A step depends only on the seed, the epoch and the step. So a training that was killed continues from its last
checkpoint to exactly the same weights.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.indexes.corpus import Numbers
from rejoinder.models.speaker.network import Array, ScorerNetwork, Weights
from rejoinder_lab.training.speaker.checkpoint import ScorerState
from rejoinder_lab.training.speaker.places import PlaceRows

Loss: TypeAlias = Literal["classification", "ranking", "margin"]
MARGIN = 0.5  # by which RUBER's true reply must be ahead of its negative
RANK_STEP = 0.1  # by which, in the ranking loss, a reply must be ahead of that of the next set
RAW_RANK_STEP = 1.0  # the same where scores are without tanh: the unit of the classification's log-odds


class LossResult(NamedTuple):
    """A loss and its slopes."""

    loss: float
    slopes: Array


def scorer_classification_loss(scores: Array, there: NDArray[np.bool_], temperature: float) -> LossResult:
    """Return minus the log-likelihood of the true reply among those that exist (Bak and Oh 2020, equations 4 and 5).

    The likelihood is proportional to exp(f / temperature); the paper's temperature is 1.
    """
    odds = np.where(there, scores / temperature, -np.inf)
    odds = odds - odds.max(axis=1, keepdims=True)
    chances = np.exp(odds)
    total = chances.sum(axis=1, keepdims=True)
    slopes = chances / total
    loss = float((np.log(total[:, 0]) - odds[:, 0]).mean())
    slopes[:, 0] -= 1
    return LossResult(loss, slopes / (temperature * len(scores)))


def scorer_ranking_loss(scores: Array, there: NDArray[np.bool_], step: float = RANK_STEP) -> LossResult:
    """Return how far replies are from this order: true, same conversation, partner, speaker, random.

    Two replies whose sets are d apart in that order must differ by d steps; the loss is what is missing, as a mean over
    the pairs of a row. This is the ranking loss that the paper names as its next step (section 8).
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
    return LossResult(float(loss.mean()), slopes / len(scores))


def scorer_margin_loss(scores: Array, there: NDArray[np.bool_], ahead: float = MARGIN) -> LossResult:
    """Return how far the true reply is from being ahead of each negative by a margin (Tao et al. 2018)."""
    behind = np.where(there[:, 1:], ahead - scores[:, :1] + scores[:, 1:], 0)
    short = (behind > 0).astype(scores.dtype)
    count = np.maximum(there[:, 1:].sum(axis=1, keepdims=True), 1)
    slopes = np.concatenate([-(short / count).sum(axis=1, keepdims=True), short / count], axis=1)
    loss = float((np.maximum(behind, 0) / count).sum(axis=1).mean())
    return LossResult(loss, slopes / len(scores))


def compute_scorer_loss(
    name: Loss, scores: Array, there: NDArray[np.bool_], temperature: float, raw: bool = False
) -> LossResult:
    """Return the loss of a name; ``raw``: the scores are without tanh."""
    if name == "classification":
        return scorer_classification_loss(scores, there, temperature)
    if name == "ranking":
        return scorer_ranking_loss(scores, there, RAW_RANK_STEP if raw else RANK_STEP)
    return scorer_margin_loss(scores, there)


_DECAYS, _SMALL = (0.9, 0.999), 1e-8
_LEAST_RATE = 0.02  # of the first rate; the rate falls linearly from the first step to the last
_CHECKPOINT_SECONDS = 30.0  # between two checkpoints in mid-epoch
_REPORT_SECONDS = 2.0  # seconds between two lines of progress
_BATCHES_AHEAD = 16  # batches whose negatives are sampled together


class TrainingProblem(Protocol):
    """What is trained on: places by their number, and the loss."""

    @property
    def n(self) -> int:
        """The number of places to train on."""
        ...

    def negatives(self, places: Numbers, epoch: int) -> Numbers:
        """Return the negatives of some places in an epoch."""
        ...

    def rows(self, places: Numbers, negatives: Numbers) -> PlaceRows:
        """Return the places as a network reads them."""
        ...

    def loss(self, scores: Array, rows: PlaceRows) -> LossResult:
        """Return the loss of a batch's scores."""
        ...

    def held_out(self, network: ScorerNetwork, weights: dict[str, Array]) -> float:
        """Return the loss over held-out places; for a likelihood, minus its logarithm."""
        ...


@dataclass(frozen=True)
class TrainingPace:
    """The settings of a training's steps."""

    epochs: int
    batch: int
    rate: float
    pull: float  # of the weights back to their start
    patience: int  # stop after so many epochs without a better held-out loss
    seed: int
    clip: float = 0.0  # the largest norm of a gradient; 0: any
    steady: bool = False  # the same rate from the first step to the last


def train_scorer_weights(
    network: ScorerNetwork,
    problem: TrainingProblem,
    state: ScorerState,
    start: Weights,
    pace: TrainingPace,
    save: Callable[[ScorerState], None],
    log: Callable[[str], None],
) -> ScorerState:
    """Train from a state to the end; ``start``: the first weights, ``keep``: writes a checkpoint."""
    while state.epoch < pace.epochs and state.epoch - state.best_epoch <= pace.patience:
        start_time = time.perf_counter()
        _run_epoch(network, problem, state, start, pace, save, log)
        held_out = problem.held_out(network, state.weights)
        loss = state.lost / problem.n
        if held_out < state.best_loss:
            state.best_loss, state.best_epoch = held_out, state.epoch
            state.best = {name: array.copy() for name, array in state.weights.items()}
        state.history.append({"train": round(loss, 6), "valid": round(held_out, 6)})
        seconds = time.perf_counter() - start_time
        log(f"epoch {state.epoch + 1} of {pace.epochs}: loss {loss:.4f}, held out {held_out:.4f}, {seconds:.1f} s")
        state.epoch, state.begin, state.lost = state.epoch + 1, 0, 0.0
        save(state)
    return state


def _run_epoch(
    network: ScorerNetwork,
    problem: TrainingProblem,
    state: ScorerState,
    start: Weights,
    pace: TrainingPace,
    save: Callable[[ScorerState], None],
    log: Callable[[str], None],
) -> None:
    order = np.random.default_rng([pace.seed, state.epoch]).permutation(problem.n)
    total = pace.epochs * -(-problem.n // pace.batch)
    last_checkpoint = last_report = start_time = time.perf_counter()
    from_here = state.begin
    ahead = pace.batch * _BATCHES_AHEAD
    while state.begin < problem.n:
        # Blocks begin at multiples of their size, wherever a training continues.
        block = order[state.begin : (state.begin // ahead + 1) * ahead]
        all_negatives = problem.negatives(block, state.epoch)
        for begin in range(0, len(block), pace.batch):
            places, negatives = block[begin : begin + pace.batch], all_negatives[begin : begin + pace.batch]
            rows = problem.rows(places, negatives)
            output = network.scores(state.weights, rows.contexts, rows.replies)
            result = problem.loss(output.scores, rows)
            slopes = result.slopes.astype(rows.contexts.dtype)
            gradient = network.gradient(state.weights, rows.contexts, rows.replies, output, slopes)
            _adam_step(state, gradient, start, pace, total)
            state.lost += result.loss * len(places)
            state.begin += len(places)
            now = time.perf_counter()
            if now - last_report > _REPORT_SECONDS:
                rate = (state.begin - from_here) / (now - start_time)
                done = 100 * state.begin / problem.n
                log(
                    f"epoch {state.epoch + 1}, {done:.0f}%: loss {state.lost / state.begin:.4f}, {rate:,.0f} contexts/s"
                )
                last_report = now
            if now - last_checkpoint > _CHECKPOINT_SECONDS:
                save(state)
                last_checkpoint = now


def _adam_step(state: ScorerState, gradient: Weights, start: Weights, pace: TrainingPace, total: int) -> None:
    """Take one step of Adam; the pull back to the start is not part of the gradient (Loshchilov and Hutter 2019)."""
    rate = pace.rate * (1 if pace.steady else max(_LEAST_RATE, 1 - state.step / total))
    if pace.clip:
        norm = float(np.sqrt(sum(np.vdot(slope, slope) for slope in gradient.values())))
        gradient = {name: slope * np.float32(min(1, pace.clip / max(norm, _SMALL))) for name, slope in gradient.items()}
    state.step += 1
    first, second = (1 - decay**state.step for decay in _DECAYS)
    for name, slope in gradient.items():
        mean, spread, weights = state.means[name], state.spreads[name], state.weights[name]
        mean += (1 - _DECAYS[0]) * (slope - mean)
        spread += (1 - _DECAYS[1]) * (slope * slope - spread)
        change = mean / (first * (np.sqrt(spread / second) + _SMALL)) + pace.pull * (weights - start[name])
        weights -= np.float32(rate) * change
