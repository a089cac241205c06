"""Two systems of a run, item by item: who wins how often, by how much, and what each said."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import numpy as np
from starlette.requests import Request

from rejoinder.comparison.compare import SystemDifference
from rejoinder.errors import RejoinderError, SpecError
from rejoinder.reports.findings import RunFindings
from rejoinder.server.api.endpoint import status_of
from rejoinder.server.api.rank import json_number
from rejoinder.server.api.select import estimate_object
from rejoinder.server.pages.cache import NotYetError
from rejoinder.server.pages.context import PageContent, PageContext, Query, paginate, wants_page
from rejoinder.server.pages.items import choose_column, matching_items
from rejoinder.server.pages.replies import load_index
from rejoinder.server.pages.reply_filter import search_terms
from rejoinder.server.pages.reply_index import ReplyIndex
from rejoinder.server.pages.runs import load_findings
from rejoinder.server.pages.word_diff import diff_words

OUTCOMES = ("first", "second", "tie")


async def compare_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Compare two systems on the items that both answered, largest differences first; an error keeps the form."""
    name = request.path_params["run"]
    index = await load_index(context, name)
    data: dict[str, Any] = {"name": name, "systems": list(index.scores.systems), "metrics": list(index.scores.facts)}
    try:
        data |= _compare_systems(index, query)
    except RejoinderError as error:
        if not wants_page(request):
            raise
        data |= {"problem": str(error), "first": query.get("first"), "second": query.get("second")}
        data |= {"metric": query.get("metric"), "items": [], "n": 0}
        return PageContent("compare.html", data, {"path": f"/runs/{quote(name)}/compare"}, status_of(error))
    waiting = False
    try:
        findings = await load_findings(context, name)
        data["difference"] = _find_difference(findings, data["metric"], data["first"], data["second"])
    except NotYetError:  # of a large run; the replies are there already
        if not wants_page(request):
            raise
        data["difference"], waiting = None, True
    return PageContent("compare.html", data, {"path": f"/runs/{quote(name)}/compare", "waiting": waiting})


def _compare_systems(index: ReplyIndex, query: Query) -> dict[str, Any]:
    systems = list(index.scores.systems)
    if len(systems) < 2:
        raise SpecError(
            f"this run has only one system ({systems[0] if systems else 'none'}); there is nothing to compare"
        )
    first = index.check_name(query.get("first", systems[0]), systems, "system")
    others = [system for system in systems if system != first]
    second = index.check_name(query.get("second", others[0]), others, "other system")
    metric = choose_column(index, query.get("metric"))
    index.check_name(metric, list(index.scores.facts), "metric")
    scores, codes = index.item_scores(metric), [systems.index(one) for one in (first, second)]
    gaps = scores[:, codes[0]] - scores[:, codes[1]]
    both = (index.reply_matrix[:, codes] >= 0).all(axis=1)
    signed = gaps * (-1.0 if index.higher_is_better(metric) is False else 1.0)
    wins = {"first": both & (signed > 0), "second": both & (signed < 0), "tie": both & (signed == 0)}
    mask = both & wins[query["only"]] if "only" in query else both
    numbers = np.flatnonzero(mask)
    if words := search_terms(query.get("q", "")):
        numbers = numbers[np.isin(numbers, matching_items(index, words))]
    sizes = np.nan_to_num(np.abs(gaps[numbers]), nan=-1.0)
    part, position = paginate(numbers[np.argsort(-sizes, kind="stable")], query.get("page", 1))
    return {
        "metric": metric,
        "first": first,
        "second": second,
        "only": query.get("only"),
        "q": query.get("q", ""),
        "wins": {key: int(won.sum()) for key, won in wins.items()},
        "directed": index.higher_is_better(metric) is not None,
        "problem": None,
        **position,
        "items": [_pair_object(index, number, codes, metric) for number in part.tolist()],
    }


def _pair_object(index: ReplyIndex, number: int, codes: list[int], metric: str) -> dict[str, Any]:
    """Return the last turn, both replies, the difference of their scores, and the words in which they differ."""
    rows = [int(index.reply_matrix[number, code]) for code in codes]
    scores = [float(index.numbers[metric][row]) for row in rows]
    replies = [
        {"reply": row, "text": index.replies[row], "score": json_number(score)}
        for row, score in zip(rows, scores, strict=True)
    ]
    return {
        "item": index.item_ids[number],
        "number": number,
        "last": index.last_turns[number] or None,
        "first": replies[0],
        "second": replies[1],
        "difference": json_number(scores[0] - scores[1]),
        "diff": [part._asdict() for part in diff_words(index.replies[rows[0]], index.replies[rows[1]])],
    }


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
