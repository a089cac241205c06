"""``POST /rank``: candidates in the order in which a system likes them, given a context and a situation."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rejoinder.selection.answers import score_questions, system_name
from rejoinder.selection.result import ScoreLine
from rejoinder.server.api.records import question_of
from rejoinder.server.api.service import ApiService, split_by_size
from rejoinder.systems import System, system_signature
from rejoinder.types import Question


class RankingAnswer(NamedTuple):
    """The scores of some questions' candidates, and the statements that were read for each, where that was asked."""

    lines: Sequence[ScoreLine]
    used: Sequence[list[tuple[int, ...]]] | None
    signature: str


async def rank(desk: ApiService, body: Mapping[str, Any]) -> dict[str, Any]:
    """The scores and the order of one question's candidates."""
    system = desk.offer.system(body.get("system") or desk.default_system)
    asked = {"id": "asked", **{key: value for key, value in body.items() if key not in ("system", "used")}}
    found = await ask_ranking(desk, system, [question_of(asked)], bool(body.get("used")))
    scores = found.lines[0]
    return {
        "system": system_name(system),
        "signature": found.signature,
        "scores": [json_number(value) for value in scores],
        "order": order_candidates(scores),
        "used": None if found.used is None else [list(places) for places in found.used[0]],
    }


async def ask_ranking(
    desk: ApiService, system: System, questions: Sequence[Question], used: bool = False
) -> RankingAnswer:
    """What a system says of some questions; one that weighs all questions together takes each request by itself."""
    used = used and type(system).used is not System.used
    work = functools.partial(_rank_batch, system, used)
    rows = sum(len(question.candidates) for question in questions)
    found: RankingAnswer = await desk.ask(system, f"rank {used}", questions, rows, work)
    return found


def _rank_batch(system: System, used: bool, given: list[Sequence[Question]]) -> list[RankingAnswer]:
    if not system.alone:
        return [one for questions in given for one in _rank_together(system, used, [questions])]
    return _rank_together(system, used, given)


def _rank_together(system: System, used: bool, given: list[Sequence[Question]]) -> list[RankingAnswer]:
    questions = [question for of_request in given for question in of_request]
    sizes = [len(of_request) for of_request in given]
    lines = split_by_size(sizes, score_questions(system, questions))
    read = system.used(questions) if used else None
    places: Sequence[Any] = [None] * len(given) if read is None else split_by_size(sizes, read)
    signed = _system_signature(system)
    return [RankingAnswer(line, place, signed) for line, place in zip(lines, places, strict=True)]


@functools.lru_cache(512)
def _system_signature(system: System) -> str:
    return system_signature(system)


def order_candidates(scores: ScoreLine) -> list[int]:
    """The places of the candidates, the best first; those without a score come last."""
    return sorted(range(len(scores)), key=lambda n: math.inf if math.isnan(scores[n]) else -scores[n])


def json_number(value: float) -> float | None:
    """A number as JSON has it."""
    return value if math.isfinite(value) else None
