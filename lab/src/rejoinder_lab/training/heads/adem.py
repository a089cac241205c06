"""The recipe of `adem` (Lowe et al. 2017): ratings to two matrices, by ridge regression on principal components.

The paper's loss, squared errors plus a penalty, is quadratic in the matrices, so the best ones are computed directly.
As in the paper, they start from the identity: its multiple is free, and only what differs from it is penalised. Every
tenth block of a hundred replies is held out; it chooses the penalty.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rejoinder.data.collection import Collection
from rejoinder.errors import InputError
from rejoinder.models.encoder.factory import describe_encoder, load_encoder
from rejoinder.stats.correlation import pearson, spearman
from rejoinder.types import Pair
from rejoinder_lab.models.head.bilinear import BIAS, COMPONENTS, CONTEXT, MEAN, REFERENCE, reduce_vectors
from rejoinder_lab.models.head.model import Array, HeadCard, encode_texts, write_head
from rejoinder_lab.models.head.pairs import encode_contexts
from rejoinder_lab.training.recipes import AdemRecipe

_BLOCK, _BLOCKS = 100, 10  # neighbours in a file are often of one dialogue, so whole blocks are held out
_FEWEST = 20  # rated replies
_SMALL = 1e-6  # so that the equations always have a solution


def train_adem(
    data: Collection,
    target: Path,
    recipe: AdemRecipe,
    encoder: str = "aptness",
    licence: str | None = None,
    log: Callable[[str], None] = print,
) -> HeadCard:
    """Learn from the rated replies of a collection, whose licence may be named, and write the folder."""
    pairs, ratings = select_rated(data, recipe.aspect)
    model = load_encoder(encoder)
    log(f"encoding {len(pairs):,} rated replies and what they are compared with")
    replies = encode_texts(model, [pair.response.text for pair in pairs])
    others = {CONTEXT: encode_contexts(model, [[turn.text for turn in pair.item.context] for pair in pairs])}
    if all(pair.item.references for pair in pairs):
        others[REFERENCE] = encode_texts(model, [pair.item.references[0].text for pair in pairs])
    weights = find_components(np.concatenate([replies, *others.values()]), recipe.dimensions)
    reduced = reduce_vectors(weights, replies)
    rows = [form_features(reduce_vectors(weights, vectors), reduced) for vectors in others.values()]
    fitted = fit_ratings(np.concatenate(rows, axis=1), ratings, recipe.penalties, len(others))
    matrices = np.split(fitted.weights, len(others))
    weights |= {name: to_matrix(part) for name, part in zip(others, matrices, strict=True)}
    weights[BIAS] = np.array([fitted.bias])
    about = {
        "recipe": asdict(recipe),
        "data": {"replies": len(pairs), "parts": list(others)},
        "licence": f"{describe_encoder(encoder).licence} (the encoder), {licence or 'not known'} (the ratings)",
        "citation": "Lowe et al. 2017",
        "measured": fitted.measured,
    }
    return write_head(target, HeadCard("adem", encoder, model.digest, {}, "", about), weights)


def select_rated(data: Collection, aspect: str | None) -> tuple[list[Pair], Array]:
    """Return the replies that have a context and a rating of an aspect, and their mean ratings."""
    aspects = sorted({rating.aspect for rating in data.ratings if rating.response is not None})
    if aspect is None and len(aspects) > 1:
        raise InputError(f"the replies are rated by {len(aspects)} aspects ({', '.join(aspects)}); name one (aspect)")
    values: dict[str, list[float]] = defaultdict(list)
    for rating in data.ratings:
        if rating.response is not None and aspect in (None, rating.aspect):
            values[rating.response].append(rating.value)
    pairs = [pair for pair in data.pairs() if pair.response.id in values and pair.item.context]
    if len(pairs) < _FEWEST:
        raise InputError(f"{len(pairs)} replies have a context and a rating; at least {_FEWEST} are needed")
    return pairs, np.array([np.mean(values[pair.response.id]) for pair in pairs])


def find_components(vectors: Array, dimensions: int) -> dict[str, Array]:
    """Return the mean of vectors and their first principal components, scaled to a variance of 1 per vector."""
    mean = vectors.mean(axis=0, dtype=np.float64)
    values, components = np.linalg.eigh(np.cov((vectors - mean).T))
    kept = components[:, ::-1][:, :dimensions]
    # The largest number of a component is positive, whichever sign the algorithm chose.
    kept = kept * np.sign(kept[np.abs(kept).argmax(axis=0), np.arange(kept.shape[1])])
    scale = float(values[::-1][:dimensions].sum()) ** -0.5
    return {MEAN: mean, COMPONENTS: kept * scale}


def form_features(left: Array, right: Array) -> Array:
    """Return the product of both vectors, then every product of a number of one with a number of the other."""
    products = np.einsum("ni,nj->nij", left, right).reshape(len(left), -1)
    return np.concatenate([np.einsum("ni,ni->n", left, right)[:, None], products], axis=1)


def to_matrix(weights: Array) -> Array:
    """Return the matrix of a form from the weights of its features: a multiple of the identity, and the rest."""
    size = math.isqrt(len(weights) - 1)
    return np.asarray(weights[0] * np.eye(size) + weights[1:].reshape(size, size))


class FittedRatings(NamedTuple):
    """Weights of the features and a bias, and how well they predict held-out ratings."""

    weights: Array
    bias: float
    measured: dict[str, Any]


def fit_ratings(rows: Array, ratings: Array, penalties: Sequence[float], forms: int) -> FittedRatings:
    """Return the ridge regression whose penalty has the least squared error on held-out replies."""
    block = max(1, min(_BLOCK, len(rows) // _BLOCKS))
    held_out = np.arange(len(rows)) // block % _BLOCKS == 0
    bias = float(ratings[~held_out].mean())
    product, moment = rows[~held_out].T @ rows[~held_out], rows[~held_out].T @ (ratings[~held_out] - bias)
    is_penalised = np.arange(len(moment)) % (len(moment) // forms) > 0  # all but the multiple of the identity
    fits = [np.linalg.solve(product + np.diag(p * is_penalised + _SMALL), moment) for p in penalties]
    errors = [float(np.mean((rows[held_out] @ fit + bias - ratings[held_out]) ** 2)) for fit in fits]
    best = int(np.argmin(errors))
    predicted = rows[held_out] @ fits[best]
    measured = {
        "penalty": penalties[best],
        "replies": int(held_out.sum()),
        "spearman": round(spearman(predicted, ratings[held_out]).value, 4),
        "pearson": round(pearson(predicted, ratings[held_out]).value, 4),
    }
    return FittedRatings(fits[best], bias, measured)
