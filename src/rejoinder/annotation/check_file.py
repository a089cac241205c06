"""Questions whose answer is known, as a project's file says them: gold, attention checks, the exercise."""

from __future__ import annotations

from typing import Any

from rejoinder.annotation.form import Form
from rejoinder.annotation.project import Check, Exercise
from rejoinder.annotation.table import Table
from rejoinder.errors import InputError

_OWN = ("context", "reply", "replies", "goal", "situation", "note")
KEYS = ("of", *_OWN, "answer", "explanation")


def read_exercise(table: Table, form: Form) -> Exercise:
    """The exercise of a project, empty where it has none."""
    if "exercise" not in table:
        return Exercise()
    own = Table(table.raw("exercise"), f"{table.place}, exercise", ("questions", "needed", "attempts"))
    questions = tuple(read_check(one, form, "") for one in own.tables("questions", KEYS))
    if not questions:
        raise InputError(f"{own.place}: needs [[exercise.questions]]")
    needed = own.whole("needed", len(questions), 0, len(questions))
    return Exercise(questions, needed, own.whole("attempts", 2, 1, 100))


def read_check(table: Table, form: Form, needs: str, own: bool = False) -> Check:
    """One question; ``needs`` names the key that it cannot do without, ``own`` says that it must have its own texts."""
    of = table.text("of", "", 1000) or None
    payload: dict[str, Any] = {key: table.raw(key) for key in _OWN if key in table}
    if own and of:
        raise InputError(f"{table.place}: an attention check has texts of its own; a known answer is [[gold]]")
    if (of is None) == ("context" not in payload):
        raise InputError(f"{table.place}: needs either 'of' (an id in the data) or a 'context' of its own")
    if of and payload.keys() - {"note"}:
        raise InputError(f"{table.place}: with 'of' the texts come from the data; leave out {min(payload)!r}")
    answer = table.raw("answer", {})
    if not isinstance(answer, dict) or (needs and not answer):
        raise table.wrong("answer", "a table of aspects with the accepted values, as { appropriate = [4, 5] }")
    if answer and form.asks in ("texts", "lines"):
        raise InputError(f"{table.place}: a text that is to be written has no one right answer; leave out 'answer'")
    return Check(answer, of, payload or None, table.text("explanation", "", 2000), table.place)
