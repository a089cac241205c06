"""Records as rows of a Parquet file: its columns are the keys of the JSONL schema (extra: arrow).

One row is one record of any kind; a key that the record does not have is null. Turns, references, statements and
candidates are lists of structs; ``meta``, and the ``grade`` of a candidate, are JSON in a string.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from rejoinder.data.arrow import arrow_path, import_arrow, read_valid_batches
from rejoinder.data.objects import LONGEST_LINE, to_object
from rejoinder.data.schema import RowPlace, from_object
from rejoinder.data.spool import is_pipe
from rejoinder.errors import EmptyError, InputError, brief, nearest
from rejoinder.types import Record

MAGIC = b"PAR1"
ENDING = ".parquet"
_BATCH = 2_048
_WORDS = "kind id dialogue item system text corpus split response rater aspect first second choice".split()


def arrow_schema() -> Any:
    """The Arrow schema of a file."""
    pa = import_arrow("Parquet")
    word, number, flag = pa.string(), pa.float64(), pa.bool_()
    turns = pa.list_(pa.struct([("speaker", word), ("text", word)]))
    references = pa.list_(pa.struct([("text", word), ("source", word), ("score", number), ("origin", word)]))
    situation = pa.list_(pa.struct([("text", word), ("category", word), ("relevant", flag)]))
    candidate = [(name, word) for name in ("text", "id", "grade", "source")]
    candidates = pa.list_(pa.struct([*candidate, ("labels", pa.list_(word)), ("meta", word)]))
    nested = {"context": turns, "references": references, "future": turns, "situation": situation, "turns": turns}
    columns = [(name, word) for name in _WORDS] + list(nested.items()) + [("candidates", candidates)]
    return pa.schema([*columns, ("truncated", flag), ("value", number), ("meta", word)])


def is_parquet(path: str | Path) -> bool:
    """Whether a file is Parquet by its content or its name."""
    if str(path).endswith(ENDING):
        return True
    if is_pipe(path):  # the bytes read would be lost
        return False
    try:
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:  # reading it will raise the error
        return False


def read_parquet_records(
    path: str | Path, name: str, without: frozenset[str] = frozenset(), allow_empty: bool = False
) -> Iterator[tuple[Record, RowPlace]]:
    """Yield the records of a file with their places; the columns in ``without`` are skipped as if empty."""
    for value, place in read_parquet_objects(path, name, without):
        yield from_object(value, place, allow_empty), place


def read_parquet_objects(
    path: str | Path, name: str, without: frozenset[str] = frozenset()
) -> Iterator[tuple[dict[str, Any], RowPlace]]:
    """Yield the rows of a file as JSON objects, one batch of a row group at a time.

    A file with ratings is always read whole: metrics are compared with baselines there, and these read more columns.
    """
    file = _open_file(path, name)
    with file:
        present = _check_columns(file.schema_arrow.names, name)
        if without and _has_raters(file.metadata):
            without = frozenset()
        wanted = [column for column in present if column not in without or "kind" not in present]
        number = 0
        for columns in _read_batches(file, wanted, name):
            keys = list(columns)
            for row in zip(*columns.values(), strict=True):
                number += 1
                values = {key: value for key, value in zip(keys, row, strict=True) if value is not None}
                yield _row_object(values, without, place := RowPlace(name, number)), place
        if not number:
            raise EmptyError(f"{name}: has no rows; leave it out, or write it again")


def read_first_parquet_rows(path: Path, count: int) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the columns of a file and its first rows, without nulls."""
    file = _open_file(path, path.name)
    with file:
        batches = file.iter_batches(batch_size=count)
        values = read_valid_batches(batches, lambda one: one.to_pylist(), lambda error: _damaged_file_error("", error))
        rows: list[dict[str, Any]] = next(values, [])
        return file.schema_arrow.names, [{key: v for key, v in row.items() if v is not None} for row in rows]


def _open_file(path: str | Path, name: str) -> Any:
    import_arrow("reading Parquet")
    from pyarrow.parquet import ParquetFile

    try:
        with Path(path).open("rb") as raw:
            begins = raw.read(len(MAGIC))
    except OSError as error:
        raise InputError(f"{name}: cannot be opened ({error.strerror})") from None
    if begins != MAGIC:
        what = "is empty" if not begins else f"begins with {brief(begins)}"
        raise InputError(f"{name}: is not a Parquet file (it {what}); is it incomplete or misnamed?")
    where = arrow_path(path)
    try:
        return ParquetFile(where)
    except Exception as error:
        raise _damaged_file_error(name, error) from None


