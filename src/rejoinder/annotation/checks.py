"""Questions whose answer is known: their units, and the answers that they accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rejoinder.annotation.fields import list_fields
from rejoinder.annotation.form import FORMS
from rejoinder.annotation.project import Check, Project
from rejoinder.annotation.unit import Field, Unit, UnitKind
from rejoinder.errors import InputError, brief, nearest
from rejoinder.seeded import stable_hash


def make_own_unit(project: Project, kind: UnitKind, check: Check) -> Unit:
    """The unit of a check with texts of its own."""
    given: Mapping[str, Any] = check.payload or {}
    replies = given.get("replies", [given["reply"]] if "reply" in given else [])
    _count_replies(project, check, replies)
    payload: dict[str, Any] = {
        "context": _parse_texts(given["context"], "context", "speaker", check),
        "replies": [
            {"key": f"r{n}", **r} for n, r in enumerate(_parse_texts(replies, "replies", None, check), start=1)
        ],
    }
    if "situation" in given:
        payload["situation"] = _parse_texts(given["situation"], "situation", "category", check)
    for key in ("goal", "note"):
        if key in given:
            if not isinstance(given[key], str):
                raise InputError(f"{check.place}: {key!r} must be a text; found {brief(given[key])}")
            payload[key] = given[key]
    return Unit(f"{stable_hash(project.form, kind, payload):016x}", project.form, payload, {"replies": {}}, kind)


def _count_replies(project: Project, check: Check, replies: Any) -> None:
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


def _parse_texts(found: Any, key: str, beside: str | None, check: Check) -> list[dict[str, str]]:
    """Texts, each alone or in a table with what may stand beside it (a speaker, a category)."""
    allowed = {"text"} | ({beside} if beside else set())
    shown = []
    for one in found if isinstance(found, list) else [found]:
        table = {"text": one} if isinstance(one, str) else one
        if not isinstance(table, dict) or "text" not in table or table.keys() - allowed:
            raise InputError(f"{check.place}: {key!r} holds {brief(one)}; it takes texts" + _describe_beside(beside))
        if not all(isinstance(value, str) and value.strip() for value in table.values()):
            raise InputError(f"{check.place}: {key!r} holds something empty or no text: {brief(one)}")
        shown.append(dict(table))
    return shown


def _describe_beside(beside: str | None) -> str:
    return f", or tables with 'text' and {beside!r}" if beside else ""


def parse_accepted(project: Project, unit: Unit, check: Check) -> dict[str, list[int | str]]:
    """The values that a check accepts, by field."""
    fields = [field for field in list_fields(project, unit) if field.kind in ("choice", "labels")]
    found: dict[str, list[int | str]] = {}
    for name, given in check.answer.items():
        about = [field for field in fields if name in (field.aspect, field.name)]
        if not about:
            known = {field.aspect for field in fields}
            raise InputError(f"{check.place}: 'answer' has {brief(name)}, which is not asked; {nearest(name, known)}")
        for field in about:
            wanted = _find_reply_answer(given, field, unit) if isinstance(given, dict) else given
            if wanted is not None:
                found[field.name] = [_parse_value(field, _find_reply_key(one, unit), check) for one in _as_list(wanted)]
        if not any(field.name in found for field in about):
            raise InputError(f"{check.place}: 'answer' for {brief(name)} names no reply of this unit: {brief(given)}")
    return found


def _find_reply_key(given: Any, unit: Unit) -> Any:
    """The key of the reply whose id in the data is given (which of two is better), else what is given."""
    keys = {reply["response"]: key for key, reply in unit.hidden["replies"].items()}
    return keys.get(given, given) if isinstance(given, str) else given


def _as_list(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [given]


def _find_reply_answer(given: Mapping[str, Any], field: Field, unit: Unit) -> Any:
    """What a table says of the field's reply, named by its key or by its id in the data."""
    if field.reply is None:
        return None
    response = unit.hidden["replies"].get(field.reply, {}).get("response")
    return given.get(field.reply, given.get(response) if response else None)


def _parse_value(field: Field, given: Any, check: Check) -> int | str:
    """An option's value, by itself or by its label."""
    for option in field.options:
        if not isinstance(given, bool) and given in (option.value, option.label):
            return option.value
    known = ", ".join(str(option.label) for option in field.options)
    raise InputError(f"{check.place}: {brief(given)} cannot be chosen for {field.aspect!r}; there are: {known}")
