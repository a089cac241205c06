"""A run compared with people: how closely each metric follows them, and a scatter plot that links to conversations."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from starlette.requests import Request

from rejoinder.comparison.trust import Trust
from rejoinder.comparison.trust_tables import metric_agreement_table, trust_advice
from rejoinder.errors import SpecError, nearest
from rejoinder.reports.findings import RunFindings
from rejoinder.reports.people import aspect_sections
from rejoinder.reports.scatter import LinkTarget, ScatterDrawing, draw_scatter
from rejoinder.server.pages.context import PageContent, PageContext, Query, table_object
from rejoinder.server.pages.run_responses import RunResponses
from rejoinder.server.pages.runs import load_findings
from rejoinder.table import shorten_text

MAX_POINTS = 800


async def people_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Show how far metrics can be trusted in one aspect, and one metric against the ratings."""
    name = request.path_params["run"]
    findings = await load_findings(context, name)
    data: dict[str, Any] = {"name": name, "aspect": None, "metric": None, "aspects": [], "metrics": []}
    data |= {"sentence": None, "table": None, "points": [], "drawn": 0}
    if not findings.trusts:
        return PageContent("people.html", data, {"agreement": None, "chart": None, "part": None})
    trust = select_trust(findings, query.get("aspect"))
    specs = list(findings.scores.metrics)
    spec = choose_name(query.get("metric"), specs, "metric")
    section = next(entry for entry in aspect_sections(findings) if entry.name == trust.evidence.aspect)
    chart, points = _draw_chart(name, findings, trust, spec)
    data |= {
        "aspect": trust.evidence.aspect,
        "metric": spec,
        "aspects": [entry.evidence.aspect for entry in findings.trusts],
        "metrics": specs,
        "sentence": trust_advice(trust),
        "table": table_object(metric_agreement_table(trust)),
        "points": points,
        "drawn": chart.drawn if chart else 0,
    }
    return PageContent(
        "people.html", data, {"agreement": metric_agreement_table(trust), "chart": chart, "part": section}
    )


def select_trust(findings: RunFindings, aspect: str | None) -> Trust:
    """Return the result for an aspect; for the first one if none is named."""
    by_aspect = {trust.evidence.aspect: trust for trust in findings.trusts}
    return by_aspect[choose_name(aspect, list(by_aspect), "aspect")]


def choose_name(name: str | None, names: list[str], what: str) -> str:
    """Return the requested name if it is known; the first name if none was requested."""
    if not names or (name is not None and name not in names):
        raise SpecError(f"this run has no {what} {name or 'at all'!r}; {nearest(name or '', names)}")
    return name if name is not None else names[0]


def _draw_chart(
    name: str, findings: RunFindings, trust: Trust, spec: str
) -> tuple[ScatterDrawing | None, list[dict[str, Any]]]:
    evidence, replies = trust.evidence, RunResponses(findings)
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
            f"/runs/{quote(name)}/replies/{point['reply']}",
            f"{point['system']}: {shorten_text(replies.text(point['reply']))}",
        )
        for point in points
    ]
    labels = (f"mean rating: {evidence.aspect}", spec)
    return draw_scatter("scatter", evidence.mean, scores, labels, max_dots=MAX_POINTS, targets=targets), points
