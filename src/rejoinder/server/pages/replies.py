"""The pages of replies: the table, and one reply in its conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from rejoinder.data.objects import to_object
from rejoinder.errors import RejoinderError, SpecError
from rejoinder.reports.chart import ChartAxis, Markup, make_axis
from rejoinder.scoring.fields import META
from rejoinder.scoring.flags import MEANINGS
from rejoinder.scoring.frames import RATING
from rejoinder.server.api.rank import json_number
from rejoinder.server.pages.charts import draw_histogram
from rejoinder.server.pages.context import (
    OtherAddressError,
    PageContent,
    PageContext,
    Query,
    paginate,
    statement_objects,
    wants_page,
)
from rejoinder.server.pages.index_reader import read_reply_index
from rejoinder.server.pages.reply_filter import (
    APART,
    CONTEXT,
    FLAGS,
    MIN_DISAGREEMENT,
    ReplyFilter,
    column_names,
    read_filter,
    shown_columns,
    sortable_names,
)
from rejoinder.server.pages.reply_index import ReplyIndex, Rows
from rejoinder.table import shorten_text

_MAX_CHOICES = 60  # values of a slice that a form offers


async def load_index(context: PageContext, name: str) -> ReplyIndex:
    """Return the replies of a scored run, read once."""
    run = context.library.run(name)
    if run.kind != "scores":
        raise RejoinderError(f"the run {name} is a {run.kind}, which has no scores of replies")
    return await context.cache.get(("index", run), lambda progress: read_reply_index(run.path, progress), "reading")


async def replies_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """List the replies of a run: searched, filtered, sorted, with the columns that the address names."""
    name = request.path_params["run"]
    index = await load_index(context, name)
    selected, path = read_filter(query, index), f"/runs/{quote(name)}/replies"
    page = query.get("page", 1)
    address = selected.address(page=page if page > 1 else None)
    if wants_page(request) and "&".join(sorted(address[1:].split("&"))) != _given_address(request):
        raise OtherAddressError(path + address)
    return await run_in_threadpool(_list_replies, name, index, selected, page, path)


def _given_address(request: Request) -> str:
    """The parameters of a request, sorted, in the form in which addresses are written here."""
    return "&".join(sorted(urlencode([pair]) for pair in request.query_params.multi_items()))


def _list_replies(name: str, index: ReplyIndex, selected: ReplyFilter, page: int, path: str) -> PageContent:
    rows = selected.rows(index)
    part, position = paginate(rows, page)
    columns = shown_columns(selected, index)
    charted = selected.sort.removeprefix("-")
    charted = charted if charted in index.numbers else next(iter(index.numbers))
    data: dict[str, Any] = {
        "name": name,
        "filter": dict_of_pairs(selected),
        "columns": list(columns),
        **position,
        "total": len(index),
        "replies": [_row_object(index, selected, columns, row) for row in part.tolist()],
    }
    extra = {
        "path": path,
        "selected": selected,
        "heads": {column: column_title(column) for column in columns},
        "conditions": selected.parts(),
        "choices": form_choices(index),
        "numeric": frozenset(index.numbers),
        "sortable": frozenset(sortable_names(index)),
        "charted": charted,
        "histogram": histogram(index, selected, charted, rows, path),
        "far": MIN_DISAGREEMENT,
    }
    return PageContent("replies.html", data, extra)


def dict_of_pairs(selected: ReplyFilter) -> dict[str, list[str]]:
    """Return the parameters of a filter by name."""
    pairs: dict[str, list[str]] = {}
    for key, value in selected.pairs():
        pairs.setdefault(key, []).append(value)
    return pairs


def column_title(name: str) -> str:
    """Return the title of a column."""
    if name.startswith(RATING):
        return f"people: {name.removeprefix(RATING)}"
    return "disagreement" if name == APART else name.removeprefix(META)


def form_choices(index: ReplyIndex) -> dict[str, Any]:
    """Return what the form of the table offers."""
    return {
        "systems": list(index.scores.systems),
        "numbers": {name: column_title(name) for name in index.numbers},
        "flags": {flag: MEANINGS[flag].partition(":")[0] if flag in MEANINGS else flag for flag in index.flags},
        "slices": {
            key: sorted(column.values) for key, column in index.slices.items() if 1 < len(column.values) <= _MAX_CHOICES
        },
        "aspects": list(index.ratings),
        "metrics": list(index.scores.facts),
        "columns": {name: column_title(name) for name in column_names(index)},
        "sorts": {name: column_title(name) for name in sortable_names(index)},
    }


def _row_object(index: ReplyIndex, selected: ReplyFilter, columns: Sequence[str], row: int) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for column in columns:
        if column in index.numbers:
            values[column] = json_number(float(index.numbers[column][row]))
        elif column in index.slices:
            values[column] = index.slices[column].text(row)
    line = {
        "reply": row,
        "response": index.scores.responses[row],
        "item": index.scores.items[row],
        "system": index.system(row),
        "text": shorten_text(index.replies[row]),
        "values": values,
    }
    if CONTEXT in columns:
        line["last"] = shorten_text(index.last_turns[int(index.item_codes[row])])
    if FLAGS in columns:
        line["flags"] = index.row_flags(row)
    if selected.apart or selected.sort.removeprefix("-") == APART:
        by_score, by_rating = index.percentiles(selected.metric, selected.aspect)
        line["ahead_by_score"] = json_number(float(by_score[row]))
        line["ahead_by_rating"] = json_number(float(by_rating[row]))
    return line


def histogram(
    index: ReplyIndex,
    selected: ReplyFilter,
    name: str,
    rows: Rows,
    path: str,
    axis: ChartAxis | None = None,
    series: int = 0,
) -> Markup | None:
    """Draw the distribution of a column among some replies, on an axis of its own or a common one.

    Its bars lead to the table at ``path`` with the filter ``selected`` and the range of the bar.
    """
    values = index.numbers[name][rows]
    values = values[np.isfinite(values)]
    if len(values) and axis is None:
        axis = make_axis([float(values.min()), float(values.max())])
    if not len(values) or axis is None:
        return None

    def link(low: float, high: float) -> str:
        return path + selected.with_range(name, low, high).address()

    label = ", ".join([column_title(name), *(selected.systems if len(selected.systems) == 1 else ())])
    drag = path + selected.with_range(name, -np.inf, np.inf).address()
    return draw_histogram(name, label, values, axis, link, drag, series)


async def reply_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Show one reply in its conversation, between its neighbours in the list that it was opened from."""
    name, number = request.path_params["run"], request.path_params["reply"]
    row = int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else -1
    conversation = await find_conversation(context, name, row)
    index = await load_index(context, name)
    selected = read_filter(query, index)
    rows = await run_in_threadpool(selected.rows, index)
    data = {"name": name, **conversation, "metrics": dict(index.scores.metrics)}
    data |= {"position": find_position(rows, row)}
    path = f"/runs/{quote(name)}/replies"
    extra = {"path": path, "here": selected.address()}
    return PageContent("reply.html", data, extra)


