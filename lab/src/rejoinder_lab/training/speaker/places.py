"""The places that SSREM, RSREM and RUBER are trained on: a true reply in its context, and negatives from the sets.

A place is a turn with known words, after turns with known words. Its negatives are resampled in every epoch: one from
each of the same conversation, partner and speaker and of the others (SSREM, equation 3 of Bak and Oh 2020), four of the
others (RSREM), or one (RUBER). None of them is in the context or says the same as a turn of it. Where a set has no
reply for a place, the place has one negative fewer; the paper's recipe leaves such places out.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError
from rejoinder.files import put_in_place
from rejoinder.indexes.corpus import Corpus, Numbers
from rejoinder.indexes.pool_sampling import draw_keys
from rejoinder.indexes.speakers import SETS, SpeakerSet
from rejoinder.models.speaker.model import ContextView
from rejoinder.models.speaker.network import Array, Kind, join_views
from rejoinder.models.speaker.vectors import WeightedVectors, centre_vectors
from rejoinder_lab.training.turn_vectors import TurnVectors

NEGATIVES: dict[Kind, tuple[tuple[SpeakerSet, int], ...]] = {
    "ssrem": tuple((SpeakerSet(name), 1) for name in SETS),
    "rsrem": ((SpeakerSet("random"), 4),),
    "ruber": ((SpeakerSet("random"), 1),),
}
_COPY = 99  # the salt for sampling a copy, besides those of the sets
_BATCH_PLACES = 65_536
_BLOCK_ROWS = 4_096  # rows that are in memory together while a matrix is computed
_REPLIES, _CONTEXTS = "replies.npy", "contexts.npy"


class PlaceRows(NamedTuple):
    """Some places as a network reads them; ``there`` says which replies exist; the first one, which is true, always."""

    contexts: Array  # (n, views * d)
    replies: Array  # (n, k, d)
    there: NDArray[np.bool_]


def select_split_turns(vectors: TurnVectors, split: str, views: tuple[ContextView, ...]) -> Numbers:
    """Return the places of a split."""
    corpus = vectors.corpus
    names = np.array([name == split for name, _ in corpus.groups])
    turns = corpus.moments()
    turns = turns[names[corpus.group[corpus.dialogue[turns]]]]
    turns = turns[vectors.turn_weights(turns) > 0]
    most = max(view.turns for view in views)
    parts = [turns[start : start + _BATCH_PLACES] for start in range(0, len(turns), _BATCH_PLACES)]
    return np.concatenate([np.zeros(0, np.int64), *(part[_has_context(vectors, part, most)] for part in parts)])


def _has_context(vectors: TurnVectors, turns: Numbers, most: int) -> NDArray[np.bool_]:
    first = vectors.corpus.starts[vectors.corpus.dialogue[turns]]
    has_words = np.zeros(len(turns), bool)
    for age in range(1, int(min(most, (turns - first).max(initial=0))) + 1):
        earlier = turns - age
        has_words |= (earlier >= first) & (vectors.turn_weights(np.maximum(earlier, 0)) > 0)
    return has_words


def select_complete(corpus: Corpus, turns: Numbers) -> Numbers:
    """Return the places that have a reply from each of the four sets."""
    complete = np.ones(len(turns), bool)
    for name in SETS:
        complete &= corpus.speakers.sample(SpeakerSet(name), turns, 1, draw_keys(turns, 0))[:, 0] >= 0
    return turns[complete]


def sample_negatives(corpus: Corpus, kind: Kind, turns: Numbers, seed: int) -> Numbers:
    """Return the turns that are the negatives of some places, one row per place; -1 where a set has none."""
    columns = [
        corpus.speakers.sample(speaker_set, turns, k, draw_keys(turns, seed, salt))
        for salt, (speaker_set, k) in enumerate(NEGATIVES[kind])
    ]
    return np.concatenate(columns, axis=1)


def sample_copies(corpus: Corpus, turns: Numbers, seed: int, most: int) -> Numbers:
    """Return a turn of each place's context, as a reply that copies."""
    first = np.maximum(corpus.starts[corpus.dialogue[turns]], turns - most)
    random = (draw_keys(turns, seed, _COPY) >> np.uint64(11)).astype(np.float64) / 2**53
    chosen: Numbers = first + (random * (turns - first)).astype(np.int64)
    return chosen


def context_views(vectors: TurnVectors, turns: Numbers, views: tuple[ContextView, ...]) -> list[WeightedVectors]:
    """Return the views of the contexts of some turns."""
    return [vectors.contexts(turns, view.decay, view.turns) for view in views]


