"""The rater's pages: what it is about, one unit after the other, taking back, and the end."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from rejoinder.annotation.answers import from_form
from rejoinder.annotation.errors import AnnotationError, AnswerError, TooFastError
from rejoinder.annotation.fields import fields_of
from rejoinder.annotation.store.contract import Assignment
from rejoinder.annotation.unit import Unit
from rejoinder.web.access import digest
from rejoinder.web.pages import left
from rejoinder.web.sheet import sheet_of
from rejoinder.web.site import Visit, go


def welcome(visit: Visit) -> Response:
    """What it is about: instructions, the notice, and where to begin."""
    return visit.page("welcome.html", standing=visit.store.standing(visit.me))


def work(visit: Visit) -> Response:
    """The unit in hand or the next one; where there is none, why."""
    assignment = visit.store.next_unit(visit.me)
    if assignment is None:
        return _end(visit)
    return _unit(visit, assignment, assignment.previous)


def submit(visit: Visit) -> Response:
    """Keep an answer, then go on; an exercise says first whether it was right."""
    held = visit.store.held(visit.me, visit.sent("assignment"))
    unit = held.unit if held else _stand_in(visit)
    answer = from_form(fields_of(visit.site.project, unit), visit.pairs)
    try:
        kept = visit.store.submit(visit.me, visit.sent("assignment"), answer, _seconds(visit))
    except (AnswerError, TooFastError) as error:
        problems = error.problems if isinstance(error, AnswerError) else {"": str(error)}
        return _unit(visit, held, answer, problems) if held else _lost(visit, error)
    except AnnotationError as error:
        return _lost(visit, error)
    if kept.kind != "exercise":
        return go("/work")
    return visit.page("feedback.html", kept=kept, standing=visit.store.standing(visit.me))


def undo(visit: Visit) -> Response:
    """Take the latest answer in hand again."""
    visit.store.undo(visit.me)
    return go("/work")


def leave(visit: Visit) -> Response:
    """Forget this browser's session; a personal link still works."""
    visit.site.known.drop(digest(visit.token))
    response = left(visit.site.project.contact if visit.me.by else None)
    response.delete_cookie(visit.site.cookie(visit.me.role), path="/", httponly=True, samesite="strict")
    return response


def _unit(
    visit: Visit, assignment: Assignment, answer: Mapping[str, Any] | None, problems: Mapping[str, str] | None = None
) -> Response:
    fields = fields_of(visit.site.project, assignment.unit)
    return visit.page(
        "work.html",
        422 if problems else 200,
        assignment=assignment,
        sheet=sheet_of(assignment.unit, fields, answer, problems),
        standing=visit.store.standing(visit.me),
    )


def _lost(visit: Visit, error: AnnotationError) -> Response:
    return visit.page("problem.html", 409, sentence=str(error))


def _stand_in(visit: Visit) -> Unit:
    """A unit that asks what was answered, for a form about what is not in hand any more: the store still knows it, and
    takes the same answer sent twice for what it is."""
    project = visit.site.project
    keys = {"r1", "r2"} if project.form == "compare" else {name.rpartition(".")[2] for name, _ in visit.pairs}
    return Unit("", project.form, {"replies": [{"key": key, "text": ""} for key in sorted(keys)]})


def _seconds(visit: Visit) -> float:
    """How long the page was in sight, as it says; where it says nothing, the store counts since it was handed out."""
    try:
        return float(visit.sent("seconds"))
    except ValueError:
        return math.nan


def _end(visit: Visit) -> Response:
    completion = visit.site.project.completion
    return visit.page(
        "end.html",
        standing=visit.store.standing(visit.me),
        completion=completion,
        is_link=completion.startswith(("https://", "http://")),
    )
