"""The rated replies as a sample of all replies of a run: their ratings, how they were drawn, whether at random.

A reply that was drawn with a known probability has it in its ``meta`` (or in that of its ratings) as ``probability``,
beside ``drawn``: what was drawn together, ``reply``, ``item`` or ``dialogue``. ``rejoinder next --for estimate`` writes
both. Without them the rated replies are compared with the others: a sample that people chose (the first hundred, the
worst) differs from the rest in place, score or length, and says nothing about it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

import numpy as np

from rejoinder.comparison.judgements import AGGREGATE
from rejoinder.comparison.rated_scores import choose_aspect
from rejoinder.comparison.rating_column import RATING, make_rating_column
from rejoinder.comparison.rating_table import DRAWN, PROBABILITY, read_rating_table
from rejoinder.data.collection import Collection
from rejoinder.data.inputs import Input
from rejoinder.errors import InputError
from rejoinder.scoring.result import Scores
from rejoinder.stats.arrays import LARGEST, Bools, Floats, Ints
from rejoinder.stats.correlation import midranks
from rejoinder.stats.holm import holm
from rejoinder.table import format_count, join_names
from rejoinder.types import Meta, Rating, Record, Response

Drawn: TypeAlias = Literal["reply", "item", "dialogue"]
SIGNIFICANT = 0.01
_TIMES = ("time", "timestamp", "created_at", "created", "date")


@dataclass(frozen=True)
class RatedSample:
    """One value per reply of the run: its mean rating (NaN where nobody rated it) and how it was drawn.

    ``probabilities`` are NaN where they are not known, and None where none is. ``differences`` says in what rated and
    unrated replies differ, where nothing says that they were drawn at random.
    """

    aspect: str
    ratings: Floats
    probabilities: Floats | None
    drawn: Drawn
    is_marked: bool  # as drawn at random
    differences: Sequence[str]
    notes: Sequence[str]
    range: tuple[float, float]


def read_ratings(source: Collection | str | Path) -> list[Record]:
    """The records of a collection or a file with ratings, which may name replies that it does not have itself.

    CSV needs the columns ``response`` and ``rating``; raters, aspects and ``probability`` are read too.
    """
    if isinstance(source, Collection):
        return list(source)
    if str(source).lower().endswith(".toml"):
        raise InputError(f"{source}: is an annotation project; in Python give read_project_ratings({str(source)!r})")
    if str(source).lower().endswith(".csv"):
        return list(read_rating_table(Path(source)))
    data = Input(source)
    try:
        return [record for record, _ in data.records(allow_empty=True)]
    finally:
        data.close()


def take_sample(
    scores: Scores, data: Collection, records: Sequence[Record] | None, aspect: str | None, specs: Sequence[str]
) -> RatedSample:
    """The rated replies of a run in one aspect; ``records`` are those of a file with ratings, if there is one."""
    metas: dict[str, Meta] = {name: response.meta for name, response in data.responses.items()}
    notes: list[str] = []
    if records is None:
        ratings = [rating for rating in data.ratings if rating.response]
    else:
        metas |= {one.id: {**metas.get(one.id, {}), **one.meta} for one in records if isinstance(one, Response)}
        ratings = [one for one in records if isinstance(one, Rating) and one.response]
        if not ratings:
            what = "preferences between two replies do not count" if records else "nobody has rated a reply"
            raise InputError(f"the ratings have none of single replies ({what}); rate those that were drawn")
    known = set(scores.responses)
    others = len({one.response for one in ratings if one.response not in known})
    ratings = [one for one in ratings if one.response in known]
    if others and not ratings:
        raise InputError("none of the rated replies is in the run; give the ratings of these replies, with their ids")
    if others:
        notes.append(f"Left out: ratings of {format_count(others, 'reply', 'replies')} that the run does not have.")
    aspect = choose_aspect(Collection(ratings=ratings), aspect)
    ratings = [one for one in ratings if one.aspect == aspect]
    for one in ratings:
        if abs(one.value) > LARGEST:
            raise InputError(
                f"rater {one.rater} gave {one.response!r} the rating {one.value:g}, which is too large for a mean"
            )
    rated_replies = {one.response for one in ratings}
    systems = {
        scores.systems[c] for r, c in zip(scores.responses, scores.system_codes, strict=True) if r in rated_replies
    }
    if unrated := [system for system in scores.systems if system not in systems]:
        notes.append(f"Left out: {join_names(unrated)}, of which no reply is rated.")
    for one in ratings:
        metas[one.response or ""] = {**metas.get(one.response or "", {}), **one.meta}
    column = make_rating_column(scores, Collection(ratings=ratings), f"{RATING}{aspect}")
    values, probabilities, marks = column.values, _read_probabilities(scores, metas), _read_marks(scores, metas)
    rated = ~np.isnan(values)
    if probabilities is not None and (rated & np.isnan(probabilities)).any():
        unknown = int((rated & np.isnan(probabilities)).sum())
        if unknown == rated.sum():
            probabilities = None
        else:
            notes.append(
                f"Left out: {format_count(unknown, 'rated reply', 'rated replies')} without a probability, beside "
                f"{int(rated.sum()) - unknown:,} that were drawn with one."
            )
            values = np.where(np.isnan(probabilities), math.nan, values)
            rated = ~np.isnan(values)
    is_marked = probabilities is not None or all(marks[i] is not None for i in np.flatnonzero(rated))
    drawn = next((mark for i in np.flatnonzero(rated) if (mark := marks[i])), None) or _find_drawn(scores, rated)
    differences = [] if is_marked or rated.all() else find_differences(scores, data, rated, drawn, specs)
    notes += [*column.notes, *_describe_noise(ratings)]
    return RatedSample(aspect, values, probabilities, drawn, is_marked, differences, notes, column.facts.range)


def _read_probabilities(scores: Scores, metas: Mapping[str, Meta]) -> Floats | None:
    values = np.full(len(scores), math.nan)
    for i, response in enumerate(scores.responses):
        value = metas.get(response, {}).get(PROBABILITY)
        if value is None or isinstance(value, bool):
            continue
        if not (isinstance(value, int | float) and 0 < value <= 1):
            raise InputError(f"reply {response!r} has the probability {value!r}; it must be above 0 and at most 1")
        values[i] = value
    return None if np.isnan(values).all() else values


def _read_marks(scores: Scores, metas: Mapping[str, Meta]) -> list[Drawn | None]:
    marks: list[Drawn | None] = []
    for response in scores.responses:
        value = metas.get(response, {}).get(DRAWN)
        if value is not None and value not in get_args(Drawn):
            raise InputError(f"reply {response!r} was drawn by {value!r}; write reply, item or dialogue")
        marks.append(cast("Drawn | None", value))
    return marks


def _find_drawn(scores: Scores, rated: Bools) -> Drawn:
    """What was drawn together: the largest groups of which those rated are rated whole."""
    dialogues = np.asarray(scores.clusters)
    items = np.unique(scores.items, return_inverse=True)[1]
    for name, groups in (("dialogue", dialogues), ("item", items)):
        sizes, n_rated = np.bincount(groups), np.bincount(groups[rated], minlength=int(groups.max(initial=0)) + 1)
        touched = (n_rated > 0) & (sizes > 1)
        if touched.sum() >= 2 and (n_rated == sizes)[touched].all() and (n_rated == 0).any():
            several = np.unique(items[rated]).size > np.unique(groups[rated]).size
            if name == "item" or several:
                return cast(Drawn, name)
    return "reply"


def encode_units(scores: Scores, drawn: Drawn) -> Ints:
    """A number for what each reply was drawn with."""
    if drawn == "reply":
        return np.arange(len(scores))
    groups = scores.clusters if drawn == "dialogue" else np.unique(scores.items, return_inverse=True)[1]
    return np.asarray(groups, dtype=np.int64)


def find_differences(scores: Scores, data: Collection, rated: Bools, drawn: Drawn, specs: Sequence[str]) -> list[str]:
    """In what rated and unrated replies of the same systems differ: place in the file, length, time, scores.

    Ranks inside each system are compared, and so are their distances from the middle; units that were drawn together
    count once. P-values are corrected by Holm's method.
    """
    texts = [data.responses[one].text if one in data.responses else "" for one in scores.responses]
    columns = {
        "their place in the file": np.arange(len(scores), dtype=np.float64),
        "their length": np.array([len(text.split()) for text in texts], dtype=np.float64),
        "their time": _read_times(scores, data),
        **{f"their scores of {spec}": scores[spec] for spec in specs},
    }
    units = encode_units(scores, drawn)
    names, p_values = [], []
    for name, column in columns.items():
        ranks = np.full(len(scores), math.nan)
        for code in range(len(scores.systems)):
            rows = (scores.system_codes == code) & ~np.isnan(column)
            if rows.sum() > 1:
                ranks[rows] = (midranks(column[rows]) - 0.5) / rows.sum() - 0.5
        for values in (ranks, np.abs(ranks)):
            p = _compare_groups(values, units, rated)
            if not math.isnan(p):
                names.append(name)
                p_values.append(p)
    corrected = holm(p_values)
    return list(dict.fromkeys(name for name, p in zip(names, corrected, strict=True) if p < SIGNIFICANT))


def _compare_groups(values: Floats, units: Ints, rated: Bools) -> float:
    """The p-value of a difference between the means of rated and unrated units, under random draws."""
    from scipy.special import ndtr

    known = ~np.isnan(values)
    if not known.any():
        return math.nan
    codes = np.unique(units[known], return_inverse=True)[1]
    means = np.bincount(codes, weights=values[known]) / np.bincount(codes)
    n_rated = np.bincount(codes, weights=rated[known].astype(np.float64))
    is_rated = n_rated > 0
    n, total = int(is_rated.sum()), len(means)
    spread = float(means.std(ddof=1)) if total > 1 else 0.0
    if not 0 < n < total or spread == 0:
        return math.nan
    error = spread * math.sqrt(1 / n - 1 / total)
    return float(2 * ndtr(-abs(float(means[is_rated].mean() - means.mean())) / error))


def _read_times(scores: Scores, data: Collection) -> Floats:
    """When each reply was made, where its or its item's ``meta`` says so."""
    times = np.full(len(scores), math.nan)
    for i, name in enumerate(scores.responses):
        response = data.responses.get(name)
        if response is None:
            continue
        item = data.items.get(response.item)
        meta = {**(item.meta if item else {}), **response.meta}
        value = next((meta[key] for key in _TIMES if key in meta), None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            times[i] = value
        elif isinstance(value, str):
            try:
                times[i] = datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp()
            except (ValueError, OverflowError):
                continue
    return times


def _describe_noise(ratings: Sequence[Rating]) -> list[str]:
    """How far one rating is from the mean of its reply, where replies have several."""
    by_reply: dict[str, list[float]] = {}
    for one in ratings:
        if not one.rater.startswith(AGGREGATE):
            by_reply.setdefault(one.response or "", []).append(one.value)
    several = [np.array(values) for values in by_reply.values() if len(values) > 1]
    if not several:
        return []
    freedom = sum(len(values) - 1 for values in several)
    within = math.sqrt(sum(float(((values - values.mean()) ** 2).sum()) for values in several) / freedom)
    return [f"One rating is {within:.2g} (standard deviation) from the mean of its reply's ratings: noise of raters."]
