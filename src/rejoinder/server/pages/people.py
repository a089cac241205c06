"""A run compared with people: how closely each metric follows them, scores against ratings, reliability."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import numpy as np
from starlette.requests import Request

from rejoinder.comparison.trust import Trust
from rejoinder.comparison.trust_tables import metric_agreement_table, trust_advice
from rejoinder.errors import SpecError, nearest
from rejoinder.reports.chart import Markup
from rejoinder.reports.findings import RunFindings
from rejoinder.reports.people import aspect_sections
from rejoinder.server.pages.charts import LinkTarget, ReliabilityDiagram, draw_reliability, draw_scatter
from rejoinder.server.pages.context import PageContent, PageContext, Query, table_object
from rejoinder.server.pages.replies import load_index
from rejoinder.server.pages.reply_index import ReplyIndex
from rejoinder.server.pages.runs import load_findings
from rejoinder.table import shorten_text

MAX_POINTS = 800


async def people_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Show how far metrics can be trusted in one aspect, and one metric against the ratings."""
    name = request.path_params["run"]
    index = await load_index(context, name)
    data: dict[str, Any] = {"name": name, "aspect": None, "metric": None, "aspects": [], "metrics": []}
    systems = list(index.scores.systems)
    data |= {"sentence": None, "table": None, "points": [], "drawn": 0, "reliability": []}
    findings = await load_findings(context, name)
    if not findings.trusts:
        return PageContent("people.html", data, {"part": None, "systems": systems})
    trust = select_trust(findings, query.get("aspect"))
    specs = list(findings.scores.metrics)
    spec = choose_name(query.get("metric"), specs, "metric")
    section = next(entry for entry in aspect_sections(findings) if entry.name == trust.evidence.aspect)
    chart, drawn = _draw_chart(name, index, trust.evidence.aspect, spec)
    reliability = _draw_reliability(index, trust.evidence.aspect, spec)
    points = _list_points(index, trust.evidence.aspect, spec)
    data |= {
        "aspect": trust.evidence.aspect,
        "metric": spec,
        "aspects": [entry.evidence.aspect for entry in findings.trusts],
        "metrics": specs,
        "sentence": trust_advice(trust),
        "table": table_object(metric_agreement_table(trust)),
        "points": points,
        "drawn": drawn,
        "reliability": [band._asdict() for band in reliability.bands] if reliability else [],
    }
    extra = {"agreement": metric_agreement_table(trust), "chart": chart, "part": section, "diagram": reliability}
    return PageContent("people.html", data, {**extra, "systems": systems})


def select_trust(findings: RunFindings, aspect: str | None) -> Trust:
    """Return the result for an aspect; for the first one if none is named."""
    by_aspect = {trust.evidence.aspect: trust for trust in findings.trusts}
    return by_aspect[choose_name(aspect, list(by_aspect), "aspect")]


def choose_name(name: str | None, names: list[str], what: str) -> str:
    """Return the requested name if it is known; the first name if none was requested."""
    if not names or (name is not None and name not in names):
        raise SpecError(f"this run has no {what} {name or 'at all'!r}; {nearest(name or '', names)}")
    return name if name is not None else names[0]


def _list_points(index: ReplyIndex, aspect: str, spec: str) -> list[dict[str, Any]]:
    """The rated replies with their mean rating and their score."""
    ratings, scores = _rating_column(index, aspect), index.scores[spec]
    return [
        {
            "reply": row,
            "system": index.system(row),
            "rating": float(ratings[row]),
            "score": None if np.isnan(scores[row]) else float(scores[row]),
        }
        for row in np.flatnonzero(~np.isnan(ratings)).tolist()
    ]


def _rating_column(index: ReplyIndex, aspect: str) -> Any:
    """The ratings of an aspect; none where whole dialogues were rated."""
    return index.ratings.get(aspect, np.full(len(index), np.nan))


def _draw_chart(name: str, index: ReplyIndex, aspect: str, spec: str) -> tuple[Markup | None, int]:
    def target(row: int) -> LinkTarget:
        text = f"{index.system(row)}: {shorten_text(index.replies[row])}"
        return LinkTarget(f"/runs/{quote(name)}/replies/{row}", text)

    labels = (f"mean rating: {aspect}", spec)
    ratings, codes = _rating_column(index, aspect), index.scores.system_codes
    drawing = draw_scatter(ratings, index.scores[spec], codes, labels, target, MAX_POINTS)
    return drawing or (None, 0)


def _draw_reliability(index: ReplyIndex, aspect: str, spec: str) -> ReliabilityDiagram | None:
    bounds = index.scores.facts[spec].range
    rating = f"mean rating: {aspect}" + (" (0 to 1)" if bounds == (0.0, 1.0) else "")
    return draw_reliability(index.scores[spec], _rating_column(index, aspect), bounds, (spec, rating))
