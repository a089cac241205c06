"""Crowd-Kit's columns: task, worker and label; for pairs worker, left, right and label (Ustalov et al. 2024).

A task is a response in an aspect: ``RESPONSE`` where the project has one aspect, ``ASPECT: RESPONSE`` where it has
more, so that one file holds them all and ``aspect`` tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from rejoinder.annotation.errors import AnnotationError
from rejoinder.annotation.exports.csv import table
from rejoinder.annotation.fields import TIE
from rejoinder.annotation.form import FORMS
from rejoinder.annotation.results import Results, labels_of, said, sides


def write(results: Results) -> bytes:
    """The table, of units only."""
    asks = FORMS[results.project.form].asks
    if asks in ("texts", "lines"):
        raise AnnotationError(f"the form {results.project.form!r} brings texts, which Crowd-Kit's columns do not hold")
    if asks == "preference":
        return table(("aspect", "worker", "left", "right", "label"), _pairs(results))
    return table(("aspect", "task", "worker", "label"), _labels(results, _one_aspect(results)))


def _one_aspect(results: Results) -> bool:
    return len(results.project.aspects) == 1 and FORMS[results.project.form].asks != "labels"


def _labels(results: Results, one_aspect: bool) -> Iterator[tuple[object, ...]]:
    for unit, judgement in results.ordinary():
        for one in said(results, unit, judgement):
            if one.response is None or one.field.kind not in ("choice", "labels"):
                continue
            named = labels_of(one) if one.field.kind == "labels" else {one.field.aspect: one.value}
            for aspect, label in named.items():
                task = one.response if one_aspect else f"{aspect}: {one.response}"
                yield aspect, task, judgement.rater, int(label) if isinstance(label, bool) else label


def _pairs(results: Results) -> Iterator[tuple[object, ...]]:
    """Ties are left out: Crowd-Kit's models of pairs have no place for them."""
    for unit, judgement in results.ordinary():
        replies = unit.hidden["replies"]
        left, right = (replies[key]["response"] for key in sides(results, unit, judgement.rater))
        for one in said(results, unit, judgement):
            if one.field.kind == "choice" and one.value != TIE:
                yield one.field.aspect, judgement.rater, left, right, replies[str(one.value)]["response"]
