"""f of SSREM and RSREM, and RUBER's unreferenced score: from a context and replies to a score each, with gradients.

The inputs are vectors, of length 1 but for the paper's recipe; a context may have several, its *views*, concatenated.
Shapes: contexts (n, views * d), replies (n, k, d), output (n, k). ``weights`` is a dictionary of arrays; every function
computes in their precision.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.speaker.vectors import WeightedVectors, centre_vectors

Array: TypeAlias = NDArray[Any]
Weights: TypeAlias = Mapping[str, Array]
Kind: TypeAlias = Literal["ssrem", "rsrem", "ruber"]


class ForwardPass(NamedTuple):
    """The scores, and the intermediate values that the gradient needs."""

    scores: Array
    intermediate: tuple[Array, ...]


class ScorerNetwork(Protocol):
    """A parametric score of a context and a reply."""

    def start(
        self, dimensions: int, views: int, scale: float, random: np.random.Generator, normal: bool = False
    ) -> dict[str, Array]:
        """Return the initial weights; ``normal``: M is random, with the scale over the root of d as its deviation."""
        ...

    def scores(self, weights: Weights, contexts: Array, replies: Array) -> ForwardPass:
        """Return the score of each reply."""
        ...

    def gradient(
        self, weights: Weights, contexts: Array, replies: Array, forward_pass: ForwardPass, slopes: Array
    ) -> Weights:
        """Return the gradient of a loss with respect to the weights, given that with respect to the scores."""
        ...


@dataclass(frozen=True)
class BilinearNetwork:
    """f(c, r) = tanh(V(c)^T M V(r)) (Bak and Oh 2020, equation 1); ``raw``: without tanh, as the authors train it."""

    raw: bool = False

    def start(
        self, dimensions: int, views: int, scale: float, random: np.random.Generator, normal: bool = False
    ) -> dict[str, Array]:
        """Return M as the identity times a scale for each view, so that f initially grows with the cosine."""
        return {"matrix": _initial_matrix(dimensions, views, scale, random, normal)}

    def scores(self, weights: Weights, contexts: Array, replies: Array) -> ForwardPass:
        """Return the score of each reply."""
        products = _context_reply_products(contexts @ weights["matrix"], replies)
        return ForwardPass(products if self.raw else np.tanh(products), ())

    def gradient(
        self, weights: Weights, contexts: Array, replies: Array, forward_pass: ForwardPass, slopes: Array
    ) -> Weights:
        """Return the gradient of M."""
        inner = slopes if self.raw else slopes * (1 - forward_pass.scores**2)
        return {"matrix": contexts.T @ _weighted_sum(inner, replies)}


class UnreferencedNetwork:
    """RUBER's unreferenced score (Tao et al. 2018): a hidden layer over both vectors and their quadratic feature.

    s(c, r) = sigmoid(u^T tanh(W [V(c); V(r); V(c)^T M V(r)] + b) + a).
    """

    hidden = 64

    def start(
        self, dimensions: int, views: int, scale: float, random: np.random.Generator, normal: bool = False
    ) -> dict[str, Array]:
        """Return M as in SSREM, and layers initialised uniformly as in Glorot and Bengio (2010)."""

        def sample_uniform(rows: int, columns: int) -> Array:
            bound = (6 / (rows + columns)) ** 0.5
            return random.uniform(-bound, bound, (rows, columns)).astype(np.float32)

        layer = sample_uniform((views + 1) * dimensions + 1, self.hidden)
        return {
            "matrix": _initial_matrix(dimensions, views, scale, random, normal),
            "context": layer[: views * dimensions],
            "reply": layer[views * dimensions : -1],
            "quadratic": layer[-1:],
            "bias": np.zeros(self.hidden, np.float32),
            "output": sample_uniform(self.hidden, 1)[:, 0],
            "output_bias": np.zeros(1, np.float32),
        }

    def scores(self, weights: Weights, contexts: Array, replies: Array) -> ForwardPass:
        """Return the score of each reply."""
        products = _context_reply_products(contexts @ weights["matrix"], replies)
        inner = (contexts @ weights["context"])[:, None] + replies @ weights["reply"]
        hidden = np.tanh(inner + products[..., None] * weights["quadratic"][0] + weights["bias"])
        odds = hidden @ weights["output"] + weights["output_bias"][0]
        return ForwardPass(0.5 * (1 + np.tanh(0.5 * odds)), (hidden, products))

    def gradient(
        self, weights: Weights, contexts: Array, replies: Array, forward_pass: ForwardPass, slopes: Array
    ) -> Weights:
        """Return the gradients of all layers."""
        hidden, products = forward_pass.intermediate
        outer = slopes * forward_pass.scores * (1 - forward_pass.scores)
        inner = outer[..., None] * weights["output"] * (1 - hidden**2)
        flat = inner.reshape(-1, inner.shape[-1])
        quadratic = inner @ weights["quadratic"][0]
        return {
            "matrix": contexts.T @ _weighted_sum(quadratic, replies),
            "context": contexts.T @ inner.sum(axis=1),
            "reply": replies.reshape(-1, replies.shape[-1]).T @ flat,
            "quadratic": (products.reshape(1, -1) @ flat),
            "bias": flat.sum(axis=0),
            "output": hidden.reshape(-1, hidden.shape[-1]).T @ outer.reshape(-1),
            "output_bias": outer.sum().reshape(1),
        }


def build_scorer_network(kind: Kind, raw: bool = False) -> ScorerNetwork:
    """Return the network for a kind of scorer; ``raw``: f of SSREM and RSREM without tanh, for training."""
    return UnreferencedNetwork() if kind == "ruber" else BilinearNetwork(raw)


def _initial_matrix(dimensions: int, views: int, scale: float, random: np.random.Generator, normal: bool) -> Array:
    if normal:
        return random.normal(0, scale / dimensions**0.5, (views * dimensions, dimensions)).astype(np.float32)
    return np.tile(np.eye(dimensions, dtype=np.float32) * np.float32(scale / views), (views, 1))


def join_views(views: Sequence[WeightedVectors], mean: Array | None) -> Array:
    """Return the views of contexts, each centred separately; a view without known words is zero."""
    parts = [centre_vectors(v.vectors, mean) for v in views]
    return np.concatenate(
        [part * (v.weights > 0).astype(part.dtype)[:, None] for part, v in zip(parts, views, strict=True)], axis=1
    )


def _context_reply_products(contexts: Array, replies: Array) -> Array:
    """Map (n, d) and (n, k, d) to (n, k)."""
    return np.asarray((replies @ contexts[:, :, None])[..., 0])


def _weighted_sum(weights: Array, replies: Array) -> Array:
    """Map (n, k) and (n, k, d) to the weighted sum of each row's replies, (n, d)."""
    return np.asarray((weights[:, None] @ replies)[:, 0])
