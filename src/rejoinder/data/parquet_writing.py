"""Writing records to a Parquet file, a row group at a time (extra: arrow)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from rejoinder.data.importers._arrow import arrow, arrow_path
from rejoinder.data.objects import to_object
from rejoinder.data.parquet import schema
from rejoinder.errors import InputError
from rejoinder.types import Record

_ROWS, _BYTES = 16_384, 2**24  # of a row group, which is what reading and writing hold at a time


class Writer:
    """A Parquet file that is being written; it must be closed."""

    def __init__(self, path: Path) -> None:
        arrow("writing Parquet")
        from pyarrow.parquet import ParquetWriter

        self._schema, where = schema(), arrow_path(path)
        try:
            self._file = ParquetWriter(where, self._schema, compression="zstd")
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None
        self._rows: list[dict[str, Any]] = []
        self._size = 0

    def add(self, record: Record) -> None:
        """Write a record."""
        row = to_object(record)
        self._rows.append(_row(row))
        self._size += len(orjson.dumps(row))
        if len(self._rows) >= _ROWS or self._size >= _BYTES:
            self._flush()

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        self._file.close()

    def _flush(self) -> None:
        if self._rows:
            import pyarrow as pa

            columns = [
                pa.array(values, one.type) if any(v is not None for v in values) else pa.nulls(len(values), one.type)
                for one in self._schema
                for values in [[row.get(one.name) for row in self._rows]]
            ]
            self._file.write_table(pa.Table.from_arrays(columns, schema=self._schema))
            self._rows, self._size = [], 0


def write(found: Iterable[Record], path: Path) -> int:
    """Write records to a Parquet file and say how many."""
    count = 0
    with Writer(path) as file:
        for record in found:
            file.add(record)
            count += 1
    return count


def _row(o: Mapping[str, Any]) -> dict[str, Any]:
    row = dict(o)
    if "references" in row:
        row["references"] = [{"text": one} if isinstance(one, str) else one for one in row["references"]]
    if "candidates" in row:
        row["candidates"] = [_candidate_row(one) for one in row["candidates"]]
    if "meta" in row:
        row["meta"] = orjson.dumps(row["meta"]).decode()
    return row


def _candidate_row(o: Mapping[str, Any]) -> dict[str, Any]:
    return {**o, **{key: orjson.dumps(o[key]).decode() for key in ("grade", "meta") if key in o}}
