"""Many texts encoded by an engine: each worker loads the encoder once, and all engines give the same bytes.

Which texts are computed together depends only on the texts: always the same number in a row, in batches that do not
depend on the number of threads.
"""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import orjson
from numpy.typing import NDArray

from rejoinder.engines.base import Engine, WorkerSpec, order_results
from rejoinder.errors import InputError, MissingExtraError, SpecError
from rejoinder.files import atomic_write
from rejoinder.models.base import Encoder
from rejoinder.models.encoder.factory import load_encoder
from rejoinder.models.onnx.session import keep_batches_whole

Precision: TypeAlias = Literal["float16", "float32"]
AT_ONCE = 1_024  # texts per task
DTYPES: dict[Precision, str] = {"float16": "<f2", "float32": "<f4"}


class EmbeddingWorker:
    """An encoder by name, which must be the same on every machine."""

    def __init__(self, name: str, digest: str, precision: Precision) -> None:
        self._encoder = load_encoder(name, cache=False)
        self._type = DTYPES[precision]
        if self._encoder.digest != digest:
            raise SpecError(f"the encoder {name!r} is not the same on every machine; install it again")

    def compute(self, task: Sequence[str]) -> str:
        """Return the vectors of some texts, concatenated and in base64."""
        with keep_batches_whole():
            vectors = self._encoder.encode(task)
        return base64.b64encode(np.ascontiguousarray(vectors, self._type).tobytes()).decode()

    def close(self) -> None:
        """Nothing to release."""


def embed_texts(
    texts: Iterable[str], encoder: Encoder, engine: Engine, precision: Precision = "float32"
) -> Iterator[NDArray[Any]]:
    """Yield the vectors of texts in order, in blocks; workers load the encoder by its name."""
    worker = WorkerSpec(
        "rejoinder.models.encoder.worker:EmbeddingWorker",
        (encoder.name, encoder.digest, precision),
    )
    remaining = iter(texts)
    tasks = iter(lambda: list(itertools.islice(remaining, AT_ONCE)), [])
    for raw in order_results(engine.compute(worker, tasks)):
        yield np.frombuffer(base64.b64decode(raw), DTYPES[precision]).reshape(-1, encoder.dimensions)


SUFFIXES = (".npy", ".parquet")
IDS_SUFFIX = ".ids.jsonl"  # replaces .npy


def check_vector_path(path: Path) -> None:
    """Raise if vectors cannot be written to this path."""
    if path.suffix not in SUFFIXES:
        raise InputError(f"{path}: vectors are written as .npy or .parquet; use one of these extensions")
    if path.suffix == ".parquet":
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            raise MissingExtraError("pyarrow", "arrow", "writing Parquet") from None


def write_vector_file(
    blocks: Iterable[NDArray[Any]], ids: Iterable[str], shape: tuple[int, int], precision: Precision, path: Path
) -> None:
    """Write vectors as they arrive, each with its id; ``shape`` is their number and their dimension."""
    check_vector_path(path)
    names = iter(ids)
    with atomic_write(path) as file:
        if path.suffix == ".parquet":
            _write_parquet(blocks, names, shape[1], precision, file)
            return
        with atomic_write(path.with_suffix(IDS_SUFFIX)) as ids_file:
            header = {"descr": DTYPES[precision], "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            for block in blocks:
                file.write(block.tobytes())
                ids_file.writelines(
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
