"""``POST /select``: systems choose among graded candidates, and are ranked by how often they are right."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from rejoinder.errors import SpecError
from rejoinder.selection.accuracy import Standing, standings
from rejoinder.selection.answers import name_of, parts
from rejoinder.selection.result import Selected, check_questions
from rejoinder.server.api.rank import Ranked, plain, ranked
from rejoinder.server.api.records import SYSTEM, questions_of
from rejoinder.server.api.service import Desk
from rejoinder.systems import System
from rejoinder.table import Estimate
from rejoinder.types import Question


async def select(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """The accuracy of a request's systems, and what each chose."""
    systems: dict[str, System] = {}
    for text in body["systems"]:
        system = desk.offer.system(text)
        systems[name_of(system)] = system
    questions = questions_of(body["questions"])
    check_questions(questions, SYSTEM)
    found = await asyncio.gather(*(_asked(desk, system, questions) for system in systems.values()))
    selected = Selected(
        questions,
        {name: [line for one in of for line in one.lines] for name, of in zip(systems, found, strict=True)},
        {name: of[0].signature for name, of in zip(systems, found, strict=True)},
    )
    work = functools.partial(_answers, int(body.get("seed", 0)))
    answer: dict[str, Any] = await desk.do(work, selected, len(questions))
    return answer


async def _asked(desk: Desk, system: System, questions: Sequence[Question]) -> list[Ranked]:
    """A few questions at a time where the system allows it, so that others get their turn between."""
    return [await ranked(desk, system, some) for some in parts(system, questions)]


def _answers(seed: int, given: list[Selected]) -> list[dict[str, Any]]:
    return [_answer(selected, seed) for selected in given]


def _answer(selected: Selected, seed: int) -> dict[str, Any]:
    if not selected.systems:
        raise SpecError("no system was named; name at least one, e.g. tfidf")
    return {
        "chance": selected.chance,
        "systems": [_standing(one, selected.signatures[one.system]) for one in standings(selected, seed)],
        "questions": [
            {
                "id": question.id,
                "right": sorted(selected.right[n]),
                "chosen": {system: list(places[n]) for system, places in selected.chosen.items()},
                "scores": {system: [plain(one) for one in lines[n]] for system, lines in selected.scores.items()},
            }
            for n, question in enumerate(selected.questions)
        ],
    }


def _standing(one: Standing, signed: str) -> dict[str, Any]:
    return {
        "system": one.system,
        "signature": signed,
        "answered": one.n,
        "unanswered": one.unanswered,
        "ties": one.ties,
        "accuracy": estimate(one.accuracy),
        "ranks": [plain(one.low), plain(one.high)],
    }


def estimate(one: Estimate) -> dict[str, float | None]:
    """A number with its interval; null where there is none."""
    return {"value": plain(one.value), "low": plain(one.low), "high": plain(one.high)}
