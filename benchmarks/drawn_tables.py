"""Tables with drawn headings and cells, read by ``rejoinder.read`` and by a second reader that knows what was drawn.

    python -m benchmarks.drawn_tables 5000 --seed 1

The second reader applies the rules of docs/importing.md and docs/spreadsheets.md to the drawing and shares no code with
the importers. Every reply with its context, references, system and conversation, every rating with its rater and
aspect, every count of what was left out and every column that was not used must be equal, or the table must be refused
for a reason that the docs give. A difference is shown with the smallest part of its table that still has it.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import math
import random
import re
import sys
import tempfile
import unicodedata
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import rejoinder
from rejoinder.errors import RejoinderError

FORMS = ("csv", "tsv", "semicolon", "jsonl", "frame", "xlsx", "parquet")
_SHARES = (25, 10, 10, 25, 15, 8, 7)

# The headings that docs/importing.md and docs/spreadsheets.md name, by field.
LAST_TURNS = ("prompt", "question", "input", "query", "user_input", "user_message")
CONTEXTS = (*LAST_TURNS, "context", "instruction")
HISTORIES = ("history", "chat_history", "conversation_history", "dialogue_history", "previous_turns")
REPLIES = ("response", "answer", "output", "completion", "reply", "prediction", "actual_output")
SYSTEMS = ("model", "system", "bot", "version")
REFERENCES = (
    *("reference", "expected", "expected_output", "expected_answer", "expected_response", "ground_truth"),
    *("ground_truths", "ideal", "ideal_answer", "gold", "gold_answer", "gold_response", "golden_answer"),
    *("correct_answer", "reference_answer", "reference_output"),
)
DIALOGUES = ("conversation_id", "thread", "ticket", "dialogue")
RATERS = (
    *("rater", "rater_id", "annotator", "annotator_name", "worker", "worker_id", "coder", "judge", "judge_name"),
    *("reviewer", "evaluator", "assessor", "labeler", "participant"),
)
ASPECT_COLUMNS = ("aspect", "criterion", "dimension")
GENERAL = ("rating", "score", "stars", "thumbs", "feedback")
ASPECTS = ("helpfulness", "fluency", "quality", "relevance", "overall", "coherence", "tone", "safety", "engaging")
UNKNOWN = ("comment", "timestamp", "batch", "language", "Notiz", "latency ms", "bleu_score", "rating_id", "notes")
ROLES = ("rater", "annotator", "judge", "coder")

# Texts with what breaks lines and cells, and a long one; %s tells them apart.
TEXTS = (
    *(
        "Question %s?",
        "Question %s?",
        "Question %s?",
        'A "quoted" one, %s; more',
        "Two\nlines %s",
        "Gr\u00fc\u00dfe \U0001f600 %s",
    ),
    *("Tab\there %s", "e\u0301 %s", "| pipe %s |", "x" * 3000 + " %s", "[%s", "{%s}", "# %s"),
)
BLANKS = ("", "n/a", "N/A", "-", "na", "none", "not rated", "skipped", " ")
ODD = ("it was rude", "maybe", "??", "4 or 5", "1_0", "five")
STYLES = ("integers", "integers", "integers", "floats", "halves", "commas", "words", "booleans", "of 5", "stars",
          "signs", "percentages")  # fmt: skip
NAMES = ("anna", "Ben", "Zo\u00eb", "cem", "W-17", 41)


class Cell(NamedTuple):
    """A cell of ratings: what is written, in which way (None: it is blank), and its value."""

    written: Any
    way: str | None = None
    value: float = 0.0


@dataclass(frozen=True)
class Column:
    """A heading, and what was drawn under it."""

    heading: str
    field: str
    # Of ratings: their aspect (None if the heading leaves it open), whose they are, and how such columns are called.
    aspect: str | None = None
    rater: str | None = None
    stem: str = ""


@dataclass(frozen=True)
class Table:
    """A drawn table, its form, and the options it is read with."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]  # a cell per column; ABSENT: the row of JSON lacks the key
    form: str
    options: dict[str, Any] = field(default_factory=dict)


ABSENT = object()
Reply = tuple[str, str, tuple[str, ...], tuple[str, ...], str | None]


@dataclass
class Reading:
    """What a reader makes of a table; ``refused`` has the reasons of which the docs give at least one."""

    replies: Counter[Reply] = field(default_factory=Counter)
    ratings: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    left_out: dict[str, int] = field(default_factory=dict)
    unused: set[str] = field(default_factory=set)
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)


# Drawing.


def draw_table(rng: random.Random) -> Table:
    """Draw a table, its form and the options it is read with."""
    form = rng.choices(FORMS, _SHARES)[0]
    columns = _draw_columns(rng)
    rows = _draw_rows(rng, columns)
    rows = _repeat_rows(rng, columns, rows)
    options: dict[str, Any] = {}
    if rng.random() < 0.35:
        options["repeats"] = rng.choice(("same", "apart"))
    if rng.random() < 0.12:
        options["empty"] = rng.choice(("drop", "keep"))
    if rng.random() < 0.08:
        _empty_cells(rng, columns, rows, "response")
    if rng.random() < 0.03:
        _empty_cells(rng, columns, rows, "rater")
    if form == "jsonl" and rng.random() < 0.2:
        _drop_keys(rng, columns, rows)
    order = list(range(len(columns)))
    if rng.random() < 0.5:
        rng.shuffle(order)
    return Table(tuple(columns[i] for i in order), tuple(tuple(row[i] for i in order) for row in rows), form, options)


