"""``POST /select``: systems choose among graded candidates and are ranked by how often they are right."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from rejoinder.errors import SpecError
from rejoinder.selection.accuracy import AccuracyStanding, accuracy_standings
from rejoinder.selection.answers import split_question_batches, system_name
from rejoinder.selection.result import SelectionResult, check_questions
from rejoinder.server.api.endpoint import Verb
from rejoinder.server.api.limits import ROWS, SPECS
from rejoinder.server.api.rank import RankingAnswer, ask_ranking, json_number
from rejoinder.server.api.records import SYSTEM, questions_of
from rejoinder.server.api.schemas import COUNT, FIGURE, SEED, STRING, array_of, mapping_of, object_of, reference
from rejoinder.server.api.service import ApiService
from rejoinder.systems import System
from rejoinder.table import Estimate
from rejoinder.types import Question


async def answer_select(service: ApiService, body: Mapping[str, Any]) -> dict[str, Any]:
    """Let systems choose among graded candidates, and rank the systems by how often they are right."""
    systems: dict[str, System] = {}
    for text in body["systems"]:
        system = service.offer.system(text)
        systems[system_name(system)] = system
    questions = questions_of(body["questions"])
    check_questions(questions, SYSTEM)
    rankings = await asyncio.gather(*(_ask_system(service, system, questions) for system in systems.values()))
    result = SelectionResult(
        questions,
        {name: [line for part in parts for line in part.lines] for name, parts in zip(systems, rankings, strict=True)},
        {name: parts[0].signature for name, parts in zip(systems, rankings, strict=True)},
    )
    work = functools.partial(_answer_batch, int(body.get("seed", 0)))
    answer: dict[str, Any] = await service.do(work, result, len(questions))
    return answer


async def _ask_system(service: ApiService, system: System, questions: Sequence[Question]) -> list[RankingAnswer]:
    """Score a few questions at a time if the system allows it, so that other requests are served in between."""
    return [await ask_ranking(service, system, part) for part in split_question_batches(system, questions)]


def _answer_batch(seed: int, results: list[SelectionResult]) -> list[dict[str, Any]]:
    return [_make_answer(result, seed) for result in results]


def _make_answer(result: SelectionResult, seed: int) -> dict[str, Any]:
    if not result.systems:
        raise SpecError("no system is named; name at least one, e.g. tfidf")
    return {
        "chance": result.chance,
        "systems": [_standing_object(one, result.signatures[one.system]) for one in accuracy_standings(result, seed)],
        "questions": [
            {
                "id": question.id,
                "right": sorted(result.right[n]),
                "chosen": {system: list(places[n]) for system, places in result.chosen.items()},
                "scores": {system: [json_number(one) for one in lines[n]] for system, lines in result.scores.items()},
            }
            for n, question in enumerate(result.questions)
        ],
    }


def _standing_object(standing: AccuracyStanding, signature: str) -> dict[str, Any]:
    return {
        "system": standing.system,
        "signature": signature,
        "answered": standing.n,
        "unanswered": standing.unanswered,
        "ties": standing.ties,
        "accuracy": estimate_object(standing.accuracy),
        "ranks": [json_number(standing.low), json_number(standing.high)],
    }


def estimate_object(estimate: Estimate) -> dict[str, float | None]:
    """Return a number with its interval; None for what is missing."""
    return {"value": json_number(estimate.value), "low": json_number(estimate.low), "high": json_number(estimate.high)}


_STANDING = object_of(
    system=STRING,
    signature=STRING,
    answered=COUNT,
    unanswered=COUNT,
    ties=COUNT,
    accuracy=object_of(value=FIGURE, low=FIGURE, high=FIGURE),
    ranks={"type": "array", "items": FIGURE, "minItems": 2, "maxItems": 2},
)
_QUESTION = object_of(
    id=STRING,
    right=array_of(COUNT),
    chosen=mapping_of(array_of(COUNT)),
    scores=mapping_of(array_of(FIGURE)),
)
SELECT = Verb(
    "select",
    request=lambda metric, system: object_of(
        ("systems", "questions"),
        systems=array_of(system, SPECS, 1),
        questions=array_of(reference("Question"), ROWS, 1),
        seed=SEED,
    ),
    answer=object_of(chance={"type": "number"}, systems=array_of(_STANDING, 100), questions=array_of(_QUESTION)),
    example={
        "systems": ["aptness(model='bi')", "tfidf"],
        "questions": [
            {
                "context": ["Is it open on Sunday?"],
                "candidates": [
                    {"text": "Yes, from ten to five.", "grade": "true"},
                    {"text": "I had soup on Sunday.", "grade": "false"},
                ],
            }
        ],
    },
    respond=answer_select,
)
