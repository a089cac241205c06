"""Figures of trained rankers whose answers are lost: kept as data (``measured_earlier.json``), never measured again.

The file has ``[measured, low, high, n]`` by table, row and column, as ``reproduce sugar`` wrote them when the answers
of the rankers were still in a cache. A figure is shown, with its mark, until one of that name is measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from rejoinder_lab.papers.base import EARLIER, Figure

_FILE = Path(__file__).parent / "measured_earlier.json"


@lru_cache(maxsize=1)
def read_earlier() -> dict[str, Any]:
    """The figures by table, row and column."""
    figures: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return figures


def add_earlier(figures: Sequence[Figure]) -> list[Figure]:
    """Return figures with those that are only known from earlier in their tables; tables are in the page's order."""
    values = {(figure.table, figure.row, figure.column) for figure in figures if figure.measured == figure.measured}
    earlier = [f for f in list_earlier() if (f.table, f.row, f.column) not in values]
    # A row without a value gives way to the one that has it.
    names = {(figure.table, figure.row, figure.column) for figure in earlier}
    new = [figure for figure in figures if (figure.table, figure.row, figure.column) not in names]
    order = {table: place for place, table in enumerate(_order_tables(figures))}
    return sorted([*new, *earlier], key=lambda figure: order[figure.table])


def list_earlier() -> Iterator[Figure]:
    """Every figure of the file."""
    for table, rows in read_earlier().items():
        for row, columns in rows.items():
            for column, (measured, low, high, n) in columns.items():
                value = float("nan") if measured is None else measured
                yield Figure(table, row, column, None, value, low, high, n, EARLIER)


def _order_tables(figures: Sequence[Figure]) -> list[str]:
    """The tables of some figures, with those of the file after the one that they follow there."""
    order = list(dict.fromkeys(figure.table for figure in figures))
    before: str | None = None
    for table in read_earlier():
        if table not in order:
            order.insert(order.index(before) + 1 if before else len(order), table)
        before = table
    return order