def _style_heading(rng: random.Random, name: str) -> str:
    """Write a heading with the case, spaces, hyphens and underscores that make no difference."""
    name = name.replace("_", rng.choice(("_", "_", " ", "-", "")) if "_" in name else "_")
    name = rng.choice((str, str, str, str.title, str.upper))(name)
    return f" {name} " if rng.random() < 0.03 else name


def _draw_columns(rng: random.Random) -> list[Column]:
    columns: list[Column] = []

    def add(field_name: str, names: Sequence[str], chance: float = 1.0) -> None:
        if rng.random() < chance:
            columns.append(Column(_style_heading(rng, rng.choice(names)), field_name))

    add("id", ("id",), 0.5)
    shape = rng.random()
    if shape < 0.15:
        add("history", HISTORIES)
        add("context", LAST_TURNS)
    elif shape < 0.2:
        add("history", ("messages", "history", "context"))
    else:
        add("context", CONTEXTS)
    add("response", REPLIES)
    add("system", SYSTEMS, 0.45)
    add("reference", REFERENCES, 0.35)
    add("dialogue", DIALOGUES, 0.2)
    add("documents", ("documents", "contexts", "retrieved_contexts"), 0.05)
    columns += _draw_ratings(rng)
    for name in rng.sample(UNKNOWN, rng.choice((0, 0, 0, 1, 2))):
        columns.append(Column(name, "unknown"))
    if rng.random() < 0.05:
        columns.insert(rng.choice((0, len(columns) // 2)), Column("", "unnamed"))
    if rng.random() < 0.04:
        columns.insert(0, Column(rng.choice(("Unnamed: 0", "index")), "row number"))
    if rng.random() < 0.04:  # two columns that could hold one field
        column = rng.choice([one for one in columns if one.field not in ("unnamed", "row number", "unknown")])
        columns.append(column if rng.random() < 0.5 else replace(column, heading=column.heading.swapcase()))
    return columns


def _draw_ratings(rng: random.Random) -> list[Column]:
    def general(names: Sequence[str] = (*GENERAL, "user rating")) -> Column:
        name = rng.choice(names)
        return Column(_style_heading(rng, name), "rating")

    def of_aspect(aspect: str) -> Column:
        name = rng.choice(
            (aspect, aspect, f"{aspect} rating", f"{aspect} score", f"human {aspect}", f"rating:{aspect}")
        )
        return Column(_style_spaces(rng, name), "rating", aspect)

    def rater() -> Column:
        return Column(_style_heading(rng, rng.choice(RATERS)), "rater")

    def aspect() -> Column:
        return Column(_style_heading(rng, rng.choice(ASPECT_COLUMNS)), "aspect")

    def wide(stem: str, count: int) -> list[Column]:
        form = rng.choice(("{} {}", "{}_{}", "{}{}"))
        headings = [form.format(stem, number) for number in range(1, count + 1)]
        return [Column(heading, "rating", None, heading, stem) for heading in headings]

    aspects = rng.sample(ASPECTS, rng.choice((1, 2, 3)))
    count = rng.choice((2, 2, 3))
    kind = rng.choice(
        ("none", "general", "general", "aspects", "aspects", "rater", "rater", "rater and aspects", "long", "long",
         "aspect", "wide", "wide", "wide aspects", "wide and aspect", "value")
    )  # fmt: skip
    columns: list[Column] = []
    if kind in ("general", "rater", "long", "aspect"):
        columns.append(general())
    if kind in ("aspects", "rater and aspects"):
        columns += [of_aspect(one) for one in aspects]
    if kind in ("rater", "rater and aspects", "long", "value"):
        columns.append(rater())
    if kind in ("long", "aspect", "wide and aspect") or (kind == "value" and rng.random() < 0.5):
        columns.append(aspect())
    if kind in ("wide", "wide and aspect"):
        columns += wide(rng.choice((*ROLES, "rating", "score")), count)
    if kind == "wide aspects":
        role = rng.choice((*ROLES, ""))
        for one in aspects:
            form = rng.choice(("{role} {n} {aspect}", "{aspect} {role} {n}")) if role else "{aspect} {n}"
            for number in range(1, count + 1):
                heading = form.format(role=role, n=number, aspect=one)
                columns.append(Column(heading, "rating", one, f"{role or 'rater'} {number}", form))
    if kind == "value":
        columns.append(Column(rng.choice(("value", "Value")), "value"))
    # A column more than there should be.
    extra = rng.random()
    if extra < 0.06:
        columns.append(general())
    elif extra < 0.12:
        columns.append(of_aspect(rng.choice(ASPECTS)))
    elif extra < 0.15:
        columns += wide(rng.choice((*ROLES, "rating", "score")), 2)
    elif extra < 0.18:
        columns.append(rater())
    elif extra < 0.2:
        columns.append(aspect())
    elif extra < 0.22:
        columns.append(Column("value", "value"))
    return columns


def _style_spaces(rng: random.Random, name: str) -> str:
    name = name.replace(" ", rng.choice((" ", "_", "-")))
    return rng.choice((str, str, str.title))(name)


def _draw_rows(rng: random.Random, columns: Sequence[Column]) -> list[list[Any]]:
    items = rng.choice((2, 3, 4, 5))
    fields = {column.field for column in columns}
    systems: list[str | None] = list(rng.sample(("v1", "v2", "owl", "Zo\u00eb"), 2)) if "system" in fields else [None]
    raters = rng.sample(NAMES, 2) if "rater" in fields else [None]
    aspects = rng.sample(ASPECTS, 2) if "aspect" in fields else [None]
    ratings = {number: _draw_style(rng) for number, one in enumerate(columns) if one.field in ("rating", "value")}
    ids = rng.choice((lambda n: n, lambda n: f"q{n}", lambda n: float(n), lambda n: f"{n:03}"))
    question = rng.choice(TEXTS)
    history = rng.choice(("texts", "messages", "pairs", "exchange"))
    blank_share = rng.choice((0.0, 0.0, 0.1, 0.3))
    reference_blank = rng.choice((0.0, 0.0, 0.3))
    references = [_draw_reference(rng, n) if rng.random() >= reference_blank else "" for n in range(items)]
    dialogues = [rng.choice(("c1", "c2", 7)) for _ in range(items)]
    rows: list[list[Any]] = []
    for item in range(items):
        for system in systems:
            if rng.random() < 0.1 and rows:
                continue
            reply = rng.choice((f"Reply {item} of {system}.", f"Reply {item}.", 12.5 if system is None else "Yes."))
            for rater in raters:
                if rng.random() < 0.15 and rows:
                    continue
                for aspect in aspects:
                    row: list[Any] = []
                    for number, column in enumerate(columns):
                        drawn: Any = {
                            "id": ids(item),
                            "context": question % item,
                            "history": _draw_history(history, item),
                            "response": reply,
                            "system": _blur(rng, system),
                            "reference": references[item],
                            "dialogue": dialogues[item],
                            "rater": _blur(rng, rater),
                            "aspect": _blur(rng, aspect),
                            "documents": rng.choice(("A page.", ["One.", "Two."])),
                            "unknown": rng.choice(("x", "y", 3, "")),
                            "unnamed": rng.choice(("x", "", "")),
                            "row number": len(rows),
                        }.get(column.field)
                        if number in ratings:
                            drawn = _draw_rating(rng, *ratings[number], blank_share)
                        row.append(drawn)
                    rows.append(row)
    return rows


def _blur(rng: random.Random, name: Any) -> Any:
    """Write a name with a space after it, or in another Unicode form, now and then."""
    if not isinstance(name, str) or rng.random() > 0.03:
        return name
    return rng.choice((f"{name} ", unicodedata.normalize("NFD", name)))


def _draw_reference(rng: random.Random, item: int) -> Any:
    return rng.choice((f"Reference {item}.", f"Reference {item}.", [f"First {item}.", f"Second {item}."], 7))


def _draw_history(kind: str, item: int) -> Any:
    first, second = f"Hello {item}.", f"Hi {item}."
    if kind == "messages":
        return [{"role": "assistant", "content": first}, {"role": "user", "content": second}]
    return {"texts": [first, second], "pairs": [["ai", first], ["human", second]], "exchange": [[first, second]]}[kind]


def _draw_style(rng: random.Random) -> tuple[str, float]:
    """Draw how a column of ratings is written, and which share of its cells is odd."""
    chance = rng.random()
    if chance < 0.04:
        return "texts", 0.0
    return rng.choice(STYLES), 0.2 if chance < 0.08 else 0.0


def _draw_rating(rng: random.Random, style: str, odd: float, blank: float) -> Cell:
    if rng.random() < blank:
        return Cell(rng.choice((None, None, math.nan, *BLANKS)))
    if style == "texts" or rng.random() < odd:
        return Cell(rng.choice(ODD), "other")
    number = rng.randint(1, 5)
    up = number > 2
    written, way, value = {
        "integers": (number, "numbers", number),
        "floats": (float(number), "numbers", number),
        "halves": (number + 0.5, "numbers", number + 0.5),
        "commas": (f"{number},5", "numbers", number + 0.5),
        "words": (rng.choice(("good", "Yes", "\U0001f44d") if up else ("bad", "No", "thumbs down")), "words", up),
        "booleans": (up, "words", up),
        "of 5": (rng.choice((f"{number}/5", f"{number} of 5", f"{number} / 5")), "of 5", number),
        "stars": (f"{number} star{'s' if number > 1 else ''}", "stars", number),
        "signs": ("\u2605" * number + rng.choice(("", "\u2606" * (5 - number))), "stars", number),
        "percentages": (f"{20 * number}%", "percentages", 20 * number),
    }[style]
    return Cell(written, way, float(value))


def _repeat_rows(rng: random.Random, columns: Sequence[Column], rows: list[list[Any]]) -> list[list[Any]]:
    if rng.random() < 0.5:
        return rows
    rows = list(rows)
    change = rng.choice(("nothing", "nothing", "rating", "unknown", "response"))
    for _ in range(rng.choice((1, 1, 2))):
        row = list(rng.choice(rows))
        for number, column in enumerate(columns):
            if change == "rating" and column.field in ("rating", "value"):
                row[number] = _draw_rating(rng, "integers", 0.0, 0.1)
            if change == column.field == "unknown":
                row[number] = "another"
            if change == column.field == "response" and rng.random() < 0.5:
                row[number] = "Another reply."
            if column.field == "row number":
                row[number] = len(rows)
        rows.append(row)
    if rng.random() < 0.5:
        rng.shuffle(rows)
    return rows


def _empty_cells(rng: random.Random, columns: Sequence[Column], rows: list[list[Any]], name: str) -> None:
    for number, column in enumerate(columns):
        if column.field == name:
            rows[rng.randrange(len(rows))][number] = rng.choice(("", None))


def _drop_keys(rng: random.Random, columns: Sequence[Column], rows: list[list[Any]]) -> None:
    for row in rows:
        for number, column in enumerate(columns):
            is_blank = isinstance(row[number], Cell) and row[number].way is None
            chance = {"rating": 0.7 if is_blank else 0.0, "unknown": 0.5, "rater": 0.03, "aspect": 0.03, "system": 0.03}
            if rng.random() < chance.get(column.field, 0.0):
                row[number] = ABSENT


# Writing.


def _write_cell(cell: Any, form: str) -> Any:
    """Return a cell as its form holds it."""
    cell = cell.written if isinstance(cell, Cell) else cell
    if form in ("jsonl", "frame"):
        return cell
    if isinstance(cell, float) and math.isnan(cell):
        return None if form == "xlsx" else cell if form == "parquet" else "nan"
    if isinstance(cell, list):
        return repr(cell) if len(str(cell)) % 2 else json.dumps(cell)
    if form in ("xlsx", "parquet"):
        return None if cell == "" and form == "xlsx" else cell
    return "" if cell is None else str(cell)


def _written(table: Table) -> list[list[Any]]:
    """Return the cells as they are in the file."""
    rows = [[cell if cell is ABSENT else _write_cell(cell, table.form) for cell in row] for row in table.rows]
    if table.form == "parquet":
        for number in range(len(table.columns)):
            if len({bool if isinstance(row[number], bool) else type(row[number]) for row in rows} - {type(None)}) > 1:
                for row in rows:
                    row[number] = None if row[number] is None else str(row[number])
    return rows


def write_table(table: Table, folder: Path) -> Any:
    """Write a table in its form, and return what ``rejoinder.read`` is given: a path, or a DataFrame."""
    headings = [column.heading for column in table.columns]
    rows = _written(table)
    path = folder / f"t.{'csv' if table.form == 'semicolon' else table.form}"
    if table.form in ("csv", "tsv", "semicolon"):
        delimiter = {"csv": ",", "tsv": "\t", "semicolon": ";"}[table.form]
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter=delimiter).writerows([headings, *rows])
    elif table.form == "jsonl":
        lines = (dict(pair for pair in zip(headings, row, strict=True) if pair[1] is not ABSENT) for row in rows)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    elif table.form == "xlsx":
        import openpyxl

        book = openpyxl.Workbook()
        for row in [headings, *rows]:
            book.active.append(row)
        book.save(path)
    elif table.form == "parquet":
        import pyarrow
        from pyarrow import parquet

        arrays = [pyarrow.array([row[number] for row in rows]) for number in range(len(headings))]
        parquet.write_table(pyarrow.Table.from_arrays(arrays, names=headings), path)
    else:
        pandas: Any = importlib.import_module("pandas")  # it has no types
        series = [pandas.Series([row[number] for row in rows]) for number in range(len(headings))]
        return pandas.concat(series, axis=1, keys=range(len(headings))).set_axis(headings, axis=1)
    return path


# What rejoinder reads.


REASONS = {
    r"could hold the (?!same)": "two columns of one field",
    "could hold the same ratings": "two columns of the same ratings",
    "may be their mean or another rater's": "a rating beside those of several raters",
    "names an aspect, and": "an aspect beside other ratings than one",
    "are not written in one way": "ratings in several ways",
    r"reply .* is empty": "an empty reply",
    "has a rating, but": "a rating without its rater",
    "which holds the .* in other rows": "a key that some rows lack",
    "the context, system and reply of an earlier one": "rows that repeat a reply",
    "with ratings repeat another in every column": "copies among other ratings",
    "in a row that differs in other columns": "the same rating again in another row",
    "rated a reply with this context": "a rater who rated twice",
    "the same rater already gave this rating": "a rater who rated twice",
    "response id .* was already used": "two replies of one system to one item",
    "a cell to the right of the header": "a cell beyond the headings",
    "nothing in it could be imported": "nothing to read",
}


def read_with_rejoinder(table: Table, folder: Path) -> Reading:
    """Return what the reader makes of a table, and what it says about it."""
    reading = Reading()
    options = rejoinder.data.ImportOptions(**table.options)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            allow = options.empty == "keep"
            data = rejoinder.read(write_table(table, folder), allow_empty=allow, options=options)
    except RejoinderError as error:
        found = {reason for pattern, reason in REASONS.items() if re.search(pattern, str(error))}
        reading.refused = found or {f"unknown reason: {error}"}
        if "\n" in str(error):
            reading.refused.add("more than one line")
        return reading
    except Exception as error:
        reading.refused = {f"{type(error).__name__}: {error}"}
        return reading
    keys = {}
    for pair in data.pairs():
        item, response = pair.item, pair.response
        texts = tuple(turn.text for turn in item.context)
        references = tuple(one.text for one in item.references)
        keys[response.id] = (response.system, response.text, texts, references, item.dialogue)
        reading.replies[keys[response.id]] += 1
    for one in data.ratings:
        rating = (*keys[one.response or ""], one.rater, one.aspect, one.value)
        reading.ratings[rating] += 1
    (line,) = data.imported
    if (unused := re.search(r"; not used: (.*?)(?=; left out|; \d[\d,]* (?:row|repl)|$)", line)) is not None:
        reading.unused = {name.strip() for name in unused[1].split(", ")}
    if (left_out := re.search(r"; left out: (.*?)(?=; \d|$)", line)) is not None and left_out[1] != "nothing":
        for reason, number in re.findall(r"(?:^|, )(.*?) \((\d+)\)", left_out[1]):
            reading.left_out[reason] = int(number)
    if ("left out: nothing" in line) != (not reading.unused and not reading.left_out):
        reading.left_out["(left out: nothing)"] = 1
    if data.rows is not None:
        for number in sorted(data.rows):
            row = data.rows[number]
            ratings = tuple(sorted((aspect, tuple(values)) for aspect, values in row.ratings.items()))
            reading.rows.append((tuple(keys[name] for name in row.responses), ratings))
    return reading


# What the docs say.


def _text(cell: Any) -> str | None:
    """Return a cell as text: None if it is blank, and a whole number without its point."""
    cell = cell.written if isinstance(cell, Cell) else cell
    if cell is None or cell is ABSENT or (isinstance(cell, str) and not cell.strip()):
        return None
    if isinstance(cell, float) and math.isnan(cell):
        return None
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _name(cell: Any) -> str | None:
    text = _text(cell)
    return None if text is None else unicodedata.normalize("NFC", text).strip()


def _fold(heading: str) -> str:
    return re.sub(r"[\s_-]+", "", heading).casefold()


def _words(heading: str) -> str:
    return re.sub(r"[\s_-]+", " ", heading).strip().casefold()


def _turns(cell: Any) -> list[str]:
    if not isinstance(cell, list):
        return [text] if (text := _text(cell)) is not None else []
    if all(isinstance(one, list) and one[0] in ("ai", "human") for one in cell):
        return [one[1] for one in cell]
    flat = [one for entry in cell for one in (entry if isinstance(entry, list) else [entry])]
    return [one["content"] if isinstance(one, dict) else one for one in flat]


class Rules:
    """The rules of the docs, applied to a drawn table."""

    def __init__(self, table: Table) -> None:
        table = self.table = _without_absent(table)
        self.reading = Reading()
        self.written = _written(table)
        self.repeats = table.options.get("repeats")
        self.by_field: dict[str, list[int]] = {}
        for number, column in enumerate(table.columns):
            self.by_field.setdefault(column.field, []).append(number)
        self.sources = list(self.by_field.get("rating", []))
        if "value" in self.by_field:
            has_others = bool(self.by_field.keys() & {"rater", "aspect"})
            if has_others and ("aspect" in self.by_field or not self.sources):
                self.sources += self.by_field["value"]
        self.wide = [n for n in self.sources if table.columns[n].rater is not None]
        self.plain = [n for n in self.sources if table.columns[n].rater is None]
        self.has_id = "id" in self.by_field

    def read(self) -> Reading:
        """Return what the docs say about the table."""
        self._check_headings()
        if not self.reading.refused:
            self._read_rows()
        return self.reading

    def _single(self, name: str, row: Sequence[Any]) -> Any:
        return row[self.by_field[name][0]] if name in self.by_field else ABSENT

    def _aspect_of(self, number: int) -> str:
        column = self.table.columns[number]
        if column.aspect is not None:
            return column.aspect
        return "rating" if column.rater is not None or column.field == "value" else _words(column.heading)

    def _check_headings(self) -> None:
        refused = self.reading.refused
        columns = self.table.columns
        texts = Counter(column.heading for column in columns)
        if self.table.form == "jsonl" and max(texts.values()) > 1:
            refused.add("(JSON cannot hold it)")
        decided = {"rater", "aspect"} if self.sources else set()
        fields = {"id", "response", "system", "reference", "dialogue", "documents"} | decided
        for name in fields:
            if len(self.by_field.get(name, ())) > 1:
                refused.add("two columns of one field")
        if len(self.by_field.get("value", ())) > 1:
            refused.add("two columns of one field")
        if len(self.by_field.get("context", ())) > 1 or len(self.by_field.get("history", ())) > 1:
            refused.add("two columns of one field")
        aspects = Counter(self._aspect_of(n) for n in self.plain)
        if max(aspects.values(), default=0) > 1:
            refused.add("two columns of the same ratings")
        for aspect in {self._aspect_of(n) for n in self.wide}:
            group = [n for n in self.wide if self._aspect_of(n) == aspect]
            stems = {re.sub(r" ?\d+", "", _words(columns[n].heading)) for n in group}
            if len(stems) > 1 or len({_words(columns[n].heading) for n in group}) < len(group):
                refused.add("two columns of the same ratings")
        general = [n for n in self.plain if columns[n].aspect is None]
        wide_aspects = {self._aspect_of(n) for n in self.wide}
        if (general and "rating" in wide_aspects) or {self._aspect_of(n) for n in self.plain} & wide_aspects:
            refused.add("a rating beside those of several raters")
        if self.table.form == "xlsx" and not columns[-1].heading and not self._is_empty(len(columns) - 1):
            refused.add("a cell beyond the headings")
        if "aspect" in self.by_field and self.sources:
            is_open = all(columns[n].aspect is None for n in self.sources)
            if not is_open or (len(self.plain) == 1) == bool(self.wide):
                refused.add("an aspect beside other ratings than one")

    def _read_rows(self) -> None:
        table, reading = self.table, self.reading
        columns = table.columns
        used = {n for n, one in enumerate(columns) if one.field in ("id", "context", "history", "response", "system")}
        used |= {n for n, one in enumerate(columns) if one.field in ("reference", "dialogue", "documents")}
        cells = {
            n: [cell for row in table.rows if isinstance(cell := row[n], Cell)] for n in self.sources
        }  # without the rows of JSON that lack the key
        ways = {n: {cell.way for cell in cells[n]} - {None} for n in self.sources}
        rated = {n for n in self.sources if ways[n] - {"other"}}
        if any(len(ways[n]) > 1 for n in rated):
            reading.refused.add("ratings in several ways")
        used |= rated
        if rated & set(self.plain) or any(n in rated and columns[n].rater is None for n in self.sources):
            used |= set(self.by_field.get("rater", ()))
        if rated:
            used |= set(self.by_field.get("aspect", ()))
        left_out: Counter[str] = Counter()
        left_out["empty ratings"] = sum(cell.way is None for n in rated for cell in cells[n])
        self._check_keys()
        in_meta = self._replies(rated, left_out)
        for n, column in enumerate(columns):
            if n in used or n in in_meta or (column.field == "unnamed" and self._is_empty(n)):
                continue
            if all(row[n] is ABSENT for row in table.rows):
                continue
            is_text = table.form in ("csv", "tsv", "semicolon", "xlsx")
            reading.unused.add(column.heading.strip() or (f"(column {n + 1})" if is_text else "(no name)"))
        reading.left_out = {reason: number for reason, number in left_out.items() if number}

    def _is_empty(self, number: int) -> bool:
        """Whether nothing is in a column without a heading; JSON and frames know such columns by the name ""."""
        has_place = self.table.form in ("csv", "tsv", "semicolon", "xlsx")
        return has_place and all(row[number] in ("", None) for row in self.written)

    def _check_keys(self) -> None:
        """Rows of JSON that lack a key which decides what a row is, and that others have."""
        for name in ("id", "system", "rater", "aspect"):
            if name not in self.by_field:
                continue
            n = self.by_field[name][0]
            rows = self.table.rows
            if name in ("rater", "aspect"):
                rows = tuple(row for row in rows if any(isinstance(row[m], Cell) and row[m].way for m in self.sources))
            lacks = [row[n] is ABSENT for row in rows]
            if any(lacks) and not all(lacks):
                self.reading.refused.add("a key that some rows lack")

    def _key(self, row: Sequence[Any]) -> Reply:
        texts: list[str] = []
        for name in ("history", "context"):
            if name in self.by_field:
                texts += _turns(self._single(name, row))
        references: list[str] = []
        if "reference" in self.by_field:
            cell = self._single("reference", row)
            references = [text for one in (cell if isinstance(cell, list) else [cell]) if (text := _text(one))]
        system = _name(self._single("system", row))
        if system is None:
            system = "system" if self.table.form == "frame" else "t"
        return (
            system,
            _text(self._single("response", row)) or "",
            tuple(texts),
            tuple(references),
            _name(self._single("dialogue", row)),
        )

    def _identity(self, row: Sequence[Any], number: int) -> str:
        """Return what is equal for copies of a row: all cells but row numbers."""
        columns = self.table.columns
        numbers = {
            n for n, one in enumerate(columns) if one.field == "row number" or (one.field == "unnamed" and n == 0)
        }
        cells = self.written[number]
        plain = [
            None if cell is None or (isinstance(cell, float) and cell != cell) else cell
            for n, cell in enumerate(cells)
            if n not in numbers and cell is not ABSENT
        ]
        return repr([(n, c) for n, c in enumerate(cells) if c is ABSENT and n not in numbers]) + repr(plain)

    def _replies(self, rated: set[int], left_out: Counter[str]) -> set[int]:
        """Read the replies and their ratings; return the columns that hold no field and say something of a reply."""
        table, reading, options = self.table, self.reading, self.table.options
        in_memory = table.form == "frame"
        has_rater = "rater" in self.by_field
        counts: Counter[Any] = Counter()
        texts_by_item: dict[tuple[Any, ...], set[str]] = {}
        copies: set[int] = set()
        identities: set[str] = set()
        named: dict[tuple[Any, ...], float] = {}
        numbers: Counter[Any] = Counter()
        later: list[tuple[Any, Reply, str, float, int, bool]] = []
        repeated = 0
        unknown = [n for n, column in enumerate(table.columns) if column.field == "unknown"]
        said_first: dict[Any, list[Any]] = {}

        for number, row in enumerate(table.rows):
            key = self._key(row)
            if "reference" in self.by_field and not isinstance(self._single("reference", row), list):
                left_out["empty references"] += _text(self._single("reference", row)) is None
            sources = [n for n in self.sources if row[n] is not ABSENT]
            values = [(n, row[n]) for n in sources if n in rated and row[n].way not in (None, "other")]
            if not key[1] and options.get("empty", "error") == "error":
                reading.refused.add("an empty reply")
            if not key[1] and options.get("empty") == "drop":
                left_out["empty replies"] += 1
                left_out["ratings of empty replies"] += len(values)
                reading.rows.append(((), ()))
                continue
            item = _text(self._single("id", row)) if self.has_id else None
            content: Any = (item, *key) if self.has_id else key
            if self.has_id:
                texts = texts_by_item.setdefault((item, key[0]), set())
                texts.add(key[1])
                if len(texts) > 1:
                    reading.refused.add("two replies of one system to one item")
            is_repeat = counts[content] > 0
            lone = not self.has_id and (
                self.repeats == "apart" or (self.repeats is None and in_memory and not has_rater)
            )
            is_new = not is_repeat or lone
            counts[content] += 1
            reply = (content, counts[content]) if lone else (content, 1)
            said = [(n, row[n]) for n in unknown if row[n] not in ("", None, ABSENT)]
            if is_new:
                reading.replies[key] += 1
                said_first[reply] = said
            else:
                left_out["other values for meta in a reply's later rows"] += bool(said and said != said_first[reply])
                repeated += 1 if not rated or not sources else 0
                if self.repeats is None and not self.has_id and not (sources and has_rater):
                    reading.refused.add("rows that repeat a reply")
            row_ratings: dict[str, list[float]] = {}
            identity = self._identity(row, number)
            is_copy = identity in identities
            if values:
                identities.add(identity)
            for n, cell in values:
                column = table.columns[n]
                aspect = self._aspect_of(n)
                if "aspect" in self.by_field:
                    aspect = _name(self._single("aspect", row)) or ""
                row_ratings.setdefault(aspect, []).append(cell.value)
                rater = column.rater.strip() if column.rater else None
                if rater is None and has_rater:
                    rater = _name(self._single("rater", row))
                    if rater is None:
                        reading.refused.add("a rating without its rater")
                        continue
                if rater is not None:
                    self._add_named(named, (reply, key, aspect, rater), cell.value, is_copy, number, copies)
                elif numbers[reply, aspect]:
                    later.append((reply, key, aspect, cell.value, number, is_copy))
                else:
                    numbers[reply, aspect] += 1
                    rating = (*key, "unnamed:1", aspect, cell.value)
                    reading.ratings[rating] += 1
            if in_memory:
                reading.rows.append(((key,), tuple(sorted((a, tuple(v)) for a, v in row_ratings.items()))))
        self._add_later(later, numbers, copies)
        left_out["rows that repeat another"] = repeated
        left_out["rows that repeat another with the same rating"] = len(copies)
        if not in_memory:
            reading.rows.clear()
        if not reading.replies:
            reading.refused.add("nothing to read")
        return {n for said in said_first.values() for n, _ in said}

    def _add_named(
        self, named: dict[Any, float], place: Any, value: float, is_copy: bool, number: int, copies: set[int]
    ) -> None:
        _, key, aspect, rater = place
        if place not in named:
            named[place] = value
            rating = (*key, rater, aspect, value)
            self.reading.ratings[rating] += 1
        elif named[place] == value and (is_copy or self.repeats == "same"):
            copies.add(number)
        elif named[place] == value and self.has_id and self.repeats is None:
            self.reading.refused.add("the same rating again in another row")
        else:
            self.reading.refused.add("a rater who rated twice")

    def _add_later(self, later: list[Any], numbers: Counter[Any], copies: set[int]) -> None:
        """Ratings without a name of replies that have one already."""
        different = any(not is_copy for *_, is_copy in later)
        if different and self.repeats is None and self.has_id and any(is_copy for *_, is_copy in later):
            self.reading.refused.add("copies among other ratings")
        for reply, key, aspect, value, number, is_copy in later:
            if is_copy and self.repeats != "apart" and (self.has_id or not different):
                copies.add(number)
                continue
            numbers[reply, aspect] += 1
            rating = (*key, f"unnamed:{numbers[reply, aspect]}", aspect, value)
            self.reading.ratings[rating] += 1


def _without_absent(table: Table) -> Table:
    """Return a table without the columns that no row of JSON has."""
    present = [n for n in range(len(table.columns)) if any(row[n] is not ABSENT for row in table.rows)]
    rows = tuple(tuple(row[n] for n in present) for row in table.rows)
    return replace(table, columns=tuple(table.columns[n] for n in present), rows=rows)


# Comparing.


def compare(table: Table, folder: Path) -> tuple[Reading, str]:
    """Return what rejoinder makes of a table, and how that differs from the docs; empty if it does not."""
    expected, found = Rules(table).read(), read_with_rejoinder(table, folder)
    return found, describe_difference(expected, found)


def describe_difference(expected: Reading, found: Reading) -> str:
    """Return the first difference of two readings; empty if there is none."""
    if expected.refused or found.refused:
        if found.refused & expected.refused:
            return ""
        return f"refused: expected {sorted(expected.refused) or 'no'}, found {sorted(found.refused) or 'no'}"
    for name in ("replies", "ratings"):
        more, fewer = getattr(found, name) - getattr(expected, name), getattr(expected, name) - getattr(found, name)
        if more or fewer:
            return f"{name}: expected {list(fewer)[:3]}, found {list(more)[:3]}"
    for name in ("left_out", "unused", "rows"):
        if getattr(expected, name) != getattr(found, name):
            return f"{name}: expected {getattr(expected, name)}, found {getattr(found, name)}"
    return ""


def shrink(table: Table, folder: Path) -> tuple[Table, str]:
    """Return the smallest part of a table that still differs in the same way, and how."""
    difference = compare(table, folder)[1]
    kind = difference.partition(":")[0]
    changed = True
    while changed:
        changed = False
        for smaller in _parts(table):
            described = compare(smaller, folder)[1]
            if described.partition(":")[0] == kind:
                table, difference, changed = smaller, described, True
                break
    return table, difference


def _parts(table: Table) -> Iterator[Table]:
    for option in table.options:
        yield replace(table, options={name: value for name, value in table.options.items() if name != option})
    for n in range(len(table.rows) if len(table.rows) > 1 else 0):
        yield replace(table, rows=table.rows[:n] + table.rows[n + 1 :])
    needed = [n for n, one in enumerate(table.columns) if one.field in ("response", "context", "history")]
    for n in range(len(table.columns)):
        if n not in needed or sum(table.columns[m].field == table.columns[n].field for m in needed) > 1:
            rows = tuple(row[:n] + row[n + 1 :] for row in table.rows)
            yield replace(table, columns=table.columns[:n] + table.columns[n + 1 :], rows=rows)


def show_table(table: Table) -> str:
    """Return a table in a few lines."""
    rows = [["(none)" if cell is ABSENT else repr(cell) for cell in row] for row in _written(table)]
    lines = [" | ".join(column.heading for column in table.columns), *(" | ".join(row) for row in rows)]
    return "\n".join([f"{table.form} {table.options or ''}", *(f"    {line}" for line in lines)])


def draw_tables(number: int, seed: int) -> Iterator[Table]:
    """Yield drawn tables; each has a seed of its own."""
    for n in range(number):
        table = draw_table(random.Random(f"{seed}/{n}"))
        if table.form == "jsonl" and len({one.heading for one in table.columns}) < len(table.columns):
            table = replace(table, form="csv", rows=_without_gaps(table.rows))
        yield table


def _without_gaps(rows: Iterable[tuple[Any, ...]]) -> tuple[tuple[Any, ...], ...]:
    """Return rows of JSON as rows of a form in which no cell can be absent."""
    return tuple(tuple("" if cell is ABSENT else cell for cell in row) for row in rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the tables, and print what was read, what was refused and why, and every difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="?", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=20, help="how many differences are shown")
    chosen = parser.parse_args(arguments)
    forms, reasons, differences = Counter[str](), Counter[str](), Counter[str]()
    ratings = left_out = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, table in enumerate(draw_tables(chosen.tables, chosen.seed)):
            found, difference = compare(table, folder)
            if found.refused:
                reasons[min(found.refused)] += 1
            else:
                forms[table.form] += 1
                ratings += found.ratings.total()
                left_out += sum(found.left_out.values())
            if difference:
                kind = difference.partition(":")[0]
                differences[kind] += 1
                if differences.total() <= chosen.most:
                    smallest, difference = shrink(table, folder)
                    print(f"table {number}: {difference}\n{show_table(smallest)}\n")
    print(f"{chosen.tables:,} tables: {forms.total():,} read, {reasons.total():,} refused, "
          f"{differences.total():,} differences")  # fmt: skip
    print("read: " + ", ".join(f"{form} {count:,}" for form, count in forms.most_common()))
    print(f"ratings read: {ratings:,}; left out and counted: {left_out:,}")
    for reason, count in reasons.most_common():
        print(f"refused: {reason} ({count:,})")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
