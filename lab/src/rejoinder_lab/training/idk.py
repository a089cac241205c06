"""The recipe of `idk` (Berlot-Attwell and Rudzicz 2022, section 5): dialogues to a regression on frozen pair vectors.

A positive is a context with its own reply, its negative the same context with one fixed reply (or, as an ablation, with
a reply of other dialogues). No torch is needed with the default vectors, which are cached.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError
from rejoinder.models.aptness.calibration import Numbers
from rejoinder.models.base import Vectors
from rejoinder.models.idk import model as cards
from rejoinder.models.idk.model import IdkCard, regression_probabilities
from rejoinder.models.idk.pair_encoder import DEFAULT_ENCODER, PairEncoder, load_pair_encoder
from rejoinder.types import Dialogue
from rejoinder_lab.training.next_turns import NextTurn, sample_next_turns, shuffle_responses

Regularization: TypeAlias = Literal["l1", "l2", "none"]
Loss: TypeAlias = Literal["bce", "triplet"]
RATE, BATCH, EPOCHS, MARGIN = 0.001, 6, 2, 0.4
_DECAYS, _SMALL = (0.9, 0.999), 1e-8


class IdkRegression(NamedTuple):
    """The weights of a regression and its bias."""

    weights: Numbers
    bias: float


class TrainingDraws(NamedTuple):
    """The random parts of a training: the first weights (the bias is the last) and the order of each epoch."""

    start: Numbers
    orders: list[NDArray[np.int64]]


def draw_training(rows: int, dimensions: int, seed: int) -> TrainingDraws:
    """Return first weights as torch samples those of a linear layer, uniformly from ±1/√d, and the orders."""
    random = np.random.default_rng([seed, 0])
    reach = dimensions**-0.5
    return TrainingDraws(
        random.uniform(-reach, reach, dimensions + 1), [random.permutation(rows) for _ in range(EPOCHS)]
    )


def fit_by_gradient(
    true: Vectors,
    false: Vectors,
    seed: int,
    regularization: Regularization = "l1",
    loss: Loss = "bce",
    weight: float = 1.0,
) -> IdkRegression:
    """Train on pairs of vectors: row i of ``true`` and of ``false`` have one context."""
    draws = draw_training(len(true), true.shape[1], seed)
    ones = np.ones((len(true), 1))
    rows = np.stack([np.hstack([part.astype(np.float64), ones]) for part in (true, false)], axis=1)
    weights = draws.start.copy()
    mean, spread = np.zeros_like(weights), np.zeros_like(weights)
    step = 0
    for order in draws.orders:
        for begin in range(0, len(order), BATCH):
            step += 1
            gradient = batch_gradient(rows[order[begin : begin + BATCH]], weights, loss)
            gradient[:-1] += weight * _penalty_gradient(weights[:-1], regularization)
            mean += (1 - _DECAYS[0]) * (gradient - mean)
            spread += (1 - _DECAYS[1]) * (gradient**2 - spread)
            unbiased = spread / (1 - _DECAYS[1] ** step)
            weights -= RATE * (mean / (1 - _DECAYS[0] ** step)) / (np.sqrt(unbiased) + _SMALL)
    return IdkRegression(weights[:-1], float(weights[-1]))


def batch_gradient(rows: Numbers, weights: Numbers, loss: Loss) -> Numbers:
    """Return the gradient of a batch's loss; rows are (dialogues, true and false, dimensions and 1)."""
    predicted = 1 / (1 + np.exp(-np.clip(rows @ weights, -60, 60)))
    if loss == "bce":
        errors = predicted - np.array([1.0, 0.0])
        gradient: Numbers = np.einsum("ij,ijk->k", errors, rows)
        return gradient
    # Appendix H prints y(c, r) - y(c, r') where y is the probability of a false reply, as in the authors' program;
    # here y is that of a true one, so the sign is reversed: the true reply must be ahead by the margin.
    behind = predicted[:, 1] - predicted[:, 0] + MARGIN
    loss_slopes = np.where(behind > 0, 1 / (1 + MARGIN - np.maximum(behind, 0)), 0) / len(rows)
    slopes = predicted * (1 - predicted) * np.array([-1.0, 1.0])
    gradient = np.einsum("i,ij,ijk->k", loss_slopes, slopes, rows)
    return gradient


