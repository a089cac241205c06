"""How scores and ratings are distributed: a matrix of systems and metrics, and a histogram per metric and system."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from rejoinder.reports.chart import ChartAxis, Markup, make_axis
from rejoinder.server.pages.charts import SERIES
from rejoinder.server.pages.context import PageContent, PageContext, Query
from rejoinder.server.pages.replies import column_title, dict_of_pairs, histogram, load_index
from rejoinder.server.pages.reply_filter import ReplyFilter, read_filter
from rejoinder.server.pages.reply_index import Mask, ReplyIndex

MAX_SYSTEMS = 24  # systems with histograms of their own
_SHADES = 9


class MatrixCell(NamedTuple):
    """The mean of one system under one column, its shade from 0 (worst) to 9 (best), and the address of the replies."""

    mean: float | None
    n: int
    shade: int | None
    address: str


class SystemHistogram(NamedTuple):
    """The histogram of one system, with its mean, its median, and the address of its replies."""

    system: str
    n: int
    mean: float | None
    median: float | None
    svg: Markup | None
    address: str


async def distributions_page(context: PageContext, request: Request, query: Query) -> PageContent:
    """Show the distribution of every column for each system, among the replies that the address selects."""
    name = request.path_params["run"]
    index = await load_index(context, name)
    return await run_in_threadpool(_show_distributions, name, index, read_filter(query, index))


def _show_distributions(name: str, index: ReplyIndex, selected: ReplyFilter) -> PageContent:
    mask, path = selected.mask(index), f"/runs/{quote(name)}/replies"
    systems = list(index.scores.systems)
    masks = {system: mask & (index.scores.system_codes == code) for code, system in enumerate(systems)}
    matrix = {column: _matrix_column(index, column, masks, selected, path) for column in index.numbers}
    charts = {column: _histograms(index, column, masks, selected, path) for column in index.numbers}
    data: dict[str, Any] = {
        "name": name,
        "filter": dict_of_pairs(selected),
        "n": int(mask.sum()),
        "total": len(index),
        "systems": systems,
        "matrix": {column: {one: cell.mean for one, cell in cells.items()} for column, cells in matrix.items()},
    }
    extra = {
        "path": path,
        "selected": selected,
        "here": selected.address(),
        "conditions": selected.parts(),
        "cells": matrix,
        "charts": charts,
        "titles": {column: column_title(column) for column in index.numbers},
        "directions": {column: index.higher_is_better(column) for column in index.numbers},
    }
    return PageContent("distributions.html", data, extra)


def _matrix_column(
    index: ReplyIndex, column: str, masks: dict[str, Mask], selected: ReplyFilter, path: str
) -> dict[str, MatrixCell]:
    """The means of all systems; shaded between the worst and the best where the column has a direction."""
    values, cells = index.numbers[column], {}
    direction = index.higher_is_better(column)
    known = {system: values[mask][~np.isnan(values[mask])] for system, mask in masks.items()}
    means = {system: float(one.mean()) for system, one in known.items() if len(one)}
    low, high = min(means.values(), default=0.0), max(means.values(), default=0.0)
    for system in masks:
        mean = means.get(system)
        shade = None
        if mean is not None and high > low and direction is not None:
            share = (mean - low) / (high - low)
            shade = round(_SHADES * (share if direction else 1 - share))
        sort = f"-{column}" if direction is False else column
        address = path + replace(selected, systems=(system,), sort=sort).address()
        cells[system] = MatrixCell(mean, len(known[system]), shade, address)
    return cells


def _histograms(
    index: ReplyIndex, column: str, masks: dict[str, Mask], selected: ReplyFilter, path: str
) -> list[SystemHistogram]:
    """One histogram per system on a common axis."""
    values = index.numbers[column]
    whole = values[np.logical_or.reduce(list(masks.values()))]
    whole = whole[np.isfinite(whole)]
    axis = make_axis([float(whole.min()), float(whole.max())]) if len(whole) else None
    return [
        _system_histogram(index, column, replace(selected, systems=(system,)), masks[system], axis, path, code)
        for code, system in enumerate(list(masks)[:MAX_SYSTEMS])
    ]


def _system_histogram(
    index: ReplyIndex, column: str, selected: ReplyFilter, mask: Mask, axis: ChartAxis | None, path: str, code: int
) -> SystemHistogram:
    values = index.numbers[column][mask]
    values = values[np.isfinite(values)]
    svg = histogram(index, selected, column, np.flatnonzero(mask), path, axis, min(code, SERIES - 1))
    mean, median = (float(values.mean()), float(np.median(values))) if len(values) else (None, None)
    address = path + replace(selected, sort=column).address()
    return SystemHistogram(selected.systems[0], len(values), mean, median, svg, address)
