"""A run beside people: how far each metric follows them, and a scatter whose points lead to their conversations."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from rejoinder.comparison.trust import Trust
from rejoinder.comparison.trust_tables import agreement_table, sentence
from rejoinder.errors import SpecError, nearest
from rejoinder.reports.findings import Findings
from rejoinder.reports.people import aspect_sections
from rejoinder.reports.scatter import LinkTarget, Scatter, draw_scatter
from rejoinder.server.pages.context import PageContent, PageContext, Query, table_object
from rejoinder.server.pages.replies import RunResponses, shorten_text
from rejoinder.server.pages.runs import load_findings

MAX_POINTS = 800


async def people(house: PageContext, request: Request, query: Query) -> PageContent:
    """Trust in one aspect, and one metric against the ratings."""
    name = request.path_params["run"]
    findings = await load_findings(house, name)
    told: dict[str, Any] = {"name": name, "aspect": None, "metric": None, "aspects": [], "metrics": []}
    told |= {"sentence": None, "table": None, "points": [], "drawn": 0}
    if not findings.trusts:
        return PageContent("people.html", told, {"shown": None, "chart": None, "part": None})
    found = select_trust(findings, query.get("aspect"))
    specs = list(findings.scores.metrics)
    spec = choose_name(query.get("metric"), specs, "metric")
    part = next(one for one in aspect_sections(findings) if one.name == found.evidence.aspect)
    chart, points = _draw_chart(name, findings, found, spec)
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
    return PageContent("people.html", told, {"shown": agreement_table(found), "chart": chart, "part": part})


def select_trust(findings: Findings, aspect: str | None) -> Trust:
    """What the ratings of an aspect say, of the first one where none is named."""
    known = {one.evidence.aspect: one for one in findings.trusts}
    return known[choose_name(aspect, list(known), "aspect")]


def choose_name(wanted: str | None, known: list[str], what: str) -> str:
    """What was asked for, if it is there; the first where nothing was asked for."""
    if not known or (wanted is not None and wanted not in known):
        raise SpecError(f"this run has no {what} {wanted or 'at all'!r}; {nearest(wanted or '', known)}")
    return wanted if wanted is not None else known[0]


def _draw_chart(name: str, findings: Findings, found: Trust, spec: str) -> tuple[Scatter | None, list[dict[str, Any]]]:
    evidence, replies = found.evidence, RunResponses(findings)
    scores = -evidence.scores[spec] if spec in evidence.turned else evidence.scores[spec]
    places = [replies.place[response] for response in evidence.responses]
    points = [
        {"reply": place, "system": system, "rating": rating, "score": None if score != score else score}
        for place, system, rating, score in zip(
            places, evidence.systems, evidence.mean.tolist(), scores.tolist(), strict=True
        )
    ]
    targets = [
        LinkTarget(
            f"/runs/{quote(name)}/replies/{one['reply']}",
            f"{one['system']}: {shorten_text(replies.text(one['reply']))}",
        )
        for one in points
    ]
    labels = (f"mean rating: {evidence.aspect}", spec)
    return draw_scatter("scatter", evidence.mean, scores, labels, max_dots=MAX_POINTS, targets=targets), points