async def find_conversation(context: PageContext, name: str, row: int) -> dict[str, Any]:
    """Return one reply of a run with everything known about it, and the other replies to the same item."""
    index = await load_index(context, name)
    if not 0 <= row < len(index):
        raise SpecError(f"this run has no reply {row}; it has {len(index):,}, numbered from 0")
    number = int(index.item_codes[row])
    return {
        "reply": row,
        "response": index.scores.responses[row],
        **item_object(index, number),
        "replies": [response_object(index, other, other == row) for other in index.item_rows(number)],
        "flags": index.row_flags(row),
        "meta": {key.removeprefix(META): column.text(row) for key, column in index.slices.items()},
    }


def find_position(rows: Rows, row: int) -> dict[str, int | None]:
    """Return the place of a reply in a list, and its neighbours; a reply outside the list has none."""
    places = np.flatnonzero(rows == row)
    if not len(places):
        return {"place": None, "n": len(rows), "before": None, "after": None}
    place = int(places[0])
    before = int(rows[place - 1]) if place else None
    after = int(rows[place + 1]) if place + 1 < len(rows) else None
    return {"place": place + 1, "n": len(rows), "before": before, "after": after}


def item_object(index: ReplyIndex, number: int) -> dict[str, Any]:
    """Return an item: its conversation, its situation, its references, and what was said next."""
    item = index.read_item(number)
    return {
        "item": item.id,
        "number": number,
        "dialogue": item.dialogue,
        "context": [{"speaker": turn.speaker, "text": turn.text} for turn in item.context],
        "situation": statement_objects(item.situation),
        "references": [{"text": one.text, "source": one.source} for one in item.references],
        "future": to_object(item).get("future", []),
    }


def response_object(index: ReplyIndex, row: int, here: bool = False) -> dict[str, Any]:
    """Return a reply with its scores and mean ratings."""
    scores = index.scores
    return {
        "reply": row,
        "system": index.system(row),
        "text": index.replies[row],
        "here": here,
        "scores": {spec: json_number(float(column[row])) for spec, column in scores.values.items()},
        "matched": {spec: places[row] for spec, places in scores.matched.items()},
        "ratings": {aspect: float(column[row]) for aspect, column in index.ratings.items() if np.isfinite(column[row])},
    }
