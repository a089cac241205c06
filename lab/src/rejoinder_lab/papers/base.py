"""The result of a reproduction: figures, each with its published and its measured value."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from rejoinder.model_use import ModelUse
from rejoinder.table import Cell, Estimate, Table, to_markdown

EARLIER = "measured earlier"  # the note of a figure that is kept as data, because what it was computed from is lost
# Ends the name of a column with what a network of ours gives, beside the column of a paper that its authors' own files
# give again: networks, data and features differ, so no published figure stands beside it.
OURS = ", ours"
NOT_MEASURED = "Not measured"  # the beginning of the note of a figure without a value, which then says why
_MOST_ROWS = 4  # of those that were not measured for one reason, which a note names


@dataclass(frozen=True)
class Figure:
    """One cell of a paper's table, measured here, or with a note that it was not (``EARLIER``, ``NOT_MEASURED``)."""

    table: str
    row: str
    column: str
    published: float | None
    measured: float
    low: float | None = None
    high: float | None = None
    n: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Reproduction:
    """The figures of one reproduction, their sentences, drawings (SVG by a short name), files, and the models used."""

    name: str
    title: str
    figures: Sequence[Figure]
    notes: Sequence[str] = ()
    drawings: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)  # what the figures were computed from, by a short name
    models: Sequence[ModelUse] = ()


def reproduction_tables(reproduction: Reproduction) -> list[Table]:
    """Return the tables of a reproduction: one line per row, with published and measured values for each column."""
    tables = []
    for title in dict.fromkeys(f.table for f in reproduction.figures):
        figures = [f for f in reproduction.figures if f.table == title]
        columns = list(dict.fromkeys(f.column for f in figures))
        published = any(f.published is not None for f in figures)
        early_rows, early_columns = _find_earlier(figures)
        heads = [
            title,
            *(head for c in columns for head in _figure_heads(c, columns, early_columns.get(c, c), published)),
        ]
        cells = {(f.row, f.column): f for f in figures}
        rows = [
            [
                early_rows.get(row, row),
                *(
                    cell
                    for column in columns
                    for cell in _figure_cells(cells.get((row, column)))[not published or column.endswith(OURS) :]
                ),
            ]
            for row in dict.fromkeys(f.row for f in figures)
        ]
        tables.append(Table(title, heads, rows, list(_describe_not_measured(figures)), decimals=4))
    return tables


def _find_earlier(figures: Sequence[Figure]) -> tuple[dict[str, str], dict[str, str]]:
    """The names, marked, of the rows and columns whose figures were measured earlier; every such figure is in one."""
    early = [f for f in figures if f.note == EARLIER]
    rows = {f.row for f in early} - {f.row for f in figures if f.note != EARLIER}
    columns = {f.column for f in early if f.row not in rows}
    mixed = columns & {f.column for f in figures if f.note != EARLIER}
    if mixed:
        raise ValueError(f"{figures[0].table}: {sorted(mixed)[0]} has figures measured earlier and now in one row")
    return {name: f"{name} ({EARLIER})" for name in rows}, {name: f"{name} ({EARLIER})" for name in columns}


def _describe_not_measured(figures: Sequence[Figure]) -> Iterator[str]:
    """Why rows have no value, each reason once, with its rows."""
    absent = [f for f in figures if f.note.startswith(NOT_MEASURED)]
    for note in dict.fromkeys(f.note for f in absent):
        rows = list(dict.fromkeys(f.row for f in absent if f.note == note))
        more = [f"and {len(rows) - _MOST_ROWS} more"] if len(rows) > _MOST_ROWS else []
        yield f"{NOT_MEASURED}: {'; '.join([*rows[:_MOST_ROWS], *more])}{note.removeprefix(NOT_MEASURED)}."


def _figure_heads(column: str, columns: Sequence[str], name: str, published: bool) -> list[str]:
    if not published:
        return [name]
    if column.endswith(OURS):
        return [OURS.removeprefix(", ")]
    return [f"{name}: published", "theirs" if column + OURS in columns else "measured"]


def _figure_cells(figure: Figure | None) -> list[Cell]:
    if figure is None:
        return [None, None]
    if figure.low is None or figure.high is None:
        return [figure.published, figure.measured]
    return [figure.published, Estimate(figure.measured, figure.low, figure.high)]


def write_reproduction(reproduction: Reproduction, folder: Path) -> list[Path]:
    """Write ``NAME.md`` and ``NAME.json`` into a folder, drawings as ``NAME-SHORT.svg``, files as ``NAME-SHORT``."""
    folder.mkdir(parents=True, exist_ok=True)
    markdown = folder / f"{reproduction.name}.md"
    models = sorted(reproduction.models, key=lambda use: (use.name, use.weights or "", use.digest))
    parts = [
        f"# {reproduction.title}",
        "",
        f"Written by `rejoinder reproduce {reproduction.name}`; not edited by hand.",
        "",
    ]
    parts += [f"Models, with licence and digest: {'; '.join(map(str, models))}.", ""] if models else []
    parts += [to_markdown(table) for table in reproduction_tables(reproduction)]
    parts += [*(f"- {note}" for note in reproduction.notes), ""] if reproduction.notes else []
    drawings = {folder / f"{reproduction.name}-{short}.svg": svg for short, svg in reproduction.drawings.items()}
    for path, svg in drawings.items():
        path.write_text(svg, encoding="utf-8")
        parts += [f"![{path.stem}]({path.name})", ""]
    markdown.write_text("\n".join(parts), encoding="utf-8")
    data = folder / f"{reproduction.name}.json"
    rows = [
        {key: _plain_figure_value(value) for key, value in asdict(figure).items()} for figure in reproduction.figures
    ]
    data.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    files = {folder / f"{reproduction.name}-{short}": text for short, text in reproduction.files.items()}
    for path, text in files.items():
        path.write_text(text, encoding="utf-8")
    return [markdown, data, *drawings, *files]


def _plain_figure_value(value: object) -> object:
    """A number as it is written: six decimals, and null for NaN."""
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 6)
    return value