def _has_raters(metadata: Any) -> bool:
    """Whether, by its footer, a file may contain ratings."""
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for column in map(group.column, range(group.num_columns)):
            if column.path_in_schema == "rater":
                statistics = column.statistics
                if statistics is None or not statistics.has_null_count or statistics.null_count < group.num_rows:
                    return True
    return False


def _check_columns(names: list[str], name: str) -> list[str]:
    """Return the columns of a file, which must all be in our schema."""
    known = arrow_schema().names
    unknown = sorted(set(names) - set(known))
    if unknown:
        wanted = "items have kind, id, context, references; responses kind, item, system, text"
        hint = nearest(unknown[0], known) if len(unknown) < len(names) / 2 else wanted
        raise InputError(
            f"{name}: has a column {brief(unknown[0])}, which is not in our schema ({hint}); rename it, or convert the "
            "file with: rejoinder import parquet FILE --field OURS=THEIRS"
        )
    return names


def _read_batches(file: Any, wanted: list[str], name: str) -> Iterator[dict[str, list[Any]]]:
    """Yield the values of each batch by column; empty columns are left out, except for the first."""
    ours = arrow_schema()
    batches = file.iter_batches(batch_size=_BATCH, columns=wanted)
    for batch in read_valid_batches(batches, lambda one: one, lambda error: _damaged_file_error(name, error)):
        _refuse_huge(batch, name)
        yield {
            column: _column_values(batch.column(column), ours.field(column).type, column, name)
            for column in wanted
            if column == wanted[0] or batch.column(column).null_count < len(batch)
        }


def _refuse_huge(batch: Any, name: str) -> None:
    """Raise if a row is larger than a line may be."""
    if batch.nbytes > LONGEST_LINE and max(batch.slice(n, 1).nbytes for n in range(len(batch))) > LONGEST_LINE:
        raise InputError(f"{name}: has a row of more than 64 MiB; write one record per row")


def _column_values(column: Any, type_: Any, key: str, name: str) -> list[Any]:
    if column.type != type_:
        try:
            column = column.cast(type_)
        except Exception:
            raise InputError(f"{name}: the column {key!r} is {column.type}; it must be {type_}") from None
    return list(column.to_pylist())


def _row_object(row: dict[str, Any], without: frozenset[str], place: RowPlace) -> dict[str, Any]:
    """Return a row as the JSON object of its record."""
    if "context" in without and row.get("kind") in ("item", "question"):
        row["context"] = []
    if "meta" in row:
        row["meta"] = _parse_json(row["meta"], "meta", place)
    for candidate in row.get("candidates") or ():
        for key in ("grade", "meta"):
            if candidate is not None and candidate[key] is not None:
                candidate[key] = _parse_json(candidate[key], key, place)
    return row


def _parse_json(text: str, key: str, place: RowPlace) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        raise InputError(f"{place}: {key!r} must be JSON in a string, found {brief(text)}") from None


def _damaged_file_error(name: str, error: Exception) -> InputError:
    message = " ".join(str(error).split())[:160]
    return InputError(f"{name}: cannot be read as Parquet ({message or type(error).__name__}); get it again")


_ROWS, _BYTES = 16_384, 2**24  # of a row group, which is what reading and writing hold in memory


class RecordWriter:
    """Writes a Parquet file; use it as a context manager."""

    def __init__(self, path: Path) -> None:
        import_arrow("writing Parquet")
        from pyarrow.parquet import ParquetWriter

        self._schema, where = arrow_schema(), arrow_path(path)
        try:
            self._file = ParquetWriter(where, self._schema, compression="zstd")
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror or error})") from None
        self._rows: list[dict[str, Any]] = []
        self._size = 0

    def add(self, record: Record) -> None:
        """Write a record."""
        row = to_object(record)
        self._rows.append(_make_row(row))
        self._size += len(orjson.dumps(row))
        if len(self._rows) >= _ROWS or self._size >= _BYTES:
            self._flush()

    def __enter__(self) -> RecordWriter:
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


def write_parquet(records: Iterable[Record], path: Path) -> int:
    """Write records to a Parquet file and return how many there were."""
    count = 0
    with RecordWriter(path) as file:
        for record in records:
            file.add(record)
            count += 1
    return count


def _make_row(o: Mapping[str, Any]) -> dict[str, Any]:
    row = dict(o)
    if "references" in row:
        row["references"] = [{"text": one} if isinstance(one, str) else one for one in row["references"]]
    if "candidates" in row:
        row["candidates"] = [_make_candidate_row(one) for one in row["candidates"]]
    if "meta" in row:
        row["meta"] = orjson.dumps(row["meta"]).decode()
    return row


def _make_candidate_row(o: Mapping[str, Any]) -> dict[str, Any]:
    return {**o, **{key: orjson.dumps(o[key]).decode() for key in ("grade", "meta") if key in o}}
