"""The best score over any number of references, for metrics that compare a reply with one reference at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.metric import NAN
from rejoinder.stats.arrays import largest_known, scale_to_unit_length
from rejoinder.types import Pair

Similarities: TypeAlias = NDArray[np.float64]


def best_over_references(
    pairs: Sequence[Pair], similarities: Callable[[list[str], list[str]], Similarities]
) -> list[float]:
    """Return the largest similarity of each reply to any of its references.

    ``similarities`` compares replies and references one to one, with NaN where it has no result; a pair whose results
    are all NaN is NaN.
    """
    replies = [pair.response.text for pair in pairs for _ in pair.item.references]
    references = [reference.text for pair in pairs for reference in pair.item.references]
    if not references:
        return [NAN] * len(pairs)
    values = similarities(replies, references)
    ends = np.cumsum([len(pair.item.references) for pair in pairs]).tolist()
    return [largest_known(values[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def cosines(
    replies: Sequence[str], references: Sequence[str], vectors_of: Callable[[list[str]], NDArray[Any]]
) -> Similarities:
    """Return the cosine of each reply and its reference; NaN if either has a zero vector.

    ``vectors_of`` computes one vector per text and is called once, with the distinct texts.
    """
    index = {text: i for i, text in enumerate(dict.fromkeys([*replies, *references]))}
    vectors = scale_to_unit_length(vectors_of(list(index)))
    first = vectors[[index[text] for text in replies]]
    second = vectors[[index[text] for text in references]]
    values: Similarities = np.clip(np.einsum("ij,ij->i", first, second), -1.0, 1.0)
    return values


def matches_source(source: str, name: str) -> bool:
    """Whether a source is the named one or a part of it."""
    return source == name or source.startswith((f"{name}/", f"{name}-"))
