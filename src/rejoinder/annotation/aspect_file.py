"""What a project asks, as its file says it: aspects with their scales, and error labels."""

from __future__ import annotations

import re

from rejoinder.annotation.form import LABELS, Form, scale
from rejoinder.annotation.project import Aspect
from rejoinder.annotation.table import Table
from rejoinder.annotation.unit import Option
from rejoinder.errors import InputError

KEYS = ("name", "question", "low", "high", "words", "anchors")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")


def read_labels(table: Table, form: Form) -> tuple[str, ...]:
    """The error labels of a project, where its form has any."""
    if form.asks != "labels":
        if "labels" in table:
            raise InputError(f"{table.place}: 'labels' belongs to the form 'errors' only")
        return ()
    labels = table.texts("labels", LABELS, 60)
    if len(set(labels)) != len(labels) or "none" in labels or not labels or any("\n" in label for label in labels):
        raise table.wrong("labels", "different texts on one line each ('none' is always offered)")
    return labels


def read_aspects(table: Table, form: Form) -> tuple[Aspect, ...]:
    """The aspects of a project, or its form's own where it names none."""
    given = table.tables("aspects", KEYS)
    if not given:
        return form.aspects
    if form.asks in ("labels", "verdict"):
        raise InputError(f"{table.place}: the form {table.raw('form')!r} asks one thing only; leave out 'aspects'")
    aspects = tuple(_aspect(one, form) for one in given)
    if len({a.name for a in aspects}) != len(aspects):
        raise InputError(f"{table.place}: two aspects have the same name")
    return aspects


def _aspect(table: Table, form: Form) -> Aspect:
    name = table.text("name")
    if not _NAME.fullmatch(name) or name == "comment":
        raise table.wrong("name", "a letter and then letters, digits, hyphens or underscores (and not 'comment')")
    question = table.text("question", longest=1000)
    if form.asks == "options":
        return Aspect(name, question, _options(table))
    if extra := [key for key in ("low", "high", "words", "anchors") if key in table]:
        raise InputError(f"{table.place}: {extra[0]!r} has no meaning here, since this form has no scale")
    return Aspect(name, question)


def _options(table: Table) -> tuple[Option, ...]:
    words = table.texts("words", longest=60)
    low = table.whole("low", 0 if words else 1, -100, 100)
    high = low + len(words) - 1 if words else table.whole("high", 5, -100, 100)
    if words and "high" in table:
        raise InputError(f"{table.place}: with 'words' leave out 'high', since there are as many values as words")
    if not low < high or high - low > 100 or len(set(words)) != len(words):
        raise InputError(f"{table.place}: the scale needs at least two different values, the lower one as 'low'")
    anchors = table.raw("anchors", {})
    levels = {str(n): n for n in range(low, high + 1)}
    if not isinstance(anchors, dict) or any(k not in levels or not isinstance(v, str) for k, v in anchors.items()):
        raise table.wrong("anchors", f"texts under numbers from {low} to {high}")
    meant = {levels[key]: text for key, text in anchors.items()}
    if not words:
        return scale(low, high, meant)
    return tuple(Option(low + i, word, meant.get(low + i, "")) for i, word in enumerate(words))
