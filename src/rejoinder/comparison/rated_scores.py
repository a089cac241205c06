"""The evidence for or against the metrics of a run: every rated response with its scores, ratings and baselines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rejoinder.comparison.aggregation import reachable_with_aggregated
from rejoinder.comparison.judgements import AGGREGATE
from rejoinder.data.collection import Collection
from rejoinder.errors import InputError, nearest
from rejoinder.metric import Unit, parse
from rejoinder.scoring.api import score_pairs
from rejoinder.scoring.result import Scores
from rejoinder.stats.ceiling import ReachableCorrelation
from rejoinder.stats.rating_matrix import RatingMatrix, rating_matrix
from rejoinder.types import Rating

Values = NDArray[np.float64]
DIALOGUE = "dialogue:"  # before an aspect in which whole dialogues were rated
ORACLE = "which system wrote it"
BASELINES = {"length": "length in words", "context_overlap": "words shared with the context"}


@dataclass(frozen=True)
class RatedScores:
    """What is known about the rated responses, row by row.

    ``scores`` holds the run's metrics, ``baselines`` the trivial ones, both with larger meaning better; ``mean`` the
    mean rating of each response; ``matrix`` every rating, one row per response and one column per rater. Where the
    ratings were aggregated, ``mean`` is the result, ``method`` the method, and ``certainty`` how far a metric could
    follow them.
    """

    aspect: str
    responses: Sequence[str]
    systems: Sequence[str]
    items: Sequence[str]
    dialogues: NDArray[np.int64]  # a number for each dialogue, and for each item without one
    mean: Values
    matrix: RatingMatrix
    scores: Mapping[str, Values]
    baselines: Mapping[str, Values]
    unrated: int
    lower_is_better: frozenset[str]  # the metrics whose scores have their sign reversed here
    descriptive: frozenset[str]  # the metrics of which neither way is better
    method: str | None = None
    certainty: ReachableCorrelation | None = None
    unit: Unit = "reply"  # for "dialogue", ``responses`` are the last ones of the rated dialogues

    def __len__(self) -> int:
        return len(self.responses)

    @property
    def n_dialogues(self) -> int:
        """How many dialogues the responses come from; an item without a dialogue counts as one."""
        return len(np.unique(self.dialogues))

    @property
    def is_clustered(self) -> bool:
        """Whether a dialogue has several items, so that items are not independent of each other."""
        return self.n_dialogues < len(set(self.items))


def collect_rated_scores(scores: Scores, data: Collection, aspect: str | None = None) -> RatedScores:
    """The evidence on one aspect (by default, the only one in the data)."""
    aspect = choose_aspect(data, aspect, scores)
    unit: Unit = "dialogue" if aspect.startswith(DIALOGUE) else "reply"
    if unit == "dialogue":
        ratings = _list_dialogue_ratings(data, aspect)
    else:
        ratings = [r for r in data.ratings if r.aspect == aspect and r.response is not None]
    aggregated = _aggregated_ratings(ratings, aspect)
    matrix = _make_matrix(ratings, aggregated)
    row_of = {response: i for i, response in enumerate(scores.responses)}
    rows = np.array([row_of[response] for response in matrix.units], dtype=np.int64)
    systems = [scores.systems[code] for code in scores.system_codes[rows]]
    if aggregated:
        mean = np.array([r.value for r in aggregated])
    else:
        with np.errstate(invalid="ignore"):
            mean = np.nansum(matrix.values, axis=1) / (~np.isnan(matrix.values)).sum(axis=1)
    columns = {spec: _orient_upward(scores, spec, column) for spec, column in scores.values.items()}
    if unit == "dialogue":  # a score is that of the dialogue, or the mean over the system's replies in it
        groups = scores.clusters * len(scores.systems) + scores.system_codes
        columns = {spec: _group_means(column, groups) for spec, column in columns.items()}
        of_replies = _compute_baselines(data, scores.responses)
        baselines = {name: _group_means(column, groups)[rows] for name, column in of_replies.items()}
        items, n = [str(scores.clusters[row]) for row in rows.tolist()], len(np.unique(groups))
    else:
        baselines = _compute_baselines(data, matrix.units)
        items, n = [scores.items[i] for i in rows], len(scores)
    return RatedScores(
        aspect,
        list(matrix.units),
        systems,
        items,
        np.unique(scores.clusters[rows], return_inverse=True)[1].astype(np.int64),
        mean,
        matrix,
        {spec: column[rows] for spec, column in columns.items()},
        {ORACLE: _mean_by_system(systems, mean), **baselines},
        n - len(rows),
        frozenset(spec for spec, facts in scores.facts.items() if facts.higher_is_better is False),
        frozenset(spec for spec, facts in scores.facts.items() if facts.higher_is_better is None),
        aggregated[0].rater.removeprefix(AGGREGATE) if aggregated else None,
        reachable_with_aggregated(aggregated) if aggregated else None,
        unit,
    )


def _list_dialogue_ratings(data: Collection, aspect: str) -> list[Rating]:
    ratings = join_dialogue_ratings(data, aspect.removeprefix(DIALOGUE))
    if not ratings:
        raise InputError(
            f"no rating of {aspect!r} belongs to a dialogue with replies of one system; say which one was rated in the "
            'meta of the rating: "meta": {"system": "NAME"}'
        )
    return ratings


def join_dialogue_ratings(data: Collection, aspect: str) -> list[Rating]:
    """The ratings of whole dialogues, each as a rating of the last reply of the system that was rated.

    The system is the only one in the dialogue, or the one that the meta of the rating or of the dialogue names; other
    ratings are left out.
    """
    ends: dict[str, dict[str, str]] = {}
    for pair in data.pairs():
        if pair.is_last:
            ends.setdefault(pair.item.dialogue or pair.item.id, {}).setdefault(pair.response.system, pair.response.id)
    joined = []
    for rating in data.ratings:
        if rating.dialogue is None or rating.aspect != aspect:
            continue
        systems, dialogue = ends.get(rating.dialogue, {}), data.dialogues.get(rating.dialogue)
        named = rating.meta.get("system") or (dialogue.meta.get("system") if dialogue else None)
        system = named if named in systems else next(iter(systems)) if len(systems) == 1 and not named else None
        if system is not None:
            joined.append(replace(rating, response=systems[system], dialogue=None))
    return joined


def _group_means(column: Values, groups: NDArray[np.int64]) -> Values:
    """For each row, the mean of the known values of its group; NaN where none is known."""
    known, codes = ~np.isnan(column), np.unique(groups, return_inverse=True)[1]
    n = np.bincount(codes[known], minlength=len(groups))
    sums = np.bincount(codes[known], weights=column[known], minlength=len(groups))
    means: Values = np.where(n > 0, sums / np.maximum(n, 1), math.nan)[codes]
    return means


def _aggregated_ratings(ratings: Sequence[Rating], aspect: str) -> list[Rating]:
    """The ratings that were aggregated from others, if there are any."""
    aggregated = [r for r in ratings if r.rater.startswith(AGGREGATE)]
    methods = list(dict.fromkeys(r.rater for r in aggregated))
    if len(methods) > 1:
        raise InputError(
            f"the ratings of {aspect!r} were aggregated in several ways ({', '.join(methods)}); score a file with "
            "only one"
        )
    return aggregated


def _make_matrix(ratings: Sequence[Rating], aggregated: Sequence[Rating]) -> RatingMatrix:
    """People's ratings of the responses in question; where there are none, the aggregated ones."""
    people = [r for r in ratings if not r.rater.startswith(AGGREGATE)]
    if not aggregated:
        used = people
    else:
        responses = {r.response for r in aggregated}
        used = [r for r in people if r.response in responses] or list(aggregated)
    matrix = rating_matrix([r.response or "" for r in used], [r.rater for r in used], [r.value for r in used])
    if not aggregated:
        return matrix
    rows = dict(zip(matrix.units, matrix.values, strict=True))
    missing = np.full(len(matrix.raters), math.nan)
    units = tuple(r.response for r in aggregated)
    return RatingMatrix(np.array([rows.get(unit, missing) for unit in units]), units, matrix.raters)


