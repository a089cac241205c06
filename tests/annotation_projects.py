"""Small annotation projects for the tests: one of each form, over data made up here."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, get_args

from rejoinder.annotation.fields import NONE, list_fields
from rejoinder.annotation.form import FORMS, LABELS
from rejoinder.annotation.project import Project
from rejoinder.annotation.unit import Answer, FormName, Unit, Value
from rejoinder.annotation.units import make_units
from rejoinder.data.collection import Collection, collect
from rejoinder.types import Candidate, Item, Question, Record, Reference, Response, Statement, Turn

NAMES: tuple[FormName, ...] = get_args(FormName)
SYSTEMS = ("secret-alpha", "secret-beta", "secret-gamma")


def data(items: int = 4) -> Collection:
    """Items with references, situations, goals and three responses each; and as many questions."""
    records: list[Record] = []
    for n in range(items):
        context = (
            Turn(f"Hello, this is request {n}.", "user"),
            Turn("Yes?", "assistant"),
            Turn("Please help.", "user"),
        )
        situation = (Statement("The room is hot.", "environment"), Statement("It is nine.", "time", True))
        references = (
            Reference(f"Of course, what about {n}?"),
            Reference(f"I would look at {n} first.", "secret-bm25", 0.5),
            Reference(f"That is {n} again.", "secret-comet"),
        )
        item = Item(f"item-{n}", context, references, (), situation, f"dialogue-{n}", meta={"goal": "to cool off"})
        records.append(item)
        records += [
            Response(f"item-{n}/{s}", item.id, s, f"A reply to {n}, number {i}.") for i, s in enumerate(SYSTEMS)
        ]
        candidates = tuple(Candidate(f"Candidate {c} of {n}.", f"c{c}", source=f"secret-{c}") for c in range(3))
        records.append(Question(f"question-{n}", context, candidates, situation, meta={"goal": "to cool off"}))
    return collect(records)


def project_of(form: FormName = "rate", **changes: Any) -> Project:
    """A project with the defaults of its form."""
    defaults = FORMS[form]
    project = Project(
        name="small",
        title="A small project",
        form=form,
        data=(),
        database="",
        aspects=defaults.aspects,
        raters_per_unit=defaults.raters_per_unit,
        replies_per_unit=defaults.replies_per_unit,
        labels=LABELS if form == "errors" else (),
        seed=5,
    )
    return replace(project, **changes)


def units_for(project: Project, items: int = 4) -> list[Unit]:
    """The units of a project over the data above; candidates and grades come from the questions only."""
    found = data(items)
    if FORMS[project.form].shows == "candidates":
        found = Collection(questions=found.questions)
    return make_units(project, found)


def answer_to(project: Project, unit: Unit, seed: object = 0) -> Answer:
    """A valid answer that depends on the seed alone."""
    drawn = random.Random(f"{seed} {unit.id}")
    answer: Answer = {}
    for field in list_fields(project, unit):
        if field.only_if is not None and answer.get(field.only_if[0]) != field.only_if[1]:
            continue
        answer[field.name] = _value(drawn, field.kind, field)
    return answer


def _value(drawn: random.Random, kind: str, field: Any) -> Value:
    if kind == "choice":
        value: int | str = drawn.choice(field.options).value
        return value
    if kind == "labels":
        labels = [option.value for option in field.options if option.value != NONE and drawn.random() < 0.3]
        return labels or [NONE]
    if kind == "lines":
        return "The window is open.\nThe user is at home."
    return f"Written by hand, {drawn.randrange(1000)}."
