"""A run beside people: how far each metric follows them, and a scatter whose points lead to their conversations."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from rejoinder.comparison.trust import Trust
from rejoinder.comparison.trust_tables import agreement_table, sentence
from rejoinder.errors import SpecError, nearest
from rejoinder.reports.findings import Findings
from rejoinder.reports.people import aspects
from rejoinder.reports.scatter import Scatter, Target, scatter
from rejoinder.server.pages.context import House, Query, Shown, table_object
from rejoinder.server.pages.replies import Replies, short
from rejoinder.server.pages.runs import findings_of

MOST_POINTS = 800


async def people(house: House, request: Request, query: Query) -> Shown:
    """Trust in one aspect, and one metric against the ratings."""
    name = request.path_params["run"]
    findings = await findings_of(house, name)
    told: dict[str, Any] = {"name": name, "aspect": None, "metric": None, "aspects": [], "metrics": []}
    told |= {"sentence": None, "table": None, "points": [], "drawn": 0}
    if not findings.trusts:
        return Shown("people.html", told, {"shown": None, "chart": None, "part": None})
    found = trust_of(findings, query.get("aspect"))
    specs = list(findings.scores.metrics)
    spec = chosen(query.get("metric"), specs, "metric")
    part = next(one for one in aspects(findings) if one.name == found.evidence.aspect)
    chart, points = _chart(name, findings, found, spec)
    told |= {
        "aspect": found.evidence.aspect,
        "metric": spec,
        "aspects": [one.evidence.aspect for one in findings.trusts],
        "metrics": specs,
        "sentence": sentence(found),
        "table": table_object(agreement_table(found)),
        "points": points,
        "drawn": chart.drawn if chart else 0,
    }
    return Shown("people.html", told, {"shown": agreement_table(found), "chart": chart, "part": part})


def trust_of(findings: Findings, aspect: str | None) -> Trust:
    """What the ratings of an aspect say, of the first one where none is named."""
    known = {one.evidence.aspect: one for one in findings.trusts}
    return known[chosen(aspect, list(known), "aspect")]


def chosen(wanted: str | None, known: list[str], what: str) -> str:
    """What was asked for, if it is there; the first where nothing was asked for."""
    if not known or (wanted is not None and wanted not in known):
        raise SpecError(f"this run has no {what} {wanted or 'at all'!r}; {nearest(wanted or '', known)}")
    return wanted if wanted is not None else known[0]


def _chart(name: str, findings: Findings, found: Trust, spec: str) -> tuple[Scatter | None, list[dict[str, Any]]]:
    evidence, replies = found.evidence, Replies(findings)
    scores = -evidence.scores[spec] if spec in evidence.turned else evidence.scores[spec]
    places = [replies.place[response] for response in evidence.responses]
    points = [
        {"reply": place, "system": system, "rating": rating, "score": None if score != score else score}
        for place, system, rating, score in zip(
            places, evidence.systems, evidence.mean.tolist(), scores.tolist(), strict=True
        )
    ]
    targets = [
        Target(f"/runs/{quote(name)}/replies/{one['reply']}", f"{one['system']}: {short(replies.text(one['reply']))}")
        for one in points
    ]
    labels = (f"mean rating: {evidence.aspect}", spec)
    return scatter("scatter", evidence.mean, scores, labels, most=MOST_POINTS, targets=targets), points
