"""ADEM's network (Lowe et al. 2017): a bilinear form of context and reply, and one of reference and reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rejoinder_lab.models.head.model import Array, Head, encode_texts
from rejoinder_lab.models.head.pairs import encode_contexts

MEAN, COMPONENTS = "mean", "components"  # of the principal component analysis
CONTEXT, REFERENCE, BIAS = "context", "reference", "bias"  # M, N and the rating of a reply that is like nothing


def reduce_vectors(weights: Mapping[str, Array], vectors: Array) -> Array:
    """Return the principal components of vectors."""
    return np.asarray((vectors - weights[MEAN]) @ weights[COMPONENTS])


def predict_ratings(
    head: Head, contexts: Sequence[Sequence[str]], replies: Sequence[str], references: Sequence[Sequence[str]]
) -> list[float]:
    """Return the rating of each reply: cᵀ M r + b, plus qᵀ N r for the best reference q where N was learned.

    NaN if the context or the reply is blank, or without a reference where N was learned.
    """
    weights = head.weights
    reply_rows = reduce_vectors(weights, encode_texts(head.encoder, replies))
    context_rows = reduce_vectors(weights, encode_contexts(head.encoder, contexts))
    ratings = bilinear_form(context_rows, weights[CONTEXT], reply_rows) + weights[BIAS][0]
    if REFERENCE in weights:
        ratings = ratings + _best_forms(head, reply_rows, references)
    has_texts = [any(text.strip() for text in c) and bool(r.strip()) for c, r in zip(contexts, replies, strict=True)]
    return [float(value) for value in np.where(has_texts, ratings, np.nan)]


def bilinear_form(left: Array, matrix: Array, right: Array) -> Array:
    """Return xᵀ M y of each row."""
    return np.asarray(np.einsum("ni,ij,nj->n", left, matrix, right, optimize=["einsum_path", (0, 1), (0, 1)]))


def _best_forms(head: Head, reply_rows: Array, references: Sequence[Sequence[str]]) -> Array:
    """Return the largest qᵀ N r over the references of each reply; NaN without one."""
    flat = [text for of_pair in references for text in of_pair]
    rows = reduce_vectors(head.weights, encode_texts(head.encoder, flat))
    owners = np.repeat(np.arange(len(references)), [len(of_pair) for of_pair in references])
    forms = bilinear_form(rows, head.weights[REFERENCE], reply_rows[owners])
    best = np.full(len(references), np.nan)
    np.fmax.at(best, owners, forms)
    return best
