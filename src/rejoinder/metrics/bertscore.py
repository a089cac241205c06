"""BERTScore (Zhang et al. 2020): each token matched with the nearest token of the other text, by contextual vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import SpecError
from rejoinder.metric import NAN, Metric
from rejoinder.metrics._models import encoder_details, find_truncated
from rejoinder.models.base import TokenVectors, Vectors
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.spec import check_choice
from rejoinder.types import Pair


class ContextualTokens(NamedTuple):
    """The vectors of a text's tokens, scaled to length 1, and which of them are not special tokens."""

    vectors: Vectors
    own: NDArray[np.bool_]


def contextual_vectors(texts: Sequence[str], encoder: str, layer: int) -> list[ContextualTokens]:
    """Return the tokens of each text; a blank text has only special ones."""
    return _compute_token_vectors(tuple(texts), encoder, layer, load_encoder(encoder, cache=False).digest)


@lru_cache(maxsize=1)  # precision and recall of the same pairs are often computed one after the other
def _compute_token_vectors(texts: tuple[str, ...], encoder: str, layer: int, digest: str) -> list[ContextualTokens]:
    # With a byte-level tokeniser (RoBERTa), a leading space makes the first word a word like the others, as in the
    # bert-score package; other tokenisers ignore it.
    spaced = [" " + text.strip() for text in texts]
    return [_join_special(tokens) for tokens in load_encoder(encoder, cache=False).encode_tokens(spaced, layer)]


def _join_special(tokens: TokenVectors) -> ContextualTokens:
    parts = [tokens.vectors] if tokens.special is None else [tokens.vectors, tokens.special]
    vectors = np.concatenate(parts)
    normalized: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return ContextualTokens(normalized, np.arange(len(vectors)) < len(tokens.vectors))


Part: TypeAlias = Literal["precision", "recall", "f1"]
Array: TypeAlias = NDArray[np.float64]


def compare_tokens(replies: Sequence[ContextualTokens], references: Sequence[ContextualTokens], part: Part) -> Array:
    """Return one part of BERTScore for every reply (row) and reference (column), all tokens compared at once.

    Every text has at least one token of its own.
    """
    cosines = np.concatenate([r.vectors for r in replies]) @ np.concatenate([r.vectors for r in references]).T
    rows, columns = _token_starts(replies), _token_starts(references)
    precision = _token_means(np.maximum.reduceat(cosines, columns, axis=1), replies, rows)
    recall = _token_means(np.maximum.reduceat(cosines, rows, axis=0).T, references, columns).T
    scores = {"precision": precision, "recall": recall, "f1": _harmonic_mean(precision, recall)}[part]
    bounded: Array = np.clip(scores, -1.0, 1.0)
    return bounded


def _harmonic_mean(precision: Array, recall: Array) -> Array:
    """Return the harmonic mean, or 0 where either number is not above 0."""
    is_positive = (precision > 0) & (recall > 0)
    means: Array = np.where(is_positive, 2 * precision * recall, 0.0) / np.where(is_positive, precision + recall, 1.0)
    return means


def _token_starts(texts: Sequence[ContextualTokens]) -> NDArray[np.intp]:
    lengths = [len(text.own) for text in texts]
    return np.cumsum([0, *lengths[:-1]])


def _token_means(best: NDArray[np.float32], texts: Sequence[ContextualTokens], starts: NDArray[np.intp]) -> Array:
    """Return the mean over each text's own tokens (rows of ``best``), in double precision."""
    own = np.concatenate([text.own for text in texts])
    sums = np.add.reduceat(best * own[:, None].astype(np.float64), starts, axis=0)
    means: Array = sums / np.add.reduceat(own.astype(np.int64), starts)[:, None]
    return means


# The layers that the bert-score package (0.3.13) chose by correlation with human ratings of WMT 2016.
CHOSEN_LAYERS = {"bert-base-uncased": 9, "roberta-large": 17}
_MOST_CHARACTERS = 200_000  # of texts whose token vectors are in memory together: about 80 MB at 384 numbers per token


@dataclass(frozen=True)
class Bertscore(Metric):
    """How close a reply's tokens are to those of the best reference, each matched with its nearest, by cosine.

    ``precision`` is the mean over the reply's tokens, ``recall`` over the reference's, ``f1`` their harmonic mean (0 if
    either is not above 0); the best reference is chosen for each part separately. Special tokens can be matched but are
    not counted; there are no idf weights and no rescaling. ``encoder`` is an encoder from the catalog, a folder, or
    ``hf:NAME``; ``layer`` counts from 1 (0 is the embedding), None is the layer that the authors chose for the model
    or, for other models, the last. NaN without references.
    """

    part: Part = "f1"
    encoder: str = "aptness"
    layer: int | None = None

    needs = frozenset({"references"})
    range = (-1.0, 1.0)
    languages = "model"
    citation = "Zhang et al. 2020, BERTScore: Evaluating Text Generation with BERT"
    decimals = 4
    large = True

    def __post_init__(self) -> None:
        check_choice("bertscore", "part", self.part, Part)
        if self.layer is not None and (type(self.layer) is not int or self.layer < 0):
            raise SpecError(f"bertscore: layer must be a whole number of at least 0, not {self.layer!r}")

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the BERTScore of each response against its best reference."""
        scores = [NAN] * len(pairs)
        for groups in _reference_blocks(pairs):
            texts = list(dict.fromkeys(text for group in groups for text in group.texts))
            tokens = dict(zip(texts, contextual_vectors(texts, self.encoder, self._layer), strict=True))
            for group in groups:
                references = [tokens[text] for text in group.references if tokens[text].own.any()]
                replies = [(i, tokens[text]) for i, text in group.replies if tokens[text].own.any()]
                if replies and references:
                    best = compare_tokens([reply for _, reply in replies], references, self.part).max(axis=1)
                    for (index, _), value in zip(replies, best.tolist(), strict=True):
                        scores[index] = value
        return scores

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs contain a text that is too long for the encoder."""
        return find_truncated(pairs, self.encoder)

    def details(self) -> dict[str, str]:
        """Return the digest of the encoder, and the layer if it was not given."""
        layer = {"taken": "last layer" if self._layer == -1 else f"layer {self._layer}"} if self.layer is None else {}
        return {**encoder_details(self.encoder), **layer}

    @property
    def _layer(self) -> int:
        if self.layer is not None:
            return self.layer
        return CHOSEN_LAYERS.get(self.encoder.removeprefix("hf:"), -1)


@dataclass(frozen=True)
class _Group:
    """The replies to one set of references, each with its index among all pairs."""

    references: tuple[str, ...]
    replies: list[tuple[int, str]]

    @property
    def texts(self) -> tuple[str, ...]:
        return (*self.references, *(text for _, text in self.replies))


def _reference_blocks(pairs: Sequence[Pair]) -> Iterator[list[_Group]]:
    """Yield the pairs grouped by their references, as many at a time as should be in memory."""
    groups: dict[tuple[str, ...], _Group] = {}
    for index, pair in enumerate(pairs):
        references = tuple(reference.text for reference in pair.item.references)
        if references:
            groups.setdefault(references, _Group(references, [])).replies.append((index, pair.response.text))
    block: list[_Group] = []
    size = 0
    for group in groups.values():
        block.append(group)
        size += sum(map(len, group.texts))
        if size > _MOST_CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block
