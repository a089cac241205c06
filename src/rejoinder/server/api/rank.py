"""``POST /rank``: candidates ranked by a system, given a context and a situation."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rejoinder.selection.answers import score_questions, system_name
from rejoinder.selection.result import ScoreLine
from rejoinder.server.api.endpoint import Verb
from rejoinder.server.api.limits import CANDIDATES
from rejoinder.server.api.records import question_of
from rejoinder.server.api.schemas import CONTEXT, COUNT, FIGURE, NAME, SITUATION, STRING, array_of, object_of, text_with
from rejoinder.server.api.service import ApiService, split_by_size
from rejoinder.systems import System, system_signature
from rejoinder.types import Question


class RankingAnswer(NamedTuple):
    """The scores of the candidates of some questions, and the statements read for each, if requested."""

    lines: Sequence[ScoreLine]
    used: Sequence[list[tuple[int, ...]]] | None
    signature: str


async def answer_rank(service: ApiService, body: Mapping[str, Any]) -> dict[str, Any]:
    """Rank candidates with a system, given a context and a situation."""
    system = service.offer.system(body.get("system") or service.default_system)
    fields = {"id": "asked", **{key: value for key, value in body.items() if key not in ("system", "used")}}
    ranking = await ask_ranking(service, system, [question_of(fields)], bool(body.get("used")))
    scores = ranking.lines[0]
    return {
        "system": system_name(system),
        "signature": ranking.signature,
        "scores": [json_number(value) for value in scores],
        "order": order_candidates(scores),
        "used": None if ranking.used is None else [list(places) for places in ranking.used[0]],
    }


async def ask_ranking(
    service: ApiService, system: System, questions: Sequence[Question], used: bool = False
) -> RankingAnswer:
    """Score questions with a system; one that looks at all questions together takes each request by itself."""
    used = used and type(system).used is not System.used
    work = functools.partial(_rank_batch, system, used)
    rows = sum(len(question.candidates) for question in questions)
    ranking: RankingAnswer = await service.ask(system, f"rank {used}", questions, rows, work)
    return ranking


def _rank_batch(system: System, used: bool, requests: list[Sequence[Question]]) -> list[RankingAnswer]:
    if not system.alone:
        return [ranking for questions in requests for ranking in _rank_together(system, used, [questions])]
    return _rank_together(system, used, requests)


def _rank_together(system: System, used: bool, requests: list[Sequence[Question]]) -> list[RankingAnswer]:
    questions = [question for request in requests for question in request]
    sizes = [len(request) for request in requests]
    lines = split_by_size(sizes, score_questions(system, questions))
    statements = system.used(questions) if used else None
    places: Sequence[Any] = [None] * len(requests) if statements is None else split_by_size(sizes, statements)
    signature = _system_signature(system)
    return [RankingAnswer(line, place, signature) for line, place in zip(lines, places, strict=True)]


@functools.lru_cache(512)
def _system_signature(system: System) -> str:
    return system_signature(system)


def order_candidates(scores: ScoreLine) -> list[int]:
    """Return the positions of the candidates, best first; those without a score come last."""
    return sorted(range(len(scores)), key=lambda n: math.inf if math.isnan(scores[n]) else -scores[n])


def json_number(value: float) -> float | None:
    """Return a number for JSON: None if it is not finite."""
    return value if math.isfinite(value) else None


RANK = Verb(
    "rank",
    request=lambda metric, system: object_of(
        ("context", "candidates"),
        system=system,
        context=CONTEXT,
        candidates=array_of(text_with(id=NAME), CANDIDATES, 1),
        situation=SITUATION,
        used={"type": "boolean", "default": False, "description": "return which statements were read"},
    ),
    answer=object_of(
        system=STRING,
        signature=STRING,
        scores=array_of(FIGURE),
        order=array_of(COUNT),
        used={"anyOf": [array_of(array_of(COUNT)), {"type": "null"}]},
    ),
    example={
        "system": "tfidf",
        "context": ["It is too dark to read."],
        "situation": [{"text": "There is a lamp on the desk.", "category": "possession"}, "It is ten in the evening."],
        "candidates": ["Shall I turn on the lamp on the desk?", "Shall I read to you?", "Shall I close the window?"],
    },
    respond=answer_rank,
)
