"""What the owner reviews: each unit with everybody's answers, how far they are apart, comments, and the decision.

A decision is the owner's own answer to a unit. It is stored as the judgement of ``adjudicator`` and replaces the
raters' answers in ratings; agreement between raters does not count it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rejoinder.annotation.store.base import ADJUDICATOR, Judgement
from rejoinder.annotation.store.results import FieldAnswer, ProjectResults, split_answer
from rejoinder.annotation.unit import Unit

_COMMENT = "comment"
_DISPUTED = 0.5  # of the width of a scale


@dataclass(frozen=True, slots=True)
class ReviewedAnswer:
    """One person's answer to a unit: the values by field, the comment, and how long it took."""

    rater: str
    values: dict[str, str]
    comment: str
    seconds: float
    at: float


@dataclass(frozen=True, slots=True)
class UnitReview:
    """A unit with its answers; ``spread`` is the largest distance of two answers, as a share of the scale."""

    unit: Unit
    fields: tuple[str, ...]
    answers: tuple[ReviewedAnswer, ...]
    spread: float
    decision: ReviewedAnswer | None

    @property
    def is_disputed(self) -> bool:
        """Whether raters are apart by half of a scale or more (or chose different classes), and nobody decided."""
        return self.spread >= _DISPUTED and self.decision is None

    @property
    def comments(self) -> list[tuple[str, str]]:
        """The comments, each with its rater."""
        return [(answer.rater, answer.comment) for answer in self.answers if answer.comment]

    @property
    def replies(self) -> list[tuple[str, str]]:
        """The replies, each with its system; without one it is called a reply."""
        systems = {key: reply["system"] for key, reply in self.unit.hidden.get("replies", {}).items()}
        return [(systems.get(reply["key"]) or "Reply", reply["text"]) for reply in self.unit.payload["replies"]]

    @property
    def text(self) -> str:
        """All texts of the unit, to be searched."""
        payload = self.unit.payload
        texts = [part["text"] for key in ("context", "replies") for part in payload.get(key, ())]
        return "\n".join([*texts, *(comment for _, comment in self.comments)])


def review_units(results: ProjectResults) -> list[UnitReview]:
    """Return every unit that somebody judged, the largest differences first; checks and exercises are left out."""
    by_unit: dict[str, list[Judgement]] = {}
    for judgement in results.judgements:
        if judgement.kind == "unit":
            by_unit.setdefault(judgement.unit, []).append(judgement)
    reviews = [_review_unit(results, results.units[unit], judgements) for unit, judgements in by_unit.items()]
    return sorted(reviews, key=lambda review: -review.spread)


def _review_unit(results: ProjectResults, unit: Unit, judgements: Sequence[Judgement]) -> UnitReview:
    split = {judgement.rater: list(split_answer(results, unit, judgement)) for judgement in judgements}
    answers = {
        judgement.rater: ReviewedAnswer(
            judgement.rater,
            {_field_label(one): _describe_value(one) for one in split[judgement.rater] if one.field.name != _COMMENT},
            next((str(one.value) for one in split[judgement.rater] if one.field.name == _COMMENT), ""),
            judgement.seconds,
            judgement.at,
        )
        for judgement in judgements
    }
    decision = answers.pop(ADJUDICATOR, None)
    raters = [one for rater, answer in split.items() if rater != ADJUDICATOR for one in answer]
    labels = dict.fromkeys(label for answer in answers.values() for label in answer.values)
    return UnitReview(unit, tuple(labels), tuple(answers.values()), _largest_spread(raters), decision)


def _field_label(answer: FieldAnswer) -> str:
    return answer.field.aspect if answer.system is None else f"{answer.field.aspect}: {answer.system}"


def _describe_value(answer: FieldAnswer) -> str:
    """The value as a person reads it: of a preference, the system that was preferred."""
    value = answer.value
    if isinstance(value, list):
        return ", ".join(map(str, value))
    preferred = answer.unit.hidden.get("replies", {}).get(value, {}).get("system") if isinstance(value, str) else None
    return str(preferred or value)


def _largest_spread(answers: Iterable[FieldAnswer]) -> float:
    by_field: dict[str, list[FieldAnswer]] = {}
    for answer in answers:
        if answer.field.kind in ("choice", "labels"):
            by_field.setdefault(answer.field.name, []).append(answer)
    return max((_spread(same) for same in by_field.values()), default=0.0)


def _spread(answers: Sequence[FieldAnswer]) -> float:
    numbers = [answer.number for answer in answers]
    options = [option.value for option in answers[0].field.options if isinstance(option.value, int)]
    known = [number for number in numbers if number is not None]
    if len(known) == len(answers) and len(options) > 1:
        return (max(known) - min(known)) / (max(options) - min(options))
    return float(len({str(answer.value) for answer in answers}) > 1)
