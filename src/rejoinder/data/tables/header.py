"""The header of a table: which row it is, and how its columns are called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rejoinder.data.tables.columns import find_aliases
from rejoinder.data.tables.rating_columns import find_rating_columns, fold_name

# Keys of meta that mean something to us, and are no cells of a table.
_CONVENTIONS = frozenset(("toolcalls", "future", "leftout", "meta", "metadata"))
_UNNAMED = re.compile(r"\(column \d+\)")
_INDEX = re.compile(r"Unnamed: 0|index|__index_level_\d+__")


def find_header_row(rows: Sequence[Sequence[Any]]) -> int:
    """Return which of the first rows names the columns: the first, unless it is a title above known names."""
    for number, row in enumerate(rows):
        names = [str(cell) for cell in row if cell is not None and str(cell).strip()]
        if len(names) > 1:
            return number if number == 0 or len(find_aliases(names)) > 1 else 0
    return 0


def name_columns(cells: Iterable[Any]) -> list[str]:
    """Return the names of columns; of several with one name, the second is called NAME.1, as in pandas.

    A column without a name is called by its place, so that it can be said that it was not used.
    """
    names: dict[str, None] = {}
    listed = ["" if cell is None else str(cell).strip() for cell in cells]
    for number, name in enumerate(listed, start=1):
        own, others = name or f"(column {number})", 0
        while own in names or (others and own in listed):
            others += 1
            own = f"{name}.{others}"
        names[own] = None
    return list(names)


def drop_unnamed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without the empty cells of columns that have no name."""
    return {name: cell for name, cell in row.items() if not (_UNNAMED.fullmatch(name) and _is_blank(cell))}


def may_be_meta(column: str) -> bool:
    """Whether a column that holds no field of ours may say something of a reply by which replies can be grouped.

    A name of ratings, or of a field, that is not used is another matter: the user was asked, or chose another column.
    """
    name = str(column)
    if not name.strip() or _UNNAMED.fullmatch(name) or is_row_number(name) or fold_name(name) in _CONVENTIONS:
        return False
    return not (find_aliases([column]).keys() - {"split", "corpus"} or any(find_rating_columns([column])))


def is_row_number(name: str) -> bool:
    """Whether a column is called as programs call that of row numbers, which tell no rows apart."""
    return name == "(column 1)" or bool(_INDEX.fullmatch(str(name)))


def _is_blank(cell: Any) -> bool:
    return cell is None or (isinstance(cell, str) and not cell.strip())
