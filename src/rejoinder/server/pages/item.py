"""One item: all replies to it side by side, and its neighbours in the list that it was opened from."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from rejoinder.errors import SpecError
from rejoinder.json_schema import Schema
from rejoinder.server.pages import items, systems
from rejoinder.server.pages.context import PageContent, PageContext, Query
from rejoinder.server.pages.items import choose_column, find_items
from rejoinder.server.pages.replies import find_position, item_object, load_index, response_object
from rejoinder.server.pages.reply_index import ReplyIndex, Rows
from rejoinder.server.pages.systems import choose_pair, find_pairs
from rejoinder.server.pages.word_diff import diff_words

_OUTCOMES = {1.0: "better", 0.0: "same", -1.0: "worse"}
PAIR = ("first", "second")
QUERY: dict[str, Schema] = {**systems.QUERY, **items.QUERY, "list": {"type": "string", "enum": ["compare"]}}


async def item_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Show all replies to one item side by side, each against a baseline, and two of them word by word."""
    name, text = request.path_params["run"], request.path_params["item"]
    index = await load_index(context, name)
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1
    if not 0 <= number < len(index.item_ids):
        raise SpecError(f"this run has no item {text[:20]}; it has {len(index.item_ids):,}, numbered from 0")
    rows = index.item_rows(number)
    names = list(dict.fromkeys(index.system(row) for row in rows))
    first, second = _choose_replies(index, names, query)
    listed = await run_in_threadpool(_find_listed, index, query)
    data: dict[str, Any] = {
        "name": name,
        **item_object(index, number),
        "replies": [_compared_object(index, row, rows, first) for row in rows],
        "first": first,
        "second": second,
        "diff": [part._asdict() for part in _diff_of(index, rows, first, second)],
        "position": find_position(listed, number),
    }
    kept = {key: query[key] for key in QUERY if key in query}
    back = {key: value for key, value in kept.items() if key in (systems.QUERY if "list" in kept else items.QUERY)}
    extra = {
        "path": f"/runs/{quote(name)}/items",
        "names": names,
        "silent": [system for system in index.scores.systems if system not in names],
        "here": "?" + urlencode(kept) if kept else "",
        "back": f"/runs/{quote(name)}/{query.get('list', 'items')}" + ("?" + urlencode(back) if back else ""),
        "kept": {key: value for key, value in kept.items() if key not in ("first", "second")},
    }
    return PageContent("item.html", data, extra)


def _choose_replies(index: ReplyIndex, names: list[str], query: Query) -> tuple[str, str | None]:
    """Return the two systems to compare: those of the address, unless they have no reply to this item."""
    asked = [index.check_name(query[key], list(index.scores.systems), "system") for key in PAIR if key in query]
    first = query["first"] if query.get("first") in names else names[0]
    others = [one for one in names if one != first]
    second = next((one for one in reversed(asked) if one in others), next(iter(others), None))
    return first, second


def _find_listed(index: ReplyIndex, query: Query) -> Rows:
    """Return the items of the list that the address names, in its order; without one, those of the run in its order."""
    if "list" in query:
        return find_pairs(index, choose_pair(index, query), query)
    return find_items(index, choose_column(index, query.get("metric")), {"sort": "item", **query})


def _first_row(index: ReplyIndex, rows: list[int], system: str) -> int:
    return next(row for row in rows if index.system(row) == system)


def _diff_of(index: ReplyIndex, rows: list[int], first: str, second: str | None) -> list[Any]:
    if second is None:
        return []
    old, new = (index.replies[_first_row(index, rows, one)] for one in (first, second))
    return list(diff_words(old, new))


def _compared_object(index: ReplyIndex, row: int, rows: list[int], base: str) -> dict[str, Any]:
    """Return a reply with its scores, which of them are the best, and how each compares with the baseline's."""
    line, against = response_object(index, row), _first_row(index, rows, base)
    best, outcomes = [], {}
    for column in index.numbers:
        direction = index.higher_is_better(column)
        if direction is None:
            continue
        sign = 1.0 if direction else -1.0
        values = sign * index.numbers[column][np.array(rows, dtype=np.int64)]
        own = sign * float(index.numbers[column][row])
        if len(rows) > 1 and not np.isnan(values).all() and own == np.nanmax(values) and np.nanmin(values) < own:
            best.append(column)
        gap = own - sign * float(index.numbers[column][against])
        if index.system(row) != base and not np.isnan(gap):
            outcomes[column] = _OUTCOMES[float(np.sign(gap))]
    counts = {word: sum(one == word for one in outcomes.values()) for word in ("better", "same", "worse")}
    return {**line, "best": best, "outcomes": outcomes, "against_first": counts}
