"""The pages of test sets: questions, their candidates and labels, and the source of each candidate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

import numpy as np
import orjson
from starlette.requests import Request

from rejoinder.data.questions import find_right_candidates
from rejoinder.errors import InputError, SpecError
from rejoinder.json_schema import Schema
from rejoinder.server.pages.context import PageContent, PageContext, Query, paginate, statement_objects
from rejoinder.server.pages.library import TestSet
from rejoinder.server.pages.replies import find_position
from rejoinder.table import shorten_text
from rejoinder.types import Candidate, Question

_WORD: Schema = {"type": "string", "maxLength": 300}
QUERY: dict[str, Schema] = {"source": _WORD, "label": _WORD}


async def sets_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """List every available test set."""
    lines = [
        {
            "name": test_set.name,
            "about": test_set.about,
            "summary": test_set.summary,
            "licence": test_set.licence,
            "published": test_set.path is None,
        }
        for test_set in context.library.sets().values()
    ]
    return PageContent("sets.html", {"sets": lines, "folders": [str(folder) for folder in context.library.folders]})


async def _load_questions(context: PageContext, test_set: TestSet) -> list[Question]:
    return await context.cache.get(("set", test_set, test_set.changed), lambda progress: test_set.read())


async def set_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Show a test set and its questions, on request only those with a candidate of some source or label."""
    test_set = context.library.set(request.path_params["set"])
    questions = await _load_questions(context, test_set)
    source, label = query.get("source"), query.get("label")
    numbers, position = paginate(_find_questions(questions, query), query.get("page", 1))
    candidates = [candidate for question in questions for candidate in question.candidates]
    data: dict[str, Any] = {
        "name": test_set.name,
        "about": test_set.about,
        "summary": test_set.summary,
        "licence": test_set.licence,
        "citation": test_set.citation,
        "questions": len(questions),
        "candidates": len(candidates),
        "sources": dict(Counter(each.source or "not said" for each in candidates).most_common(40)),
        "labels": dict(Counter(label for each in candidates for label in each.labels).most_common(40)),
        "grades": dict(Counter(str(each.grade) for each in candidates).most_common(12)),
        "card": _read_card(test_set),
        "source": source,
        "label": label,
        **position,
        "list": [_question_line(number, questions[number]) for number in numbers],
    }
    return PageContent("set.html", data, {"path": f"/sets/{test_set.name}", "here": _list_address(query)})


def _find_questions(questions: Sequence[Question], query: Query) -> list[int]:
    """Return the numbers of the questions with a candidate that the address asks for."""
    source, label = query.get("source"), query.get("label")
    return [
        number
        for number, question in enumerate(questions)
        if any(_matches_filter(candidate, source, label) for candidate in question.candidates)
    ]


def _list_address(query: Query) -> str:
    own = {key: query[key] for key in QUERY if key in query}
    return "?" + urlencode(own) if own else ""


def _matches_filter(candidate: Candidate, source: str | None, label: str | None) -> bool:
    return (source is None or (candidate.source or "not said") == source) and (
        label is None or label in candidate.labels
    )


def _question_line(number: int, question: Question) -> dict[str, Any]:
    last = shorten_text(question.context[-1].text) if question.context else None
    return {"question": number, "id": question.id, "last": last, "candidates": len(question.candidates)}


def _read_card(test_set: TestSet) -> dict[str, Any] | None:
    """Return the card of a test set, if it has a valid one."""
    if test_set.card is None:
        return None
    try:
        card = orjson.loads(test_set.card.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    return card if isinstance(card, dict) else None


async def question_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Show one question with all its candidates."""
    test_set = context.library.set(request.path_params["set"])
    questions = await _load_questions(context, test_set)
    number = request.path_params["question"]
    n = int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else -1
    if not 0 <= n < len(questions):
        raise SpecError(f"{test_set.name} has no question {number[:20]!r}; it has {len(questions):,}, numbered from 0")
    entry = questions[n]
    data: dict[str, Any] = {
        "name": test_set.name,
        "question": n,
        "id": entry.id,
        "dialogue": entry.dialogue,
        "split": entry.split,
        "context": [{"speaker": turn.speaker, "text": turn.text} for turn in entry.context],
        "situation": statement_objects(entry.situation),
        "candidates": _candidate_objects(entry),
        "position": find_position(np.array(_find_questions(questions, query), dtype=np.int64), n),
    }
    return PageContent("question.html", data, {"here": _list_address(query)})


def _candidate_objects(question: Question) -> list[dict[str, Any]]:
    try:
        best = find_right_candidates(question)
    except InputError:  # not graded yet
        best = frozenset()
    return [
        {
            "text": candidate.text,
            "id": candidate.id,
            "grade": candidate.grade,
            "right": n in best,
            "source": candidate.source,
            "labels": list(candidate.labels),
            "meta": {str(key): value for key, value in candidate.meta.items()},
        }
        for n, candidate in enumerate(question.candidates)
    ]
