"""The list of reproductions, as ``rejoinder list reproductions`` shows it."""

from __future__ import annotations

from rejoinder.table import Cell, Table
from rejoinder_lab.papers import load_reproduction, reproduction_names


def reproduction_table() -> Table:
    """Every reproduction with its one-line summary."""
    rows: list[list[Cell]] = [[name, load_reproduction(name).SUMMARY] for name in reproduction_names()]
    return Table("Reproductions", ["name", "what it measures"], rows, ["Use: rejoinder reproduce NAME"])
