"""Static word vectors: a memory-mapped matrix and the words of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError, SpecError
from rejoinder.files import sha256_of_files
from rejoinder.model_use import ModelUse, record_use
from rejoinder.models.base import Vectors, WordVectors
from rejoinder.models.card import join_digests
from rejoinder.models.catalog.entries import MODELS, find_model
from rejoinder.models.catalog.manifest import read_model_manifest, require_model

MATRIX = "vectors.npy"
VOCABULARY = "words.txt"


class MappedVectors:
    """The vectors of a folder with ``vectors.npy`` (float32) and ``words.txt`` (one word per line, in row order)."""

    def __init__(self, folder: Path, name: str, digest: str | None = None) -> None:
        self.name = name
        self._matrix = _read_matrix(folder / MATRIX)
        self._rows = _read_words(folder / VOCABULARY)
        if len(self._rows) != len(self._matrix):
            raise InputError(
                f"{folder}: has {len(self._rows):,} words for {len(self._matrix):,} vectors; each row needs one word"
            )
        self.dimensions = int(self._matrix.shape[1])
        self.digest = digest or sha256_of_files([folder / MATRIX, folder / VOCABULARY])

    def __contains__(self, word: str) -> bool:
        return word in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def vectors(self, words: Sequence[str]) -> tuple[Vectors, NDArray[np.bool_]]:
        """Return one vector per word (zeros if unknown), and which words are known."""
        rows = np.array([self._rows.get(word, -1) for word in words], np.intp)
        known = rows >= 0
        matrix = np.zeros((len(words), self.dimensions), np.float32)
        matrix[known] = self._matrix[rows[known]]
        return matrix, known


def load_word_vectors(name: str) -> WordVectors:
    """Load word vectors by their name in the catalog, or from a folder with ``vectors.npy`` and ``words.txt``.

    - ``name``: the name or the folder.

    >>> import rejoinder
    >>> vectors, known = rejoinder.models.load_word_vectors("glove-6b-50d").vectors(["hello", "qzxv"])
    >>> list(known)
    [True, False]
    """
    vectors = _open_word_vectors(name)
    record_use(describe_word_vectors(vectors))
    return vectors


def describe_word_vectors(vectors: WordVectors) -> ModelUse:
    """Return the name, the licence and the digest of word vectors."""
    licence = MODELS[vectors.name].licence if vectors.name in MODELS else ""
    return ModelUse.of(vectors.name, licence, vectors.digest)


def _open_word_vectors(name: str) -> MappedVectors:
    if name not in MODELS and Path(name).is_dir():
        return MappedVectors(Path(name), name)
    model = find_model(name)
    if model.kind != "word-vectors":
        others = ", ".join(m.name for m in MODELS.values() if m.kind == "word-vectors")
        raise SpecError(f"{name!r} is of kind {model.kind}, not word vectors; available: {others}")
    folder = require_model(name)
    manifest = read_model_manifest(folder)
    digests = manifest.files if manifest else {}
    return MappedVectors(folder, name, join_digests(digests[MATRIX], digests[VOCABULARY]))


def _read_matrix(path: Path) -> Vectors:
    try:
        matrix: Vectors = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from None
    except ValueError as error:
        raise InputError(f"{path}: is not a matrix of numbers ({error})") from None
    if matrix.ndim != 2 or matrix.dtype != np.float32:
        raise InputError(f"{path}: must hold a float32 matrix, not {matrix.dtype} of {matrix.ndim} dimensions")
    return matrix


def _read_words(path: Path) -> dict[str, int]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8 text; write one word per line") from None
    # Not splitlines: words in a vocabulary may contain other line separators.
    words = text.removesuffix("\n").split("\n")
    rows = {word: row for row, word in enumerate(words)}
    if len(rows) != len(words):
        raise InputError(
            f"{path}: words occur more than once ({len(words) - len(rows):,} extra); each may occur only once"
        )
    return rows
