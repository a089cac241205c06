"""The vectors of passages on disk: one ``.npy`` per part, written as the vectors come, memory-mapped for searches.

In ``int8`` a vector is stored in 127ths of its largest number, together with that scale.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError
from rejoinder.indexes.one_field.column import open_column
from rejoinder.indexes.one_field.folder import index_damage_error
from rejoinder.indexes.one_field.passage_store import load_array
from rejoinder.models.base import Encoder, Side, Vectors

Precision: TypeAlias = Literal["int8", "float16", "float32"]

_NAME, _SCALES = "vectors", "scales"
_STEPS = 127  # on either side of 0
_TEXTS = 4096  # encoded at once
_ROWS = 2**15  # compared at once
_LONGER = 1e-3  # than 1, because of an encoder's rounding


def write_index_vectors(texts: Iterable[str], folder: Path, encoder: Encoder, precision: Precision) -> int:
    """Write the vectors of texts as they come; return how many there are."""
    texts = iter(texts)
    with open_column(folder, _NAME, precision, (encoder.dimensions,)) as column, ExitStack() as stack:
        scales = stack.enter_context(open_column(folder, _SCALES, np.float32)) if precision == "int8" else None
        while block := list(islice(texts, _TEXTS)):
            vectors = encode_index_texts(encoder, block, "right")
            if scales is not None:
                scale = np.abs(vectors).max(axis=1) / np.float32(_STEPS)
                scales.add(scale)
                vectors = np.rint(vectors / np.where(scale > 0, scale, 1)[:, None])
            column.add(vectors)
    return column.rows


def encode_index_texts(encoder: Encoder, texts: Sequence[str], cut: Side) -> Vectors:
    """Return the vectors of texts, none of them longer than 1."""
    vectors = np.asarray(encoder.encode(texts, cut), np.float32).reshape(len(texts), encoder.dimensions)
    lengths = np.linalg.norm(vectors, axis=1)
    wrong = lengths[~(lengths <= 1 + _LONGER)]  # or not a number
    if len(wrong):
        raise InputError(
            f"the encoder {encoder.name!r} gave a vector of length {wrong[0]:.4g}; use one whose vectors have length 1"
        )
    return vectors


class VectorStore:
    """The vectors of all passages of an index, in order."""

    def __init__(self, folders: Sequence[Path], dimensions: int) -> None:
        self._parts: list[NDArray[Any]] = [load_array(folder, _NAME) for folder in folders]
        self._scales = [_load_scales(folder, part) for folder, part in zip(folders, self._parts, strict=True)]
        for folder, part in zip(folders, self._parts, strict=True):
            if part.ndim != 2 or part.shape[1] != dimensions:
                raise index_damage_error(folder, f"its vectors have the shape {part.shape}")
        self._firsts = np.cumsum([0, *map(len, self._parts)])

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def blocks(self) -> Iterator[tuple[int, Vectors]]:
        """Yield the vectors in blocks, each with the number of its first passage; each block overwrites the last."""
        room = np.empty((_ROWS, self._parts[0].shape[1]), np.float32)  # faster than new memory for each block
        for first, part, scales in zip(self._firsts, self._parts, self._scales, strict=False):
            for begin in range(0, len(part), _ROWS):
                block = part[begin : begin + _ROWS]
                if scales is not None:
                    block = np.multiply(block, scales[begin : begin + _ROWS, None], out=room[: len(block)])
                elif block.dtype != np.float32:
                    np.copyto(room[: len(block)], block)
                    block = room[: len(block)]
                yield int(first) + begin, block

    def cosines(self, numbers: NDArray[np.int64], vector: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the products of some passages' vectors with one vector, each by itself and in double precision."""
        cosines: NDArray[np.float64] = (self.rows(numbers) * vector.astype(np.float64)).sum(axis=1)
        return cosines

    def rows(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the vectors of some passages in double precision."""
        rows = np.empty((len(numbers), self._parts[0].shape[1]))
        for first, part, scales in zip(self._firsts, self._parts, self._scales, strict=False):
            inside = (numbers >= first) & (numbers < first + len(part))
            rows[inside] = part[numbers[inside] - first]
            if scales is not None:
                rows[inside] *= scales[numbers[inside] - first, None]
        return rows


def _load_scales(folder: Path, vectors: NDArray[Any]) -> NDArray[np.float32] | None:
    """Return the scale of each int8 vector, or None for other precisions."""
    if vectors.dtype != np.int8:
        return None
    scales: NDArray[np.float32] = load_array(folder, _SCALES)
    if len(scales) != len(vectors):
        raise index_damage_error(folder, "its columns differ in length")
    return scales
