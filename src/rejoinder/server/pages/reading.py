"""The pages on which replies are read: a list, one conversation, and two systems side by side."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from rejoinder.comparison.compare import Difference
from rejoinder.errors import SpecError
from rejoinder.reports.findings import Findings
from rejoinder.server.api.rank import plain
from rejoinder.server.api.select import estimate
from rejoinder.server.pages.context import House, Query, Shown
from rejoinder.server.pages.people import chosen, trust_of
from rejoinder.server.pages.replies import FAR, ORDERS, Replies, conversation, listed, page_of
from rejoinder.server.pages.runs import findings_of


async def replies(house: House, request: Request, query: Query) -> Shown:
    """The replies of a run, filtered: by system, and to where metric and people disagree."""
    name = request.path_params["run"]
    findings = await findings_of(house, name)
    specs, systems = list(findings.scores.metrics), list(findings.scores.systems)
    spec = chosen(query.get("metric"), specs, "metric")
    trust = trust_of(findings, query.get("aspect")) if findings.trusts else None
    system = chosen(query["system"], systems, "system") if "system" in query else None
    only = query.get("only") == "apart"
    order = query.get("order") or ("apart" if only else "score")
    lines = listed(Replies(findings), spec, trust, system, only, order)
    shown, at = page_of(lines, query.get("page", 1))
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
    return Shown("replies.html", told, {"orders": ORDERS, "far": FAR, "path": f"/runs/{name}/replies"})


async def reply(house: House, request: Request, query: Query) -> Shown:
    """One reply in its conversation."""
    name, number = request.path_params["run"], request.path_params["reply"]
    findings = await findings_of(house, name)
    place = int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else -1
    told = {"name": name, **conversation(Replies(findings), place), "metrics": dict(findings.scores.metrics)}
    return Shown("reply.html", told)


async def compare(house: House, request: Request, query: Query) -> Shown:
    """Two systems, reply by reply on the items that both answered, the largest differences first."""
    name = request.path_params["run"]
    findings = await findings_of(house, name)
    systems, specs = list(findings.scores.systems), list(findings.scores.metrics)
    if len(systems) < 2:
        raise SpecError(f"{name} has one system ({systems[0] if systems else 'none'}): nothing to compare it with")
    first = chosen(query.get("first"), systems, "system")
    second = chosen(query.get("second"), [one for one in systems if one != first], "other system")
    spec = chosen(query.get("metric"), specs, "metric")
    shown, at = page_of(_pairs(findings, spec, first, second), query.get("page", 1))
    told: dict[str, Any] = {
        "name": name,
        "metric": spec,
        "first": first,
        "second": second,
        "difference": _difference(findings, spec, first, second),
        **at,
        "items": list(shown),
        "metrics": specs,
        "systems": systems,
    }
    return Shown("compare.html", told, {"path": f"/runs/{name}/compare"})


def _pairs(findings: Findings, spec: str, first: str, second: str) -> list[dict[str, Any]]:
    """What both said to the same item, the last thing that was said to them, and the difference of their scores."""
    replies, column = Replies(findings), findings.scores[spec]
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
                "first": {"reply": a, "text": replies.text(a), "score": plain(scores[0])},
                "second": {"reply": b, "text": replies.text(b), "score": plain(scores[1])},
                "difference": plain(scores[0] - scores[1]),
            }
        )
    lines.sort(key=lambda line: 1.0 if line["difference"] is None else -abs(line["difference"]))
    return lines


def _difference(findings: Findings, spec: str, first: str, second: str) -> dict[str, Any] | None:
    """What ``compare`` says of the two systems, the first less the second."""
    compared = next((one for one in findings.comparisons if one.metric == spec), None)
    for one in compared.differences if compared else ():
        if {one.first, one.second} == {first, second}:
            return _told(one, one.first != first)
    return None


def _told(one: Difference, turned: bool) -> dict[str, Any]:
    value, low, high = one.difference
    shown = type(one.difference)(-value, -high, -low) if turned else one.difference
    return {**estimate(shown), "p": plain(one.corrected), "survives": bool(one.survives), "items": one.n}
