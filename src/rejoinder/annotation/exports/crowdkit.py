"""Crowd-Kit's columns: task, worker and label; for pairs worker, left, right and label (Ustalov et al. 2024).

A task is a response in an aspect: ``RESPONSE`` where the project has one aspect, ``ASPECT: RESPONSE`` where it has
more, so that one file holds them all and ``aspect`` tells them apart. Read back, rows of one worker and unit make one
answer; times are not known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, TypeAlias

from rejoinder.annotation.errors import AnnotationError
from rejoinder.annotation.exports._intake import Foreign, TakenIn, put, taken_in
from rejoinder.annotation.exports.csv import rows_of, table
from rejoinder.annotation.fields import TIE, fields_of
from rejoinder.annotation.form import FORMS
from rejoinder.annotation.project import Project
from rejoinder.annotation.results import Results, labels_of, said, sides
from rejoinder.annotation.store.base import Store
from rejoinder.annotation.unit import Unit
from rejoinder.escape import unescape_cell

_Place: TypeAlias = tuple[str, str, dict[str, Any]]  # unit, field, and what a label means there


def write(results: Results) -> bytes:
    """The table, of units only."""
    if _asks(results.project) == "preference":
        return table(("aspect", "worker", "left", "right", "label"), _pairs(results))
    return table(("aspect", "task", "worker", "label"), _labels(results))


def _asks(project: Project) -> str:
    asks = FORMS[project.form].asks
    if asks in ("texts", "lines"):
        raise AnnotationError(f"the form {project.form!r} brings texts, which Crowd-Kit's columns do not hold")
    return asks


def _task(project: Project, aspect: str, response: str) -> str:
    one_aspect = len(project.aspects) == 1 and FORMS[project.form].asks != "labels"
    return response if one_aspect else f"{aspect}: {response}"


def _labels(results: Results) -> Iterator[tuple[object, ...]]:
    for unit, judgement in results.ordinary():
        for one in said(results, unit, judgement):
            if one.response is None or one.field.kind not in ("choice", "labels"):
                continue
            named = labels_of(one) if one.field.kind == "labels" else {one.field.aspect: one.value}
            for aspect, label in named.items():
                task = _task(results.project, aspect, one.response)
                yield aspect, task, judgement.rater, int(label) if isinstance(label, bool) else label


def _pairs(results: Results) -> Iterator[tuple[object, ...]]:
    """Ties are left out: Crowd-Kit's models of pairs have no place for them."""
    for unit, judgement in results.ordinary():
        replies = unit.hidden["replies"]
        left, right = (replies[key]["response"] for key in sides(results, unit, judgement.rater))
        for one in said(results, unit, judgement):
            if one.field.kind == "choice" and one.value != TIE:
                yield one.field.aspect, judgement.rater, left, right, replies[str(one.value)]["response"]


def read(store: Store, content: bytes) -> TakenIn:
    """Take in a table of tasks, or of pairs where the project compares; ``aspect`` is needed of pairs in several."""
    project = store.project
    pairs = _asks(project) == "preference"
    units = [unit for unit in store.units() if unit.kind == "unit"]
    places = dict(_places_of_pairs(project, units) if pairs else _places(project, units))
    needed = ("worker", "left", "right", "label") if pairs else ("task", "worker", "label")
    left_out: Counter[str] = Counter()
    answers: dict[tuple[str, str], dict[str, Any]] = {}
    for _, row in rows_of(content, needed):
        cells = {name: unescape_cell(cell) for name, cell in row.items()}
        place = places.get(_pair(project, cells) if pairs else cells["task"])
        if place is None:
            left_out["of something that this project does not ask about"] += 1
            continue
        unit, field, meant = place
        put(answers.setdefault((cells["worker"], unit), {}), field, meant.get(cells["label"], cells["label"]))
    return taken_in(store, (Foreign(*key, answer) for key, answer in answers.items()), left_out)


def _pair(project: Project, cells: dict[str, str]) -> str:
    aspect = cells.get("aspect") or project.aspects[0].name
    return "\n".join((aspect, *sorted((cells["left"], cells["right"]))))


def _places(project: Project, units: list[Unit]) -> Iterator[tuple[str, _Place]]:
    for unit in units:
        for field in fields_of(project, unit):
            response = unit.hidden["replies"].get(field.reply, {}).get("response", "")
            if field.kind == "choice":
                meant: dict[str, Any] = {str(option.value): option.value for option in field.options}
                yield _task(project, field.aspect, response), (unit.id, field.name, meant)
            elif field.kind == "labels":
                for option in field.options:
                    meant = {"1": [option.value], "0": []}
                    yield _task(project, str(option.value), response), (unit.id, field.name, meant)


def _places_of_pairs(project: Project, units: list[Unit]) -> Iterator[tuple[str, _Place]]:
    for unit in units:
        meant = {reply["response"]: key for key, reply in unit.hidden["replies"].items()}
        for field in fields_of(project, unit):
            if field.kind == "choice":
                yield "\n".join((field.aspect, *sorted(meant))), (unit.id, field.name, meant)
