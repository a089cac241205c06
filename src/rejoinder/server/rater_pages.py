"""The rater's pages: instructions, one unit after another, undo, and the end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from starlette.responses import Response

from rejoinder.annotation.answers import parse_answer_form
from rejoinder.annotation.errors import AnnotationError, AnswerError, TooFastError
from rejoinder.annotation.fields import list_fields
from rejoinder.annotation.store.base import Assignment
from rejoinder.annotation.unit import AnswerField, AnswerOption, Unit
from rejoinder.server.access import token_digest
from rejoinder.server.site import PageVisit, redirect_to
from rejoinder.server.templates import left_page

_LONG_CONTEXT = 600  # characters of a conversation


class AnswerChoice(NamedTuple):
    """One option of a question; ``key`` is the digit that chooses it, empty if there are too many options."""

    id: str
    value: str
    label: str
    anchor: str
    key: str
    chosen: bool


class FieldPrompt(NamedTuple):
    """One question, with the answer so far and what is wrong with it."""

    id: str
    field: AnswerField
    choices: tuple[AnswerChoice, ...]
    text: str
    problem: str

    @property
    def is_scale(self) -> bool:
        """Whether the choices are numbers, which are shown in one row."""
        return all(choice.label.lstrip("-").isdecimal() for choice in self.choices)


class ReplyPanel(NamedTuple):
    """A reply with the questions about it; ``text`` is None for questions about the whole unit."""

    title: str
    text: str | None
    asks: tuple[FieldPrompt, ...]


class UnitPage(NamedTuple):
    """Everything that a unit's page shows."""

    unit: Unit
    panels: tuple[ReplyPanel, ...]
    problems: dict[str, str]  # those that do not belong to a field

    @property
    def refused(self) -> bool:
        """Whether something is wrong with the answer that was sent."""
        return bool(self.problems) or any(ask.problem for panel in self.panels for ask in panel.asks)

    @property
    def side_by_side(self) -> bool:
        """Whether two replies are shown side by side."""
        return self.unit.form == "compare"

    @property
    def long(self) -> bool:
        """Whether there is so much to answer or to read that the conversation stands beside the questions."""
        n_asks = sum(len(panel.asks) for panel in self.panels)
        return not self.side_by_side and (n_asks > 2 or self.scrolls)

    @property
    def scrolls(self) -> bool:
        """Whether the conversation may be higher than the window, so that it must be reached by keyboard."""
        return sum(len(turn["text"]) for turn in self.unit.payload.get("context", ())) > _LONG_CONTEXT

    @property
    def only_text(self) -> bool:
        """Whether every question is answered in a text field, in which Enter starts a new line."""
        return all(ask.field.kind in ("text", "lines") for panel in self.panels for ask in panel.asks)


def make_unit_page(
    unit: Unit,
    fields: Sequence[AnswerField],
    answer: Mapping[str, Any] | None = None,
    problems: Mapping[str, str] | None = None,
) -> UnitPage:
    """Return a unit's page; ``answer`` is what was sent before, and goes before the fields' initial values."""
    problems = dict(problems or {})
    asks = [_make_prompt(number, field, answer, problems.pop(field.name, "")) for number, field in enumerate(fields)]
    replies = unit.payload.get("replies", ())
    panels = []
    for number, reply in enumerate(replies, start=1):
        about = tuple(ask for ask in asks if ask.field.reply == reply["key"])
        panels.append(ReplyPanel(_panel_title(unit, number, len(replies)), reply["text"], about))
    if whole := tuple(ask for ask in asks if ask.field.reply is None):
        panels.append(ReplyPanel("", None, whole))
    return UnitPage(unit, tuple(panels), problems)


def _panel_title(unit: Unit, number: int, count: int) -> str:
    if unit.form == "compare":
        return ("The first reply", "The second reply")[number - 1]
    return "Reply" if count == 1 else f"Reply {number}"


def _make_prompt(number: int, field: AnswerField, answer: Mapping[str, Any] | None, problem: str) -> FieldPrompt:
    name = f"f{number}"
    value = None if answer is None else answer.get(field.name)
    if field.kind in ("text", "lines"):
        text = value if isinstance(value, str) else field.initial if answer is None or field.only_if else ""
        return FieldPrompt(name, field, (), text, problem)
    chosen = {str(item) for item in (value if isinstance(value, list | tuple) else [value]) if item is not None}
    keys = option_keys(field.options)
    choices = tuple(
        AnswerChoice(f"{name}-{n}", str(option.value), option.label, option.anchor, key, str(option.value) in chosen)
        for n, (option, key) in enumerate(zip(field.options, keys, strict=True))
    )
    return FieldPrompt(name, field, choices, "", problem)


