"""The header of a table: which row it is, and how its columns are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rejoinder.data.importers._columns import find_aliases


def find_header_row(rows: Sequence[Sequence[Any]]) -> int:
    """Return which of the first rows names the columns: the first, unless it is a title above known names."""
    for number, row in enumerate(rows):
        names = [str(cell) for cell in row if cell is not None and str(cell).strip()]
        if len(names) > 1:
            return number if number == 0 or len(find_aliases(names)) > 1 else 0
    return 0


def name_columns(cells: Iterable[Any]) -> list[str]:
    """Return the names of columns; of several with one name, the second is called NAME.1, as in pandas."""
    names: list[str] = []
    for cell in cells:
        name = "" if cell is None else str(cell).strip()
        others = sum(one == name or one.rpartition(".")[0] == name for one in names) if name else 0
        names.append(f"{name}.{others}" if others else name)
    return names
