"""Tables in memory as rows: data frames, Arrow tables, datasets, lists of dictionaries, dictionaries of columns."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from rejoinder.data.collection import COLUMN_ATTRIBUTES
from rejoinder.data.spool import register_spool, remove_spool
from rejoinder.data.tables.header import name_columns
from rejoinder.data.tables.json_rows import find_columns, find_list
from rejoinder.errors import InputError, brief

_BATCH = 10_000
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS | orjson.OPT_APPEND_NEWLINE


def is_table(data: object) -> bool:
    """Whether an object is a table in memory: rows of dictionaries, or columns."""
    if isinstance(data, Mapping) or any(hasattr(type(data), name) for name in COLUMN_ATTRIBUTES):
        return True
    return isinstance(data, list | tuple) and bool(data) and isinstance(data[0], Mapping)


def name_table(data: object) -> str:
    """Return what errors call a table in memory."""
    return f"<{type(data).__name__}>"


def write_rows(data: Any) -> Path:
    """Write the rows of a table to a temporary file, one JSON object per line, and return its path."""
    with tempfile.NamedTemporaryFile(prefix="rejoinder-rows-", suffix=".jsonl", delete=False) as file:
        path = Path(file.name)
        register_spool(path)
        try:
            for number, row in enumerate(_iterate_rows(data), start=1):
                file.write(_encode_row(row, f"{name_table(data)} row {number}"))
        except BaseException:
            remove_spool(path)
            raise
    return path


def _iterate_rows(data: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a table, whatever library made it."""
    kind = f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}"
    if kind == "polars.LazyFrame":
        data = data.collect()
        kind = "polars.DataFrame"
    if kind == "pandas.DataFrame":
        if not data.columns.is_unique:
            data = data.set_axis(name_columns(data.columns), axis=1)
        for start in range(0, len(data), _BATCH):
            yield from data.iloc[start : start + _BATCH].to_dict("records")
    elif kind == "polars.DataFrame":
        yield from data.iter_rows(named=True)
    elif kind in ("pyarrow.Table", "pyarrow.RecordBatch"):
        if len(set(data.schema.names)) < len(data.schema.names):
            data = data.rename_columns(name_columns(data.schema.names))
        batches = data.to_batches(_BATCH) if kind == "pyarrow.Table" else [data]
        yield from itertools.chain.from_iterable(batch.to_pylist() for batch in batches)
    elif isinstance(data, Mapping):
        yield from _iterate_mapping(data)
    elif isinstance(data, Iterable):
        yield from _check_rows(data, kind)
    else:
        raise InputError(
            f"a {kind} cannot be read; pass a pandas or polars DataFrame, a pyarrow Table, or a list of rows"
        )


def _iterate_mapping(data: Mapping[Any, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a dictionary of columns; one of splits, as datasets have them, must have a single one."""
    if data and all(hasattr(value, "column_names") for value in data.values()):
        if len(data) > 1:
            first = next(iter(data))
            raise InputError(
                f"the data has several splits ({', '.join(map(str, data))}); pass one, for example data[{first!r}]"
            )
        yield from _iterate_rows(next(iter(data.values())))
        return
    if sum(isinstance(value, list | tuple) for value in data.values()) <= 1:
        around = find_columns(data) or find_list(data, name_table(data))
        if around is not None:  # not columns, but an object around rows, as services return it
            yield from around.rows
            return
    columns = {name: _as_list(name, values) for name, values in data.items()}
    lengths = {len(values) for values in columns.values()}
    if len(lengths) != 1:
        found = ", ".join(f"{name} has {len(values)}" for name, values in columns.items()) or "no column"
        raise InputError(f"the columns of a table must have the same length (found: {found}); pass one value per row")
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _as_list(name: Any, values: Any) -> list[Any]:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise InputError(
            f"the column {name!r} is {brief(values)}, not a list; pass columns as lists of values, or a single row as "
            "a list with one dictionary"
        )
    return list(values)


def _check_rows(rows: Iterable[Any], kind: str) -> Iterator[Mapping[str, Any]]:
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise InputError(f"row {number} of the {kind.partition('.')[2]} is {brief(row)}; it must be a dictionary")
        yield row


def _encode_row(row: Mapping[str, Any], place: str) -> bytes:
    try:
        return orjson.dumps(dict(row), default=_convert_value, option=_OPTIONS)
    except TypeError as error:
        cause = error.__cause__ or error
        raise InputError(
            f"{place}: cannot be read ({cause}); make its values texts, numbers, lists or dictionaries"
        ) from None


def _convert_value(value: Any) -> Any:
    """Return a value that JSON does not have as one that it has."""
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    for method in ("isoformat", "tolist", "item", "as_py"):
        convert = getattr(value, method, None)
        if callable(convert):
            return convert()
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "__float__"):  # decimals
        number = float(value)
        return None if math.isnan(number) else number
    raise TypeError(f"a value is of type {type(value).__name__}")
