"""The units of a project: those of its data, its gold questions and attention checks, and its exercise."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rejoinder.annotation.checks import make_check_unit, parse_accepted_answers
from rejoinder.annotation.form import FORMS, ShownKind
from rejoinder.annotation.project import Project, ProjectCheck
from rejoinder.annotation.redaction import redact_text, redact_turns
from rejoinder.annotation.unit import Unit, UnitKind
from rejoinder.data.collection import Collection
from rejoinder.data.objects import turn_object
from rejoinder.errors import InputError, brief
from rejoinder.seeded import stable_hash, stable_shuffle
from rejoinder.types import Item, Question, Statement, Turn

DRAW_KEYS = ("probability", "drawn")


@dataclass(frozen=True, slots=True)
class ShownReply:
    """A text that is shown, the id under which it is rated, and its system.

    ``made`` means that the id is ours: in the data the text is not a response but a candidate or a reference.
    ``draw`` says how the reply was drawn, if it was (``rejoinder next --for estimate``); its ratings say so too.
    """

    text: str
    response: str
    system: str
    made: bool = False
    draw: Mapping[str, Any] = field(default_factory=dict, hash=False)
    also: tuple[str, ...] = ()  # ids of other responses with the same text, which are rated with this one

    def __str__(self) -> str:
        return self.response


@dataclass(frozen=True, slots=True)
class UnitDraft:
    """A context, what is known about it, and the replies to it that are shown together."""

    item: str
    context: tuple[Turn, ...]
    replies: tuple[ShownReply, ...] = ()
    goal: str = ""
    situation: tuple[Statement, ...] = ()
    initial: Mapping[str, str] = field(default_factory=dict, hash=False)


def draft_units(project: Project, collection: Collection) -> Iterator[UnitDraft]:
    """Yield what a project's form can show of its data."""
    return _DRAFTS[FORMS[project.form].shows](project, collection)


def _start_draft(item: Item | Question) -> UnitDraft:
    goal = item.meta.get("goal")
    return UnitDraft(item.id, item.context, goal=goal if isinstance(goal, str) else "", situation=item.situation)


def _split_draft(project: Project, draft: UnitDraft, replies: list[ShownReply]) -> Iterator[UnitDraft]:
    """Yield the replies in a seeded random order, ``replies_per_unit`` at a time."""
    size = project.replies_per_unit or len(replies) or 1
    shuffled: list[ShownReply] = stable_shuffle(replies, project.seed, "replies")
    for start in range(0, len(shuffled), size):
        yield replace(draft, replies=tuple(shuffled[start : start + size]))


def _group_by_item(collection: Collection) -> dict[str, list[ShownReply]]:
    replies: dict[str, list[ShownReply]] = {}
    for response in collection.responses.values():
        draw = {key: response.meta[key] for key in DRAW_KEYS if key in response.meta}
        replies.setdefault(response.item, []).append(ShownReply(response.text, response.id, response.system, draw=draw))
    return replies


def _draft_responses(project: Project, collection: Collection) -> Iterator[UnitDraft]:
    for item, replies in _group_by_item(collection).items():
        if project.form != "validate":  # there, each writer's own text is judged
            replies = _join_identical(replies)
        yield from _split_draft(project, _start_draft(collection.items[item]), replies)


def _join_identical(replies: list[ShownReply]) -> list[ShownReply]:
    """Return each text once, with the ids of all replies that have it; drawn ones keep their own probabilities."""
    by_text: dict[str, list[ShownReply]] = {}
    for reply in replies:
        key = reply.response if reply.draw else f"text {reply.text}"
        by_text.setdefault(key, []).append(reply)
    return [replace(first, also=tuple(reply.response for reply in rest)) for first, *rest in by_text.values()]


def _draft_candidates(project: Project, collection: Collection) -> Iterator[UnitDraft]:
    for question in collection.questions.values():
        replies = [
            ShownReply(c.text, f"{question.id}/{c.id or n}", c.source or "candidate", True)
            for n, c in enumerate(question.candidates)
        ]
        yield from _split_draft(project, _start_draft(question), replies)
    yield from _draft_responses(project, collection)


def _draft_references(project: Project, collection: Collection, only_added: bool = False) -> Iterator[UnitDraft]:
    for item in collection.items.values():
        # Identified by its text, since a reference has no id and its position may change.
        replies = {
            r.text: ShownReply(r.text, f"{item.id}/reference/{stable_hash(r.text):016x}", r.source, True)
            for r in item.references
            if not only_added or r.source != "human"
        }
        yield from _split_draft(project, _start_draft(item), list(replies.values()))


def _draft_added_references(project: Project, collection: Collection) -> Iterator[UnitDraft]:
    return _draft_references(project, collection, only_added=True)


def _draft_items(project: Project, collection: Collection) -> Iterator[UnitDraft]:
    for item in collection.items.values():
        draft = _start_draft(item)
        if project.form != "situation":
            yield draft
            continue
        draft = replace(draft, situation=(), initial=_initial_texts(project, item))
        if not item.references:
            yield draft
        for reference_draft in _draft_references(project, Collection(items={item.id: item})):
            yield replace(draft, replies=reference_draft.replies)


