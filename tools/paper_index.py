"""Every table and figure of the five papers, with what was measured for it: the tables of docs/papers/index.md.

``paper_tables.toml`` lists them; every figure is read from docs/results/, and none is typed.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE.parent / "docs" / "results"
EARLIER, SAME, INSIDE = "measured earlier", "same", "within the interval"
OTHER = "other encoder"
_CLOSE = 0.005  # half of the last digit that most papers print
_HEADS = ("in the paper", "what it shows", "measured here", "example", "published", "measured", "", "cells with both")
_BETTER = {"higher": {"higher": "better", "lower": "worse"}, "lower": {"higher": "worse", "lower": "better"}}


def read_inventory() -> dict[str, list[dict[str, Any]]]:
    """The tables and figures of each paper, in its order."""
    inventory: dict[str, list[dict[str, Any]]] = tomllib.loads((HERE / "paper_tables.toml").read_text("utf-8"))
    return inventory


def paper_table(paper: str) -> str:
    """The table of one paper as Markdown."""
    lines = ["| " + " | ".join(_HEADS) + " |", "|---|---|---|---|---:|---:|---|---|"]
    for entry in read_inventory()[paper]:
        lines += _entry_lines(entry)
    return "\n".join(["", *lines, "", ""])


def _entry_lines(entry: dict[str, Any]) -> Iterator[str]:
    """A line per example; the first has the name of the table and what is measured of it."""
    matching = find_cells(entry)
    pages = [f"[{page}](../results/{page}.md)" for page in dict.fromkeys(page for page, _ in matching)]
    drawings = [f"[{name}](../results/{name}.svg)" for name in entry.get("drawings", ())]
    why = entry.get("why", "")
    where = ", ".join([*pages, *drawings])
    measured = f"{where}{': ' if where and why else ''}{why}" if where else f"no: {why}"
    first = [entry["name"], entry["what"], measured]
    examples = [cells for one in entry.get("examples", ()) if (cells := _example_cells(entry, one)) is not None]
    for number, example in enumerate(examples or [["", "", "", ""]]):
        start, end = (first, _count_verdicts(entry, matching)) if number == 0 else (["", "", ""], "")
        yield "| " + " | ".join([*start, *example, end]) + " |"


def find_cells(entry: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The cells of an entry's tables, each with its page."""
    pattern = entry.get("tables")
    if pattern is None:
        return []
    columns = entry.get("columns", "")
    return [
        (page, cell)
        for page in entry["pages"]
        for cell in _read_cells(page)
        if re.search(pattern, cell["table"]) and re.search(columns, cell["column"])
    ]


def find_example(entry: dict[str, Any], example: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The printed cell of an example and the measured one, which may be on other data; None if one is missing."""
    cells = _read_cells(example.get("page", entry["pages"][0]))
    printed = _find_cell(cells, example["table"], example, "published")
    measured = _find_cell(cells, example["table"], example.get("measured", example), "measured")
    return None if printed is None or measured is None else (printed, measured)


@lru_cache(maxsize=16)
def _read_cells(page: str) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads((RESULTS / f"{page}.json").read_text("utf-8"))
    return cells


def _find_cell(cells: list[dict[str, Any]], table: str, place: dict[str, str], kind: str) -> dict[str, Any] | None:
    wanted = (("table", table), ("row", place["row"]), ("column", place["column"]))
    return next(
        (c for c in cells if c[kind] is not None and all(re.search(text, c[key]) for key, text in wanted)), None
    )


def _example_cells(entry: dict[str, Any], example: dict[str, Any]) -> list[str] | None:
    found = find_example(entry, example)
    if found is None:
        return None
    printed, measured = found
    value = _number(measured["measured"])
    if measured["low"] is not None:
        value += f" [{_number(measured['low'])}, {_number(measured['high'])}]"
    if measured["note"] == EARLIER:
        value += f" ({EARLIER})"
    if "measured" in example:
        verdict = "other data"
    else:
        verdict = OTHER if has_other_encoder(entry, measured) else judge_cell(entry, measured)
    if verdict not in ("other data", OTHER, SAME) and _is_covered(measured):
        verdict += f", {INSIDE}"
    return [example["label"], _number(printed["published"]), value, verdict]


def _count_verdicts(entry: dict[str, Any], matching: list[tuple[str, dict[str, Any]]]) -> str:
    """How many cells were printed and measured, and how they compare; those of another encoder by themselves."""
    both = [cell for _, cell in matching if cell["published"] is not None and cell["measured"] is not None]
    other = [cell for cell in both if has_other_encoder(entry, cell)]
    own = [cell for cell in both if not has_other_encoder(entry, cell)]
    if other:
        parts = (("the paper's own metrics", own), ("another encoder", other))
        return "; ".join(f"{name}, {_count_cells(entry, cells)}" for name, cells in parts if cells)
    return _count_cells(entry, own) if own else ""


def _count_cells(entry: dict[str, Any], both: list[dict[str, Any]]) -> str:
    counts = Counter(judge_cell(entry, cell) for cell in both)
    inside = sum(judge_cell(entry, cell) != SAME and _is_covered(cell) for cell in both)
    text = f"{len(both)}: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
    return f"{text}; of those that differ, {inside} {INSIDE}" if inside else text


def judge_cell(entry: dict[str, Any], cell: dict[str, Any]) -> str:
    """How a measured figure compares with the printed one."""
    if abs(cell["measured"] - cell["published"]) <= _CLOSE:
        return SAME
    order = "higher" if cell["measured"] > cell["published"] else "lower"
    return _BETTER.get(_find_direction(entry, cell["column"]), {}).get(order, order)


def has_other_encoder(entry: dict[str, Any], cell: dict[str, Any]) -> bool:
    """Whether a figure was measured with another encoder than the paper's, so that it is not the paper's metric."""
    pattern = entry.get("other")
    return pattern is not None and any(re.search(pattern, cell[key]) for key in ("row", "column"))


def _find_direction(entry: dict[str, Any], column: str) -> str:
    """Which figures of a column are better, by the whole table or by the first pattern that the column matches."""
    better: str | dict[str, str] = entry.get("better", "")
    if isinstance(better, str):
        return better
    return next((direction for pattern, direction in better.items() if re.search(pattern, column)), "")


def _is_covered(cell: dict[str, Any]) -> bool:
    """Whether the interval of a measured figure covers the printed one."""
    return cell["low"] is not None and cell["low"] <= cell["published"] <= cell["high"]


def _number(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3f}"
