"""The best over any number of references, for metrics that compare a reply with one reference at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.metric import NAN
from rejoinder.types import Pair

Similarities: TypeAlias = NDArray[np.float64]


def best_over_references(
    pairs: Sequence[Pair], similarities: Callable[[list[str], list[str]], Similarities]
) -> list[float]:
    """The largest similarity of each reply to one of its references.

    ``similarities`` compares replies and references one by one, NaN where it cannot say; a pair is NaN where all are.
    """
    replies = [pair.response.text for pair in pairs for _ in pair.item.references]
    references = [reference.text for pair in pairs for reference in pair.item.references]
    if not references:
        return [NAN] * len(pairs)
    found = similarities(replies, references)
    ends = np.cumsum([len(pair.item.references) for pair in pairs]).tolist()
    return [largest_known(found[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def largest_known(found: Similarities) -> float:
    """The largest of some numbers; NaN where there is none."""
    known = found[~np.isnan(found)]
    return float(known.max()) if known.size else NAN


def cosines(
    replies: Sequence[str], references: Sequence[str], vectors_of: Callable[[list[str]], NDArray[Any]]
) -> Similarities:
    """The cosine of each reply and its reference; NaN where one of them has a vector of zeros.

    ``vectors_of`` is asked for one vector a text, once for each distinct text.
    """
    place = {text: i for i, text in enumerate(dict.fromkeys([*replies, *references]))}
    vectors = normalize_rows(vectors_of(list(place)))
    first = vectors[[place[text] for text in replies]]
    second = vectors[[place[text] for text in references]]
    found: Similarities = np.clip(np.einsum("ij,ij->i", first, second), -1.0, 1.0)
    return found


def normalize_rows(vectors: NDArray[Any]) -> NDArray[np.float64]:
    """Vectors at length 1, in double precision; a vector of zeros has no direction and becomes NaN."""
    double = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(double, axis=-1, keepdims=True)
    return double / np.where(lengths > 0, lengths, NAN)


def matches_source(source: str, name: str) -> bool:
    """Whether a source is the one that is named, or a part of it."""
    return source == name or source.startswith((f"{name}/", f"{name}-"))
