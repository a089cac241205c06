"""The results of a project: its units, the judgements that count, and each answer field by field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rejoinder.annotation.fields import NONE, TIE, list_fields
from rejoinder.annotation.project import Project
from rejoinder.annotation.store.base import ADJUDICATOR, Judgement, Store
from rejoinder.annotation.unit import AnswerField, Unit, Value, arrange_replies


@dataclass(frozen=True, slots=True)
class ProjectResults:
    """A project, all its units by id, and the judgements that have not been superseded."""

    project: Project
    units: dict[str, Unit] = field(hash=False)
    judgements: tuple[Judgement, ...]

    def ordinary(self) -> Iterator[tuple[Unit, Judgement]]:
        """Yield every judgement of an ordinary unit (no check, no exercise) by a rater."""
        for judgement in self.judgements:
            if judgement.kind == "unit" and judgement.rater != ADJUDICATOR:
                yield self.units[judgement.unit], judgement

    def final(self) -> Iterator[tuple[Unit, Judgement]]:
        """Yield the judgements that count in the end: where the owner decided, the decision instead of the raters'."""
        decided = {judgement.unit for judgement in self.judgements if judgement.rater == ADJUDICATOR}
        for judgement in self.judgements:
            if judgement.kind == "unit" and (judgement.rater == ADJUDICATOR or judgement.unit not in decided):
                yield self.units[judgement.unit], judgement


@dataclass(frozen=True, slots=True)
class FieldAnswer:
    """One rater's value of one field, and what it is about.

    ``response`` and ``system`` are those of the reply (None if the field is about the whole unit). ``number`` is the
    value as a number if it has one: of a scale, of a verdict (reject 0, edit 1, accept 2).
    """

    unit: Unit
    judgement: Judgement
    field: AnswerField
    value: Value
    response: str | None
    system: str | None
    number: float | None


_VERDICTS = {"reject": 0.0, "edit": 1.0, "accept": 2.0}


def read_results(store: Store) -> ProjectResults:
    """Read the results so far."""
    judgements = tuple(store.judgements())
    return ProjectResults(store.project, {unit.id: unit for unit in store.units()}, judgements)


def split_answer(results: ProjectResults, unit: Unit, judgement: Judgement) -> Iterator[FieldAnswer]:
    """Yield an answer field by field, in the order of the fields."""
    for field_ in list_fields(results.project, unit):
        if field_.name in judgement.answer:
            value = judgement.answer[field_.name]
            reply = unit.hidden.get("replies", {}).get(field_.reply, {})
            number = _to_number(value) if field_.kind == "choice" else None
            yield FieldAnswer(unit, judgement, field_, value, reply.get("response"), reply.get("system"), number)


def _to_number(value: Value) -> float | None:
    if isinstance(value, int):
        return float(value)
    return _VERDICTS.get(value) if isinstance(value, str) else None


def label_choices(answer: FieldAnswer) -> dict[str, bool]:
    """Return every possible label, and whether it was chosen."""
    labels = answer.value if isinstance(answer.value, list) else []
    return {str(option.value): option.value in labels for option in answer.field.options if option.value != NONE}


def order_pair_for_rater(results: ProjectResults, unit: Unit, rater: str) -> tuple[str, str]:
    """Return the keys of the two replies of a pair, in the order in which this rater saw them."""
    first, second = arrange_replies(unit, results.project.seed, rater).payload["replies"]
    return first["key"], second["key"]


def find_pair_choice(results: ProjectResults, answer: FieldAnswer) -> str:
    """Return which of a pair was preferred, as the rater saw them: first, second or tie."""
    if answer.value == TIE:
        return TIE
    return (
        "first" if answer.value == order_pair_for_rater(results, answer.unit, answer.judgement.rater)[0] else "second"
    )


def find_chosen_label(answer: FieldAnswer) -> str:
    """Return the label of the chosen value, as the rater saw it."""
    if isinstance(answer.value, list):
        return ", ".join(answer.value)
    return next((option.label for option in answer.field.options if option.value == answer.value), "")
