"""A file of vectors: ``.npy`` with the ids beside it, or ``.parquet`` with both; it appears whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.files import whole_file
from rejoinder.models.encoder.worker import TYPES, Precision

ENDINGS = (".npy", ".parquet")
IDS = ".ids.jsonl"  # takes the place of .npy


def check(path: Path) -> None:
    """Raise where vectors cannot be written under such a name."""
    if path.suffix not in ENDINGS:
        raise InputError(f"{path}: vectors are written as .npy or .parquet; give the file one of these endings")
    if path.suffix == ".parquet":
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            raise MissingExtraError("pyarrow", "arrow", "writing Parquet") from None


def write(
    blocks: Iterable[NDArray[Any]], ids: Iterable[str], shape: tuple[int, int], precision: Precision, path: Path
) -> None:
    """Write vectors as they come, each under its id; ``shape`` is how many there are, and of how many numbers."""
    check(path)
    names = iter(ids)
    with whole_file(path) as file:
        if path.suffix == ".parquet":
            _write_parquet(blocks, names, shape[1], precision, file)
            return
        with whole_file(path.with_suffix(IDS)) as beside:
            about = {"descr": TYPES[precision], "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, about)
            for block in blocks:
                file.write(block.tobytes())
                beside.writelines(
                    orjson.dumps({"id": name}, option=orjson.OPT_APPEND_NEWLINE) for name in islice(names, len(block))
                )


def _write_parquet(
    blocks: Iterable[NDArray[Any]], names: Iterator[str], dimensions: int, precision: Precision, file: Any
) -> None:
    import pyarrow
    from pyarrow import parquet

    number = pyarrow.float16() if precision == "float16" else pyarrow.float32()
    schema = pyarrow.schema([("id", pyarrow.string()), ("vector", pyarrow.list_(number, dimensions))])
    with parquet.ParquetWriter(file, schema) as writer:
        for block in blocks:
            vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(block.reshape(-1), number), dimensions)
            writer.write_table(pyarrow.table([list(islice(names, len(block))), vectors], schema=schema))
