"""The evidence for or against the metrics of a run: every rated response with its scores, ratings and baselines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.comparison.aggregation import reachable_with_aggregated
from rejoinder.comparison.judgements import AGGREGATE
from rejoinder.data.collection import Collection
from rejoinder.errors import InputError, nearest
from rejoinder.metric import parse
from rejoinder.scoring.api import score_pairs
from rejoinder.scoring.result import Scores
from rejoinder.stats.ceiling import ReachableCorrelation
from rejoinder.stats.rating_matrix import RatingMatrix, rating_matrix
from rejoinder.types import Rating

Values = NDArray[np.float64]
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
    turned: frozenset[str]  # the metrics whose scores have their sign reversed here
    descriptive: frozenset[str]  # the metrics of which neither way is better
    method: str | None = None
    certainty: ReachableCorrelation | None = None

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
    aspect = choose_aspect(data, aspect)
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
    return RatedScores(
        aspect,
        list(matrix.units),
        systems,
        [scores.items[i] for i in rows],
        np.unique(scores.clusters[rows], return_inverse=True)[1].astype(np.int64),
        mean,
        matrix,
        {spec: _orient_upward(scores, spec, column[rows]) for spec, column in scores.values.items()},
        _compute_baselines(data, matrix.units, systems, mean),
        len(scores) - len(rows),
        frozenset(spec for spec, facts in scores.facts.items() if facts.higher_is_better is False),
        frozenset(spec for spec, facts in scores.facts.items() if facts.higher_is_better is None),
        aggregated[0].rater.removeprefix(AGGREGATE) if aggregated else None,
        reachable_with_aggregated(aggregated) if aggregated else None,
    )


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


def list_rated_aspects(data: Collection) -> list[str]:
    """The aspects in which responses were rated, in order of appearance."""
    return list(dict.fromkeys(r.aspect for r in data.ratings if r.response is not None))


def choose_aspect(data: Collection, wanted: str | None) -> str:
    """The aspect that a user named, or the only one."""
    known = list_rated_aspects(data)
    if not known:
        raise InputError("there are no ratings of responses in this run; score a file that has ratings")
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


def _compute_baselines(
    data: Collection, units: Sequence[str], systems: Sequence[str], mean: Values
) -> dict[str, Values]:
    """The trivial predictors of a rating: who wrote the reply, its length, how much of the context it repeats."""
    by_system: dict[str, list[float]] = {}
    for system, value in zip(systems, mean, strict=True):
        by_system.setdefault(system, []).append(float(value))
    averages = {system: math.fsum(values) / len(values) for system, values in by_system.items()}
    baselines = {ORACLE: np.array([averages[system] for system in systems])}
    pairs = [data.pair(unit) for unit in units]
    for spec, name in BASELINES.items():
        baselines[name] = score_pairs(parse(spec), pairs)
    return baselines
