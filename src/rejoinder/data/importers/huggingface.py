"""A dataset written by ``save_to_disk`` of the datasets library, read with pyarrow alone (extra: arrow)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from rejoinder.data.arrow import arrow_path, import_arrow
from rejoinder.data.importer import File, ImportedRecord, ImportOptions, ImportTally
from rejoinder.data.importers import _table
from rejoinder.data.importers._containers import damaged_file_error, read_table_records
from rejoinder.data.importers._table import RowConverter
from rejoinder.errors import InputError, brief, nearest
from rejoinder.paths import printable

SUMMARY = 'a dataset saved with save_to_disk; --field says which column holds what (needs "rejoinder[arrow]")'
TAKES = _table.TAKES | {"split"}


def read(path: Path, options: ImportOptions, tally: ImportTally) -> Iterator[ImportedRecord]:
    """Yield the records of a saved dataset, or of one split of it."""
    pyarrow = import_arrow("reading a saved dataset")
    folder = _find_split(path, options.split)
    table = RowConverter(options, tally)
    labels = _read_class_names(folder)
    for file in _find_data_files(folder):
        where = arrow_path(file.path)
        try:
            source = pyarrow.OSFile(where)
            stream = pyarrow.ipc.open_stream(source)
            columns = list(stream.schema.names)
        except Exception as error:
            raise damaged_file_error(file, error) from None
        with source:
            table.expect(columns, file.name)
            cells = [field.name for field in stream.schema if not pyarrow.types.is_nested(field.type)]
            needed = table.needed_columns(columns, cells)
            yield from read_table_records(table, file, (batch.select(needed) for batch in stream), labels)
    yield from table.close()


def _find_split(path: Path, wanted: str | None) -> Path:
    """Return the folder of the dataset, or of the wanted split if it has several."""
    if not (path / "dataset_dict.json").is_file():
        if not (path / "state.json").is_file():
            raise InputError(
                f"{path}: is not a dataset saved with save_to_disk (it has no state.json and no dataset_dict.json); "
                f"for Parquet files from a hub use: rejoinder import parquet {shlex.quote(str(path))}"
            )
        if wanted is not None:
            raise InputError(
                f"{path}: has no splits; leave out --split: rejoinder import huggingface {shlex.quote(str(path))}"
            )
        return path
    listed_splits = _read_object(path / "dataset_dict.json").get("splits")
    names = listed_splits if isinstance(listed_splits, list) else []
    splits = [name for name in names if name in _list_children(path)]
    if wanted is None and len(splits) == 1:
        wanted = splits[0]
    if wanted is None:
        raise InputError(
            f"{path}: holds the splits {', '.join(splits) or 'none'}; choose one: rejoinder import huggingface "
            f"{shlex.quote(str(path))} --split {shlex.quote(splits[-1] if splits else 'NAME')}"
        )
    if wanted not in splits:
        raise InputError(f"{path}: has no split {wanted!r}; {nearest(wanted, splits)}")
    return path / wanted


def _find_data_files(folder: Path) -> list[File]:
    state = _read_object(folder / "state.json")
    if state.get("_indices_data_files"):
        raise InputError(f"{folder}: its rows are selected by an index file; save it again after flatten_indices()")
    data_files = state.get("_data_files")
    entries = data_files if isinstance(data_files, list) else []
    names = [str(entry.get("filename")) for entry in entries if isinstance(entry, dict)]
    if not names or len(names) < len(entries):
        raise InputError(f"{folder / 'state.json'}: does not say which files hold the data ('_data_files')")
    for name in names:
        if name not in _list_children(folder):
            raise InputError(f"{folder}: has no file {brief(name)}, though state.json names it; save the dataset again")
    return [File(folder / name, printable(folder / name), folder.name) for name in names]


def _list_children(folder: Path) -> list[str]:
    return sorted(child.name for child in folder.iterdir())


def _read_class_names(folder: Path) -> dict[str, list[str]]:
    """Return the class names of the columns that are stored as class numbers."""
    info = folder / "dataset_info.json"
    features = _read_object(info).get("features") if info.is_file() else None
    class_names: dict[str, list[str]] = {}
    for column, feature in (features if isinstance(features, dict) else {}).items():
        names = feature.get("names") if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" else None
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            class_names[column] = names
    return class_names


def _read_object(path: Path) -> dict[str, Any]:
    try:
        content = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path}: not valid JSON ({error.msg})") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: must hold one JSON object")
    return content
