"""Judgements that were made elsewhere: recorded answer by answer, each checked as if it came from a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from rejoinder.annotation.errors import AnnotationError, AnsweredError, AnswerError, NotYoursError
from rejoinder.annotation.fields import NONE
from rejoinder.annotation.store.base import Store
from rejoinder.seeded import stable_hash


class ImportSummary(NamedTuple):
    """How many judgements came in, how many were there already, and what was left out, with numbers."""

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
    """Put judgements into the store; one that cannot be is counted under the reason."""
    count: Counter[str] = Counter()
    reasons: Counter[str] = Counter() if left_out is None else left_out
    for one in judgements:
        try:
            found = store.record(one.rater, one.unit, one.answer, one.seconds, one.at)
        except NotYoursError:
            reasons["of a unit that this project does not have"] += 1
        except AnsweredError:
            reasons["the same rater has answered this unit differently"] += 1
        except AnswerError as error:
            name, problem = next(iter(error.problems.items()))
            reasons[f"not a whole answer ({name}: {problem})"] += 1
        except AnnotationError as error:
            reasons[str(error)] += 1
        else:
            count["already" if found is None else "added"] += 1
    return ImportSummary(count["added"], count["already"], dict(reasons))


def set_field(answer: dict[str, Any], field: str, value: Any) -> None:
    """Set a field of an answer; labels come one at a time, and where none was given, that is said."""
    if isinstance(value, list):
        value = [label for label in answer.get(field, ()) if label != NONE] + value or [NONE]
    answer[field] = value


def pseudonym(store: Store, source: str, worker: str) -> str:
    """A name for somebody who has an id elsewhere that leads to a person."""
    return f"{source}-{stable_hash(store.project.name, source, worker):016x}"
