"""The pages of items: a list of them with every system's score, and one item with all replies side by side."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from rejoinder.errors import SpecError
from rejoinder.server.api.rank import json_number
from rejoinder.server.pages.context import PageContent, PageContext, Query, paginate
from rejoinder.server.pages.replies import column_title, item_object, load_index, response_object
from rejoinder.server.pages.reply_filter import search_terms
from rejoinder.server.pages.reply_index import Mask, ReplyIndex, Rows, Values
from rejoinder.server.pages.word_diff import diff_words
from rejoinder.table import shorten_text

TIE, NOBODY = "tie", "nobody"
SORTS = ("spread", "item", "lowest", "highest")
_OUTCOMES = {1.0: "better", 0.0: "same", -1.0: "worse"}


def choose_column(index: ReplyIndex, name: str | None) -> str:
    """Return a column of numbers: the one that was asked for, else the first that has a direction."""
    if name is not None:
        return index.check_name(name, list(index.numbers), "metric")
    directed = [one for one in index.numbers if index.higher_is_better(one) is not None]
    return directed[0] if directed else next(iter(index.numbers))


async def items_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """List the items of a run with the score of every system, the largest differences first."""
    name = request.path_params["run"]
    index = await load_index(context, name)
    metric, systems = choose_column(index, query.get("metric")), list(index.scores.systems)
    winner = query.get("winner")
    if winner is not None and winner not in (TIE, NOBODY):
        index.check_name(winner, systems, "system")
    return await run_in_threadpool(_list_items, name, index, metric, query)


def _list_items(name: str, index: ReplyIndex, metric: str, query: Query) -> PageContent:
    scores = index.item_scores(metric)
    winners = find_winners(scores, index.higher_is_better(metric))
    numbers = np.flatnonzero(_items_with(index, query.get("q", ""), query.get("winner"), winners))
    sort = query.get("sort", SORTS[0])
    numbers = numbers[np.argsort(_sort_keys(scores, sort)[numbers], kind="stable")]
    part, position = paginate(numbers, query.get("page", 1))
    systems = list(index.scores.systems)
    lines = []
    for number in part.tolist():
        best = [systems[code] for code in np.flatnonzero(winners[number]).tolist()]
        lines.append(
            {
                "number": number,
                "item": index.item_ids[number],
                "last": shorten_text(index.last_turns[number]),
                "scores": {one: json_number(float(v)) for one, v in zip(systems, scores[number], strict=True)},
                "best": best,
            }
        )
    own = {key: query[key] for key in ("q", "metric", "winner", "sort") if key in query}
    data = {"name": name, "metric": metric, "systems": systems, **position, "items": lines, "sort": sort}
    extra = {
        "path": f"/runs/{quote(name)}/items",
        "metrics": {one: column_title(one) for one in index.numbers},
        "query": own,
        "counts": _count_wins(winners, systems),
        "directed": index.higher_is_better(metric) is not None,
    }
    return PageContent("items.html", data, extra)


def find_winners(scores: Values, higher_is_better: bool | None) -> Mask:
    """Return which systems have the best score for each item; none where there is no direction or no second score."""
    several = (~np.isnan(scores)).sum(axis=1) > 1
    if higher_is_better is None or not len(scores):
        return np.zeros(scores.shape, dtype=bool)
    signed = np.where(np.isnan(scores), -np.inf, scores if higher_is_better else -scores)
    winners: Mask = (signed == signed.max(axis=1, keepdims=True)) & several[:, None]
    return winners


def _items_with(index: ReplyIndex, q: str, winner: str | None, winners: Mask) -> Mask:
    mask = np.ones(len(index.item_ids), dtype=bool)
    if words := search_terms(q):
        mask &= np.bincount(index.item_codes[index.search(words)], minlength=len(mask)) > 0
    n_best = winners.sum(axis=1)
    if winner == TIE:
        mask &= n_best > 1
    elif winner == NOBODY:
        mask &= n_best == 0
    elif winner is not None:
        mask &= winners[:, list(index.scores.systems).index(winner)] & (n_best == 1)
    return mask


def _sort_keys(scores: Values, sort: str) -> Values:
    """Numbers by which items are sorted, the smallest first; items without scores come last."""
    if sort == "item":
        return np.arange(len(scores), dtype=np.float64)
    known = ~np.isnan(scores).all(axis=1)
    low, high = (np.full(len(scores), np.nan) for _ in range(2))
    low[known], high[known] = np.nanmin(scores[known], axis=1), np.nanmax(scores[known], axis=1)
    keys = {"spread": low - high, "lowest": low, "highest": -high}[sort]
    return np.where(np.isnan(keys), np.inf, keys)


def _count_wins(winners: Mask, systems: list[str]) -> dict[str, int]:
    n_best = winners.sum(axis=1)
    alone = winners & (n_best == 1)[:, None]
    return {**dict(zip(systems, alone.sum(axis=0).tolist(), strict=True)), TIE: int((n_best > 1).sum())}


async def item_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Show all replies to one item side by side, each against a baseline, and two of them word by word."""
    name, text = request.path_params["run"], request.path_params["item"]
    index = await load_index(context, name)
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1
    if not 0 <= number < len(index.item_ids):
        raise SpecError(f"this run has no item {text[:20]}; it has {len(index.item_ids):,}, numbered from 0")
    rows = index.item_rows(number)
    names = list(dict.fromkeys(index.system(row) for row in rows))
    first = index.check_name(query.get("first", names[0]), names, "reply to this item by")
    others = [one for one in names if one != first]
    second = index.check_name(query["second"], names, "reply to this item by") if "second" in query else None
    second = second if second != first else None
    second = second or next(iter(others), None)
    data: dict[str, Any] = {
        "name": name,
        **item_object(index, number),
        "replies": [_compared_object(index, row, rows, first) for row in rows],
        "first": first,
        "second": second,
        "diff": [part._asdict() for part in _diff_of(index, rows, first, second)],
        "before": number - 1 if number else None,
        "after": number + 1 if number + 1 < len(index.item_ids) else None,
    }
    silent = [system for system in index.scores.systems if system not in names]
    extra = {
        "path": f"/runs/{quote(name)}/items",
        "names": names,
        "silent": silent,
        "here": "?" + urlencode({"first": first}),
    }
    return PageContent("item.html", data, extra)


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


def matching_items(index: ReplyIndex, words: tuple[str, ...]) -> Rows:
    """Return the items with a reply or a context that contains all words."""
    return np.unique(index.item_codes[index.search(words)])