def _initial_texts(project: Project, item: Item) -> dict[str, str]:
    """Return the existing statements, each in the field of its category; one without a category goes into the last."""
    names = [aspect.name for aspect in project.aspects]
    lines: dict[str, list[str]] = {}
    for statement in item.situation:
        name = statement.category if statement.category in names else names[-1]
        lines.setdefault(name, []).append(" ".join(statement.text.split()))
    return {name: "\n".join(texts) for name, texts in lines.items()}


def _draft_pairs(project: Project, collection: Collection) -> Iterator[UnitDraft]:
    for item, replies in _group_by_item(collection).items():
        pairs: list[Any] = [
            pair for pair in itertools.combinations(sorted(replies, key=str), 2) if pair[0].text != pair[1].text
        ]
        if project.pairs_per_item:
            ranked = sorted(pairs, key=lambda pair: stable_hash(project.seed, "pairs", item, *pair))
            pairs = ranked[: project.pairs_per_item]
        for pair in pairs:
            yield replace(
                _start_draft(collection.items[item]), replies=tuple(stable_shuffle(pair, project.seed, "replies"))
            )


_DRAFTS: dict[ShownKind, Callable[[Project, Collection], Iterator[UnitDraft]]] = {
    "responses": _draft_responses,
    "candidates": _draft_candidates,
    "references": _draft_references,
    "added references": _draft_added_references,
    "items": _draft_items,
    "pairs": _draft_pairs,
}
REQUIRED_DATA: dict[ShownKind, str] = {
    "responses": "responses",
    "candidates": "questions with candidates, or responses",
    "references": "items with references",
    "added references": "items with references whose source is not 'human'",
    "items": "items",
    "pairs": "items with responses of two systems or more",
}


def make_units(project: Project, collection: Collection | None = None) -> list[Unit]:
    """Return all units of a project: those of its data in order (read if not given), then checks, then the exercise."""
    if collection is None:
        from rejoinder.data.inputs import read

        collection = read(*project.data)
    units: dict[str, Unit] = {}
    for draft in draft_units(project, collection):
        unit = _make_unit(project, draft)
        units[unit.id] = unit
    if not units:
        required = REQUIRED_DATA[FORMS[project.form].shows]
        raise InputError(f"{project.name}: the form {project.form!r} needs {required}, but the data has none")
    checks: list[tuple[UnitKind, ProjectCheck]] = [
        *(("gold", check) for check in project.gold),
        *(("attention", check) for check in project.attention),
        *(("exercise", check) for check in project.exercise.questions),
    ]
    check_units = [_make_check_unit(project, units, kind, check) for kind, check in checks]
    ids = [unit.id for unit in check_units]
    if duplicate := next((n for n, id in enumerate(ids) if id in ids[:n]), None):
        raise InputError(f"{checks[duplicate][1].place}: is the same as an earlier check; remove one of them")
    return [unit for unit in units.values() if unit.id not in ids] + check_units


def _make_unit(project: Project, draft: UnitDraft) -> Unit:
    kinds = project.redact
    payload: dict[str, Any] = {
        "context": [turn_object(turn) for turn in redact_turns(draft.context, kinds)],
        "replies": [{"key": f"r{n}", "text": redact_text(r.text, kinds)} for n, r in enumerate(draft.replies, start=1)],
    }
    if draft.goal:
        payload["goal"] = redact_text(draft.goal, kinds)
    if draft.situation:
        payload["situation"] = [
            {"text": redact_text(s.text, kinds)} | ({"category": s.category} if s.category else {})
            for s in draft.situation
        ]
    if draft.initial:
        payload["initial"] = {name: redact_text(text, kinds) for name, text in draft.initial.items()}
    replies = {
        f"r{n}": {"response": r.response, "system": r.system}
        | ({"made": True} if r.made else {})
        | ({"also": list(r.also)} if r.also else {})
        | dict(r.draw)
        for n, r in enumerate(draft.replies, start=1)
    }
    hidden: dict[str, Any] = {"item": draft.item, "replies": replies}
    if project.form == "validate":
        # Here a system is the name of the rater who wrote the reply, and who must not judge it.
        hidden["not_for"] = sorted({reply.system for reply in draft.replies})
    name = stable_hash(project.form, draft.item, *sorted(reply.response for reply in draft.replies))
    return Unit(f"{name:016x}", project.form, payload, hidden)


def _make_check_unit(project: Project, units: Mapping[str, Unit], kind: UnitKind, check: ProjectCheck) -> Unit:
    unit = make_check_unit(project, kind, check) if check.of is None else _find_named_unit(units, check)
    hidden = {**unit.hidden, "answer": parse_accepted_answers(project, unit, check)}
    if check.explanation:
        hidden["explanation"] = check.explanation
    payload = dict(unit.payload)
    if check.of is not None and check.payload:
        payload["note"] = check.payload["note"]
    return replace(unit, kind=kind, payload=payload, hidden=hidden)


def _find_named_unit(units: Mapping[str, Unit], check: ProjectCheck) -> Unit:
    """Return the one unit that shows what a check names: an item, a question, or a response."""
    matches = [
        unit
        for unit in units.values()
        if check.of == unit.hidden["item"]
        or any(check.of == reply["response"] for reply in unit.hidden["replies"].values())
    ]
    if len(matches) != 1:
        problem = "no unit shows" if not matches else f"{len(matches)} units show"
        raise InputError(
            f"{check.place}: {problem} {brief(check.of)}; 'of' must be the id of an item, a question or a response "
            "that exactly one unit shows"
        )
    return matches[0]
