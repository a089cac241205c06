"""A column on disk that may exceed memory: an ``.npy`` file that grows as numbers are added."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import DTypeLike, NDArray


class DiskColumn:
    """A column being written; ``open_column`` makes one."""

    def __init__(self, path: Path, dtype: DTypeLike, shape: tuple[int, ...]) -> None:
        self._path, self._dtype, self._shape = path, np.dtype(dtype), shape
        self.rows = 0
        with path.open("wb") as file:
            self._write_header(file)

    def add(self, values: NDArray[Any] | list[int]) -> None:
        """Append numbers; the file is open only during the call, since there may be a thousand columns."""
        block = np.ascontiguousarray(values, self._dtype)
        with self._path.open("ab") as file:
            file.write(block.data)
        self.rows += len(block)

    def finish(self) -> None:
        """Write the number of rows into the header; numpy leaves room for it."""
        with self._path.open("r+b") as file:
            self._write_header(file)

    def _write_header(self, file: Any) -> None:
        header = {"descr": npy.dtype_to_descr(self._dtype), "fortran_order": False, "shape": (self.rows, *self._shape)}
        npy.write_array_header_1_0(file, header)


@contextmanager
def open_column(folder: Path, name: str, dtype: DTypeLike, shape: tuple[int, ...] = ()) -> Iterator[DiskColumn]:
    """Open a new column; ``shape`` is the shape of a row."""
    column = DiskColumn(folder / f"{name}.npy", dtype, shape)
    yield column
    column.finish()
