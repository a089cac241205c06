"""Rated rows as the regressions see them: their vectors, their mean ratings, and the scores of other metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.inputs import read
from rejoinder.metric import NAN
from rejoinder.models.base import Vectors
from rejoinder.models.encoder.pair_encoder import PairEncoder
from rejoinder.models.idk import probabilities
from rejoinder.papers.idk.published import PEARSON, SPEARMAN
from rejoinder.papers.idk.sample import SampleScores
from rejoinder.papers.own.relevance_measures import score_rows
from rejoinder.papers.own.relevance_rows import COLUMNS, Column, RelevanceRows, read_rows
from rejoinder.stats.bootstrap import BootstrapPlan, correlation_intervals
from rejoinder.stats.correlation import Method, pearson, spearman
from rejoinder.stats.interval import Interval
from rejoinder.training.idk import Regression

Values = NDArray[np.float64]
_FREE_METRICS = ("length",)  # scoring wants a metric; this one costs nothing and is not shown


@dataclass(frozen=True)
class RatedColumn:
    """One column of rated replies."""

    name: str
    features: Vectors
    ratings: Values
    others: Mapping[str, Values]  # the scores of other metrics, by spec; NaN where a reply was not scored
    units: Sequence[str] = ()  # the dialogue or context of each reply: what intervals are drawn by
    seed: int = 0

    def correlations(self, scores: Values) -> dict[str, float]:
        """Both correlations of some scores with the ratings, under the names of the column's two cells."""
        return {
            f"{self.name} {SPEARMAN}": spearman(scores, self.ratings).value,
            f"{self.name} {PEARSON}": pearson(scores, self.ratings).value,
        }

    def intervals(self) -> dict[str, dict[str, Interval]]:
        """The correlations of every other metric with their intervals, by spec and cell."""
        found: dict[str, dict[str, Interval]] = {spec: {} for spec in self.others}
        methods: tuple[tuple[str, Method], ...] = ((SPEARMAN, "spearman"), (PEARSON, "pearson"))
        for kind, method in methods if self.others else ():
            plan = BootstrapPlan(method=method, seed=self.seed)
            drawn = correlation_intervals(self.others, self.ratings, plan, items=list(self.units) or None)
            for spec, interval in drawn.items():
                found[spec][f"{self.name} {kind}"] = interval
        return found

    def scores(self, fitted: Regression) -> Values:
        """What a regression says of the replies."""
        return probabilities(self.features, fitted.weights, fitted.bias)


def score_column(
    rows: RelevanceRows, encoder: PairEncoder, specs: Sequence[str], sampled: SampleScores | None = None
) -> RatedColumn:
    """Read the vectors of a column's replies and score them with other metrics; ``sampled`` are scores of some rows."""
    scored = score_rows(rows, [*_FREE_METRICS, *specs])
    pairs = [rows.data.pair(response) for response in scored.evidence.responses]
    contexts = [[turn.text for turn in pair.item.context] for pair in pairs]
    features = encoder.features(contexts, [pair.response.text for pair in pairs])
    names = scored.evidence.responses
    others = {spec: scored.evidence.scores[spec] for spec in specs} | {
        spec: np.array([of_some.get(name, NAN) for name in names]) for spec, of_some in (sampled or {}).items()
    }
    units = [rows.units[name] for name in names]
    return RatedColumn(rows.column.name, features, scored.evidence.mean, others, units, rows.column.seed)


def read_test_rows() -> list[RelevanceRows]:
    """The five columns of test rows."""
    return [read_rows(column) for column in COLUMNS[:5]]


def read_valid_rows(test: RelevanceRows) -> RelevanceRows:
    """The half of USR's contexts that is not in the test rows: the paper's validation rows (HUMOD's are not here)."""
    data = read("dataset:usr/topical_chat")
    tested = set(test.units.values())
    kept = {p.response.id: p.response for p in data.pairs() if (p.item.dialogue or p.item.id) not in tested}
    ratings = [rating for rating in data.ratings if rating.response in kept]
    column = Column("USR-TC", "usr/topical_chat", test.column.aspect, None, test.column.seed)
    chosen = replace(data, responses=kept, ratings=ratings)
    return RelevanceRows(column, chosen, {name: response.item for name, response in kept.items()})
