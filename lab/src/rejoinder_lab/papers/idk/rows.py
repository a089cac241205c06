"""Rated rows: vectors for the regressions, mean ratings, and scores of other metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.inputs import read
from rejoinder.metric import NAN
from rejoinder.models.base import Vectors
from rejoinder.models.idk.model import regression_probabilities
from rejoinder.models.idk.pair_encoder import PairEncoder
from rejoinder.stats.bootstrap import BootstrapPlan
from rejoinder.stats.correlation import Method, pearson, spearman
from rejoinder_lab.papers.own.relevance.measures import (
    AUTHORS_ROW,
    ColumnCorrelation,
    correlate_scores,
    score_relevance_rows,
)
from rejoinder_lab.papers.own.relevance.rows import COLUMNS, RelevanceColumn, RelevanceRows, read_relevance_rows
from rejoinder_lab.training.idk import IdkRegression

SPEARMAN, PEARSON = "S", "P"  # in the names of cells, as "HUMOD S"
METHODS: Mapping[str, Method] = {SPEARMAN: "spearman", PEARSON: "pearson"}
ScoresById: TypeAlias = Mapping[str, Mapping[str, float]]  # name -> response -> score
Values = NDArray[np.float64]
VALID_SET = "usr/topical_chat"
_FREE_METRICS = ("length",)  # scoring wants a metric; this one costs nothing and is not shown


@dataclass(frozen=True)
class RatedColumn:
    """One column of rated replies."""

    name: str
    features: Vectors
    ratings: Values
    others: Mapping[str, Values]  # other scores, by a spec or a row's name; NaN where a reply was not scored
    units: Sequence[str] = ()  # the dialogue or context of each reply: what intervals are drawn by
    seed: int = 0
    responses: Sequence[str] = ()

    def correlations(self, scores: Values) -> dict[str, float]:
        """Both correlations of some scores with the ratings, under the names of the column's two cells."""
        return {
            f"{self.name} {SPEARMAN}": spearman(scores, self.ratings).value,
            f"{self.name} {PEARSON}": pearson(scores, self.ratings).value,
        }

    def resampled(self, kind: str) -> dict[str, ColumnCorrelation]:
        """The correlations of all other scores, Spearman's or Pearson's, with their intervals."""
        plan = BootstrapPlan(method=METHODS[kind], seed=self.seed)
        return correlate_scores(self.others, self.ratings, plan, list(self.units) or None) if self.others else {}

    def scores(self, fitted: IdkRegression) -> Values:
        """Return the probabilities that a regression gives the replies."""
        return regression_probabilities(self.features, fitted.weights, fitted.bias)


def score_column(
    rows: RelevanceRows, encoder: PairEncoder, specs: Sequence[str], known: ScoresById | None = None
) -> RatedColumn:
    """Compute the vectors of a column's replies and other metrics' scores; ``known`` are scores that need no model."""
    scored = score_relevance_rows(rows, [*_FREE_METRICS, *specs])
    pairs = [rows.data.pair(response) for response in scored.evidence.responses]
    contexts = [[turn.text for turn in pair.item.context] for pair in pairs]
    features = encoder.features(contexts, [pair.response.text for pair in pairs])
    names = scored.evidence.responses
    others = {spec: scored.evidence.scores[spec] for spec in specs} | {
        key: np.array([scores.get(name, NAN) for name in names]) for key, scores in (known or {}).items()
    }
    if all("idk" in pair.response.meta for pair in pairs):
        others[AUTHORS_ROW] = np.array([pair.response.meta["idk"] for pair in pairs], np.float64)
    units = [rows.units[name] for name in names]
    return RatedColumn(rows.column.name, features, scored.evidence.mean, others, units, rows.column.seed, names)


def read_test_rows() -> list[RelevanceRows]:
    """The five columns of test rows."""
    return [read_relevance_rows(column) for column in COLUMNS[:5]]


def read_valid_rows(test: RelevanceRows) -> RelevanceRows:
    """Return the paper's validation rows: USR's contexts that are not in the test rows (HUMOD's are not here)."""
    data = read(f"dataset:{VALID_SET}")
    tested = set(test.units.values())
    responses = {p.response.id: p.response for p in data.pairs() if (p.item.dialogue or p.item.id) not in tested}
    ratings = [rating for rating in data.ratings if rating.response in responses]
    column = RelevanceColumn("USR-TC", VALID_SET, test.column.aspect, None, test.column.seed)
    chosen = replace(data, responses=responses, ratings=ratings)
    return RelevanceRows(column, chosen, {name: response.item for name, response in responses.items()})
