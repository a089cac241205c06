"""The cache of embeddings: each distinct text is encoded once, across runs, processes and metrics.

There is one SQLite file per model digest, in ``<cache>/embeddings``, with a vector and a checksum under
blake2b(side, text). SQLite makes it safe if a process is killed or several write at once; a damaged file, or a vector
with a wrong checksum, is computed again. Losing the cache only costs time.
"""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from rejoinder.errors import RejoinderError
from rejoinder.models.base import Encoder, Side, TokenVectors, Vectors

_CHUNK = 2_048  # texts encoded between two writes: the most that a killed process can lose
_KEYS_PER_QUERY = 500  # SQLite's oldest builds allow 999
_LOCK_TIMEOUT = 60.0  # seconds to wait for another process that writes
_CHECKSUM_BYTES = 4


class CachedEncoder:
    """An encoder that looks up vectors before it computes them."""

    def __init__(self, encoder: Encoder, folder: Path) -> None:
        self._encoder = encoder
        self._store = VectorCache(folder / f"{encoder.digest[:32]}.sqlite", encoder.dimensions)
        self.name, self.digest = encoder.name, encoder.digest
        self.dimensions, self.max_tokens = encoder.dimensions, encoder.max_tokens

    def encode(self, texts: Sequence[str], cut: Side = "right") -> Vectors:
        """Return one vector of length 1 per text, in order; a text of more than ``max_tokens`` is cut on one side."""
        keys = self._keys(texts, cut)
        distinct = dict(zip(keys, texts, strict=True))
        index = {key: i for i, key in enumerate(distinct)}
        vectors = np.empty((len(distinct), self.dimensions), np.float32)
        known = self._store.get(list(distinct), vectors)
        # Sorted by length, so that a chunk can be split into even batches.
        missing = sorted((key for key in distinct if key not in known), key=lambda key: len(distinct[key]))
        for start in range(0, len(missing), _CHUNK):
            chunk = missing[start : start + _CHUNK]
            new_vectors = self._encoder.encode([distinct[key] for key in chunk], cut)
            vectors[[index[key] for key in chunk]] = new_vectors
            self._store.put(chunk, new_vectors)
        return vectors[[index[key] for key in keys]]

    def encode_tokens(self, texts: Sequence[str], layer: int = -1, cut: Side = "right") -> list[TokenVectors]:
        """Return the vectors of each text's tokens; equal texts are encoded once, but not cached (they are large)."""
        distinct = list(dict.fromkeys(texts))
        results = dict(zip(distinct, self._encoder.encode_tokens(distinct, layer, cut), strict=True))
        return [results[text] for text in texts]

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return which of the texts are too long to be read in full."""
        return self._encoder.truncated(texts)

    def _keys(self, texts: Sequence[str], cut: Side) -> list[bytes]:
        """Return the cache keys; a text that is read in full has one vector, whichever side would be cut."""
        if cut == "right":
            return [_vector_key(text, cut) for text in texts]
        distinct = list(dict.fromkeys(texts))
        long_texts = {text for text, is_cut in zip(distinct, self._encoder.truncated(distinct), strict=True) if is_cut}
        return [_vector_key(text, cut if text in long_texts else "right") for text in texts]


class VectorCache:
    """Vectors by key in one SQLite file, opened for each call, so that processes and threads need no coordination."""

    def __init__(self, path: Path, dimensions: int) -> None:
        self._path = path
        self._dimensions = dimensions

    def get(self, keys: Sequence[bytes], into: Vectors) -> set[bytes]:
        """Write the cached vectors into their rows of ``into``; return the keys that were found."""
        if not self._path.exists():
            return set()
        index = {key: i for i, key in enumerate(keys)}
        cached_keys: set[bytes] = set()
        try:
            with closing(self._open()) as store:
                for start in range(0, len(keys), _KEYS_PER_QUERY):
                    batch = keys[start : start + _KEYS_PER_QUERY]
                    marks = ",".join("?" * len(batch))
                    for key, raw in store.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", batch):
                        if (vector := self._verify(raw)) is not None:
                            into[index[key]] = vector
                            cached_keys.add(key)
        except sqlite3.Error as error:
            self._recover(error)
        return cached_keys

    def put(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Store vectors; all of them or, if the process is killed, none."""
        rows = [(key, _add_checksum(vector.tobytes())) for key, vector in zip(keys, vectors, strict=True)]
        try:
            self._put(rows)
        except sqlite3.Error as error:
            self._recover(error)
            self._put(rows)

    def _put(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _cache_error(self._path, error.strerror) from None
        with closing(self._open()) as store, store:
            store.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def _open(self) -> sqlite3.Connection:
        store = sqlite3.connect(self._path, timeout=_LOCK_TIMEOUT)
        # A write-ahead log lets others read during a write; its last pages may be lost in a power failure.
        store.execute("PRAGMA journal_mode=WAL")
        store.execute("PRAGMA synchronous=NORMAL")
        store.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
        return store

    def _verify(self, raw: object) -> Vectors | None:
        if not isinstance(raw, bytes) or len(raw) != _CHECKSUM_BYTES + 4 * self._dimensions:
            return None
        if zlib.crc32(raw[_CHECKSUM_BYTES:]).to_bytes(_CHECKSUM_BYTES, "little") != raw[:_CHECKSUM_BYTES]:
            return None
        return np.frombuffer(raw, "<f4", offset=_CHECKSUM_BYTES)

    def _recover(self, error: sqlite3.Error) -> None:
        """Delete a damaged file; raise on anything else (a full disk, a lock that is not released)."""
        if isinstance(error, sqlite3.OperationalError) or not isinstance(error, sqlite3.DatabaseError):
            raise _cache_error(self._path, str(error)) from None
        for path in (self._path, *(self._path.with_name(self._path.name + end) for end in ("-wal", "-shm"))):
            path.unlink(missing_ok=True)


def _cache_error(path: Path, reason: str | None) -> RejoinderError:
    return RejoinderError(
        f"{path}: embeddings cannot be stored ({reason}); free some space, delete the file, or set REJOINDER_CACHE "
        "to another folder"
    )


def _vector_key(text: str, cut: Side) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16, person=cut.encode()).digest()


def _add_checksum(raw: bytes) -> bytes:
    return zlib.crc32(raw).to_bytes(_CHECKSUM_BYTES, "little") + raw
