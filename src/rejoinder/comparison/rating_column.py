"""People's ratings as results: the mean rating of each reply in one aspect, beside the scores of the metrics.

``rating:ASPECT`` is the name of such a column. Several ratings of a reply are averaged first, so that a reply counts
once however many people rated it. Where ratings were aggregated (``rejoinder aggregate``), the aggregated ones are
taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rejoinder.comparison.judgements import AGGREGATE, describe_raters
from rejoinder.data.collection import Collection
from rejoinder.errors import InputError, nearest
from rejoinder.scoring.result import MetricFacts, Scores, ScoresBuilder, Values
from rejoinder.table import format_count
from rejoinder.types import Rating, is_unnamed

RATING = "rating:"


class RatingColumn(NamedTuple):
    """The mean rating of each response (NaN where nobody rated it), its facts, and what a reader must know."""

    facts: MetricFacts
    values: Values
    notes: tuple[str, ...]


def is_rating(spec: str) -> bool:
    """Whether a name stands for people's ratings and not for a metric."""
    return spec.startswith(RATING)


def add_rating_columns(scores: Scores, data: Collection | None, specs: Iterable[str]) -> Scores:
    """Return the scores with one more column for each ``rating:ASPECT`` among the specs."""
    columns = {spec: make_rating_column(scores, data, spec) for spec in specs if is_rating(spec)}
    if not columns:
        return scores
    return replace(
        scores,
        facts={**scores.facts, **{spec: column.facts for spec, column in columns.items()}},
        values={**scores.values, **{spec: column.values for spec, column in columns.items()}},
    )


def make_rating_column(scores: Scores, data: Collection | None, spec: str) -> RatingColumn:
    """Return the mean ratings of the responses in one aspect, as a column of the scores."""
    if data is None:
        raise InputError(f"these scores came without their ratings, so there is no {spec}; name the run folder")
    aspect = spec.removeprefix(RATING)
    by_aspect: dict[str, list[Rating]] = {}
    for rating in data.ratings:
        if rating.response is not None and not isinstance(rating.meta.get("right"), bool):
            by_aspect.setdefault(rating.aspect, []).append(rating)
    if not by_aspect:
        raise InputError(
            f"there are no ratings of responses here, so there is no {spec}; score a file that has ratings"
        )
    if aspect not in by_aspect:
        raise InputError(f"nobody rated responses in the aspect {aspect!r}; {nearest(aspect, by_aspect)}")
    ratings = by_aspect[aspect]
    aggregated = [r for r in ratings if r.rater.startswith(AGGREGATE)]
    used = aggregated or ratings
    by_response: dict[str, list[float]] = {}
    for rating in used:
        by_response.setdefault(rating.response or "", []).append(rating.value)
    values = np.array(
        [np.mean(by_response[one]) if one in by_response else math.nan for one in scores.responses], dtype=np.float64
    )
    numbers = [rating.value for rating in used]
    facts = MetricFacts(spec, (min(numbers), max(numbers)), True, frozenset())
    notes = _describe_aggregated(aggregated) if aggregated else _describe_raters(scores, ratings, by_response)
    return RatingColumn(facts, values, notes)


def collect_rated_scores(data: Collection) -> Scores:
    """Return scores without any metric: the responses alone, for ratings that nobody scored."""
    builder = ScoresBuilder()
    for pair in data.pairs():
        builder.add(pair.response.id, pair.item.id, pair.response.system, pair.item.dialogue)
    if not data.responses:
        raise InputError("there are no responses here, so nothing can be compared; name a file that has replies")
    return builder.build(facts={}, values={}, flags={}, cut={}, data=data)


def _describe_aggregated(ratings: Sequence[Rating]) -> tuple[str, ...]:
    methods = ", ".join(sorted({rating.rater.removeprefix(AGGREGATE) for rating in ratings}))
    return (f"ratings: aggregated by {methods}, one per reply.",)


def _describe_raters(scores: Scores, ratings: Sequence[Rating], by_response: dict[str, list[float]]) -> tuple[str, ...]:
    """Say how many people rated, that raters are not resampled, and who rated one system only."""
    raters = sorted({rating.rater for rating in ratings})
    counts = [len(values) for values in by_response.values()]
    per_reply = f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"
    notes = [
        f"ratings: by {describe_raters(raters)}, {per_reply} per reply, averaged for each reply first; "
        f"the ratings of one rater are not independent, and intervals over {scores.cluster}s say nothing about other "
        "raters."
    ]
    system_of = dict(zip(scores.responses, (scores.systems[code] for code in scores.system_codes), strict=True))
    systems: dict[str, set[str]] = {}
    for rating in ratings:
        if rating.response in system_of and not is_unnamed(rating.rater):
            systems.setdefault(rating.rater, set()).add(system_of[rating.response])
    single = [rater for rater, rated in systems.items() if len(rated) == 1]
    if single and len(scores.systems) > 1:
        notes.append(
            f"{format_count(len(single), 'rater')} of {len(systems)} rated one system only: a difference between "
            "systems may be one between raters."
        )
    return tuple(notes)
