"""The pages of test sets: questions, their candidates and labels, and where each candidate came from."""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson
from starlette.requests import Request

from rejoinder.data.questions import find_right_candidates
from rejoinder.errors import InputError, SpecError
from rejoinder.server.pages.context import PageContent, PageContext, Query
from rejoinder.server.pages.library import TestSet
from rejoinder.server.pages.replies import paginate, shorten_text
from rejoinder.types import Candidate, Question


async def all_sets(house: PageContext, request: Request, query: Query) -> PageContent:
    """Every test set that is here."""
    lines = [
        {"name": one.name, "about": one.about, "licence": one.licence, "published": one.path is None}
        for one in house.library.sets().values()
    ]
    return PageContent("sets.html", {"sets": lines, "folders": [str(folder) for folder in house.library.folders]})


async def _load_questions(house: PageContext, found: TestSet) -> list[Question]:
    return await house.kept.get(("set", found, found.changed), found.read)


async def one_set(house: PageContext, request: Request, query: Query) -> PageContent:
    """A test set: what it is made of, and its questions, those with a candidate of some source or label if asked."""
    found = house.library.set(request.path_params["set"])
    questions = await _load_questions(house, found)
    source, label = query.get("source"), query.get("label")
    lines = [
        _question_line(number, question)
        for number, question in enumerate(questions)
        if any(_matches_filter(candidate, source, label) for candidate in question.candidates)
    ]
    shown, at = paginate(lines, query.get("page", 1))
    candidates = [candidate for question in questions for candidate in question.candidates]
    told: dict[str, Any] = {
        "name": found.name,
        "about": found.about,
        "licence": found.licence,
        "citation": found.citation,
        "questions": len(questions),
        "candidates": len(candidates),
        "sources": dict(Counter(one.source or "not said" for one in candidates).most_common(40)),
        "labels": dict(Counter(label for one in candidates for label in one.labels).most_common(40)),
        "grades": dict(Counter(str(one.grade) for one in candidates).most_common(12)),
        "card": _read_card(found),
        "source": source,
        "label": label,
        **at,
        "list": list(shown),
    }
    return PageContent("set.html", told, {"path": f"/sets/{found.name}"})


def _matches_filter(candidate: Candidate, source: str | None, label: str | None) -> bool:
    return (source is None or (candidate.source or "not said") == source) and (
        label is None or label in candidate.labels
    )


def _question_line(number: int, question: Question) -> dict[str, Any]:
    last = shorten_text(question.context[-1].text) if question.context else None
    return {"question": number, "id": question.id, "last": last, "candidates": len(question.candidates)}


def _read_card(found: TestSet) -> dict[str, Any] | None:
    """The card of a test set, as far as it is one."""
    if found.card is None:
        return None
    try:
        card = orjson.loads(found.card.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    return card if isinstance(card, dict) else None


async def question(house: PageContext, request: Request, query: Query) -> PageContent:
    """One question with all its candidates."""
    found = house.library.set(request.path_params["set"])
    questions = await _load_questions(house, found)
    number = request.path_params["question"]
    place = int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else -1
    if not 0 <= place < len(questions):
        raise SpecError(f"{found.name} has no question {number[:20]!r}; it has {len(questions):,}, from 0 on")
    one = questions[place]
    told: dict[str, Any] = {
        "name": found.name,
        "question": place,
        "id": one.id,
        "dialogue": one.dialogue,
        "split": one.split,
        "context": [{"speaker": turn.speaker, "text": turn.text} for turn in one.context],
        "situation": [{"text": s.text, "category": s.category, "relevant": s.relevant} for s in one.situation],
        "candidates": _candidate_objects(one),
        "before": place - 1 if place else None,
        "after": place + 1 if place + 1 < len(questions) else None,
    }
    return PageContent("question.html", told)


def _candidate_objects(one: Question) -> list[dict[str, Any]]:
    try:
        best = find_right_candidates(one)
    except InputError:  # nobody graded it yet
        best = frozenset()
    return [
        {
            "text": candidate.text,
            "id": candidate.id,
            "grade": candidate.grade,
            "right": place in best,
            "source": candidate.source,
            "labels": list(candidate.labels),
            "meta": {str(key): value for key, value in candidate.meta.items()},
        }
        for place, candidate in enumerate(one.candidates)
    ]
