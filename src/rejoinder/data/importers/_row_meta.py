"""Cells of columns that hold no field: they go to the meta of the reply, so that replies can be grouped by them.

What is too long to group by, or a list, is not stored.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

from rejoinder.data.importer import ImportTally
from rejoinder.data.importers._rows import ForeignRow

_LONGEST = 200  # characters


class RowMeta:
    """Remembers what went to meta, to say it: of several rows of one reply, the first decides."""

    def __init__(self, tally: ImportTally) -> None:
        self._tally = tally
        self._stored: set[str] = set()
        self._digests: dict[str, int] = {}
        self._long: Counter[str] = Counter()

    def read(self, row: ForeignRow) -> dict[str, Any]:
        """Return the cells of a row by column."""
        cells: dict[str, Any] = {}
        for column in row.layout.meta:
            cell = row.values.get(column)
            cell = cell.strip() if isinstance(cell, str) else cell
            if cell is None or cell == "" or (isinstance(cell, float) and not math.isfinite(cell)):
                continue
            if isinstance(cell, str | int | float) and len(str(cell)) <= _LONGEST:
                cells[str(column)] = cell
            else:
                self._long[str(column)] += 1
        return cells

    def store(self, response: str, cells: dict[str, Any]) -> None:
        """Remember what the first row of a reply said."""
        if cells:
            self._stored.update(cells)
            self._digests[response] = hash(tuple(cells.items()))

    def compare(self, response: str, cells: dict[str, Any]) -> None:
        """Count a further row of a reply that says something else."""
        if cells and self._digests.get(response) != hash(tuple(cells.items())):
            self._tally.left_out["other values for meta in a reply's later rows"] += 1

    def close(self) -> None:
        """Say which columns went to meta, and what of them did not."""
        self._tally.unused -= self._stored
        self._tally.note_columns({column: f"meta.{column}" for column in sorted(self._stored)})
        for column in sorted(self._stored & self._long.keys()):
            self._tally.left_out[f"long texts and lists in {column!r}"] += self._long[column]
