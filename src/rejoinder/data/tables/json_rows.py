"""Rows in one JSON object: a list under a key, or the columns of a table as pandas writes them."""

from __future__ import annotations

import json
import shlex
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rejoinder.data.importer import ImportOptions
from rejoinder.data.schema import is_record
from rejoinder.data.tables.columns import holds_replies
from rejoinder.data.tables.detection import Sample, detect_format, read_decompressed
from rejoinder.errors import InputError, brief, nearest

_OWN_KEYS = frozenset({"kind", "context", "turns", "candidates", "item", "references"})  # of a record of ours
_MOST_LEVELS = 2  # an object in an object may hold the list


class RowList(NamedTuple):
    """Rows, and which part of the object they are."""

    where: str
    rows: list[dict[str, Any]]


def read_row_list(path: Path, name: str, sample: Sample, options: ImportOptions) -> RowList | None:
    """Return the rows of a file that is one JSON object around them; None if the file is anything else.

    ``options.sheet`` names the list of rows; without it, there must be only one list of objects. A field that the user
    took from the object itself makes the object a row.
    """
    key = options.sheet
    if any(column.partition(".")[0] in sample.keys for _, column in options.fields if column):
        return None
    if sample.container != "json" or not sample.text.lstrip().startswith("{") or len(sample.values) > 1:
        return None
    first = sample.values[0] if sample.values else None
    is_lines = not sample.is_document and bool(sample.text.strip().partition("\n")[2])
    if is_lines or sample.keys & _OWN_KEYS or (first is not None and is_record(first)):
        return None
    claim = None if key is not None else detect_format(sample)
    if claim not in (None, "jsonl"):
        return None
    if claim is not None and not (first is None or any(isinstance(value, dict | list) for value in first.values())):
        return None
    try:
        document = json.loads(read_decompressed(path).decode(sample.encoding))
    except (ValueError, RecursionError, EOFError, OSError, zlib.error):  # reading it says what is wrong
        return None
    if not isinstance(document, dict):
        return None
    columns = find_columns(document)
    if columns is not None or claim is not None:
        return columns
    return find_list(document, name, key)


def find_columns(document: Mapping[str, Any]) -> RowList | None:
    """Return the rows of a table that pandas wrote by column, by row, or as columns and data apart."""
    columns, data = document.get("columns"), document.get("data")
    if isinstance(columns, list) and isinstance(data, list) and all(isinstance(row, list) for row in data):
        names = [str(column) for column in columns]
        return RowList("data, named by columns", [dict(zip(names, row, strict=False)) for row in data])
    parts = list(document.values())
    if not parts or not all(isinstance(part, dict) and part.keys() == parts[0].keys() for part in parts):
        return None
    inner = list(parts[0])
    by_column = holds_replies(document) or (all(map(str.isdecimal, inner)) and not all(map(str.isdecimal, document)))
    if by_column and inner:
        rows = [{column: part[index] for column, part in document.items()} for index in inner]
        return RowList("one object per column", rows)
    if holds_replies(inner) or all(map(str.isdecimal, document)):
        return RowList("one object per row", [dict(part) for part in parts])
    return None


def find_list(document: Mapping[str, Any], name: str, key: str | None = None) -> RowList | None:
    """Return the only list of objects in an object, or the one under a key; several are an error."""
    lists = _list_rows(document)
    if key is not None:
        if key not in lists:
            known = ", ".join(lists) or "none"
            raise InputError(f"{name}: has no list {key!r} (lists: {brief(known, 120)}); {nearest(key, lists)}")
        return RowList(f"the list {key}", lists[key])
    if len(lists) > 1:
        likely = max(lists, key=lambda one: (holds_replies(lists[one][0]), len(lists[one])))
        raise InputError(
            f"{name}: holds {len(lists)} lists of objects ({brief(', '.join(lists), 120)}); choose one with: "
            f"rejoinder score {shlex.quote(name)} --sheet {shlex.quote(likely)}"
        )
    return next((RowList(f"the list {where}", rows) for where, rows in lists.items()), None)


def _list_rows(document: Mapping[str, Any], level: int = 1) -> dict[str, list[dict[str, Any]]]:
    """Return the lists of objects under the keys of an object; if there are none, those one level below."""
    lists = {
        key: value
        for key, value in document.items()
        if isinstance(value, list) and value and all(isinstance(one, dict) for one in value)
    }
    if lists or level == _MOST_LEVELS:
        return lists
    return {
        f"{key}.{inner}": rows
        for key, value in document.items()
        if isinstance(value, dict)
        for inner, rows in _list_rows(value, level + 1).items()
    }
