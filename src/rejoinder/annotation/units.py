"""The units of a project: what its data offers, its gold questions and attention checks, and its exercise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rejoinder.annotation.checks import accepted, own_unit
from rejoinder.annotation.draft import WANTED, Draft, drafts_of
from rejoinder.annotation.form import FORMS
from rejoinder.annotation.order import draw
from rejoinder.annotation.project import Check, Project
from rejoinder.annotation.redaction import redacted, redacted_turns
from rejoinder.annotation.unit import Unit, UnitKind
from rejoinder.data.collection import Collection
from rejoinder.data.objects import turn_object
from rejoinder.errors import InputError, brief


def units_of(project: Project, collection: Collection | None = None) -> list[Unit]:
    """All units of a project: of its data in its order (read where not given), then checks, then the exercise."""
    if collection is None:
        from rejoinder.scoring.inputs import read

        collection = read(*project.data)
    units: dict[str, Unit] = {}
    for draft in drafts_of(project, collection):
        unit = _unit(project, draft)
        units[unit.id] = unit
    if not units:
        wanted = WANTED[FORMS[project.form].shows]
        raise InputError(f"{project.name}: the form {project.form!r} needs {wanted}, and the data has none")
    checks: list[tuple[UnitKind, Check]] = [
        *(("gold", check) for check in project.gold),
        *(("attention", check) for check in project.attention),
        *(("exercise", check) for check in project.exercise.questions),
    ]
    own = [_check_unit(project, units, kind, check) for kind, check in checks]
    ids = [unit.id for unit in own]
    if twice := next((n for n, one in enumerate(ids) if one in ids[:n]), None):
        raise InputError(f"{checks[twice][1].place}: is the same as an earlier check; leave one of them out")
    return [unit for unit in units.values() if unit.id not in ids] + own


def _unit(project: Project, draft: Draft) -> Unit:
    kinds = project.redact
    payload: dict[str, Any] = {
        "context": [turn_object(turn) for turn in redacted_turns(draft.context, kinds)],
        "replies": [{"key": f"r{n}", "text": redacted(r.text, kinds)} for n, r in enumerate(draft.replies, start=1)],
    }
    if draft.goal:
        payload["goal"] = redacted(draft.goal, kinds)
    if draft.situation:
        payload["situation"] = [
            {"text": redacted(s.text, kinds)} | ({"category": s.category} if s.category else {})
            for s in draft.situation
        ]
    if draft.initial:
        payload["initial"] = {name: redacted(text, kinds) for name, text in draft.initial.items()}
    replies = {
        f"r{n}": {"response": r.response, "system": r.system} | ({"made": True} if r.made else {})
        for n, r in enumerate(draft.replies, start=1)
    }
    hidden: dict[str, Any] = {"item": draft.item, "replies": replies}
    if project.form == "validate":
        # Who wrote a reply here goes by the name of a rater, and shall not judge it.
        hidden["not_for"] = sorted({reply.system for reply in draft.replies})
    name = draw(project.form, draft.item, *sorted(reply.response for reply in draft.replies))
    return Unit(f"{name:016x}", project.form, payload, hidden)


def _check_unit(project: Project, units: Mapping[str, Unit], kind: UnitKind, check: Check) -> Unit:
    unit = own_unit(project, kind, check) if check.of is None else _named(units, check)
    hidden = {**unit.hidden, "answer": accepted(project, unit, check)}
    if check.explanation:
        hidden["explanation"] = check.explanation
    payload = dict(unit.payload)
    if check.of is not None and check.payload:
        payload["note"] = check.payload["note"]
    return replace(unit, kind=kind, payload=payload, hidden=hidden)


def _named(units: Mapping[str, Unit], check: Check) -> Unit:
    """The one unit that shows what a check names: an item, a question, or a response."""
    found = [
        unit
        for unit in units.values()
        if check.of == unit.hidden["item"]
        or any(check.of == reply["response"] for reply in unit.hidden["replies"].values())
    ]
    if len(found) != 1:
        what = f"shows {brief(check.of)}" if not found else f"is the only one to show {brief(check.of)}"
        raise InputError(f"{check.place}: no unit {what}; 'of' takes the id of an item, a question or a response")
    return found[0]
