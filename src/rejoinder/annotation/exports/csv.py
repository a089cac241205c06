"""One line for each thing that a rater said; read back, lines of one rater and unit make one answer.

A cell that a spreadsheet would take for a formula gets an apostrophe before it, which is taken off again on the way in.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from typing import Any

import orjson

from rejoinder.annotation.exports._external import ExternalJudgement, ImportSummary, record_judgements
from rejoinder.annotation.fields import list_fields
from rejoinder.annotation.form import FORMS
from rejoinder.annotation.results import FieldAnswer, Results, find_label, order_pair, split_answer
from rejoinder.annotation.store.base import Store
from rejoinder.annotation.unit import Field, Value
from rejoinder.errors import InputError, brief
from rejoinder.escape import escape_cell, unescape_cell

COLUMNS = (
    "unit",
    "kind",
    "item",
    "response",
    "system",
    "first",
    "second",
    "rater",
    "aspect",
    "field",
    "value",
    "label",
    "right",
    "seconds",
    "at",
)
_REQUIRED_COLUMNS = ("unit", "rater", "field", "value")


def write(results: Results) -> bytes:
    """The table, checks and exercises included (their kind says so)."""
    return to_csv(COLUMNS, _list_rows(results))


def to_csv(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> bytes:
    """Rows as CSV in UTF-8, with texts that no spreadsheet takes for a formula."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([_escape(cell) for cell in row] for row in rows)
    return out.getvalue().encode()


def _escape(cell: object) -> object:
    if cell is None:
        return ""
    return escape_cell(cell) if isinstance(cell, str) else cell


def _list_rows(results: Results) -> Iterator[tuple[object, ...]]:
    for judgement in results.judgements:
        for one in split_answer(results, results.units[judgement.unit], judgement):
            yield _make_row(results, one)


def _make_row(results: Results, one: FieldAnswer) -> tuple[object, ...]:
    judgement, hidden = one.judgement, one.unit.hidden
    first = second = None
    replies = hidden.get("replies", {})
    if FORMS[one.unit.form].asks == "preference":
        first, second = (
            replies.get(key, {}).get("response", key) for key in order_pair(results, one.unit, judgement.rater)
        )
    value = orjson.dumps(one.value).decode() if isinstance(one.value, list) else one.value
    right = None if judgement.right is None else int(judgement.right)
    at = datetime.fromtimestamp(judgement.at, timezone.utc).isoformat()
    return (
        one.unit.id,
        one.unit.kind,
        hidden.get("item"),
        one.response,
        one.system,
        first,
        second,
        judgement.rater,
        one.field.aspect,
        one.field.name,
        value,
        find_label(one),
        right,
        round(judgement.seconds, 3) or None,  # 0: no time is known
        at,
    )


def read(store: Store, content: bytes) -> ImportSummary:
    """Take in a table that has at least the columns unit, rater, field and value; exercises stay out."""
    units = {unit.id: unit for unit in store.units() if unit.kind != "exercise"}
    fields = {unit.id: {field.name: field for field in list_fields(store.project, unit)} for unit in units.values()}
    answers: dict[tuple[str, str], dict[str, Any]] = {}
    about: dict[tuple[str, str], tuple[float, float | None]] = {}
    for number, row in read_rows(content, _REQUIRED_COLUMNS):
        if row.get("kind") == "exercise":
            continue
        key = unescape_cell(row["rater"]), unescape_cell(row["unit"])
        field = fields.get(key[1], {}).get(unescape_cell(row["field"]))
        answer = answers.setdefault(key, {})
        answer[unescape_cell(row["field"])] = _parse_value(field, row["value"]) if field is not None else row["value"]
        about[key] = _parse_number(row.get("seconds", ""), number) or 0.0, _parse_time(row.get("at", ""), number)
    return record_judgements(store, (ExternalJudgement(*key, answer, *about[key]) for key, answer in answers.items()))


def read_rows(content: bytes, needed: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file by column, with their numbers; an error names the column that is missing."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"the table is not UTF-8 at byte {error.start + 1}; save it as UTF-8") from None
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
        columns = reader.fieldnames or []
        if missing := [name for name in needed if name not in columns]:
            raise InputError(f"the table has no column {missing[0]!r}; found: {brief(', '.join(columns), 120)}")
        for row in reader:
            yield reader.line_num, {name: value or "" for name, value in row.items() if isinstance(name, str)}
    except csv.Error as error:
        raise InputError(f"the table cannot be read as CSV ({error})") from None


def _parse_value(field: Field, cell: str) -> Value:
    """A cell's value for a field; what does not fit is left to be refused."""
    if field.kind == "choice":
        meant = {str(option.value): option.value for option in field.options}
        return meant.get(cell, meant.get(unescape_cell(cell), cell))
    if field.kind == "labels":
        try:
            found: list[str] = orjson.loads(cell)
            return found
        except orjson.JSONDecodeError:
            return cell
    return unescape_cell(cell)


def _parse_number(cell: str, line: int) -> float | None:
    if not cell:
        return None
    try:
        return float(cell)
    except ValueError:
        raise InputError(f"the table has no number in 'seconds' on line {line}: {brief(cell)}") from None


def _parse_time(cell: str, line: int) -> float | None:
    if not cell:
        return None
    try:
        found = datetime.fromisoformat(cell.replace("Z", "+00:00"))
    except ValueError:
        raise InputError(f"the table has no time in 'at' on line {line}: {brief(cell)}") from None
    return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