def mean_vector(vectors: TurnVectors, turns: Numbers) -> Array:
    """Return the mean of the true replies of some places, at half precision, as it will be stored."""
    total = np.zeros(vectors.matrix.shape[1])
    for start in range(0, len(turns), _BLOCK_ROWS):
        total += vectors.replies(turns[start : start + _BLOCK_ROWS]).vectors.sum(axis=0, dtype=np.float64)
    return np.asarray((total / len(turns)).astype(np.float16).astype(np.float32))


class VectorInputs:
    """The vectors of places and replies as networks read them, computed once and memory-mapped in a folder."""

    def __init__(
        self, vectors: TurnVectors, turns: Numbers, views: tuple[ContextView, ...], mean: Array | None, folder: Path
    ) -> None:
        self._row, self._there = vectors.row, vectors.weights > 0
        self._turns = turns  # sorted

        def replies(begin: int, end: int) -> Array:
            return centre_vectors(vectors.matrix[begin:end], mean)

        def contexts(begin: int, end: int) -> Array:
            return join_views(context_views(vectors, turns[begin:end], views), mean)

        self._replies = _map_matrix(folder / _REPLIES, vectors.matrix.shape, replies)
        self._contexts = _map_matrix(folder / _CONTEXTS, (len(turns), len(views) * vectors.matrix.shape[1]), contexts)

    def rows(self, turns: Numbers, negatives: Numbers) -> PlaceRows:
        """Return some places with their true replies and negatives."""
        candidates = np.concatenate([turns[:, None], negatives], axis=1)
        row = self._row[np.maximum(candidates, 0)]
        exists = (candidates >= 0) & self._there[row]
        return PlaceRows(self._contexts[np.searchsorted(self._turns, turns)], self._replies[row], exists)


def remove_inputs(folder: Path) -> None:
    """Delete the files of a training besides its checkpoint."""
    for name in (_REPLIES, _CONTEXTS):
        (folder / name).unlink(missing_ok=True)


def _map_matrix(path: Path, shape: tuple[int, ...], part: Callable[[int, int], Array]) -> Array:
    """Return a matrix from a file, computed part by part unless it exists; the file appears when it is complete."""
    if not path.is_file():
        scratch = path.with_suffix(".part")
        matrix = np.lib.format.open_memmap(scratch, "w+", np.dtype(np.float32), shape)
        for begin in range(0, shape[0], _BLOCK_ROWS):
            end = min(begin + _BLOCK_ROWS, shape[0])
            matrix[begin:end] = part(begin, end)
        matrix.flush()
        put_in_place(scratch, path)
    return np.asarray(np.load(path, mmap_mode="r"))


def check_sets(corpus: Corpus, kind: Kind, turns: Numbers) -> str:
    """Return how many places have each set, in words; raise where a scorer of this kind cannot be trained."""
    if not len(turns):
        raise InputError("no dialogue of the split 'train' has two turns with known words; give longer ones")
    counts = [
        int((corpus.speakers.sample(speaker_set, turns, 1, draw_keys(turns, 0))[:, 0] >= 0).sum())
        for speaker_set, _ in NEGATIVES[kind]
    ]
    names = [speaker_set.name.replace("_", " ") for speaker_set, _ in NEGATIVES[kind]]
    if not counts[-1]:
        raise InputError(
            "all turns of a corpus are by one speaker, so there are no replies of others to use as negatives; "
            "give dialogues of several speakers"
        )
    if kind == "ssrem" and not any(counts[:-1]):
        raise InputError(
            "no turn has another turn by the same speaker (are the speakers missing?); name the speakers of "
            "the turns, or train rsrem, which needs none"
        )
    shares = ", ".join(f"{name} {100 * n / len(turns):.0f}%" for name, n in zip(names, counts, strict=True))
    summary = f"{len(turns):,} places to train on; share with a negative from each set: {shares}"
    rare = [f"{name} ({n:,})" for name, n in zip(names, counts, strict=True) if n < 0.005 * len(turns)]
    if kind == "ssrem" and rare:
        summary += (
            f"\nwarning: too few of {len(turns):,} places have a negative of {' and '.join(rare)} for ssrem to learn "
            "from it; give dialogues whose speakers keep their names from one dialogue to the next (A, B and user do "
            "not count), or train rsrem, which needs no speakers"
        )
    return summary
