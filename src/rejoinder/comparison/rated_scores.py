"""The evidence of a run for or against its metrics: every rated response with its scores, raters and baselines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.comparison.aggregation import certainty
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
class Evidence:
    """What is known of the rated responses, row by row.

    ``scores`` holds the run's metrics, ``baselines`` the trivial ones, both with larger meaning better; ``mean`` the
    mean rating of each response; ``matrix`` every rating, a line a response and a column a rater. Where the ratings
    were aggregated, ``mean`` is what came of it, ``method`` says how, and ``certainty`` how far a metric could follow.
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
    turned: frozenset[str]  # the metrics whose scores are held with their sign changed
    method: str | None = None
    certainty: ReachableCorrelation | None = None

    def __len__(self) -> int:
        return len(self.responses)

    @property
    def n_dialogues(self) -> int:
        """How many dialogues the responses come from; an item without one counts as its own."""
        return len(np.unique(self.dialogues))

    @property
    def is_clustered(self) -> bool:
        """Whether a dialogue has several items, so that items are not independent of each other."""
        return self.n_dialogues < len(set(self.items))


def gather_evidence(scores: Scores, data: Collection, aspect: str | None = None) -> Evidence:
    """The evidence on one aspect (the only one, where the data has one)."""
    aspect = _choose_aspect(data, aspect)
    given = [r for r in data.ratings if r.aspect == aspect and r.response is not None]
    made = _aggregated_ratings(given, aspect)
    matrix = _make_matrix(given, made)
    place = {response: i for i, response in enumerate(scores.responses)}
    rows = np.array([place[response] for response in matrix.units], dtype=np.int64)
    systems = [scores.systems[code] for code in scores.system_codes[rows]]
    if made:
        mean = np.array([r.value for r in made])
    else:
        with np.errstate(invalid="ignore"):
            mean = np.nansum(matrix.values, axis=1) / (~np.isnan(matrix.values)).sum(axis=1)
    return Evidence(
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
        made[0].rater.removeprefix(AGGREGATE) if made else None,
        certainty(made) if made else None,
    )


def _aggregated_ratings(given: Sequence[Rating], aspect: str) -> list[Rating]:
    """The ratings that were aggregated from others, if there are such."""
    made = [r for r in given if r.rater.startswith(AGGREGATE)]
    ways = list(dict.fromkeys(r.rater for r in made))
    if len(ways) > 1:
        raise InputError(
            f"the ratings of {aspect!r} were aggregated in several ways ({', '.join(ways)}); score a file with one"
        )
    return made


def _make_matrix(given: Sequence[Rating], made: Sequence[Rating]) -> RatingMatrix:
    """What people said of the responses in question; where nothing is left of that, what was made of it."""
    people = [r for r in given if not r.rater.startswith(AGGREGATE)]
    if not made:
        shown = people
    else:
        wanted = {r.response for r in made}
        shown = [r for r in people if r.response in wanted] or list(made)
    found = rating_matrix([r.response or "" for r in shown], [r.rater for r in shown], [r.value for r in shown])
    if not made:
        return found
    lines = dict(zip(found.units, found.values, strict=True))
    nothing = np.full(len(found.raters), math.nan)
    units = tuple(r.response for r in made)
    return RatingMatrix(np.array([lines.get(unit, nothing) for unit in units]), units, found.raters)


def list_rated_aspects(data: Collection) -> list[str]:
    """The aspects in which responses were rated, in the order in which they come."""
    return list(dict.fromkeys(r.aspect for r in data.ratings if r.response is not None))


def _choose_aspect(data: Collection, wanted: str | None) -> str:
    known = list_rated_aspects(data)
    if not known:
        raise InputError("there are no ratings of responses in this run; score a file that has rating lines")
    if wanted is None:
        if len(known) > 1:
            raise InputError(f"responses were rated in several aspects ({', '.join(known)}); choose one with --aspect")
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
    """The trivial predictors of a rating: who wrote the reply, how long it is, how much it repeats."""
    by_system: dict[str, list[float]] = {}
    for system, value in zip(systems, mean, strict=True):
        by_system.setdefault(system, []).append(float(value))
    averages = {system: math.fsum(values) / len(values) for system, values in by_system.items()}
    found = {ORACLE: np.array([averages[system] for system in systems])}
    pairs = [data.pair(unit) for unit in units]
    for spec, name in BASELINES.items():
        found[name] = score_pairs(parse(spec), pairs)
    return found
