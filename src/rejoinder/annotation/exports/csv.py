"""CSV with one row per answered field; on import, the rows of one rater and unit make one answer.

A cell that a spreadsheet would take for a formula gets a leading apostrophe, which is removed again on import.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson

from rejoinder.annotation.exports._external import ExternalJudgement, ImportSummary, record_judgements
from rejoinder.annotation.fields import list_fields
from rejoinder.annotation.form import FORMS
from rejoinder.annotation.store.base import Store
from rejoinder.annotation.store.results import (
    FieldAnswer,
    ProjectResults,
    find_chosen_label,
    order_pair_for_rater,
    split_answer,
)
from rejoinder.annotation.unit import AnswerField, Value
from rejoinder.data.tables.spreadsheet import decode_spreadsheet, encode_spreadsheet
from rejoinder.errors import InputError, brief
from rejoinder.escape import unescape_cell

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


def write(results: ProjectResults) -> bytes:
    """Return the table, including checks and exercises (see their kind)."""
    return encode_spreadsheet(COLUMNS, _list_rows(results))


def _list_rows(results: ProjectResults) -> Iterator[tuple[object, ...]]:
    for judgement in results.judgements:
        for answer in split_answer(results, results.units[judgement.unit], judgement):
            yield _make_row(results, answer)


def _make_row(results: ProjectResults, answer: FieldAnswer) -> tuple[object, ...]:
    judgement, hidden = answer.judgement, answer.unit.hidden
    first = second = None
    replies = hidden.get("replies", {})
    if FORMS[answer.unit.form].asks == "preference":
        first, second = (
            replies.get(key, {}).get("response", key)
            for key in order_pair_for_rater(results, answer.unit, judgement.rater)
        )
    value = orjson.dumps(answer.value).decode() if isinstance(answer.value, list) else answer.value
    right = None if judgement.right is None else int(judgement.right)
    at = datetime.fromtimestamp(judgement.at, UTC).isoformat()
    return (
        answer.unit.id,
        answer.unit.kind,
        hidden.get("item"),
        answer.response,
        answer.system,
        first,
        second,
        judgement.rater,
        answer.field.aspect,
        answer.field.name,
        value,
        find_chosen_label(answer),
        right,
        round(judgement.seconds, 3) or None,  # 0: the time is unknown
        at,
    )


def read(store: Store, content: bytes) -> ImportSummary:
    """Import a table that has at least the columns unit, rater, field and value; exercises are left out."""
    units = {unit.id: unit for unit in store.units() if unit.kind != "exercise"}
    fields = {unit.id: {field.name: field for field in list_fields(store.project, unit)} for unit in units.values()}
    answers: dict[tuple[str, str], dict[str, Any]] = {}
    about: dict[tuple[str, str], tuple[float, float | None]] = {}
    for number, row in decode_spreadsheet(content, _REQUIRED_COLUMNS):
        if row.get("kind") == "exercise":
            continue
        key = unescape_cell(row["rater"]), unescape_cell(row["unit"])
        field = fields.get(key[1], {}).get(unescape_cell(row["field"]))
        answer = answers.setdefault(key, {})
        answer[unescape_cell(row["field"])] = _parse_value(field, row["value"]) if field is not None else row["value"]
        about[key] = _parse_number(row.get("seconds", ""), number) or 0.0, _parse_time(row.get("at", ""), number)
    return record_judgements(store, (ExternalJudgement(*key, answer, *about[key]) for key, answer in answers.items()))


def _parse_value(field: AnswerField, cell: str) -> Value:
    """Return a cell's value for a field; an invalid one is returned as it is, to be refused later."""
    if field.kind == "choice":
        by_text = {str(option.value): option.value for option in field.options}
        return by_text.get(cell, by_text.get(unescape_cell(cell), cell))
    if field.kind == "labels":
        try:
            labels: list[str] = orjson.loads(cell)
            return labels
        except orjson.JSONDecodeError:
            return cell
    return unescape_cell(cell)


def _parse_number(cell: str, line: int) -> float | None:
    if not cell:
        return None
    try:
        return float(cell)
    except ValueError:
        raise InputError(f"the table has an invalid number in 'seconds' on line {line}: {brief(cell)}") from None


def _parse_time(cell: str, line: int) -> float | None:
    if not cell:
        return None
    try:
        time = datetime.fromisoformat(cell.replace("Z", "+00:00"))
    except ValueError:
        raise InputError(f"the table has an invalid time in 'at' on line {line}: {brief(cell)}") from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