def _penalty_gradient(weights: Numbers, regularization: Regularization) -> Numbers:
    if regularization == "l1":
        return np.sign(weights)
    return 2 * weights if regularization == "l2" else np.zeros_like(weights)


_TOLERANCE = 1e-7  # of the violation of the optimality conditions, per row
_MOST_STEPS, _MOST_SWEEPS = 100, 200
_RIDGE = 1e-10  # keeps a coordinate that never varies where it is


def fit_exactly(
    true: Vectors, false: Vectors, regularization: Regularization = "l1", weight: float = 1.0
) -> IdkRegression:
    """Return the weights that minimise the penalised sum of losses; true replies are 1, false ones 0."""
    if regularization == "none":
        raise InputError(
            "without regularisation there may be no exact optimum (a fixed negative can be separated perfectly); "
            "choose l1 or l2, or the mode 'paper'"
        )
    rows = np.vstack([true, false]).astype(np.float64)
    rows = np.hstack([rows, np.ones((len(rows), 1))])
    labels = np.r_[np.ones(len(true)), np.zeros(len(false))]
    l1, l2 = (np.r_[np.full(rows.shape[1] - 1, weight * (regularization == kind)), 0.0] for kind in ("l1", "l2"))
    weights = np.zeros(rows.shape[1])
    loss = penalised_loss(rows, labels, weights, l1, l2)
    for _ in range(_MOST_STEPS):
        predicted = 1 / (1 + np.exp(-np.clip(rows @ weights, -60, 60)))
        gradient = rows.T @ (predicted - labels) + l2 * weights
        if _violation(gradient, weights, l1) <= _TOLERANCE * len(rows):
            break
        hessian = (rows * (predicted * (1 - predicted))[:, None]).T @ rows + np.diag(l2 + _RIDGE)
        step = _solve_model(gradient, hessian, weights, l1)
        decrease = gradient @ step + (l1 * (np.abs(weights + step) - np.abs(weights))).sum()
        size = 1.0
        while (new_loss := penalised_loss(rows, labels, weights + size * step, l1, l2)) > loss + 0.01 * size * decrease:
            size /= 2
            if size < 1e-12:
                return IdkRegression(weights[:-1], float(weights[-1]))  # a smaller loss would not differ from this one
        weights, loss = weights + size * step, new_loss
    return IdkRegression(weights[:-1], float(weights[-1]))


def penalised_loss(rows: Numbers, labels: Numbers, weights: Numbers, l1: Numbers, l2: Numbers) -> float:
    """Return the penalised sum of losses."""
    odds = rows @ weights
    losses = np.logaddexp(0, odds) - labels * odds
    return float(losses.sum() + (l1 * np.abs(weights)).sum() + 0.5 * (l2 * weights**2).sum())


def _violation(gradient: Numbers, weights: Numbers, l1: Numbers) -> float:
    """Return how far the worst coordinate is from its optimality condition."""
    at_zero = np.maximum(np.abs(gradient) - l1, 0)
    return float(np.where(weights == 0, at_zero, np.abs(gradient + l1 * np.sign(weights))).max())


def _solve_model(gradient: Numbers, hessian: Numbers, weights: Numbers, l1: Numbers) -> Numbers:
    """Return the step that minimises the quadratic model plus the L1 norm, one coordinate at a time."""
    if not l1.any():
        return np.asarray(-np.linalg.solve(hessian, gradient), np.float64)
    step = np.zeros_like(weights)
    slope = gradient.copy()  # of the model at the present step
    curvature = np.diag(hessian).tolist()
    active = np.arange(len(weights))
    for _ in range(_MOST_SWEEPS):
        largest = 0.0
        for j in active.tolist():
            position = weights[j] + step[j]
            target = position - slope[j] / curvature[j]
            change = np.sign(target) * max(abs(target) - l1[j] / curvature[j], 0.0) - position
            if change != 0:
                step[j] += change
                slope += change * hessian[j]
                largest = max(largest, abs(change) * curvature[j])
        all_active = len(active) == len(weights)
        if largest <= 1e-9 * max(1.0, float(np.abs(gradient).max())):
            if all_active:
                break
            active = np.arange(len(weights))
        elif all_active:
            active = np.flatnonzero((weights + step != 0) | (l1 == 0))
    return step


