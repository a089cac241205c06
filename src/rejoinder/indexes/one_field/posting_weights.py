"""The weights of an index as a sparse matrix, passages by words, in the files of bm25s (Lù 2024), memory-mapped.

Each passage is scored in single precision by one product with the query's columns, which takes a millisecond for a
million turns; the few that may be among the best are then rescored in double precision, word by word in the order of
the query, so that a score depends only on the query, the passage and the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.indexes.one_field.filter import score_lower_bound
from rejoinder.indexes.one_field.folder import index_damage_error
from rejoinder.indexes.one_field.passage_store import load_array
from rejoinder.indexes.one_field.postings import Postings

_ROUNDING = 2.0**-22  # a sum of n weights in single precision is off by less than n + 2 of these, relative to its size
_LIGHT = 0.1
_LOOK_UP = 16  # times as many postings are added up in the time that it takes to find one of them
_SMALLEST = float(np.nextafter(np.float32(0), np.float32(1)))


def save_posting_weights(
    folder: Path, postings: Postings, weights: NDArray[np.float32], words: Mapping[str, int], k1: float, b: float
) -> None:
    """Write weights as bm25s does, and also the counts from which weights can be computed again."""
    model = import_module("bm25s").BM25(k1=k1, b=b, method="atire")
    scores = {"data": weights, "indices": postings.passages, "indptr": postings.starts}
    model.scores = {**scores, "num_docs": len(postings.lengths)}
    model.vocab_dict, model.nonoccurrence_array = dict(words), None
    model.save(folder, show_progress=False)
    np.save(folder / "counts.npy", postings.counts)
    np.save(folder / "lengths.npy", postings.lengths)


def score_rounding_error(query: Mapping[int, int]) -> float:
    """Return how far an approximate score may be from the true one, relative to it."""
    return (len(query) + 2) * _ROUNDING


def _lightest_words(most: Mapping[int, float]) -> list[int]:
    """Return the words that together add at most a share of a score, mostly common ones, from the lightest on.

    The others decide which passages can be among the best: a passage that has none of them is not (the idea of
    MaxScore: Turtle and Flood 1995). So these are looked up in few passages only.
    """
    words = sorted(most, key=most.__getitem__)
    totals = np.cumsum([most[word] for word in words])
    return words[: int(np.searchsorted(totals, _LIGHT * sum(most.values())))]


class PostingWeights:
    """The weight of each word in each passage; a query maps the numbers of its words to their counts."""

    def __init__(self, folder: Path, postings: Postings, weights: NDArray[np.float32]) -> None:
        self.postings, self.weights = postings, weights
        self._largest: dict[int, float] = {}  # weights of the words asked for so far
        if not len(weights) == len(postings.passages) == len(postings.counts) == postings.starts[-1]:
            raise index_damage_error(folder, "its files do not match")

    def nearest(
        self,
        query: Mapping[int, int],
        k: int,
        mask: NDArray[np.float32] | None,
        excluded_ranges: Sequence[slice] = (),
        least: float = -np.inf,
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return passages that include the k best with a score above 0, and their scores.

        Passages whose score is below ``least`` may be missing.
        """
        sure = 1 - score_rounding_error(query)
        most = {word: times * self._largest_weight(word) for word, times in query.items()}
        light = _lightest_words(most)
        rough = self.rough_scores({word: times for word, times in query.items() if word not in light})
        if mask is not None:
            rough += mask
        for passages in excluded_ranges:
            rough[passages] = -np.inf
        floor = max(score_lower_bound(rough, k), least) * sure
        rest = sum(most[word] for word in light)
        numbers = self._passages_above(rough, (floor - rest) * sure)
        n_postings = sum(len(self._postings_of(word)[0]) for word in light)
        # Passages with light words only may be among the best, or it is faster to add the light words to all.
        if light and (rest >= floor * sure or _LOOK_UP * len(numbers) > n_postings):
            rough += self.rough_scores({word: query[word] for word in light})
            floor, light = max(score_lower_bound(rough, k) * sure, floor), []
            numbers = self._passages_above(rough, floor * sure)
        scores = rough[numbers]
        while light:
            word = light.pop()
            scores += query[word] * self._weights_in(word, numbers)
            floor = max(score_lower_bound(scores, k) * sure, floor)
            can_be_best = scores >= (floor - sum(most[word] for word in light)) * sure
            numbers, scores = numbers[can_be_best], scores[can_be_best]
        return numbers, self.scores(query, numbers)

    def _passages_above(self, rough: NDArray[np.float32], floor: float) -> NDArray[np.int32]:
        return np.flatnonzero(rough >= np.float32(max(floor, _SMALLEST))).astype(np.int32)

    def _postings_of(self, word: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        begin, end = self.postings.starts[word : word + 2]
        return self.postings.passages[begin:end], self.weights[begin:end]

    def _largest_weight(self, word: int) -> float:
        if word not in self._largest:
            self._largest[word] = float(self._postings_of(word)[1].max(initial=0))
        return self._largest[word]

    def _weights_in(self, word: int, numbers: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the weight of a word in some passages, 0 where it does not occur."""
        passages, weights = self._postings_of(word)
        if not len(passages):
            return np.zeros(len(numbers))
        places = np.searchsorted(passages, numbers)
        places[places == len(passages)] = 0
        return np.where(passages[places] == numbers, weights[places].astype(np.float64), 0.0)

    def all_scores(self, query: Mapping[int, int]) -> NDArray[np.float64]:
        """Return the score of each passage, the same to the last bit."""
        totals = np.zeros(len(self.postings.lengths))
        for word, times in query.items():
            passages, weights = self._postings_of(word)
            totals[passages] += times * weights.astype(np.float64)
        return totals

    def scores(self, query: Mapping[int, int], numbers: NDArray[np.int32]) -> NDArray[np.float64]:
        """Return the scores of some passages."""
        totals = np.zeros(len(numbers))
        for word, times in query.items():
            totals += times * self._weights_in(word, numbers)
        return totals

    def rough_scores(self, query: Mapping[int, int]) -> NDArray[np.float32]:
        """Return the score of each passage in single precision, off by less than ``rounding_error`` of it."""
        rough: NDArray[np.float32] = self._columns[:, list(query)] @ np.array(list(query.values()), np.float32)
        return rough

    @cached_property
    def _columns(self) -> Any:
        from scipy.sparse import csc_array  # imported here, because it takes a tenth of a second

        starts, passages, _, lengths = self.postings
        # scipy uses the mapped arrays without a copy only if both kinds of numbers have the same size.
        fits = starts[-1] <= np.iinfo(passages.dtype).max
        pointers = starts.astype(passages.dtype) if fits else starts
        return csc_array((self.weights, passages, pointers), shape=(len(lengths), len(starts) - 1), copy=False)


class WeightMatrix(PostingWeights):
    """The weights of an index that is not sharded, with its words."""

    def __init__(self, folder: Path) -> None:
        try:
            model = import_module("bm25s").BM25.load(folder, mmap=True)
            weights, passages, starts = (np.asarray(model.scores[name]) for name in ("data", "indices", "indptr"))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise index_damage_error(folder, str(error)) from None
        self.words: dict[str, int] = model.vocab_dict
        super().__init__(
            folder, Postings(starts, passages, load_array(folder, "counts"), load_array(folder, "lengths")), weights
        )
        if self.postings.words != len(self.words):
            raise index_damage_error(folder, "its files do not match")
