"""The list of items, with every system's score; its filter is the address."""

from __future__ import annotations

from urllib.parse import quote, urlencode

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from rejoinder.json_schema import Schema
from rejoinder.server.api.rank import json_number
from rejoinder.server.pages.context import PageContent, PageContext, Query, paginate
from rejoinder.server.pages.replies import column_title, load_index
from rejoinder.server.pages.reply_filter import search_terms
from rejoinder.server.pages.reply_index import Mask, ReplyIndex, Rows, Values
from rejoinder.table import shorten_text

TIE, NOBODY = "tie", "nobody"
SORTS = ("spread", "item", "lowest", "highest")
_WORD: Schema = {"type": "string", "maxLength": 300}
QUERY: dict[str, Schema] = {
    "q": _WORD,
    "metric": _WORD,
    "winner": _WORD,
    "sort": {"type": "string", "enum": list(SORTS)},
}


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
    return await run_in_threadpool(_list_items, name, index, query)


def find_items(index: ReplyIndex, metric: str, query: Query) -> Rows:
    """Return the numbers of the items that the address of a list asks for, in its order."""
    winner = query.get("winner")
    if winner is not None and winner not in (TIE, NOBODY):
        index.check_name(winner, list(index.scores.systems), "system")
    scores = index.item_scores(metric)
    winners = find_winners(scores, index.higher_is_better(metric))
    numbers = np.flatnonzero(_items_with(index, query.get("q", ""), winner, winners))
    ordered: Rows = numbers[np.argsort(_sort_keys(scores, query.get("sort", SORTS[0]))[numbers], kind="stable")]
    return ordered


def _list_items(name: str, index: ReplyIndex, query: Query) -> PageContent:
    metric = choose_column(index, query.get("metric"))
    scores = index.item_scores(metric)
    winners, sort = find_winners(scores, index.higher_is_better(metric)), query.get("sort", SORTS[0])
    part, position = paginate(find_items(index, metric, query), query.get("page", 1))
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
    own = {key: query[key] for key in QUERY if key in query}
    data = {"name": name, "metric": metric, "systems": systems, **position, "items": lines, "sort": sort}
    extra = {
        "path": f"/runs/{quote(name)}/items",
        "metrics": {one: column_title(one) for one in index.numbers},
        "query": own,
        "here": "?" + urlencode({**own, "sort": sort}),
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


def matching_items(index: ReplyIndex, words: tuple[str, ...]) -> Rows:
    """Return the items with a reply or a context that contains all words."""
    return np.unique(index.item_codes[index.search(words)])
