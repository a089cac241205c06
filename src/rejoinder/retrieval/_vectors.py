"""The vectors of passages on disk: one ``.npy`` a part, written as the vectors come, memory-mapped when searched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from rejoinder.errors import InputError
from rejoinder.models.contract import Encoder, Side, Vectors
from rejoinder.retrieval._folder import damaged
from rejoinder.retrieval._passages import load

Precision: TypeAlias = Literal["float16", "float32"]

_NAME = "vectors"
_TEXTS = 4096  # encoded at a time
_ROWS = 2**15  # compared at a time
_LONGER = 1e-3  # than 1: what an encoder's rounding may do


def write(texts: Iterable[str], folder: Path, encoder: Encoder, precision: Precision) -> int:
    """Write the vectors of texts as they come; how many there are."""
    texts = iter(texts)
    rows = 0
    with (folder / f"{_NAME}.npy").open("wb") as file:
        header = {"descr": npy.dtype_to_descr(np.dtype(precision)), "fortran_order": False}
        npy.write_array_header_1_0(file, {**header, "shape": (0, encoder.dimensions)})
        while block := list(islice(texts, _TEXTS)):
            file.write(encode(encoder, block, "right").astype(precision).tobytes())
            rows += len(block)
        file.seek(0)  # numpy leaves room in the header for the number of rows
        npy.write_array_header_1_0(file, {**header, "shape": (rows, encoder.dimensions)})
    return rows


def encode(encoder: Encoder, texts: Sequence[str], cut: Side) -> Vectors:
    """The vectors of texts, none of them longer than 1."""
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
        self._parts: list[NDArray[Any]] = [load(folder, _NAME) for folder in folders]
        for folder, part in zip(folders, self._parts, strict=True):
            if part.ndim != 2 or part.shape[1] != dimensions:
                raise damaged(folder, f"its vectors have the shape {part.shape}")
        self._firsts = np.cumsum([0, *map(len, self._parts)])

    def __len__(self) -> int:
        return int(self._firsts[-1])

    def blocks(self) -> Iterator[tuple[int, Vectors]]:
        """The vectors in blocks, each with the number of its first passage."""
        for first, part in zip(self._firsts, self._parts, strict=False):
            for begin in range(0, len(part), _ROWS):
                yield int(first) + begin, part[begin : begin + _ROWS].astype(np.float32, copy=False)

    def cosines(self, numbers: NDArray[np.int64], vector: NDArray[np.float32]) -> NDArray[np.float64]:
        """The products of some passages' vectors with one, each by itself and in double precision."""
        cosines: NDArray[np.float64] = (self.rows(numbers) * vector.astype(np.float64)).sum(axis=1)
        return cosines

    def rows(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """The vectors of some passages in double precision."""
        rows = np.empty((len(numbers), self._parts[0].shape[1]))
        for first, part in zip(self._firsts, self._parts, strict=False):
            here = (numbers >= first) & (numbers < first + len(part))
            rows[here] = part[numbers[here] - first]
        return rows
