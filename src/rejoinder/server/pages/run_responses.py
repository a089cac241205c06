"""The replies of a run: listed by score, by rating or by disagreement of the two, and one with its conversation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rejoinder.comparison.trust import Trust
from rejoinder.data.objects import to_object
from rejoinder.errors import SpecError
from rejoinder.reports.findings import RunFindings
from rejoinder.server.api.rank import json_number
from rejoinder.stats.correlation import midranks
from rejoinder.table import shorten_text

PAGE_SIZE = 50
MIN_DISAGREEMENT = 0.3  # difference of the two percentiles from which it is called disagreement
ORDERS = ("score", "rating", "apart")


class RunResponses:
    """The replies of a run by their positions in it."""

    def __init__(self, findings: RunFindings) -> None:
        self.findings = findings
        self.place = {response: i for i, response in enumerate(findings.scores.responses)}

    def text(self, place: int) -> str:
        """Return the text of a reply."""
        return self.findings.data.responses[self.findings.scores.responses[place]].text

    def system(self, place: int) -> str:
        """Return the system of a reply."""
        scores = self.findings.scores
        return scores.systems[int(scores.system_codes[place])]

    def ratings(self, trust: Trust | None) -> Mapping[int, float]:
        """Return the mean rating of each rated reply."""
        if trust is None:
            return {}
        evidence = trust.evidence
        return {self.place[r]: float(v) for r, v in zip(evidence.responses, evidence.mean, strict=True)}

    def apart(self, spec: str, trust: Trust | None) -> dict[int, tuple[float, float]]:
        """Return the share of rated replies that each one is better than, by score and by rating."""
        if trust is None:
            return {}
        scores, ratings = trust.evidence.scores[spec], trust.evidence.mean
        rated = np.flatnonzero(~(np.isnan(scores) | np.isnan(ratings)))
        if len(rated) < 3:
            return {}
        by_score, by_rating = ((midranks(x[rated]) - 1) / (len(rated) - 1) for x in (scores, ratings))
        responses = [trust.evidence.responses[i] for i in rated.tolist()]
        return {self.place[r]: (float(s), float(p)) for r, s, p in zip(responses, by_score, by_rating, strict=True)}


def list_responses(
    replies: RunResponses, spec: str, trust: Trust | None, system: str | None, only_apart: bool, order: str
) -> list[dict[str, Any]]:
    """List replies, filtered and sorted: worst score or rating first, or largest disagreement first."""
    column = replies.findings.scores[spec]
    ratings, apart = replies.ratings(trust), replies.apart(spec, trust)
    lines = []
    for place in range(len(column)):
        by_score, by_rating = apart.get(place, (math.nan, math.nan))
        if system is not None and replies.system(place) != system:
            continue
        if only_apart and not abs(by_score - by_rating) >= MIN_DISAGREEMENT:
            continue
        lines.append(
            {
                "reply": place,
                "system": replies.system(place),
                "text": shorten_text(replies.text(place)),
                "score": json_number(float(column[place])),
                "rating": ratings.get(place),
                "ahead_by_score": json_number(by_score),
                "ahead_by_rating": json_number(by_rating),
            }
        )
    better = replies.findings.scores.facts[spec].higher_is_better
    sign = -1.0 if better is False else 1.0
    lines.sort(key=lambda line: _sort_key(line, order, sign))
    return lines


def _sort_key(line: Mapping[str, Any], order: str, sign: float) -> float:
    if order == "apart":
        gap = line["ahead_by_score"], line["ahead_by_rating"]
        return math.inf if None in gap else -abs(gap[0] - gap[1])
    value = line["rating"] if order == "rating" else line["score"]
    return math.inf if value is None else value if order == "rating" else sign * value


def paginate(lines: Sequence[Any], number: int) -> tuple[Sequence[Any], dict[str, int]]:
    """Return one page of a long list, and its position."""
    pages = max(1, math.ceil(len(lines) / PAGE_SIZE))
    if number > pages:
        raise SpecError(f"there is no page {number}; the last page is {pages}")
    return lines[(number - 1) * PAGE_SIZE : number * PAGE_SIZE], {"page": number, "pages": pages, "n": len(lines)}


def conversation_object(replies: RunResponses, place: int) -> dict[str, Any]:
    """Return one reply with everything known about it, and the other systems' replies to the same item."""
    findings = replies.findings
    if not 0 <= place < len(findings.scores):
        raise SpecError(f"this run has no reply {place}; it has {len(findings.scores):,}")
    pair = findings.data.pair(findings.scores.responses[place])
    same = [n for n, item in enumerate(findings.scores.items) if item == pair.item.id]
    item = to_object(pair.item)
    return {
        "reply": place,
        "response": pair.response.id,
        "item": pair.item.id,
        "dialogue": pair.item.dialogue,
        "context": [{"speaker": turn.speaker, "text": turn.text} for turn in pair.item.context],
        "situation": [one.text for one in pair.item.situation],
        "references": [{"text": one.text, "source": one.source} for one in pair.item.references],
        "future": item.get("future", []),
        "replies": [_response_object(replies, n, n == place) for n in same],
        "flags": list(findings.flags.get(pair.response.id, ())),
    }


def _response_object(replies: RunResponses, place: int, here: bool) -> dict[str, Any]:
    scores = replies.findings.scores
    return {
        "reply": place,
        "system": replies.system(place),
        "text": replies.text(place),
        "here": here,
        "scores": {spec: json_number(float(column[place])) for spec, column in scores.values.items()},
        "matched": {spec: places[place] for spec, places in scores.matched.items()},
        "ratings": {
            trust.evidence.aspect: value
            for trust in replies.findings.trusts
            if (value := replies.ratings(trust).get(place)) is not None
        },
    }