def option_keys(options: Sequence[AnswerOption]) -> list[str]:
    """Return the digit of each option: its label if all are numbers (0 for 10 if there is no 0), else its position."""
    labels = [option.label for option in options]
    if all(label.isdecimal() for label in labels):
        ten = "" if "0" in labels else "0"
        return [label if len(label) == 1 else ten if label == "10" else "" for label in labels]
    return [str(n) if n < 10 else "" for n in range(1, len(labels) + 1)]


def welcome_page(visit: PageVisit) -> Response:
    """Show the instructions, the notice, and where to start."""
    return visit.page("welcome.html", standing=visit.store.standing(visit.me))


def work_page(visit: PageVisit) -> Response:
    """Show the current unit or the next one; if there is none, say why."""
    assignment = visit.store.next_unit(visit.me)
    if assignment is None:
        return _end_response(visit)
    return _unit_response(visit, assignment, assignment.previous)


def submit_page(visit: PageVisit) -> Response:
    """Store an answer and continue; after an exercise question, first say whether it was right."""
    assignment = visit.store.find_assignment(visit.me, visit.form_value("assignment"))
    unit = assignment.unit if assignment else _placeholder_unit(visit)
    answer = parse_answer_form(list_fields(visit.site.project, unit), visit.pairs)
    try:
        submission = visit.store.submit(visit.me, visit.form_value("assignment"), answer, _visible_seconds(visit))
    except (AnswerError, TooFastError) as error:
        problems = error.problems if isinstance(error, AnswerError) else {"": str(error)}
        return _unit_response(visit, assignment, answer, problems) if assignment else _lost_response(visit, error)
    except AnnotationError as error:
        return _lost_response(visit, error)
    if submission.kind != "exercise":
        return redirect_to("/work")
    return visit.page("feedback.html", submission=submission, standing=visit.store.standing(visit.me))


def undo_page(visit: PageVisit) -> Response:
    """Reopen the latest answer."""
    visit.store.undo(visit.me)
    return redirect_to("/work")


def leave_page(visit: PageVisit) -> Response:
    """End this browser's session; a personal link still works."""
    visit.site.known.drop(token_digest(visit.token))
    response = left_page(visit.site.project.contact if visit.me.by else None)
    response.delete_cookie(visit.site.cookie(visit.me.role), path="/", httponly=True, samesite="strict")
    return response


def _unit_response(
    visit: PageVisit,
    assignment: Assignment,
    answer: Mapping[str, Any] | None,
    problems: Mapping[str, str] | None = None,
) -> Response:
    fields = list_fields(visit.site.project, assignment.unit)
    return visit.page(
        "work.html",
        422 if problems else 200,
        assignment=assignment,
        unit_page=make_unit_page(assignment.unit, fields, answer, problems),
        standing=visit.store.standing(visit.me),
    )


def _lost_response(visit: PageVisit, error: AnnotationError) -> Response:
    return visit.page("problem.html", 409, sentence=str(error))


def _placeholder_unit(visit: PageVisit) -> Unit:
    """Return a unit with the fields that were answered, for a form whose unit is no longer assigned: the store can
    still recognise an answer that was sent twice."""
    project = visit.site.project
    keys = {"r1", "r2"} if project.form == "compare" else {name.rpartition(".")[2] for name, _ in visit.pairs}
    return Unit("", project.form, {"replies": [{"key": key, "text": ""} for key in sorted(keys)]})


def _visible_seconds(visit: PageVisit) -> float:
    """Return how long the page was visible, as it reports; without a report the store counts from the assignment."""
    try:
        return float(visit.form_value("seconds"))
    except ValueError:
        return math.nan


def _end_response(visit: PageVisit) -> Response:
    completion = visit.site.project.completion
    return visit.page(
        "end.html",
        standing=visit.store.standing(visit.me),
        completion=completion,
        is_link=completion.startswith(("https://", "http://")),
    )
