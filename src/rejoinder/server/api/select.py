"""``POST /select``: systems choose among graded candidates, and are ranked by how often they are right."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from rejoinder.errors import SpecError
from rejoinder.selection.accuracy import SystemStanding, standings
from rejoinder.selection.answers import split_questions, system_name
from rejoinder.selection.result import SelectionResult, check_questions
from rejoinder.server.api.rank import RankingAnswer, ask_ranking, json_number
from rejoinder.server.api.records import SYSTEM, questions_of
from rejoinder.server.api.service import ApiService
from rejoinder.systems import System
from rejoinder.table import Estimate
from rejoinder.types import Question


async def select(desk: ApiService, body: Mapping[str, Any]) -> dict[str, Any]:
    """The accuracy of a request's systems, and what each chose."""
    systems: dict[str, System] = {}
    for text in body["systems"]:
        system = desk.offer.system(text)
        systems[system_name(system)] = system
    questions = questions_of(body["questions"])
    check_questions(questions, SYSTEM)
    found = await asyncio.gather(*(_ask_system(desk, system, questions) for system in systems.values()))
    selected = SelectionResult(
        questions,
        {name: [line for one in of for line in one.lines] for name, of in zip(systems, found, strict=True)},
        {name: of[0].signature for name, of in zip(systems, found, strict=True)},
    )
    work = functools.partial(_answer_batch, int(body.get("seed", 0)))
    answer: dict[str, Any] = await desk.do(work, selected, len(questions))
    return answer


async def _ask_system(desk: ApiService, system: System, questions: Sequence[Question]) -> list[RankingAnswer]:
    """A few questions at a time where the system allows it, so that others get their turn between."""
    return [await ask_ranking(desk, system, some) for some in split_questions(system, questions)]


def _answer_batch(seed: int, given: list[SelectionResult]) -> list[dict[str, Any]]:
    return [_make_answer(selected, seed) for selected in given]


def _make_answer(selected: SelectionResult, seed: int) -> dict[str, Any]:
    if not selected.systems:
        raise SpecError("no system is named; name at least one, e.g. tfidf")
    return {
        "chance": selected.chance,
        "systems": [_standing_object(one, selected.signatures[one.system]) for one in standings(selected, seed)],
        "questions": [
            {
                "id": question.id,
                "right": sorted(selected.right[n]),
                "chosen": {system: list(places[n]) for system, places in selected.chosen.items()},
                "scores": {system: [json_number(one) for one in lines[n]] for system, lines in selected.scores.items()},
            }
            for n, question in enumerate(selected.questions)
        ],
    }


def _standing_object(one: SystemStanding, signed: str) -> dict[str, Any]:
    return {
        "system": one.system,
        "signature": signed,
        "answered": one.n,
        "unanswered": one.unanswered,
        "ties": one.ties,
        "accuracy": estimate_object(one.accuracy),
        "ranks": [json_number(one.low), json_number(one.high)],
    }


def estimate_object(one: Estimate) -> dict[str, float | None]:
    """A number with its interval; null where there is none."""
    return {"value": json_number(one.value), "low": json_number(one.low), "high": json_number(one.high)}
