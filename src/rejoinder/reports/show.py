"""The replies of a run with their contexts and scores: chosen, sorted, and as text, table or file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.comparison.slices import SliceComparison, compute_slice_means, cut_slices
from rejoinder.errors import InputError, RunError, nearest
from rejoinder.reports.reply_listing import ReplyListing
from rejoinder.scoring.expression import select_rows
from rejoinder.scoring.fields import ReplyFields
from rejoinder.scoring.frames import RATING, column_name
from rejoinder.scoring.result import Scores
from rejoinder.scoring.run import Run, load
from rejoinder.scoring.texts import read_texts
from rejoinder.table import format_count

PRINTED = 20  # replies that are printed where no number is named


class _Order(NamedTuple):
    """What replies are sorted by, and in words."""

    name: str
    sign: float
    words: str


def show(
    run: Scores | Run | str | Path,
    *,
    worst: int | None = None,
    best: int | None = None,
    sort: str | None = None,
    where: str | None = None,
    system: str | Sequence[str] | None = None,
    search: str | None = None,
    ids: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    count: int | None = None,
    by: str | None = None,
    references: bool = False,
) -> ReplyListing:
    """The replies of a run with their contexts, scores and mean ratings; by default all, in the order of the run.

    - ``run``: the run folder, or scores.
    - ``worst``: only this many replies, the worst first.
    - ``best``: only this many replies, the best first.
    - ``sort``: what decides: a metric, ``rating:ASPECT``, ``length``, ``turns``, ``meta.KEY``; by default the first
      metric that has a direction. Without ``best``, the worst (or lowest) come first.
    - ``where``: a condition, such as ``aptness<0.3 and meta.topic="refund"``.
    - ``system``: only replies of this system, or of these.
    - ``search``: only replies that contain this text, in them or in their context, in upper or lower case.
    - ``ids``: only these replies, by their ids, in this order (unless they are sorted).
    - ``metrics``: the columns: specs, or ``rating:ASPECT``; by default all.
    - ``count``: at most this many replies.
    - ``by``: also the means per slice of the chosen replies, e.g. ``meta.topic``.
    - ``references``: also the references of each item.

    >>> import rejoinder
    >>> listing = rejoinder.show("RUN", worst=2, sort="meteor", where="length>3", system="parrot")
    >>> len(listing), listing.n_selected <= listing.n_total
    (2, True)
    >>> sorted(row["meteor"] for row in listing.rows()) == [row["meteor"] for row in listing.rows()]
    True
    """
    if worst is not None and best is not None:
        raise InputError("choose the worst or the best replies, not both; ask twice for both")
    scores = load(run)
    fields = ReplyFields(scores)
    names = _choose_columns(fields, metrics)
    mask = _select(fields, where, system, search)
    listed = np.arange(len(scores)) if ids is None else _find_ids(scores, ids)
    mask &= np.isin(np.arange(len(scores)), listed)
    order = _choose_order(fields, names, worst, best, sort)
    places = _sort(fields, listed[mask[listed]], order, drop_missing=worst is not None or best is not None)
    limits = [n for n in (worst, best, count) if n is not None]
    chosen = places[: min(limits)] if limits else places
    slices = _cut(fields, mask, names, by) if by is not None else []
    columns = _make_columns(fields, chosen, names, references, by)
    title = _describe(len(chosen), int(mask.sum()), len(scores), order)
    return ReplyListing(title, columns, int(mask.sum()), len(scores), slices)


def _choose_columns(fields: ReplyFields, metrics: Sequence[str] | None) -> list[str]:
    """The names of the columns of numbers."""
    if metrics is None:
        return [*fields.scores.facts, *(RATING + aspect for aspect in fields.ratings)]
    names = []
    for name in metrics:
        if name == "rating":
            names += [RATING + aspect for aspect in fields.ratings]
        elif fields.column(name).dtype == object:
            raise InputError(f"{name} has no numbers; choose a metric: {', '.join(fields.scores.facts)}")
        else:
            names.append(fields.metric(name) or name)
    return list(dict.fromkeys(names))


def _select(
    fields: ReplyFields, where: str | None, system: str | Sequence[str] | None, search: str | None
) -> NDArray[np.bool_]:
    scores = fields.scores
    mask = np.ones(len(scores), dtype=bool)
    if system is not None:
        wanted = [system] if isinstance(system, str) else list(system)
        for name in wanted:
            if name not in scores.systems:
                raise RunError(f"the run has no system {name!r}; {nearest(name, scores.systems)}")
        mask &= np.isin(scores.system_codes, [list(scores.systems).index(name) for name in wanted])
    if where is not None:
        mask &= select_rows(where, fields)
    if search is not None:
        text = search.casefold()
        both = zip(fields.texts.replies, fields.texts.contexts, strict=True)
        mask &= np.array(
            [text in reply.casefold() or text in context.casefold() for reply, context in both], dtype=bool
        )
    return mask


def _find_ids(scores: Scores, ids: Sequence[str]) -> NDArray[np.int64]:
    """The places of replies by their ids, in the order of the ids."""
    place = {response: i for i, response in enumerate(scores.responses)}
    unknown = [one for one in ids if one not in place]
    if unknown:
        raise RunError(f"the run has no reply {unknown[0]!r} ({len(unknown):,} of {len(ids):,} ids are not known)")
    return np.array([place[one] for one in dict.fromkeys(ids)], dtype=np.int64)


def _choose_order(
    fields: ReplyFields, names: Sequence[str], worst: int | None, best: int | None, sort: str | None
) -> _Order | None:
    if worst is None and best is None and sort is None:
        return None
    facts = fields.scores.facts
    if sort is None:
        directed = [name for name in names if name.startswith(RATING) or facts[name].higher_is_better is not None]
        if not directed:
            raise InputError("no metric here has a direction, so no reply is best or worst; name one with --sort")
        sort = directed[0]
    name = fields.metric(sort) or sort
    is_rating = name == "rating" or name.startswith(RATING)
    better = facts[name].higher_is_better if name in facts else (True if is_rating else None)
    sign = (-1.0 if better is False else 1.0) * (-1.0 if best is not None else 1.0)
    first, last = ("lowest", "highest") if better is None else ("worst", "best")
    return _Order(name, sign, f"{last if best is not None else first} {name} first")


def _sort(
    fields: ReplyFields, places: NDArray[np.int64], order: _Order | None, drop_missing: bool
) -> NDArray[np.int64]:
    """The places in order; replies without the value come last, or are left out."""
    if order is None:
        return places
    column = fields.column(order.name)[places]
    if column.dtype == object:
        texts = [None if value is None else str(value) for value in column]
        ranks = {text: i for i, text in enumerate(sorted({text for text in texts if text is not None}))}
        column = np.array([np.nan if text is None else float(ranks[text]) for text in texts])
    missing = np.isnan(column)
    places_in_order = places[np.argsort(np.where(missing, np.inf, order.sign * column), kind="stable")]
    return places_in_order[: len(places) - int(missing.sum())] if drop_missing else places_in_order


def _cut(fields: ReplyFields, mask: NDArray[np.bool_], names: Sequence[str], by: str) -> list[SliceComparison]:
    if not mask.any():
        return []
    scores = fields.scores.subset(mask)
    slicing = replace(cut_slices(fields.column(by)[mask], by), cluster=scores.cluster)
    ranges = {name: facts.range for name, facts in scores.facts.items()}
    return [
        compute_slice_means(name, fields.column(name)[mask], scores, slicing, ranges.get(name, (-np.inf, np.inf)))
        for name in names
    ]


def _make_columns(
    fields: ReplyFields, places: NDArray[np.int64], names: Sequence[str], references: bool, by: str | None
) -> dict[str, Any]:
    scores = fields.scores
    texts = read_texts(scores, references=True) if references else fields.texts
    rows = places.tolist()
    columns: dict[str, Any] = {
        "response": [scores.responses[i] for i in rows],
        "item": [scores.items[i] for i in rows],
        "dialogue": [fields.column("dialogue")[i] for i in rows],
        "system": [scores.systems[scores.system_codes[i]] for i in rows],
        "context": [texts.contexts[i] for i in rows],
        "reply": [texts.replies[i] for i in rows],
    }
    if texts.references is not None:
        columns["references"] = [texts.references[i] for i in rows]
    columns |= {column_name(name): fields.column(name)[places] for name in names}
    if by is not None and by not in columns:
        column = fields.column(by)[places]
        columns[by] = [None if value is None else str(value) for value in column] if column.dtype == object else column
    return columns


def _describe(n: int, n_selected: int, n_total: int, order: _Order | None) -> str:
    if not n_selected:
        return f"No reply meets the conditions ({n_total:,} in the run)."
    words = f"{n:,} of {format_count(n_total, 'reply', 'replies')}"
    if n_selected < n_total:
        words = f"{n:,} of {n_selected:,} replies that meet the conditions ({n_total:,} in the run)"
    return words + (f", {order.words}" if order is not None else "")
