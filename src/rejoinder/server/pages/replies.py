"""The pages of replies: a list, one conversation, and two systems side by side."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from rejoinder.comparison.compare import SystemDifference
from rejoinder.errors import SpecError
from rejoinder.reports.findings import RunFindings
from rejoinder.server.api.rank import json_number
from rejoinder.server.api.select import estimate_object
from rejoinder.server.pages.context import PageContent, PageContext, Query
from rejoinder.server.pages.people import choose_name, select_trust
from rejoinder.server.pages.run_responses import (
    MIN_DISAGREEMENT,
    ORDERS,
    RunResponses,
    conversation_object,
    list_responses,
    paginate,
)
from rejoinder.server.pages.runs import load_findings


async def replies_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """List the replies of a run, filtered by system or by whether metric and people disagree."""
    name = request.path_params["run"]
    findings = await load_findings(context, name)
    specs, systems = list(findings.scores.metrics), list(findings.scores.systems)
    spec = choose_name(query.get("metric"), specs, "metric")
    trust = select_trust(findings, query.get("aspect")) if findings.trusts else None
    system = choose_name(query["system"], systems, "system") if "system" in query else None
    only = query.get("only") == "apart"
    order = query.get("order") or ("apart" if only else "score")
    lines = list_responses(RunResponses(findings), spec, trust, system, only, order)
    entries, position = paginate(lines, query.get("page", 1))
    data: dict[str, Any] = {
        "name": name,
        "metric": spec,
        "aspect": trust.evidence.aspect if trust else None,
        "system": system,
        "only": "apart" if only else None,
        "order": order,
        **position,
        "replies": list(entries),
        "metrics": specs,
        "systems": systems,
        "aspects": [each.evidence.aspect for each in findings.trusts],
    }
    return PageContent(
        "replies.html", data, {"orders": ORDERS, "far": MIN_DISAGREEMENT, "path": f"/runs/{name}/replies"}
    )


async def reply_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Show one reply in its conversation."""
    name, number = request.path_params["run"], request.path_params["reply"]
    findings = await load_findings(context, name)
    n = int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else -1
    data = {
        "name": name,
        **conversation_object(RunResponses(findings), n),
        "metrics": dict(findings.scores.metrics),
    }
    return PageContent("reply.html", data)


async def compare_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Compare two systems reply by reply on the items that both answered, largest differences first."""
    name = request.path_params["run"]
    findings = await load_findings(context, name)
    systems, specs = list(findings.scores.systems), list(findings.scores.metrics)
    if len(systems) < 2:
        raise SpecError(
            f"{name} has fewer than two systems ({systems[0] if systems else 'none'}); there is nothing to compare"
        )
    first = choose_name(query.get("first"), systems, "system")
    second = choose_name(query.get("second"), [system for system in systems if system != first], "other system")
    spec = choose_name(query.get("metric"), specs, "metric")
    entries, position = paginate(_paired_responses(findings, spec, first, second), query.get("page", 1))
    data: dict[str, Any] = {
        "name": name,
        "metric": spec,
        "first": first,
        "second": second,
        "difference": _find_difference(findings, spec, first, second),
        **position,
        "items": list(entries),
        "metrics": specs,
        "systems": systems,
    }
    return PageContent("compare.html", data, {"path": f"/runs/{name}/compare"})


def _paired_responses(findings: RunFindings, spec: str, first: str, second: str) -> list[dict[str, Any]]:
    """Return, for each item that both answered, the last turn, both replies, and the difference of their scores."""
    replies, column = RunResponses(findings), findings.scores[spec]
    by_system: dict[str, dict[str, int]] = {first: {}, second: {}}
    for place, item in enumerate(findings.scores.items):
        system = replies.system(place)
        if system in by_system:
            by_system[system].setdefault(item, place)
    lines: list[dict[str, Any]] = []
    for item, a in by_system[first].items():
        if (b := by_system[second].get(item)) is None:
            continue
        context = findings.data.items[item].context
        scores = float(column[a]), float(column[b])
        lines.append(
            {
                "item": item,
                "last": context[-1].text if context else None,
                "first": {"reply": a, "text": replies.text(a), "score": json_number(scores[0])},
                "second": {"reply": b, "text": replies.text(b), "score": json_number(scores[1])},
                "difference": json_number(scores[0] - scores[1]),
            }
        )
    lines.sort(key=lambda line: 1.0 if line["difference"] is None else -abs(line["difference"]))
    return lines


def _find_difference(findings: RunFindings, spec: str, first: str, second: str) -> dict[str, Any] | None:
    """Return the difference of the two systems by ``compare``, the first minus the second."""
    comparison = next((one for one in findings.comparisons if one.metric == spec), None)
    for one in comparison.differences if comparison else ():
        if {one.first, one.second} == {first, second}:
            return _difference_object(one, one.first != first)
    return None


def _difference_object(difference: SystemDifference, reverse: bool) -> dict[str, Any]:
    value, low, high = difference.difference
    estimate = type(difference.difference)(-value, -high, -low) if reverse else difference.difference
    return {
        **estimate_object(estimate),
        "p": json_number(difference.corrected),
        "survives": bool(difference.survives),
        "items": difference.n,
    }
