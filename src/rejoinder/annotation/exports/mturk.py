"""Mechanical Turk: export of an input file and its HTML layout, and import of a batch's results.

Texts are inserted into the layout unchanged, so they are already HTML in the input file. Workers' ids, which identify
people, are replaced by pseudonyms on import.
"""

from __future__ import annotations

import csv
import html
import io
from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson

from rejoinder.annotation.exports._external import (
    ExternalJudgement,
    ImportSummary,
    make_rater_pseudonym,
    record_judgements,
)
from rejoinder.annotation.exports._shape import UnitShape, find_shape, list_lines
from rejoinder.annotation.store.base import Store
from rejoinder.annotation.store.results import ProjectResults, read_results
from rejoinder.annotation.unit import AnswerField, Unit
from rejoinder.data.tables.spreadsheet import decode_spreadsheet
from rejoinder.errors import InputError

_FORMULA = "=+-@\t\r"
_REQUIRED_COLUMNS = ("WorkerId", "Input.unit")


def write(results: ProjectResults) -> bytes:
    """Return the input file: one row per unit, including checks, in the order of their ids, which reveals nothing."""
    shape = find_shape(results)
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, _list_columns(shape), lineterminator="\r\n")
    writer.writeheader()
    for unit in sorted(shape.units, key=lambda unit: unit.id):
        writer.writerow(_make_cells(shape, unit))
    return out.getvalue().encode()


def _list_columns(shape: UnitShape) -> list[str]:
    optional = [name for name in ("note", "goal", "situation") if getattr(shape, name)]
    return ["unit", *optional, "context", *shape.replies, *_find_initial_fields(shape)]


def _find_initial_fields(shape: UnitShape) -> dict[str, AnswerField]:
    return {f"initial_{name}": field for name, field in shape.fields.items() if field.kind in ("text", "lines")}


def _make_cells(shape: UnitShape, unit: Unit) -> dict[str, str]:
    texts = {reply["key"]: reply["text"] for reply in unit.payload["replies"]}
    cells = {"unit": unit.id, "context": _to_html("\n".join(list_lines(unit, "context")))}
    cells |= {key: _to_html(texts.get(key, "")) for key in shape.replies}
    if shape.situation:
        cells["situation"] = _to_html("\n".join(list_lines(unit, "situation")))
    for key in ("note", "goal"):
        if getattr(shape, key):
            cells[key] = _to_html(unit.payload.get(key, ""))
    for name, field in _find_initial_fields(shape).items():
        start = (
            unit.payload.get("initial", {}).get(field.name, "") if field.reply is None else texts.get(field.reply, "")
        )
        cells[name] = _to_html(start, "&#10;")
    return cells


def _to_html(text: str, newline: str = "<br>") -> str:
    """Return a text as HTML with BMP characters only (required by the input file) that does not look like a formula."""
    escaped = html.escape(text).replace("\r", "").replace("\n", newline)
    safe = "".join(c if ord(c) < 2**16 else f"&#{ord(c)};" for c in escaped)
    return f"&#{ord(safe[0])};{safe[1:]}" if safe[:1] and safe[0] in _FORMULA else safe


def write_layout(results: ProjectResults) -> bytes:
    """Return the HTML layout, to be pasted into the project's page on Mechanical Turk."""
    project, shape = results.project, find_shape(results)
    parts = [f"<h2>{_escape_for_layout(project.title)}</h2>", f"<p>{_escape_for_layout(project.instructions)}</p>"]
    parts.append(f"<p><small>{_escape_for_layout(project.notice)}</small></p>")
    if shape.note:
        parts.append("<p><strong>${note}</strong></p>")
    if shape.goal:
        parts.append("<p>Goal: ${goal}</p>")
    if shape.situation:
        parts.append("<p>Situation:<br>${situation}</p>")
    parts.append("<blockquote>${context}</blockquote>")
    for number, key in enumerate(shape.replies, start=1):
        head = "Reply" if len(shape.replies) == 1 else f"Reply {number}"
        inputs = "\n".join(_render_field(name, field) for name, field in shape.fields.items() if field.reply == key)
        text = f'<blockquote class="text">${{{key}}}</blockquote>'
        parts.append(f'<section class="reply">\n<h3>{head}</h3>\n{text}\n{inputs}\n</section>')
    parts += [_render_field(name, field) for name, field in shape.fields.items() if field.reply is None]
    return (_BEFORE + "\n".join(parts) + _AFTER).encode()