def list_rated_aspects(data: Collection, scores: Scores | None = None) -> list[str]:
    """The aspects in which responses were rated, in order of appearance.

    Where a metric of the scores rates whole dialogues, those in which dialogues were rated follow as
    ``dialogue:ASPECT``.
    """
    of_responses = dict.fromkeys(r.aspect for r in data.ratings if r.response is not None)
    if scores is None or not any(facts.unit == "dialogue" for facts in scores.facts.values()):
        return list(of_responses)
    return [*of_responses, *_list_dialogue_aspects(data)]


def _list_dialogue_aspects(data: Collection) -> list[str]:
    return list(dict.fromkeys(DIALOGUE + r.aspect for r in data.ratings if r.dialogue is not None))


def choose_aspect(data: Collection, wanted: str | None, scores: Scores | None = None) -> str:
    """The aspect that a user named, or the only one."""
    known, of_dialogues = list_rated_aspects(data, scores), _list_dialogue_aspects(data)
    if wanted is not None and wanted in of_dialogues:
        return wanted
    if not known:
        hint = f", or name an aspect of whole dialogues: {', '.join(of_dialogues)}" if of_dialogues else ""
        raise InputError(f"there are no ratings of responses in this run; score a file that has ratings{hint}")
    if wanted is None:
        if len(known) > 1:
            raise InputError(f"responses were rated in several aspects ({', '.join(known)}); choose one aspect")
        return known[0]
    if wanted not in known:
        raise InputError(f"nobody rated responses in the aspect {wanted!r}; {nearest(wanted, known)}")
    return wanted


def _orient_upward(scores: Scores, spec: str, column: Values) -> Values:
    """A metric's scores so that larger is better; a descriptive one stays as it is."""
    return -column if scores.facts[spec].higher_is_better is False else column


def _compute_baselines(data: Collection, units: Sequence[str]) -> dict[str, Values]:
    """The trivial predictors of a rating that read the reply: its length, how much of the context it repeats."""
    pairs = [data.pair(unit) for unit in units]
    return {name: score_pairs(parse(spec), pairs) for spec, name in BASELINES.items()}


def _mean_by_system(systems: Sequence[str], mean: Values) -> Values:
    """The mean rating of the system of each row: what one predicts who knows only who wrote the reply."""
    by_system: dict[str, list[float]] = {}
    for system, value in zip(systems, mean, strict=True):
        by_system.setdefault(system, []).append(float(value))
    averages = {system: math.fsum(values) / len(values) for system, values in by_system.items()}
    return np.array([averages[system] for system in systems])
