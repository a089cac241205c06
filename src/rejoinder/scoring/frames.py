"""Scores as a table of another library: pandas, polars, pyarrow; one row per reply, texts beside numbers.

Columns: ``response``, ``item``, ``dialogue``, ``system``; ``context``, ``reply`` and, if asked for, ``references``; one
per metric, under its spec; ``rating:ASPECT`` with the mean rating.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from rejoinder.data.arrow import import_arrow
from rejoinder.errors import MissingExtraError
from rejoinder.scoring.result import Scores
from rejoinder.scoring.texts import ReplyTexts, read_texts

RATING = "rating:"  # before the aspect, in the name of a column
NAMES = ("response", "item", "dialogue", "system", "context", "reply", "references")


def make_columns(scores: Scores, texts: ReplyTexts | None, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the columns by name, in order: ids, texts, scores, ratings; ``extra`` come last."""
    systems = np.array([*scores.systems, ""], dtype=object)
    dialogues = np.array([*scores.dialogues, None], dtype=object)  # -1: no dialogue
    columns: dict[str, Any] = {
        "response": scores.responses,
        "item": scores.items,
        "dialogue": dialogues[scores.dialogue_codes],
        "system": systems[scores.system_codes],
    }
    if texts is not None:
        columns |= {"context": texts.contexts, "reply": texts.replies}
        if texts.references is not None:
            columns["references"] = texts.references
    columns |= {column_name(spec): column for spec, column in scores.values.items()}
    if texts is not None:
        columns |= {RATING + aspect: column for aspect, column in texts.ratings.items()}
    return {**columns, **(extra or {})}


def column_name(spec: str) -> str:
    """Return the name of a metric's column: its spec, marked where a column of texts or ids is called the same."""
    return f"score:{spec}" if spec in NAMES else spec


def make_pandas(scores: Scores, texts: bool = True, references: bool = False) -> Any:
    """Return a pandas DataFrame of scores."""
    pandas = import_library("pandas")
    columns = _read_columns(scores, texts, references)
    codes = {"system": (scores.systems, scores.system_codes), "dialogue": (scores.dialogues, scores.dialogue_codes)}
    rows = scores.table_rows
    if rows is not None:
        codes = {name: (names, np.append(code, -1)[rows.places]) for name, (names, code) in codes.items()}
    columns |= {name: pandas.Categorical.from_codes(code, list(names)) for name, (names, code) in codes.items()}
    series = {name: _as_objects(column) for name, column in columns.items()}
    return pandas.DataFrame(series, index=None if rows is None else rows.index, copy=False)


def make_polars(scores: Scores, texts: bool = True, references: bool = False) -> Any:
    """Return a polars DataFrame of scores."""
    import_library("polars")
    return to_polars(_read_columns(scores, texts, references))


def make_arrow(scores: Scores, texts: bool = True, references: bool = False) -> Any:
    """Return a pyarrow Table of scores; a missing score is null."""
    import_arrow("a table in Arrow's form")
    return to_arrow(_read_columns(scores, texts, references))


def to_polars(columns: Mapping[str, Any]) -> Any:
    """Return columns as a polars DataFrame; NaN becomes null."""
    polars = import_library("polars")
    series = []
    for name, column in columns.items():
        if isinstance(column, np.ndarray) and column.dtype != object:
            series.append(polars.Series(name, column, nan_to_null=True))
        elif name == "references":
            series.append(polars.Series(name, [list(one) for one in column], polars.List(polars.String)))
        else:
            series.append(polars.Series(name, list(column), polars.String))
    return polars.DataFrame(series)


def to_arrow(columns: Mapping[str, Iterable[Any]]) -> Any:
    """Return columns as a pyarrow Table; NaN becomes null."""
    pa = import_arrow("a table in Arrow's form")
    arrays = {}
    for name, column in columns.items():
        if isinstance(column, np.ndarray) and column.dtype != object:
            arrays[name] = pa.array(column, from_pandas=True)
        else:
            kind = pa.list_(pa.string()) if name == "references" else pa.string()
            arrays[name] = pa.array(list(column), type=kind)
    return pa.table(arrays)


def _read_columns(scores: Scores, texts: bool, references: bool) -> dict[str, Any]:
    wanted = texts or references
    columns = make_columns(scores, read_texts(scores, references) if wanted else None)
    rows = scores.table_rows
    if rows is None:
        return columns
    columns = {name: _take(column, rows.places.tolist()) for name, column in columns.items()}
    return columns | {RATING + aspect: column for aspect, column in rows.ratings.items() if wanted}


def _take(column: Any, places: Sequence[int]) -> Any:
    """Return the entries of a column at some places; none at -1."""
    if isinstance(column, np.ndarray):
        return np.append(column, np.array([None if column.dtype == object else np.nan], dtype=column.dtype))[places]
    return [None if place < 0 else column[place] for place in places]


def _is_object(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype == object


def _as_objects(column: Any) -> Any:
    """Return a column of texts or lists as an array of objects, which pandas takes without a copy."""
    return np.fromiter(column, dtype=object, count=len(column)) if isinstance(column, list) else column


def import_library(name: str) -> Any:
    """Return a library of tables, or raise an error that says how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingExtraError(name, name, f"to_{name}()") from None