def _escape_for_layout(text: str) -> str:
    """Return a text of the project for the layout, where ${...} would be taken for a column."""
    return _to_html(text).replace("$", "&#36;")


def _render_field(name: str, field: AnswerField) -> str:
    required = " required" if field.required and field.only_if is None and field.kind != "labels" else ""
    if field.kind in ("choice", "labels"):
        kind = "checkbox" if field.kind == "labels" else "radio"
        inputs = "\n".join(
            f'<label><input type="{kind}" name="{name if kind == "radio" else f"{name}.{n}"}" '
            f'value="{_escape_for_layout(str(option.value))}"{required}> {_escape_for_layout(option.label)}'
            + (f" <small>({_escape_for_layout(option.anchor)})</small>" if option.anchor else "")
            + "</label>"
            for n, option in enumerate(field.options)
        )
    else:
        start = f"${{initial_{name}}}"
        inputs = f'<textarea name="{name}" rows="4" cols="80" maxlength="{field.longest}"{required}>{start}</textarea>'
    return f"<fieldset>\n<legend>{_escape_for_layout(field.question)}</legend>\n{inputs}\n</fieldset>"


_BEFORE = """<script src="https://assets.crowd.aws/crowd-html-elements.js"></script>
<crowd-form answer-format="flatten-objects">
"""
# A unit with fewer replies than others has empty ones, which are removed so that nobody must answer them.
_AFTER = """
</crowd-form>
<script>
for (const section of document.querySelectorAll("section.reply"))
  if (!section.querySelector(".text").textContent.trim()) section.remove();
</script>
"""


def read(store: Store, content: bytes) -> ImportSummary:
    """Import a batch's results, with answers in separate columns or together in ``Answer.taskAnswers``."""
    left_out: Counter[str] = Counter()
    shape = find_shape(read_results(store))
    return record_judgements(store, _read_judgements(store, shape, content, left_out), left_out)


def _read_judgements(
    store: Store, shape: UnitShape, content: bytes, left_out: Counter[str]
) -> Iterator[ExternalJudgement]:
    reply_keys = {unit.id: {reply["key"] for reply in unit.payload["replies"]} for unit in shape.units}
    for number, row in decode_spreadsheet(content, _REQUIRED_COLUMNS):
        if row.get("AssignmentStatus") == "Rejected":
            left_out["rejected"] += 1
            continue
        answers = _parse_answers(row, number)
        unit = row["Input.unit"]
        answer = {}
        for name, field in shape.fields.items():
            value = _parse_value(name, field, answers)
            if value is not None and (field.reply is None or field.reply in reply_keys.get(unit, ())):
                answer[field.name] = value
        seconds = row.get("WorkTimeInSeconds", "")
        duration = float(seconds) if seconds.isdigit() else 0.0
        yield ExternalJudgement(make_rater_pseudonym(store, "mturk", row["WorkerId"]), unit, answer, duration)


def _parse_answers(row: dict[str, str], number: int) -> dict[str, Any]:
    """Return what a worker sent, by name; nested answers as NAME.VALUE."""
    answers: dict[str, Any] = {key[len("Answer.") :]: cell for key, cell in row.items() if key.startswith("Answer.")}
    together = answers.pop("taskAnswers", "")
    if together:
        try:
            content = orjson.loads(together)
            for name, value in (content[0] if isinstance(content, list) else content).items():
                answers |= {f"{name}.{k}": v for k, v in value.items()} if isinstance(value, dict) else {name: value}
        except (orjson.JSONDecodeError, AttributeError, IndexError):
            raise InputError(f"the answers on line {number} of the results could not be read") from None
    return answers


def _parse_value(name: str, field: AnswerField, answers: dict[str, Any]) -> Any:
    if field.kind == "labels":
        boxes = [f"{name}.{n}" for n in range(len(field.options))]
        return [
            str(option.value)
            for box, option in zip(boxes, field.options, strict=True)
            if any(_is_ticked(answers.get(key), option.value) for key in (box, f"{box}.on", f"{box}.{option.value}"))
        ] or None
    if field.kind == "choice":
        for option in field.options:
            if answers.get(name) == str(option.value) or _is_ticked(answers.get(f"{name}.{option.value}"), True):
                return option.value
        return answers.get(name) or None
    return answers.get(name) or None


def _is_ticked(cell: Any, value: int | str | bool) -> bool:
    return cell is True or str(cell).lower() in ("true", "on") or (not isinstance(value, bool) and cell == str(value))
