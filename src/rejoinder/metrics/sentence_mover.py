"""Sentence mover's similarity (Clark et al. 2019): how little must be moved to turn a reply into a reference."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import SpecError
from rejoinder.metric import NAN, Metric
from rejoinder.metrics._bags import bags_of, is_word_vectors, vectors_details
from rejoinder.metrics._models import encoder_details, sentence_vectors
from rejoinder.spec import check_choice
from rejoinder.text.sentences import split_sentences
from rejoinder.text.tokens import get_tokenizer
from rejoinder.types import Pair

Array = NDArray[np.float64]


def mover_distance(weights: Array, other: Array, distances: Array) -> float:
    """Return the least work, with the weights of each side scaled to a sum of 1; ``distances[i, j]`` is from i to j."""
    weights, other = weights / weights.sum(), other / other.sum()
    if len(other) < len(weights):
        weights, other, distances = other, weights, distances.T
    if len(weights) == 1:
        return float(distances[0] @ other)
    if len(weights) == 2:
        return _two_part_distance(weights[0], other, distances)
    return _linear_program_distance(weights, other, distances)


def distance_lower_bound(weights: Array, other: Array, distances: Array) -> float:
    """Return a quick lower bound on the least work: every part moves to its nearest (Kusner et al. 2015)."""
    leaving = float(weights @ distances.min(axis=1)) / float(weights.sum())
    arriving = float(other @ distances.min(axis=0)) / float(other.sum())
    return max(leaving, arriving)


def _two_part_distance(room: float, other: Array, distances: Array) -> float:
    """Return the least work if one side has two parts, the first with the weight ``room``."""
    order = np.argsort(distances[0] - distances[1], kind="stable")
    before = np.cumsum(other[order]) - other[order]
    first = np.clip(room - before, 0.0, other[order])
    return float(first @ distances[0][order] + (other[order] - first) @ distances[1][order])


def _linear_program_distance(weights: Array, other: Array, distances: Array) -> float:
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, kron, vstack

    n, m = distances.shape
    leaving = kron(eye_array(n), np.ones((1, m)), format="csr")
    # The last sum follows from the others; with it, rounding could make the program infeasible.
    arriving = kron(np.ones((1, n)), eye_array(m), format="csr")[:-1]
    solution = linprog(
        distances.ravel(),
        A_eq=vstack([leaving, arriving], format="csr"),
        b_eq=np.concatenate([weights, other[:-1]]),
        method="highs",
    )
    if solution.status != 0:
        raise RuntimeError(f"optimal transport between {n} and {m} parts could not be solved: {solution.message}")
    return float(solution.fun)


Units: TypeAlias = Literal["sentences", "both"]


class WeightedParts(NamedTuple):
    """The parts of a text: a vector and a weight for each."""

    vectors: NDArray[np.float64]
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class SentenceMover(Metric):
    """How close a reply's sentences are to those of the best reference: exp(-d), d being the work of moving them there.

    A sentence's weight is its number of words; moving it costs its weight times the Euclidean distance of the two
    vectors; the cheapest way counts. ``encoder`` is an encoder, which gives the sentence's vector (of length 1), or
    static word vectors, whose mean over the known words is used, as in the paper. ``units='both'`` (word vectors only)
    moves words as well as sentences: the paper's S+WMS. A text without a known word cannot be compared. NaN without
    references.
    """

    encoder: str = "aptness"
    units: Units = "sentences"

    needs = frozenset({"references"})
    languages = "model"
    citation = "Clark et al. 2019, Sentence Mover's Similarity: Automatic Evaluation for Multi-Sentence Texts"
    decimals = 4

    def __post_init__(self) -> None:
        check_choice("sentence_mover", "units", self.units, Units)
        if self.units == "both" and not is_word_vectors(self.encoder):
            raise SpecError(
                f"sentence_mover: units='both' needs word vectors, not {self.encoder!r}; "
                "write e.g. encoder='glove-6b-50d'"
            )

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the largest similarity of each response to any of its item's references."""
        texts = [t for pair in pairs for t in (pair.response.text, *(r.text for r in pair.item.references))]
        distinct = list(dict.fromkeys(texts))
        bag = dict(zip(distinct, self._bags(distinct), strict=True))
        return [
            _best_similarity(bag[pair.response.text], [bag[r.text] for r in pair.item.references]) for pair in pairs
        ]

    def details(self) -> dict[str, str]:
        """Return the digest of the encoder or of the word vectors."""
        return vectors_details(self.encoder) if is_word_vectors(self.encoder) else encoder_details(self.encoder)

    def _bags(self, texts: Sequence[str]) -> list[WeightedParts]:
        sentences = [split_sentences(text) for text in texts]
        all_sentences = [sentence for parts in sentences for sentence in parts]
        if is_word_vectors(self.encoder):
            sentence_bags = iter(_word_bags(all_sentences, self.encoder))
            return [_join_bags(list(islice(sentence_bags, len(parts))), self.units == "both") for parts in sentences]
        words_of = get_tokenizer("words")
        vectors = sentence_vectors(all_sentences, self.encoder).astype(np.float64)
        # A sentence without words (an emoji) counts as one.
        weights = np.array([max(1, len(words_of(sentence))) for sentence in all_sentences], np.float64)
        ends = np.cumsum([len(parts) for parts in sentences]).tolist()
        return [WeightedParts(vectors[a:b], weights[a:b]) for a, b in zip([0, *ends], ends, strict=False)]


def _best_similarity(reply: WeightedParts, references: Sequence[WeightedParts]) -> float:
    """Return the largest similarity to a reference that has a part."""
    known = [reference for reference in references if len(reference.weights)]
    if not len(reply.weights) or not known:
        return NAN
    return min(1.0, math.exp(-find_least_distance(reply, known)))


def find_least_distance(reply: WeightedParts, references: Sequence[WeightedParts]) -> float:
    """Return the least work to any reference (infinite without one); those that cannot be nearer are skipped."""
    distances = [_part_distances(reply, reference) for reference in references]
    bounds = [distance_lower_bound(reply.weights, o.weights, d) for o, d in zip(references, distances, strict=True)]
    least = math.inf
    for index in sorted(range(len(references)), key=bounds.__getitem__):
        if bounds[index] >= least:
            break
        least = min(least, mover_distance(reply.weights, references[index].weights, distances[index]))
    return least


def _part_distances(first: WeightedParts, second: WeightedParts) -> NDArray[np.float64]:
    differences = first.vectors[:, None] - second.vectors[None]
    distances: NDArray[np.float64] = np.sqrt(np.einsum("ijk,ijk->ij", differences, differences))
    return distances


def _word_bags(texts: Sequence[str], vectors: str) -> list[WeightedParts]:
    """Return the known words of each sentence, weighted by how often they occur."""
    bags = bags_of(texts, vectors)
    counts = [Counter(rows) for rows in bags.rows]
    return [WeightedParts(bags.vectors[list(count)], np.array(list(count.values()), np.float64)) for count in counts]


def _join_bags(parts: Sequence[WeightedParts], words: bool) -> WeightedParts:
    """Return the bag of a text from its sentences' words: the sentences, and the words too if ``words``."""
    known = [part for part in parts if len(part.weights)]
    if not known:
        return WeightedParts(np.zeros((0, 0)), np.zeros(0))
    means = np.array([part.weights @ part.vectors / part.weights.sum() for part in known])
    sums = np.array([part.weights.sum() for part in known])
    if not words:
        return WeightedParts(means, sums)
    return WeightedParts(
        np.concatenate([means, *(part.vectors for part in known)]),
        np.concatenate([sums, *(part.weights for part in known)]),
    )
