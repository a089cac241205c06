"""A dataset that ``save_to_disk`` of the datasets library wrote, read by pyarrow alone (extra: arrow)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from rejoinder.data.importers import _arrow, _table
from rejoinder.data.importers._contract import Found, Options, Tally
from rejoinder.data.importers._files import File
from rejoinder.data.importers._table import Table
from rejoinder.errors import InputError, nearest

SUMMARY = 'a dataset saved with save_to_disk; --field says which column holds what (needs "rejoinder[arrow]")'
TAKES = _table.TAKES | {"split"}


def read(path: Path, options: Options, tally: Tally) -> Iterator[Found]:
    """The records of a saved dataset, or of one split of it."""
    pyarrow = _arrow.arrow("reading a saved dataset")
    folder = _split(path, options.split)
    table = Table(options, tally)
    labels = _labels(folder)
    number = 1
    for file in _stored(folder):
        try:
            with pyarrow.memory_map(str(file.path)) as source:
                stream = pyarrow.ipc.open_stream(source)
                columns = list(stream.schema.names)
                table.expect(columns, file.name)
                kept = table.wanted(columns)
                for batch in _arrow.guarded(file, stream):
                    rows = _named(pyarrow, batch.select(kept), labels)
                    yield from _arrow.records(table, file, [rows], number)
                    number += batch.num_rows
        except (pyarrow.ArrowException, OSError) as error:
            raise _arrow.damaged(file, error) from None


def _split(path: Path, wanted: str | None) -> Path:
    """The folder of the dataset itself, where there are several splits in it."""
    if not (path / "dataset_dict.json").is_file():
        if not (path / "state.json").is_file():
            raise InputError(
                f"{path}: is not a dataset saved with save_to_disk (it has no state.json and no dataset_dict.json); "
                "for files from a hub use: rejoinder import parquet"
            )
        if wanted is not None:
            raise InputError(f"{path}: has no splits; leave --split out")
        return path
    found = _object(path / "dataset_dict.json").get("splits")
    splits = [name for name in found if isinstance(name, str)] if isinstance(found, list) else []
    if wanted is None and len(splits) == 1:
        wanted = splits[0]
    if wanted is None:
        raise InputError(f"{path}: holds the splits {', '.join(splits) or 'none'}; choose one with --split NAME")
    if wanted not in splits:
        raise InputError(f"{path}: has no split {wanted!r}; {nearest(wanted, splits)}")
    return path / wanted


def _stored(folder: Path) -> list[File]:
    state = _object(folder / "state.json")
    if state.get("_indices_data_files"):
        raise InputError(f"{folder}: rows were chosen by an index file; save it again with flatten_indices()")
    listed = state.get("_data_files")
    entries = listed if isinstance(listed, list) else []
    names = [entry.get("filename") for entry in entries if isinstance(entry, dict)]
    paths = [folder / Path(name).name for name in names if isinstance(name, str) and Path(name).name]
    if not paths or len(paths) < len(entries):
        raise InputError(f"{folder / 'state.json'}: does not say which files hold the data ('_data_files')")
    for path in paths:
        if not path.is_file():
            raise InputError(f"{path}: no such file, though state.json names it; save the dataset again")
    return [File(path, path.name, folder.name) for path in paths]


def _labels(folder: Path) -> dict[str, list[str]]:
    """The names behind the columns that are stored as the numbers of classes."""
    info = folder / "dataset_info.json"
    features = _object(info).get("features") if info.is_file() else None
    found: dict[str, list[str]] = {}
    for column, feature in (features if isinstance(features, dict) else {}).items():
        names = feature.get("names") if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" else None
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            found[column] = names
    return found


def _named(pyarrow: Any, batch: Any, labels: Mapping[str, list[str]]) -> Any:
    table = pyarrow.Table.from_batches([batch])
    for column in labels.keys() & set(table.column_names):
        place, names = table.column_names.index(column), labels[column]
        values = [names[v] if isinstance(v, int) and 0 <= v < len(names) else None for v in batch[place].to_pylist()]
        table = table.set_column(place, column, pyarrow.array(values, pyarrow.string()))
    return table


def _object(path: Path) -> dict[str, Any]:
    try:
        found = orjson.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path}: not valid JSON ({error.msg})") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: must hold one JSON object")
    return found
