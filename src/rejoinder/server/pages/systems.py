"""Two systems of a run, item by item: who wins how often, by how much, and what each said."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import numpy as np
from starlette.requests import Request

from rejoinder.comparison.slices import SystemDifference
from rejoinder.errors import RejoinderError, SpecError
from rejoinder.json_schema import Schema
from rejoinder.reports.findings import RunFindings
from rejoinder.server.api.endpoint import status_of
from rejoinder.server.api.rank import json_number
from rejoinder.server.api.select import estimate_object
from rejoinder.server.pages.cache import NotYetError
from rejoinder.server.pages.context import PageContent, PageContext, Query, paginate, wants_page
from rejoinder.server.pages.items import choose_column, matching_items
from rejoinder.server.pages.replies import load_index
from rejoinder.server.pages.reply_filter import search_terms
from rejoinder.server.pages.reply_index import Mask, ReplyIndex, Rows, Values
from rejoinder.server.pages.runs import load_findings
from rejoinder.server.pages.word_diff import diff_words

OUTCOMES = ("first", "second", "tie")
_WORD: Schema = {"type": "string", "maxLength": 300}
QUERY: dict[str, Schema] = {
    "first": _WORD,
    "second": _WORD,
    "metric": _WORD,
    "only": {"type": "string", "enum": list(OUTCOMES)},
    "q": _WORD,
}


async def compare_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Compare two systems on the items that both answered, largest differences first; an error keeps the form."""
    name = request.path_params["run"]
    index = await load_index(context, name)
    path = f"/runs/{quote(name)}/compare"
    data: dict[str, Any] = {"name": name, "systems": list(index.scores.systems), "metrics": list(index.scores.facts)}
    try:
        data |= _compare_systems(index, query)
    except RejoinderError as error:
        if not wants_page(request):
            raise
        data |= {"problem": str(error), "first": query.get("first"), "second": query.get("second")}
        data |= {"metric": query.get("metric"), "items": [], "n": 0}
        status = status_of(error) if len(data["systems"]) > 1 else 200  # the page says why there is nothing to compare
        return PageContent("compare.html", data, {"path": path}, status)
    waiting = False
    try:
        findings = await load_findings(context, name)
        data["difference"] = _find_difference(findings, data["metric"], data["first"], data["second"])
    except NotYetError:  # of a large run; the replies are there already
        if not wants_page(request):
            raise
        data["difference"], waiting = None, True
    asked = {key: data[key] for key in QUERY if data[key]}
    return PageContent(
        "compare.html", data, {"path": path, "waiting": waiting, "here": "?" + urlencode({"list": "compare", **asked})}
    )


class SystemPair(NamedTuple):
    """Two systems of a run and the metric under which they are compared."""

    first: str
    second: str
    metric: str


def choose_pair(index: ReplyIndex, query: Query) -> SystemPair:
    """Return the systems and the metric of an address; the first ones of the run where it names none."""
    systems = list(index.scores.systems)
    if len(systems) < 2:
        raise SpecError(
            f"this run has only one system ({systems[0] if systems else 'none'}); there is nothing to compare"
        )
    first = index.check_name(query.get("first", systems[0]), systems, "system")
    others = [system for system in systems if system != first]
    if query.get("second") == first:
        raise SpecError(f"both systems are {first!r}; choose two that differ")
    second = index.check_name(query.get("second", others[0]), others, "other system")
    metric = choose_column(index, query.get("metric"))
    return SystemPair(first, second, index.check_name(metric, list(index.scores.facts), "metric"))


def find_pairs(index: ReplyIndex, pair: SystemPair, query: Query) -> Rows:
    """Return the items that both systems answered and the address asks for, the largest differences first."""
    wins, gaps = _find_wins(index, pair)
    both = wins[query["only"]] if "only" in query else _answered_by_both(index, pair)
    numbers = np.flatnonzero(both)
    if words := search_terms(query.get("q", "")):
        numbers = numbers[np.isin(numbers, matching_items(index, words))]
    sizes = np.nan_to_num(np.abs(gaps[numbers]), nan=-1.0)
    ordered: Rows = numbers[np.argsort(-sizes, kind="stable")]
    return ordered


def _codes(index: ReplyIndex, pair: SystemPair) -> list[int]:
    systems = list(index.scores.systems)
    return [systems.index(pair.first), systems.index(pair.second)]


def _answered_by_both(index: ReplyIndex, pair: SystemPair) -> Mask:
    first, second = (index.reply_matrix[:, code] >= 0 for code in _codes(index, pair))
    answered: Mask = first & second
    return answered


def _find_wins(index: ReplyIndex, pair: SystemPair) -> tuple[dict[str, Mask], Values]:
    """Return where each system wins and where both tie, and the scores of the first minus those of the second."""
    scores, codes = index.item_scores(pair.metric), _codes(index, pair)
    gaps = scores[:, codes[0]] - scores[:, codes[1]]
    both = _answered_by_both(index, pair)
    signed = gaps * (-1.0 if index.higher_is_better(pair.metric) is False else 1.0)
    return {"first": both & (signed > 0), "second": both & (signed < 0), "tie": both & (signed == 0)}, gaps


def _compare_systems(index: ReplyIndex, query: Query) -> dict[str, Any]:
    pair = choose_pair(index, query)
    part, position = paginate(find_pairs(index, pair, query), query.get("page", 1))
    return {
        "metric": pair.metric,
        "first": pair.first,
        "second": pair.second,
        "only": query.get("only"),
        "q": query.get("q", ""),
        "wins": {key: int(won.sum()) for key, won in _find_wins(index, pair)[0].items()},
        "directed": index.higher_is_better(pair.metric) is not None,
        "problem": None,
        **position,
        "items": [_pair_object(index, number, _codes(index, pair), pair.metric) for number in part.tolist()],
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
