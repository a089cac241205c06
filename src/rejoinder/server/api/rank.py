"""``POST /rank``: candidates in the order in which a system likes them, given a context and a situation."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rejoinder.selection.answers import Line, ask, name_of
from rejoinder.server.api.records import question_of
from rejoinder.server.api.service import Desk, spread
from rejoinder.systems import System, signature
from rejoinder.types import Question


class Ranked(NamedTuple):
    """The scores of some questions' candidates, and the statements that were read for each, where that was asked."""

    lines: Sequence[Line]
    used: Sequence[list[tuple[int, ...]]] | None
    signature: str


async def rank(desk: Desk, body: Mapping[str, Any]) -> dict[str, Any]:
    """The scores and the order of one question's candidates."""
    system = desk.offer.system(body.get("system") or desk.default_system)
    asked = {"id": "asked", **{key: value for key, value in body.items() if key not in ("system", "used")}}
    found = await ranked(desk, system, [question_of(asked)], bool(body.get("used")))
    scores = found.lines[0]
    return {
        "system": name_of(system),
        "signature": found.signature,
        "scores": [plain(value) for value in scores],
        "order": order_of(scores),
        "used": None if found.used is None else [list(places) for places in found.used[0]],
    }


async def ranked(desk: Desk, system: System, questions: Sequence[Question], used: bool = False) -> Ranked:
    """What a system says of some questions; one that weighs all questions together takes each request by itself."""
    used = used and type(system).used is not System.used
    work = functools.partial(_rank, system, used)
    rows = sum(len(question.candidates) for question in questions)
    found: Ranked = await desk.ask(system, f"rank {used}", questions, rows, work)
    return found


def _rank(system: System, used: bool, given: list[Sequence[Question]]) -> list[Ranked]:
    if not system.alone:
        return [one for questions in given for one in _together(system, used, [questions])]
    return _together(system, used, given)


def _together(system: System, used: bool, given: list[Sequence[Question]]) -> list[Ranked]:
    questions = [question for of_request in given for question in of_request]
    sizes = [len(of_request) for of_request in given]
    lines = spread(sizes, ask(system, questions))
    read = system.used(questions) if used else None
    places: Sequence[Any] = [None] * len(given) if read is None else spread(sizes, read)
    signed = _signed(system)
    return [Ranked(line, place, signed) for line, place in zip(lines, places, strict=True)]


@functools.lru_cache(512)
def _signed(system: System) -> str:
    return signature(system)


def order_of(scores: Line) -> list[int]:
    """The places of the candidates, the best first; those without a score come last."""
    return sorted(range(len(scores)), key=lambda n: math.inf if math.isnan(scores[n]) else -scores[n])


def plain(value: float) -> float | None:
    """A number as JSON has it."""
    return value if math.isfinite(value) else None
