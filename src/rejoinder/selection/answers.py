"""Systems asked: every candidate of every question gets a score, and the highest is the one selected.

A system's scores count to the decimals that are the same on every machine (``System.decimals``): what differs further
behind is a tie. Candidates that tie for the top share the point, so k of them, one being right, give 1/k: what a coin
would give on average. A question on which a score is NaN is not answered: it counts neither as right nor as wrong, and
it is counted.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from rejoinder.data.objects import to_object
from rejoinder.data.schema import Place, from_object
from rejoinder.engines import request_counts
from rejoinder.engines.base import Engine, WorkerSpec, order_results
from rejoinder.errors import InputError, RejoinderError, brief
from rejoinder.systems import System, parse_system
from rejoinder.types import Question

ScoreLine: TypeAlias = tuple[float, ...]
Progress: TypeAlias = Callable[[int, int], None]
_BATCH_SIZE = 64
# A metric or a function is a system by a spec of one quoted parameter.
_WRAPPED = re.compile(r"""(?:metric\(spec|function\(path)=('[^'\\]*'|"[^"\\]*")\)""")


def score_questions(system: System, questions: Sequence[Question]) -> list[ScoreLine]:
    """The scores of a system, one line a question, checked and rounded."""
    try:
        found = system.score(questions)
    except RejoinderError:
        raise
    except Exception as error:
        if type(system).__module__.startswith("rejoinder."):
            raise
        raise InputError(f"{system} failed with {type(error).__name__}: {brief(str(error), 200)}") from error
    if len(found) != len(questions):
        raise InputError(f"{system} gave {len(found)} lines of scores for {len(questions)} questions; it must give one")
    return [_check_scores(system, question, line) for question, line in zip(questions, found, strict=True)]


def system_name(system: System) -> str:
    """What a system is called in tables: what one types for it, where that is shorter than its spec."""
    spec = str(system)
    found = _WRAPPED.fullmatch(spec)
    short = str(ast.literal_eval(found[1])) if found else spec
    return short if short == spec or parse_system(short) == system else spec


def split_questions(system: System, questions: Sequence[Question]) -> list[Sequence[Question]]:
    """The questions as they can be asked: a few at a time of a system that says it takes each by itself.

    Others may learn something from all questions together (how rare a word is), so they get all at once.
    """
    if not getattr(system, "alone", False):
        return [questions]
    return [questions[start : start + _BATCH_SIZE] for start in range(0, len(questions), _BATCH_SIZE)]


def _check_scores(system: System, question: Question, line: Sequence[float]) -> ScoreLine:
    if len(line) != len(question.candidates):
        raise InputError(
            f"{system} gave {len(line)} scores for the {len(question.candidates)} candidates of question "
            f"{question.id}; it must give one each"
        )
    try:
        numbers = tuple(float(score) for score in line)
    except (TypeError, ValueError):
        raise InputError(
            f"{system} gave {brief(list(line))} for question {question.id}; scores are numbers, NaN where unknown"
        ) from None
    if system.decimals is None:
        return numbers
    return tuple(round(score, system.decimals) if math.isfinite(score) else score for score in numbers)


def find_top_places(scores: ScoreLine) -> tuple[int, ...]:
    """The places of the candidates with the highest score; none where a score is NaN."""
    if any(math.isnan(score) for score in scores):
        return ()
    best = max(scores)
    return tuple(place for place, score in enumerate(scores) if score == best)


def compute_points(right: frozenset[int], selected: tuple[int, ...]) -> float:
    """The share of the selected candidates that are right; NaN where none was selected."""
    return sum(place in right for place in selected) / len(selected) if selected else math.nan


_PLACE = Place("questions", 0)


class SystemWorker:
    """A system by its spec."""

    def __init__(self, spec: str) -> None:
        self._system = parse_system(spec)

    def compute(self, task: Sequence[Any]) -> list[Any]:
        """The scores of some questions, as texts, for JSON has no NaN and no infinity; and failed requests."""
        questions = [record for record in (from_object(one, _PLACE) for one in task) if isinstance(record, Question)]
        report: dict[str, Any] = {}
        with request_counts.fill_report(report):
            lines = score_questions(self._system, questions)
        return [[[repr(score) for score in line] for line in lines], report]

    def close(self) -> None:
        """There is nothing to let go of."""


def score_parts(
    system: System, parts: Sequence[Sequence[Question]], engine: Engine | None
) -> Iterator[tuple[Sequence[Question], list[ScoreLine]]]:
    """Every part with its lines, in order; one at a time here, or several by an engine."""
    if engine is None or engine.workers < 2 or len(parts) < 2:
        for some in parts:
            yield some, score_questions(system, some)
        return
    work = WorkerSpec("rejoinder.selection.answers:SystemWorker", (str(system),))
    tasks = ([to_object(question) for question in some] for some in parts)
    for some, (lines, report) in zip(parts, order_results(engine.compute(work, tasks)), strict=True):
        request_counts.add_report(report)
        yield some, [tuple(float(score) for score in line) for line in lines]
