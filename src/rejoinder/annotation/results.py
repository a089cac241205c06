"""What a project has come to: its units, the judgements that count, and each answer taken apart field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rejoinder.annotation.fields import NONE, TIE, list_fields
from rejoinder.annotation.project import Project
from rejoinder.annotation.store.base import Judgement, Store
from rejoinder.annotation.unit import Field, Unit, Value, arrange_replies


@dataclass(frozen=True, slots=True)
class Results:
    """A project, all its units by id, and the judgements that nothing supersedes."""

    project: Project
    units: dict[str, Unit] = field(hash=False)
    judgements: tuple[Judgement, ...]

    def ordinary(self) -> Iterator[tuple[Unit, Judgement]]:
        """Every judgement of a unit that is no check and no exercise."""
        for judgement in self.judgements:
            if judgement.kind == "unit":
                yield self.units[judgement.unit], judgement


@dataclass(frozen=True, slots=True)
class FieldAnswer:
    """One thing that one rater said: the value of one field, and what it is about.

    ``response`` and ``system`` are of the reply in question (None where the field is about the whole unit). ``number``
    is the value as a number where it has one: of a scale, of a verdict (reject 0, edit 1, accept 2).
    """

    unit: Unit
    judgement: Judgement
    field: Field
    value: Value
    response: str | None
    system: str | None
    number: float | None


_VERDICTS = {"reject": 0.0, "edit": 1.0, "accept": 2.0}


def read_results(store: Store) -> Results:
    """The results as they stand."""
    judgements = tuple(store.judgements())
    return Results(store.project, {unit.id: unit for unit in store.units()}, judgements)


def split_answer(results: Results, unit: Unit, judgement: Judgement) -> Iterator[FieldAnswer]:
    """An answer, field by field, in the order of the fields."""
    for one in list_fields(results.project, unit):
        if one.name in judgement.answer:
            value = judgement.answer[one.name]
            reply = unit.hidden.get("replies", {}).get(one.reply, {})
            number = _to_number(value) if one.kind == "choice" else None
            yield FieldAnswer(unit, judgement, one, value, reply.get("response"), reply.get("system"), number)


def _to_number(value: Value) -> float | None:
    if isinstance(value, int):
        return float(value)
    return _VERDICTS.get(value) if isinstance(value, str) else None


def label_flags(one: FieldAnswer) -> dict[str, bool]:
    """Every label that could be given, and whether it was."""
    given = one.value if isinstance(one.value, list) else []
    return {str(option.value): option.value in given for option in one.field.options if option.value != NONE}


def order_pair(results: Results, unit: Unit, rater: str) -> tuple[str, str]:
    """The keys of the two replies of a pair, in the order in which this rater saw them."""
    first, second = arrange_replies(unit, results.project.seed, rater).payload["replies"]
    return first["key"], second["key"]


def find_choice(results: Results, one: FieldAnswer) -> str:
    """Which of a pair was preferred, as seen: first, second or tie."""
    if one.value == TIE:
        return TIE
    return "first" if one.value == order_pair(results, one.unit, one.judgement.rater)[0] else "second"


def find_label(one: FieldAnswer) -> str:
    """What a rater read where the value was chosen."""
    if isinstance(one.value, list):
        return ", ".join(one.value)
    return next((option.label for option in one.field.options if option.value == one.value), "")
