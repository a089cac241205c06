"""The vectors of every distinct turn of a corpus, computed once and cached as a memory-mapped matrix.

The matrix is in ``<cache>/turn-vectors`` under the digests of the vectors and of the corpus. Vectors that were computed
before a training was stopped are in the cache of embeddings, so nothing is computed twice.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rejoinder.files import sha256_of_bytes
from rejoinder.indexes.corpus import Codes, Numbers
from rejoinder.models.base import Vectors
from rejoinder.models.speaker.vectors import TurnEncoder, WeightedVectors, context_vectors
from rejoinder.paths import cache_home
from rejoinder.sources import Corpus

_CHUNK = 8_192  # texts that are turned into vectors together
_BATCH_TURNS = 65_536  # turns whose texts are in memory together
_MATRIX, _WEIGHTS = "vectors.npy", "weights.npy"


@dataclass(frozen=True, eq=False)
class TurnVectors:
    """The vectors of a corpus's turns: turns with exactly the same text share a row of ``matrix``."""

    corpus: Corpus
    row: Codes  # of each turn
    matrix: Vectors
    weights: Vectors  # of each row

    def replies(self, turns: Numbers) -> WeightedVectors:
        """Return the vectors of some turns; a turn of -1 has no weight."""
        rows = self.row[np.maximum(turns, 0)]
        return WeightedVectors(self.matrix[rows], np.where(turns >= 0, self.weights[rows], 0))

    def contexts(self, turns: Numbers, decay: float, most: int) -> WeightedVectors:
        """Return the vectors of the contexts of some turns, of at most so many turns."""
        first = self.corpus.starts[self.corpus.dialogue[turns]]
        longest = int(min(most, (turns - first).max(initial=1)))
        earlier = (turns - age for age in range(1, max(longest, 1) + 1))
        return context_vectors((self._from(turn, first) for turn in earlier), decay)

    def _from(self, turns: Numbers, first: Numbers) -> WeightedVectors:
        return self.replies(np.where(turns >= first, turns, -1))

    def turn_weights(self, turns: Numbers) -> Vectors:
        """Return the weights of some turns: 0 where a turn has no known words."""
        return self.weights[self.row[turns]]


def open_turn_vectors(corpus: Corpus, vectors: TurnEncoder, log: Callable[[str], None]) -> TurnVectors:
    """Return the vectors of a corpus, from the cache or computed now."""
    digests = np.concatenate([_turn_digests(corpus, start) for start in range(0, corpus.n_turns, _BATCH_TURNS)])
    _, first, row = np.unique(digests, return_index=True, return_inverse=True)
    # In the order of their first turns, so that what is near in the corpus is near in the file.
    order = np.argsort(first)
    row_of_code = np.empty(len(order), np.int32)
    row_of_code[order] = np.arange(len(order), dtype=np.int32)
    folder = _cache_folder(vectors, digests[first[order]])
    if not (folder / _WEIGHTS).is_file():
        _build_turn_vectors(folder, corpus, first[order], vectors, log)
    matrix = np.load(folder / _MATRIX, mmap_mode="r")
    weights = np.load(folder / _WEIGHTS)
    return TurnVectors(corpus, row_of_code[row.reshape(-1)], matrix, weights)


def _turn_digests(corpus: Corpus, start: int) -> Numbers:
    texts = corpus.texts(np.arange(start, min(start + _BATCH_TURNS, corpus.n_turns)))
    hashed = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts)
    return np.frombuffer(b"".join(hashed), "<i8")


def _cache_folder(vectors: TurnEncoder, digests: Numbers) -> Path:
    name = sha256_of_bytes(vectors.digest.encode() + digests.tobytes())[:32]
    return cache_home() / "turn-vectors" / name


def _build_turn_vectors(
    folder: Path, corpus: Corpus, turns: Numbers, vectors: TurnEncoder, log: Callable[[str], None]
) -> None:
    """Compute the vectors of some turns; the folder appears when it is complete."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix="."))
    try:
        shape = (len(turns), vectors.dimensions)
        matrix = np.lib.format.open_memmap(scratch / _MATRIX, "w+", np.dtype(np.float32), shape)
        weights = np.zeros(len(turns), np.float32)
        for start in range(0, len(turns), _CHUNK):
            part = slice(start, start + _CHUNK)
            matrix[part], weights[part] = vectors.encode_turns(corpus.texts(turns[part]))
            log(f"vectors of {min(start + _CHUNK, len(turns)):,} of {len(turns):,} distinct turns by {vectors.name}")
        matrix.flush()
        np.save(scratch / _WEIGHTS, weights)
        if not folder.exists():
            scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
