"""Checks, which are questions with a known answer: their units, and the answers that they accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rejoinder.annotation.fields import list_fields
from rejoinder.annotation.form import FORMS
from rejoinder.annotation.project import Project, ProjectCheck
from rejoinder.annotation.unit import AnswerField, Unit, UnitKind
from rejoinder.errors import InputError, brief, nearest
from rejoinder.seeded import stable_hash


def make_check_unit(project: Project, kind: UnitKind, check: ProjectCheck) -> Unit:
    """Return the unit of a check that has its own texts."""
    texts: Mapping[str, Any] = check.payload or {}
    replies = texts.get("replies", [texts["reply"]] if "reply" in texts else [])
    _count_replies(project, check, replies)
    payload: dict[str, Any] = {
        "context": _parse_texts(texts["context"], "context", "speaker", check),
        "replies": [
            {"key": f"r{n}", **r} for n, r in enumerate(_parse_texts(replies, "replies", None, check), start=1)
        ],
    }
    if "situation" in texts:
        payload["situation"] = _parse_texts(texts["situation"], "situation", "category", check)
    for key in ("goal", "note"):
        if key in texts:
            if not isinstance(texts[key], str):
                raise InputError(f"{check.place}: {key!r} must be a text; found {brief(texts[key])}")
            payload[key] = texts[key]
    return Unit(f"{stable_hash(project.form, kind, payload):016x}", project.form, payload, {"replies": {}}, kind)


def _count_replies(project: Project, check: ProjectCheck, replies: Any) -> None:
    shows = FORMS[project.form].shows
    count = len(replies) if isinstance(replies, list) else -1
    if shows == "pairs":
        fits, wanted = count == 2, "two 'replies'"
    elif shows == "items":
        fits, wanted = count in (0, 1), "no 'replies', or one 'reply'"
    else:
        fits, wanted = 1 <= count <= 50, "a 'reply', or a list of 'replies'"
    if not fits:
        raise InputError(f"{check.place}: needs {wanted} for the form {project.form!r}")


def _parse_texts(entries: Any, key: str, extra_key: str | None, check: ProjectCheck) -> list[dict[str, str]]:
    """Return texts, each given alone or in a table with a further key (a speaker, a category)."""
    allowed = {"text"} | ({extra_key} if extra_key else set())
    texts = []
    for entry in entries if isinstance(entries, list) else [entries]:
        table = {"text": entry} if isinstance(entry, str) else entry
        if not isinstance(table, dict) or "text" not in table or table.keys() - allowed:
            raise InputError(
                f"{check.place}: {key!r} contains {brief(entry)}; it must contain texts" + _describe_tables(extra_key)
            )
        if not all(isinstance(value, str) and value.strip() for value in table.values()):
            raise InputError(f"{check.place}: {key!r} contains an entry that is empty or not a text: {brief(entry)}")
        texts.append(dict(table))
    return texts


def _describe_tables(extra_key: str | None) -> str:
    return f", or tables with 'text' and {extra_key!r}" if extra_key else ""


def parse_accepted_answers(project: Project, unit: Unit, check: ProjectCheck) -> dict[str, list[int | str]]:
    """Return the values that a check accepts, by field."""
    fields = [field for field in list_fields(project, unit) if field.kind in ("choice", "labels")]
    accepted: dict[str, list[int | str]] = {}
    for name, answer in check.answer.items():
        matching = [field for field in fields if name in (field.aspect, field.name)]
        if not matching:
            known = {field.aspect for field in fields}
            raise InputError(
                f"{check.place}: 'answer' has {brief(name)}, which this unit does not ask; {nearest(name, known)}"
            )
        for field in matching:
            values = _find_reply_answer(answer, field, unit) if isinstance(answer, dict) else answer
            if values is not None:
                accepted[field.name] = [
                    _parse_value(field, _find_reply_key(value, unit), check) for value in _as_list(values)
                ]
        if not any(field.name in accepted for field in matching):
            raise InputError(
                f"{check.place}: 'answer' for {brief(name)} does not name a reply of this unit: {brief(answer)}"
            )
    return accepted


def _find_reply_key(value: Any, unit: Unit) -> Any:
    """Return the key of the reply with this id in the data (for comparisons), else the value itself."""
    keys = {reply["response"]: key for key, reply in unit.hidden["replies"].items()}
    return keys.get(value, value) if isinstance(value, str) else value


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _find_reply_answer(table: Mapping[str, Any], field: AnswerField, unit: Unit) -> Any:
    """Return the entry of a table for the field's reply, found by its key or by its id in the data."""
    if field.reply is None:
        return None
    response = unit.hidden["replies"].get(field.reply, {}).get("response")
    return table.get(field.reply, table.get(response) if response else None)


def _parse_value(field: AnswerField, value: Any, check: ProjectCheck) -> int | str:
    """Return the option's value, given that value or its label."""
    for option in field.options:
        if not isinstance(value, bool) and value in (option.value, option.label):
            return option.value
    known = ", ".join(str(option.label) for option in field.options)
    raise InputError(f"{check.place}: {brief(value)} cannot be chosen for {field.aspect!r}; choose from: {known}")
