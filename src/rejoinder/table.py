"""One table for every output: plain cells, rendered for a terminal, as Markdown, HTML, LaTeX, CSV or JSON."""

from __future__ import annotations

import csv
import html
import io
import json
import math
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from rejoinder.escape import escape_cell, escape_markdown, escape_terminal


class Estimate(NamedTuple):
    """A number with its interval."""

    value: float
    low: float
    high: float


_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?inf")
_SPEC = re.compile(r"\w\([^()\n]{1,60}\)")
_JOINT = "\x00"  # a space that is not the end of a line
_WIDTH = 100  # characters, where the output is not a terminal
_FIRST_NAME = 48  # the same, in the first column
_NAME = 28  # characters: a shorter text is a name, which is not split, and a column of longer ones is no narrower


class Probability(float):
    """A p-value: one that would round to 0 is shown as below the smallest number, not as 0."""


Cell: TypeAlias = str | int | float | Estimate | None


@dataclass(frozen=True)
class Table:
    """A title, column headings, rows of cells, and notes under the table; CSV and JSON name a column by its heading."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = field(default_factory=tuple)
    decimals: int = 3

    def text(self, cell: Cell) -> str:
        """A cell as readers see it; unknown values are a dash."""
        match cell:
            case None:
                return "–"
            case Estimate(value, low, high):
                if math.isnan(value):
                    return "–"
                if math.isnan(low) or math.isnan(high):
                    return self.text(value)
                return f"{self.text(value)} [{self.text(low)}, {self.text(high)}]"
            case Probability() if 0 <= cell < 10**-self.decimals / 2:
                return f"<{10**-self.decimals:.{self.decimals}f}"
            case float():
                return "–" if math.isnan(cell) else format_decimal(cell, self.decimals)
            case int():
                return f"{cell:,}"
        return cell

    def texts(self, row: Sequence[Cell]) -> list[str]:
        """The cells of a row as readers see them."""
        return [self.text(cell) for cell in row]

    def is_numeric(self, column: int) -> bool:
        """Whether a column holds numbers, which are aligned to the right."""
        return all(not isinstance(row[column], str) for row in self.rows)

    def __str__(self) -> str:
        return to_terminal(self)

    def _repr_html_(self) -> str:
        return to_html(self)

    def _repr_markdown_(self) -> str:
        return to_markdown(self)


def format_decimal(value: float, decimals: int, sign: str = "") -> str:
    """A number with this many decimals; a number that rounds to 0 has no minus sign."""
    return f"{round(value, decimals) + 0.0:{sign}.{decimals}f}"


def format_count(n: int, singular: str, plural: str | None = None) -> str:
    """A number of things in words: "1 reply", "2,000 replies"; without a plural, an s is added."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def list_names(names: Sequence[str], most: int = 8) -> str:
    """Names in a row, as in brackets or after a colon: "a, b, c", or the first ones and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most:,} more" if len(names) > most else "")


def join_names(names: Sequence[str], most: int = 6) -> str:
    """Names in a sentence: "a", "a and b", "a, b and c"; where there are many, only their number."""
    if len(names) > most:
        return f"{len(names):,} others"
    return " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), *names[-1:]])


def to_terminal(table: Table) -> str:
    """The table as plain text, as wide as the terminal, or 100 characters where there is none; nothing is cut off.

    Long texts and notes are wrapped; names and numbers are never split. Columns that do not fit beside the others
    follow below, in a block that begins with the names of the rows again.
    """
    cells = [[escape_terminal(c) for c in row] for row in (table.heads, *map(table.texts, table.rows))]
    numeric = [table.is_numeric(i) for i in range(len(table.heads))]
    max_width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH
    blocks = [_format_block(cells, numeric, block, max_width) for block in _split_columns(cells, numeric, max_width)]
    body = "\n\n".join("\n".join(block) for block in blocks)
    notes = [line for note in table.notes for line in _wrap_note(escape_terminal(note), min(max_width, _WIDTH))]
    return escape_terminal("\n".join([table.title, "", body, *(["", *notes] if notes else [])]))


def _format_block(
    cells: Sequence[Sequence[str]], numeric: Sequence[bool], columns: Sequence[int], max_width: int
) -> list[str]:
    """The lines of some columns beside each other: the heads, a rule, the rows."""
    widths = _column_widths(cells, numeric, columns, max_width)

    def lines(row: Sequence[str]) -> list[str]:
        wrapped = [_wrap(row[i], width) for i, width in zip(columns, widths, strict=True)]
        height = max(map(len, wrapped))
        padded = [
            [c.rjust(width) if numeric[i] else c.ljust(width) for c in [*parts, *[""] * (height - len(parts))]]
            for i, parts, width in zip(columns, wrapped, widths, strict=True)
        ]
        return ["  ".join(parts).rstrip() for parts in zip(*padded, strict=True)]

    rule = "  ".join("─" * w for w in widths)
    return [*lines(cells[0]), rule, *(line for row in cells[1:] for line in lines(row))]


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def _wrap_note(note: str, width: int) -> list[str]:
    """The lines of a note; a spec with its parameters stays whole, as does a word that is longer than a line."""
    joined = _SPEC.sub(lambda match: match[0].replace(" ", _JOINT), note)
    return [line.replace(_JOINT, " ") for part in joined.split("\n") for line in _wrap(part, width)]


def _split_columns(cells: Sequence[Sequence[str]], numeric: Sequence[bool], max_width: int) -> list[list[int]]:
    """The columns in blocks that fit; each block begins with the columns that name a row."""
    least = [_min_width(cells, i, numeric[i]) for i in range(len(numeric))]
    names = _name_columns(cells, numeric)
    blocks = [list(names)]
    for i in range(len(names), len(numeric)):
        if len(blocks[-1]) > len(names) and sum(least[k] + 2 for k in [*blocks[-1], i]) - 2 > max_width:
            blocks.append(list(names))
        blocks[-1].append(i)
    return blocks


def _name_columns(cells: Sequence[Sequence[str]], numeric: Sequence[bool]) -> list[int]:
    """The columns that say what a row is about: the first, and the next one or two where they hold names as well."""
    names = [0] if numeric else []
    for i in range(1, min(3, len(numeric) - 1)):
        if any(numeric[: i + 1]) or any(len(row[k]) > _NAME for row in cells for k in (0, i)):
            break
        names.append(i)
    return names


def _min_width(cells: Sequence[Sequence[str]], column: int, is_numeric: bool) -> int:
    """The least width of a column: a number or a name stays whole, and a sentence is split between words."""
    texts = [row[column] for row in cells]
    longest_name = _NAME if column else _FIRST_NAME
    if is_numeric:
        return max(1, *map(len, texts))
    longest_words = (max(map(len, text.split()), default=0) for text in texts if len(text) > longest_name)
    prose = _NAME if any(len(text) > longest_name for text in texts) else 1
    return max([prose, *(len(text) for text in texts if len(text) <= longest_name), *longest_words])


def _column_widths(
    cells: Sequence[Sequence[str]], numeric: Sequence[bool], columns: Sequence[int], max_width: int
) -> list[int]:
    """The width of each column: that of its longest cell, unless texts must be wrapped to fit."""
    widths = [max(1, *(len(row[i]) for row in cells)) for i in columns]
    least = [_min_width(cells, i, numeric[i]) for i in columns]
    while sum(widths) + 2 * (len(widths) - 1) > max_width:
        wide = [k for k, width in enumerate(widths) if width > least[k]]
        if not wide:
            break
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths


def to_markdown(table: Table) -> str:
    """The table as GitHub-flavoured Markdown."""

    def line(row: Sequence[str]) -> str:
        return "| " + " | ".join(map(escape_markdown, row)) + " |"

    rule = "|" + "|".join("---:" if table.is_numeric(i) else "---" for i in range(len(table.heads))) + "|"
    rows = [line(table.texts(row)) for row in table.rows]
    notes = ["", *(f"- {escape_markdown(note)}" for note in table.notes)] if table.notes else []
    return "\n".join([f"### {escape_markdown(table.title)}", "", line(table.heads), rule, *rows, *notes, ""])


def to_html(table: Table) -> str:
    """The table as an HTML fragment."""
    right = [' style="text-align:right"' if table.is_numeric(i) else "" for i in range(len(table.heads))]
    heads = "".join(f'<th scope="col"{r}>{html.escape(h)}</th>' for h, r in zip(table.heads, right, strict=True))
    rows = "".join(
        "<tr>" + "".join(f"<td{r}>{html.escape(table.text(c))}</td>" for c, r in zip(row, right, strict=True)) + "</tr>"
        for row in table.rows
    )
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in table.notes)
    return (
        f"<table><caption>{html.escape(table.title)}</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}</tbody></table>{notes}"
    )


def to_latex(table: Table) -> str:
    """The table as a LaTeX tabular with booktabs rules."""
    columns = "".join("r" if table.is_numeric(i) else "l" for i in range(len(table.heads)))
    heads = " & ".join(map(_escape_latex, table.heads)) + r" \\"
    rows = [" & ".join(map(_escape_latex, table.texts(row))) + r" \\" for row in table.rows]
    notes = [f"% {_join_lines(note)}" for note in table.notes]
    body = [r"\toprule", heads, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}"]
    return "\n".join([f"% {_join_lines(table.title)}", rf"\begin{{tabular}}{{{columns}}}", *body, *notes, ""])


def _escape_latex(text: str) -> str:
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--"}
    special |= {c: "\\" + c for c in "&%$#_{}"}
    return "".join(special.get(c, c) for c in text)


def _join_lines(text: str) -> str:
    return " ".join(text.splitlines())  # a comment ends with its line


def to_csv(table: Table) -> str:
    """The table as CSV, numbers in full precision; an estimate takes three columns."""
    is_wide = [any(isinstance(row[i], Estimate) for row in table.rows) for i in range(len(table.heads))]
    heads = [h for head, w in zip(table.heads, is_wide, strict=True) for h in _csv_heads(head, w)]
    rows = ([v for cell, w in zip(row, is_wide, strict=True) for v in _csv_values(cell, w)] for row in table.rows)
    return "".join(map(_csv_line, (heads, *rows)))


def _csv_line(cells: Sequence[str]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out).writerow(cells)  # quotes a carriage return only where its own lines end in one
    return out.getvalue().removesuffix("\r\n") + "\n"


def _csv_heads(head: str, wide: bool) -> list[str]:
    return list(map(escape_cell, [head, f"{head} low", f"{head} high"] if wide else [head]))


def _csv_values(cell: Cell, wide: bool) -> list[str]:
    values = list(cell) if isinstance(cell, Estimate) else [cell, None, None][: 3 if wide else 1]
    values = [v + 0.0 if isinstance(v, float) else v for v in values]  # -0.0 is 0.0
    return ["" if v is None or (isinstance(v, float) and math.isnan(v)) else _quote_csv_cell(str(v)) for v in values]


def _quote_csv_cell(text: str) -> str:
    return text if _NUMBER.fullmatch(text) else escape_cell(text)  # -0.5 is not a formula


def to_json(table: Table) -> str:
    """The table as JSON: a list of objects, one per row; an estimate is an object of value, low and high."""

    def plain(cell: Cell) -> object:
        if isinstance(cell, Estimate):
            return {key: plain(value) for key, value in cell._asdict().items()}
        if isinstance(cell, float):
            return None if math.isnan(cell) else cell + 0.0
        return cell

    rows = [dict(zip(table.heads, map(plain, row), strict=True)) for row in table.rows]
    return json.dumps({"title": table.title, "rows": rows, "notes": list(table.notes)}, indent=2, ensure_ascii=False)


FORMATS: dict[str, Callable[[Table], str]] = {
    "text": to_terminal,
    "markdown": to_markdown,
    "html": to_html,
    "latex": to_latex,
    "csv": to_csv,
    "json": to_json,
}


def join_tables(tables: list[Table], form: str) -> str:
    """Several tables in one format: JSON as a list, CSV each under a line with its title, others one after another."""
    if form == "json":
        return json.dumps([json.loads(to_json(table)) for table in tables], indent=2, ensure_ascii=False)
    if form == "csv":
        return "\n".join(f"# {' '.join(table.title.splitlines())}\n{to_csv(table)}" for table in tables)
    return "\n\n".join(FORMATS[form](table) for table in tables)


def format_tables(tables: list[Table], form: str) -> str:
    """The output of a command: one table by itself, or several together, so that JSON stays one value."""
    return FORMATS[form](tables[0]) if len(tables) == 1 else join_tables(tables, form)


def format_cell(cell: Estimate | float) -> str:
    """A number, or an estimate with its interval, as every table shows it."""
    return Table("", (), ()).text(cell)


def shorten_text(text: str, most: int = 140) -> str:
    """A text on one line, cut to a number of characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"
