"""The pages on which replies are read: a list, one conversation, and two systems side by side."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from rejoinder.comparison.compare import SystemDifference
from rejoinder.errors import SpecError
from rejoinder.reports.findings import Findings
from rejoinder.server.api.rank import json_number
from rejoinder.server.api.select import estimate_object
from rejoinder.server.pages.context import PageContent, PageContext, Query
from rejoinder.server.pages.people import choose_name, select_trust
from rejoinder.server.pages.replies import (
    MIN_DISAGREEMENT,
    ORDERS,
    RunResponses,
    conversation_object,
    list_responses,
    paginate,
)
from rejoinder.server.pages.runs import load_findings


async def replies(house: PageContext, request: Request, query: Query) -> PageContent:
    """The replies of a run, filtered: by system, and to where metric and people disagree."""
    name = request.path_params["run"]
    findings = await load_findings(house, name)
    specs, systems = list(findings.scores.metrics), list(findings.scores.systems)
    spec = choose_name(query.get("metric"), specs, "metric")
    trust = select_trust(findings, query.get("aspect")) if findings.trusts else None
    system = choose_name(query["system"], systems, "system") if "system" in query else None
    only = query.get("only") == "apart"
    order = query.get("order") or ("apart" if only else "score")
    lines = list_responses(RunResponses(findings), spec, trust, system, only, order)
    shown, at = paginate(lines, query.get("page", 1))
    told: dict[str, Any] = {
        "name": name,
        "metric": spec,
        "aspect": trust.evidence.aspect if trust else None,
        "system": system,
        "only": "apart" if only else None,
        "order": order,
        **at,
        "replies": list(shown),
        "metrics": specs,
        "systems": systems,
        "aspects": [one.evidence.aspect for one in findings.trusts],
    }
    return PageContent(
        "replies.html", told, {"orders": ORDERS, "far": MIN_DISAGREEMENT, "path": f"/runs/{name}/replies"}
    )


async def reply(house: PageContext, request: Request, query: Query) -> PageContent:
    """One reply in its conversation."""
    name, number = request.path_params["run"], request.path_params["reply"]
    findings = await load_findings(house, name)
    place = int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else -1
    told = {
        "name": name,
        **conversation_object(RunResponses(findings), place),
        "metrics": dict(findings.scores.metrics),
    }
    return PageContent("reply.html", told)


async def compare(house: PageContext, request: Request, query: Query) -> PageContent:
    """Two systems, reply by reply on the items that both answered, the largest differences first."""
    name = request.path_params["run"]
    findings = await load_findings(house, name)
    systems, specs = list(findings.scores.systems), list(findings.scores.metrics)
    if len(systems) < 2:
        raise SpecError(f"{name} has one system ({systems[0] if systems else 'none'}): nothing to compare it with")
    first = choose_name(query.get("first"), systems, "system")
    second = choose_name(query.get("second"), [one for one in systems if one != first], "other system")
    spec = choose_name(query.get("metric"), specs, "metric")
    shown, at = paginate(_paired_responses(findings, spec, first, second), query.get("page", 1))
    told: dict[str, Any] = {
        "name": name,
        "metric": spec,
        "first": first,
        "second": second,
        "difference": _find_difference(findings, spec, first, second),
        **at,
        "items": list(shown),
        "metrics": specs,
        "systems": systems,
    }
    return PageContent("compare.html", told, {"path": f"/runs/{name}/compare"})


def _paired_responses(findings: Findings, spec: str, first: str, second: str) -> list[dict[str, Any]]:
    """What both said to the same item, the last thing that was said to them, and the difference of their scores."""
    replies, column = RunResponses(findings), findings.scores[spec]
    of: dict[str, dict[str, int]] = {first: {}, second: {}}
    for place, item in enumerate(findings.scores.items):
        system = replies.system(place)
        if system in of:
            of[system].setdefault(item, place)
    lines: list[dict[str, Any]] = []
    for item, a in of[first].items():
        if (b := of[second].get(item)) is None:
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


def _find_difference(findings: Findings, spec: str, first: str, second: str) -> dict[str, Any] | None:
    """What ``compare`` says of the two systems, the first less the second."""
    compared = next((one for one in findings.comparisons if one.metric == spec), None)
    for one in compared.differences if compared else ():
        if {one.first, one.second} == {first, second}:
            return _difference_object(one, one.first != first)
    return None


def _difference_object(one: SystemDifference, turned: bool) -> dict[str, Any]:
    value, low, high = one.difference
    shown = type(one.difference)(-value, -high, -low) if turned else one.difference
    return {**estimate_object(shown), "p": json_number(one.corrected), "survives": bool(one.survives), "items": one.n}
