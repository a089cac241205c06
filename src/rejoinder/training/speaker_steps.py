"""The training loop of SSREM, RSREM and RUBER: Adam (Kingma and Ba 2015) over places drawn in an order of their own.

What happens at a step follows from the seed, the epoch and the step alone. So a training that was killed goes on from
its last checkpoint to the very weights that it would have come to.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rejoinder.models.speaker_network import Array, Network, Weights
from rejoinder.sources._corpus import Numbers
from rejoinder.training.speaker_checkpoint import State
from rejoinder.training.speaker_losses import Lost
from rejoinder.training.speaker_places import Rows

_DECAYS, _SMALL = (0.9, 0.999), 1e-8
_LEAST_RATE = 0.02  # of the first; the rate falls evenly from the first step to the last
_SECONDS = 30.0  # between two checkpoints in mid-epoch
_TOLD = 2.0  # seconds between two lines of progress
_AHEAD = 16  # batches whose negatives are drawn together


class Problem(Protocol):
    """What is trained on: places by their number, and the loss."""

    @property
    def n(self) -> int:
        """How many places there are to train on."""
        ...

    def drawn(self, places: Numbers, epoch: int) -> Numbers:
        """The negatives of some places in an epoch."""
        ...

    def rows(self, places: Numbers, drawn: Numbers) -> Rows:
        """The places as a network reads them."""
        ...

    def loss(self, scores: Array, rows: Rows) -> Lost:
        """The loss of a batch's scores."""
        ...

    def held_out(self, network: Network, weights: dict[str, Array]) -> float:
        """The loss over held-out places; for a likelihood, minus its logarithm."""
        ...


@dataclass(frozen=True)
class Pace:
    """How a training steps."""

    epochs: int
    batch: int
    rate: float
    pull: float  # of the weights back to their start
    patience: int  # epochs without a better held-out loss after which it ends
    seed: int


def fit(
    network: Network,
    problem: Problem,
    state: State,
    start: Weights,
    pace: Pace,
    keep: Callable[[State], None],
    say: Callable[[str], None],
) -> State:
    """Train to the end, from wherever the state stands; ``start``: the first weights, ``keep``: writes a checkpoint."""
    while state.epoch < pace.epochs and state.epoch - state.best_epoch <= pace.patience:
        begun = time.perf_counter()
        _epoch(network, problem, state, start, pace, keep, say)
        held_out = problem.held_out(network, state.weights)
        loss = state.lost / problem.n
        if held_out < state.best_loss:
            state.best_loss, state.best_epoch = held_out, state.epoch
            state.best = {name: array.copy() for name, array in state.weights.items()}
        state.history.append({"train": round(loss, 6), "valid": round(held_out, 6)})
        spent = time.perf_counter() - begun
        say(f"epoch {state.epoch + 1} of {pace.epochs}: loss {loss:.4f}, held out {held_out:.4f}, {spent:.1f} s")
        state.epoch, state.begin, state.lost = state.epoch + 1, 0, 0.0
        keep(state)
    return state


def _epoch(
    network: Network,
    problem: Problem,
    state: State,
    start: Weights,
    pace: Pace,
    keep: Callable[[State], None],
    say: Callable[[str], None],
) -> None:
    order = np.random.default_rng([pace.seed, state.epoch]).permutation(problem.n)
    total = pace.epochs * -(-problem.n // pace.batch)
    kept = told = begun = time.perf_counter()
    from_here = state.begin
    ahead = pace.batch * _AHEAD
    while state.begin < problem.n:
        # Blocks begin at multiples of their size, wherever a training goes on.
        block = order[state.begin : (state.begin // ahead + 1) * ahead]
        drawn = problem.drawn(block, state.epoch)
        for begin in range(0, len(block), pace.batch):
            places, negatives = block[begin : begin + pace.batch], drawn[begin : begin + pace.batch]
            rows = problem.rows(places, negatives)
            found = network.scores(state.weights, rows.contexts, rows.replies)
            lost = problem.loss(found.scores, rows)
            slopes = lost.slopes.astype(rows.contexts.dtype)
            gradient = network.gradient(state.weights, rows.contexts, rows.replies, found, slopes)
            _step(state, gradient, start, pace, total)
            state.lost += lost.loss * len(places)
            state.begin += len(places)
            now = time.perf_counter()
            if now - told > _TOLD:
                rate = (state.begin - from_here) / (now - begun)
                done = 100 * state.begin / problem.n
                say(
                    f"epoch {state.epoch + 1}, {done:.0f}%: loss {state.lost / state.begin:.4f}, {rate:,.0f} contexts/s"
                )
                told = now
            if now - kept > _SECONDS:
                keep(state)
                kept = now


def _step(state: State, gradient: Weights, start: Weights, pace: Pace, total: int) -> None:
    """One step of Adam; the pull back to the start stands apart from the gradient (Loshchilov and Hutter 2019)."""
    rate = pace.rate * max(_LEAST_RATE, 1 - state.step / total)
    state.step += 1
    first, second = (1 - decay**state.step for decay in _DECAYS)
    for name, slope in gradient.items():
        mean, spread, weights = state.means[name], state.spreads[name], state.weights[name]
        mean += (1 - _DECAYS[0]) * (slope - mean)
        spread += (1 - _DECAYS[1]) * (slope * slope - spread)
        moved = mean / (first * (np.sqrt(spread / second) + _SMALL)) + pace.pull * (weights - start[name])
        weights -= np.float32(rate) * moved
