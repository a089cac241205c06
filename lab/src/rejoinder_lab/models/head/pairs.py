"""Contexts and replies as rows of numbers, for the heads that read both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rejoinder.models.base import Encoder, Vectors
from rejoinder.models.speaker.vectors import WeightedVectors, context_vectors
from rejoinder_lab.models.head.model import encode_texts

TURNS, DECAY = 6, 0.6  # the last turns of a context, and how the weight falls from the last one to those before it


def encode_contexts(encoder: Encoder, contexts: Sequence[Sequence[str]]) -> Vectors:
    """Return the weighted mean of the vectors of each context's last turns; a long turn loses its beginning."""
    turns = [[text for text in context if text.strip()][-TURNS:][::-1] for context in contexts]
    vectors = iter(encode_texts(encoder, [text for of_context in turns for text in of_context], "left"))
    rows = [np.array([next(vectors) for _ in of_context]).reshape(-1, encoder.dimensions) for of_context in turns]
    ages = []
    for age in range(TURNS):
        has_turn = np.array([age < len(row) for row in rows], np.float32)
        at_age = [row[age] if age < len(row) else np.zeros(encoder.dimensions, np.float32) for row in rows]
        ages.append(WeightedVectors(np.array(at_age).reshape(-1, encoder.dimensions), has_turn))
    return context_vectors(ages, DECAY).vectors


def join_features(contexts: Vectors, replies: Vectors) -> Vectors:
    """Return both vectors side by side, and their product in each dimension, which tells how alike they are."""
    scale = np.float32(contexts.shape[1] ** 0.5)  # a number of a vector of length 1 is small
    features: Vectors = np.concatenate([contexts, replies, scale * contexts * replies], axis=1) * scale
    return features
