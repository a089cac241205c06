"""Some replies of a run as columns: printed, as a table, or written to a file."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import orjson

from rejoinder.comparison.slices import SliceComparison
from rejoinder.errors import InputError
from rejoinder.files import atomic_write
from rejoinder.reports.reply_cards import render_card, terminal_width
from rejoinder.scoring.frames import import_library, to_arrow, to_polars
from rejoinder.table import FORMATS, Cell, Table, format_decimal

Form: TypeAlias = Literal["text", "markdown", "html", "latex", "csv", "json", "jsonl", "parquet"]
FORM_ENDINGS: dict[Form, str] = {
    "text": ".txt", "markdown": ".md", "html": ".html", "latex": ".tex", "csv": ".csv", "json": ".json",
    "jsonl": ".jsonl", "parquet": ".parquet",
}  # fmt: skip


@dataclass(frozen=True)
class ReplyListing:
    """Some replies of a run, in order, as columns: ids, texts, scores, ratings.

    ``n_selected`` is how many replies met the conditions, ``n_total`` how many the run has; ``slices`` holds the means
    per slice of those that met the conditions.
    """

    title: str
    columns: Mapping[str, Any]
    n_selected: int
    n_total: int
    slices: Sequence[SliceComparison] = ()

    def __len__(self) -> int:
        return len(self.columns["response"])

    @property
    def responses(self) -> list[str]:
        """The ids of the replies."""
        return list(self.columns["response"])

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one plain dictionary per reply."""
        names = list(self.columns)
        for values in zip(*(_as_list(column) for column in self.columns.values()), strict=True):
            yield dict(zip(names, values, strict=True))

    def table(self) -> Table:
        """One line per reply."""
        rows: list[list[Cell]] = [[_as_cell(value) for value in row.values()] for row in self.rows()]
        return Table(self.title, list(self.columns), rows)

    def to_pandas(self) -> Any:
        """Return the replies as a pandas DataFrame."""
        return import_library("pandas").DataFrame({name: list(column) for name, column in self.columns.items()})

    def to_polars(self) -> Any:
        """Return the replies as a polars DataFrame; a missing score is null."""
        return to_polars(self.columns)

    def to_arrow(self) -> Any:
        """Return the replies as a pyarrow Table; a missing score is null."""
        return to_arrow(self.columns)

    def render(self, form: Form = "text", full: bool = False) -> str:
        """Return the replies in a format of text; ``full`` does not cut long texts."""
        if form == "parquet":
            raise InputError("Parquet is a binary file, which cannot be printed; name one, e.g. -o replies.parquet")
        if form == "jsonl":
            return "".join(orjson.dumps(row).decode() + "\n" for row in self.rows())
        if form == "text":
            return self._render_text(full)
        parts = (
            [table for one in self.slices for table in one.tables()] if form in ("markdown", "html", "latex") else []
        )
        return "\n\n".join(FORMATS[form](table) for table in [*parts, self.table()])

    def write(self, file: str | Path, form: Form | None = None) -> None:
        """Write the replies to a file; without a format, its ending decides."""
        form = form or choose_form(file)
        if form == "parquet":
            table, buffer = to_arrow(self.columns), io.BytesIO()
            from pyarrow import parquet

            parquet.write_table(table, buffer, compression="zstd")
            content = buffer.getvalue()
        else:
            content = self.render(form, full=True).encode()
        with atomic_write(file) as out:
            out.write(content)

    def __str__(self) -> str:
        return self._render_text()

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def _render_text(self, full: bool = False) -> str:
        width = terminal_width()
        parts = [str(table) for one in self.slices for table in one.tables()]
        parts.append(self.title)
        whole = {name for name, column in self.columns.items() if _is_whole(column)}
        for number, row in enumerate(self.rows(), start=1):
            numbers = {
                name: format_decimal(value, 0 if name in whole else 3) if value == value else "–"
                for name, value in row.items()
                if isinstance(value, float)
            }
            head = f"{row['system']} ({row['response']})"
            texts = {"context": row["context"], "reply": row["reply"], "references": row.get("references", ())}
            parts.append(render_card(number, head, numbers=numbers, width=width, full=full, **texts))
        return "\n\n".join(parts)


def choose_form(file: str | Path) -> Form:
    """The format that the ending of a file stands for."""
    ending = Path(file).suffix.lower()
    form = next((form for form, known in FORM_ENDINGS.items() if ending == known), None)
    if form is None:
        raise InputError(f"{file}: its ending names no format; end it in {', '.join(FORM_ENDINGS.values())}")
    return form


def _is_whole(column: Sequence[Any]) -> bool:
    """Whether a column holds only whole numbers, such as lengths."""
    if not isinstance(column, np.ndarray):
        return False
    known = column[~np.isnan(column)]
    return bool((known == np.rint(known)).all() and (np.abs(known) > 1).any())


def _as_list(column: Sequence[Any]) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _as_cell(value: Any) -> Cell:
    return "\n".join(value) if isinstance(value, list | tuple) else value
