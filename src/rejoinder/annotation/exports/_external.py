"""Import of judgements made elsewhere: each answer is checked as if it came from a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from rejoinder.annotation.errors import AnnotationError, AnsweredError, AnswerError, NotYoursError
from rejoinder.annotation.fields import NONE
from rejoinder.annotation.store.base import Store
from rejoinder.seeded import stable_hash


class ImportSummary(NamedTuple):
    """How many judgements were added, how many were there already, and how many were left out, by reason."""

    added: int
    already: int
    left_out: dict[str, int]


class ExternalJudgement(NamedTuple):
    """A judgement that was made elsewhere."""

    rater: str
    unit: str
    answer: dict[str, Any]
    seconds: float = 0.0
    at: float | None = None


def record_judgements(
    store: Store, judgements: Iterable[ExternalJudgement], left_out: Counter[str] | None = None
) -> ImportSummary:
    """Add judgements to the store; those that cannot be added are counted by reason."""
    count: Counter[str] = Counter()
    reasons: Counter[str] = Counter() if left_out is None else left_out
    for judgement in judgements:
        try:
            recorded = store.record(judgement.rater, judgement.unit, judgement.answer, judgement.seconds, judgement.at)
        except NotYoursError:
            reasons["for a unit that this project does not have"] += 1
        except AnsweredError:
            reasons["the same rater has answered this unit differently"] += 1
        except AnswerError as error:
            name, problem = next(iter(error.problems.items()))
            reasons[f"incomplete or invalid answer ({name}: {problem})"] += 1
        except AnnotationError as error:
            reasons[str(error)] += 1
        else:
            count["already" if recorded is None else "added"] += 1
    return ImportSummary(count["added"], count["already"], dict(reasons))


def set_answer_field(answer: dict[str, Any], field: str, value: Any) -> None:
    """Set a field of an answer; labels arrive one at a time, and an answer without labels becomes "none"."""
    if isinstance(value, list):
        value = [label for label in answer.get(field, ()) if label != NONE] + value or [NONE]
    answer[field] = value


def make_rater_pseudonym(store: Store, source: str, worker: str) -> str:
    """Return a pseudonym for a worker whose id elsewhere identifies a person."""
    return f"{source}-{stable_hash(store.project.name, source, worker):016x}"