Negative: TypeAlias = Literal["idk", "ics", "ok", "random"]
Mode: TypeAlias = Literal["paper", "exact"]
NEGATIVES = {"idk": "i don't know.", "ics": "i couldn't say", "ok": "i'm ok."}
DEFAULT_CONTEXTS = 3_750  # as many as HUMOD's train split has


@dataclass(frozen=True)
class IdkRecipe:
    """All that decides the regression, besides the dialogues and the vectors."""

    mode: Mode = "paper"
    negative: Negative = "idk"
    regularization: Regularization = "l1"
    loss: Loss = "bce"
    weight: float = 1.0  # of the regularisation
    seed: int = 0
    contexts: int = DEFAULT_CONTEXTS

    def __post_init__(self) -> None:
        for name, kind in _CHOICES.items():
            if getattr(self, name) not in get_args(kind):
                raise InputError(f"idk: {name} must be one of {', '.join(get_args(kind))}, not {getattr(self, name)!r}")
        if self.mode == "exact" and self.loss != "bce":
            raise InputError("idk: the triplet loss is not convex and has no exact mode; choose the mode 'paper'")


_CHOICES: dict[str, Any] = {"mode": Mode, "negative": Negative, "regularization": Regularization, "loss": Loss}


def train_idk(
    dialogues: Iterable[Dialogue],
    target: Path,
    recipe: IdkRecipe,
    corpus: str | None = None,
    encoder: str = DEFAULT_ENCODER,
) -> IdkCard:
    """Train on the split ``train``, write the folder and return its card."""
    pair_encoder = load_pair_encoder(encoder)
    next_turns = sample_next_turns(dialogues, recipe.contexts * (2 if recipe.negative == "random" else 1), corpus)
    true, false = idk_training_vectors(pair_encoder, next_turns, recipe)
    fitted = fit_idk_regression(true, false, recipe)
    card = build_idk_card(fitted, pair_encoder, recipe, corpus, share_above_negative(fitted, true, false))
    cards.write_idk_card(target, card)
    return card


def idk_training_vectors(
    encoder: PairEncoder, next_turns: Sequence[NextTurn], recipe: IdkRecipe
) -> tuple[Vectors, Vectors]:
    """The vectors of contexts with their true replies, and with their negatives."""
    chosen, others = next_turns[: recipe.contexts], next_turns[recipe.contexts : 2 * recipe.contexts]
    contexts = [place.context for place in chosen]
    if recipe.negative == "random":
        negatives = shuffle_responses(others)
    else:
        negatives = [NEGATIVES[recipe.negative]] * len(chosen)
    return encoder.features(contexts, [place.reply for place in chosen]), encoder.features(contexts, negatives)


def fit_idk_regression(true: Vectors, false: Vectors, recipe: IdkRecipe) -> IdkRegression:
    """The regression of a recipe."""
    if recipe.mode == "exact":
        return fit_exactly(true, false, recipe.regularization, recipe.weight)
    return fit_by_gradient(true, false, recipe.seed, recipe.regularization, recipe.loss, recipe.weight)


def share_above_negative(fitted: IdkRegression, true: Vectors, false: Vectors) -> float:
    """Return how often a true reply scores above the negative of its context."""
    above, below = (regression_probabilities(part, *fitted) for part in (true, false))
    return float(np.mean((above > below) + 0.5 * (above == below)))


def build_idk_card(
    fitted: IdkRegression, encoder: PairEncoder, recipe: IdkRecipe, corpus: str | None, apart: float
) -> IdkCard:
    """Return the card of a regression; its weights are derived from the encoder's, and so is its licence."""
    weights = tuple(round(float(value), 9) for value in fitted.weights)
    about = {
        "recipe": asdict(recipe),
        "negative": NEGATIVES.get(recipe.negative, "replies of other dialogues, shuffled"),
        "data": {"corpus": corpus or "all of the files", "split": "train", "contexts": recipe.contexts},
        "licence": encoder.licence,
        "citation": "Berlot-Attwell and Rudzicz 2022",
        "measured": {
            "true_above_negative_in_training": round(apart, 4),
            "weights_above_0.01": int(np.sum(np.abs(fitted.weights) > 0.01)),
        },
    }
    return IdkCard(encoder.name, encoder.digest, weights, round(fitted.bias, 9), about)
