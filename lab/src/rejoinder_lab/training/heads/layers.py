"""Dense layers trained on rows of numbers to tell two classes apart: back-propagation and Adam, without torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder_lab.models.head.model import logistic
from rejoinder_lab.training.recipes import HeadRecipe

Array: TypeAlias = NDArray[np.float32]
_DECAYS, _SMALL = (0.9, 0.999), 1e-8


def train_layers(
    sample: Callable[[int], tuple[Array, Array]],
    valid: tuple[Array, Array],
    recipe: HeadRecipe,
    log: Callable[[str], None],
) -> dict[str, Array]:
    """Return the layers with the least held-out loss; ``sample`` returns the rows and labels of an epoch."""
    random = np.random.default_rng(recipe.seed)
    weights = _start(valid[0].shape[1], recipe.hidden, random)
    best, best_loss, best_epoch = weights, np.inf, 0
    optimizer = _Adam(weights, recipe)
    for epoch in range(recipe.epochs):
        rows, labels = sample(epoch)
        order = random.permutation(len(rows))
        for begin in range(0, len(order), recipe.batch):
            batch = order[begin : begin + recipe.batch]
            optimizer.step(_gradient(weights, rows[batch], labels[batch]))
        loss = cross_entropy(weights, *valid)
        log(f"epoch {epoch + 1} of {recipe.epochs}: held-out loss {loss:.4f}")
        if loss < best_loss:
            best, best_loss, best_epoch = {n: array.copy() for n, array in weights.items()}, loss, epoch
        elif epoch - best_epoch >= recipe.patience:
            break
    return best


def cross_entropy(weights: Mapping[str, Array], rows: Array, labels: Array) -> float:
    """Return minus the mean log-likelihood of the labels."""
    odds = _forward(weights, rows)[-1][:, 0].astype(np.float64)
    return float(np.mean(np.logaddexp(0, odds) - labels * odds))


def _start(width: int, hidden: tuple[int, ...], random: np.random.Generator) -> dict[str, Array]:
    """Return layers initialised uniformly as in Glorot and Bengio (2010)."""
    weights: dict[str, Array] = {}
    widths = (width, *hidden, 1)
    for layer, (rows, columns) in enumerate(pairwise(widths)):
        bound = (6 / (rows + columns)) ** 0.5
        weights[f"{layer}.matrix"] = random.uniform(-bound, bound, (rows, columns)).astype(np.float32)
        weights[f"{layer}.bias"] = np.zeros(columns, np.float32)
    return weights


def _forward(weights: Mapping[str, Array], rows: Array) -> list[Array]:
    """Return the rows and the output of each layer; all but the last have a tanh."""
    depth = len(weights) // 2
    outputs = [rows]
    for layer in range(depth):
        sums = outputs[-1] @ weights[f"{layer}.matrix"] + weights[f"{layer}.bias"]
        outputs.append(np.tanh(sums) if layer + 1 < depth else sums)
    return outputs


def _gradient(weights: Mapping[str, Array], rows: Array, labels: Array) -> dict[str, Array]:
    """Return the gradient of the cross-entropy."""
    outputs = _forward(weights, rows)
    slopes = ((logistic(outputs[-1][:, 0]) - labels) / len(rows)).astype(np.float32)[:, None]
    gradient: dict[str, Array] = {}
    for layer in reversed(range(len(weights) // 2)):
        gradient[f"{layer}.matrix"] = outputs[layer].T @ slopes
        gradient[f"{layer}.bias"] = slopes.sum(axis=0)
        if layer:
            slopes = (slopes @ weights[f"{layer}.matrix"].T) * (1 - outputs[layer] ** 2)
    return gradient


class _Adam:
    """Adam (Kingma and Ba 2015) on weights in place; their decay is not part of the gradient."""

    def __init__(self, weights: dict[str, Array], recipe: HeadRecipe) -> None:
        self._weights, self._recipe = weights, recipe
        self._moments: dict[str, list[Any]] = {name: [0.0, 0.0] for name in weights}
        self._steps = 0

    def step(self, gradient: Mapping[str, Array]) -> None:
        """Take one step."""
        self._steps += 1
        corrections = [1 - decay**self._steps for decay in _DECAYS]
        for name, slope in gradient.items():
            moments, weights = self._moments[name], self._weights[name]
            for i, power in enumerate((slope, slope * slope)):
                moments[i] = _DECAYS[i] * moments[i] + (1 - _DECAYS[i]) * power
            change = moments[0] / corrections[0] / (np.sqrt(moments[1] / corrections[1]) + _SMALL)
            weights -= np.float32(self._recipe.rate) * (change + np.float32(self._recipe.decay) * weights)
