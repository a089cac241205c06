"""Crowd-Kit's columns: task, worker and label; for pairs worker, left, right and label (Ustalov et al. 2024).

A task is a response in an aspect: ``RESPONSE`` if the project has one aspect, ``ASPECT: RESPONSE`` if it has more, so
that one file holds them all and ``aspect`` tells them apart. On import, the rows of one worker and unit make one
answer; times are unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, TypeAlias

from rejoinder.annotation.errors import AnnotationError
from rejoinder.annotation.exports._external import ExternalJudgement, ImportSummary, record_judgements, set_answer_field
from rejoinder.annotation.fields import TIE, list_fields
from rejoinder.annotation.form import FORMS
from rejoinder.annotation.project import Project
from rejoinder.annotation.store.base import Store
from rejoinder.annotation.store.results import ProjectResults, label_choices, order_pair_for_rater, split_answer
from rejoinder.annotation.unit import Unit
from rejoinder.data.tables.spreadsheet import decode_spreadsheet, encode_spreadsheet
from rejoinder.escape import unescape_cell

_LabelPlace: TypeAlias = tuple[str, str, dict[str, Any]]  # unit, field, and values by label


def write(results: ProjectResults) -> bytes:
    """Return the table, without checks and exercises."""
    if _check_form(results.project) == "preference":
        return encode_spreadsheet(("aspect", "worker", "left", "right", "label"), _list_pairs(results))
    return encode_spreadsheet(("aspect", "task", "worker", "label"), _list_labels(results))


def _check_form(project: Project) -> str:
    asks = FORMS[project.form].asks
    if asks in ("texts", "lines"):
        raise AnnotationError(
            f"the form {project.form!r} collects texts, which Crowd-Kit's columns cannot hold; export 'texts'"
        )
    return asks


def _make_task(project: Project, aspect: str, response: str) -> str:
    one_aspect = len(project.aspects) == 1 and FORMS[project.form].asks != "labels"
    return response if one_aspect else f"{aspect}: {response}"


def _list_labels(results: ProjectResults) -> Iterator[tuple[object, ...]]:
    for unit, judgement in results.ordinary():
        for answer in split_answer(results, unit, judgement):
            if answer.response is None or answer.field.kind not in ("choice", "labels"):
                continue
            labels = label_choices(answer) if answer.field.kind == "labels" else {answer.field.aspect: answer.value}
            for aspect, label in labels.items():
                task = _make_task(results.project, aspect, answer.response)
                yield aspect, task, judgement.rater, int(label) if isinstance(label, bool) else label


def _list_pairs(results: ProjectResults) -> Iterator[tuple[object, ...]]:
    """Yield pairs without ties: Crowd-Kit's models of pairs do not support them."""
    for unit, judgement in results.ordinary():
        replies = unit.hidden["replies"]
        left, right = (replies[key]["response"] for key in order_pair_for_rater(results, unit, judgement.rater))
        for answer in split_answer(results, unit, judgement):
            if answer.field.kind == "choice" and answer.value != TIE:
                yield answer.field.aspect, judgement.rater, left, right, replies[str(answer.value)]["response"]


def read(store: Store, content: bytes) -> ImportSummary:
    """Import a table of tasks, or of pairs for ``compare``; pairs need ``aspect`` if the project has several."""
    project = store.project
    pairs = _check_form(project) == "preference"
    units = [unit for unit in store.units() if unit.kind == "unit"]
    places = dict(_find_pair_places(project, units) if pairs else _find_places(project, units))
    required = ("worker", "left", "right", "label") if pairs else ("task", "worker", "label")
    left_out: Counter[str] = Counter()
    answers: dict[tuple[str, str], dict[str, Any]] = {}
    for _, row in decode_spreadsheet(content, required):
        cells = {name: unescape_cell(cell) for name, cell in row.items()}
        place = places.get(_pair_key(project, cells) if pairs else cells["task"])
        if place is None:
            left_out["for something that this project does not ask about"] += 1
            continue
        unit, field, values = place
        set_answer_field(
            answers.setdefault((cells["worker"], unit), {}), field, values.get(cells["label"], cells["label"])
        )
    return record_judgements(store, (ExternalJudgement(*key, answer) for key, answer in answers.items()), left_out)


def _pair_key(project: Project, cells: dict[str, str]) -> str:
    aspect = cells.get("aspect") or project.aspects[0].name
    return "\n".join((aspect, *sorted((cells["left"], cells["right"]))))


def _find_places(project: Project, units: list[Unit]) -> Iterator[tuple[str, _LabelPlace]]:
    for unit in units:
        for field in list_fields(project, unit):
            response = unit.hidden["replies"].get(field.reply, {}).get("response", "")
            if field.kind == "choice":
                values: dict[str, Any] = {str(option.value): option.value for option in field.options}
                yield _make_task(project, field.aspect, response), (unit.id, field.name, values)
            elif field.kind == "labels":
                for option in field.options:
                    values = {"1": [option.value], "0": []}
                    yield _make_task(project, str(option.value), response), (unit.id, field.name, values)


def _find_pair_places(project: Project, units: list[Unit]) -> Iterator[tuple[str, _LabelPlace]]:
    for unit in units:
        values = {reply["response"]: key for key, reply in unit.hidden["replies"].items()}
        for field in list_fields(project, unit):
            if field.kind == "choice":
                yield "\n".join((field.aspect, *sorted(values))), (unit.id, field.name, values)
