"""Rated rows as the regressions see them: their vectors, their mean ratings, and the scores of other metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.contract import Vectors
from rejoinder.models.idk import probabilities
from rejoinder.models.pair_encoder import PairEncoder
from rejoinder.reproduce._idk_published import PEARSON, SPEARMAN
from rejoinder.reproduce._relevance_measures import score_rows
from rejoinder.reproduce._relevance_rows import COLUMNS, Column, Rows, read_rows
from rejoinder.scoring.inputs import read
from rejoinder.stats.correlation import pearson, spearman
from rejoinder.training.idk_steps import Fitted

Values = NDArray[np.float64]
_NOTHING = ("length",)  # scoring wants a metric; this one costs nothing and is not shown


@dataclass(frozen=True)
class Judged:
    """One column of rated replies."""

    name: str
    features: Vectors
    ratings: Values
    others: Mapping[str, Values]  # the scores of other metrics, by spec

    def correlations(self, scores: Values) -> dict[str, float]:
        """Both correlations of some scores with the ratings, under the names of the column's two cells."""
        return {
            f"{self.name} {SPEARMAN}": spearman(scores, self.ratings).value,
            f"{self.name} {PEARSON}": pearson(scores, self.ratings).value,
        }

    def scores(self, fitted: Fitted) -> Values:
        """What a regression says of the replies."""
        return probabilities(self.features, fitted.weights, fitted.bias)


def judge(rows: Rows, encoder: PairEncoder, specs: Sequence[str], name: str | None = None) -> Judged:
    """Read the vectors of a column's replies and score them with other metrics."""
    scored = score_rows(rows, [*_NOTHING, *specs])
    pairs = [rows.data.pair(response) for response in scored.evidence.responses]
    contexts = [[turn.text for turn in pair.item.context] for pair in pairs]
    features = encoder.features(contexts, [pair.response.text for pair in pairs])
    others = {spec: scored.evidence.scores[spec] for spec in specs}
    return Judged(name or rows.column.name, features, scored.evidence.mean, others)


def read_test() -> list[Rows]:
    """The five columns of test rows."""
    return [read_rows(column) for column in COLUMNS[:5]]


def read_valid(test: Rows) -> Rows:
    """The half of USR's contexts that is not in the test rows: the paper's validation rows (HUMOD's are not here)."""
    data = read("dataset:usr/topical_chat")
    tested = set(test.units.values())
    kept = {p.response.id: p.response for p in data.pairs() if (p.item.dialogue or p.item.id) not in tested}
    ratings = [rating for rating in data.ratings if rating.response in kept]
    column = Column("USR-TC", "usr/topical_chat", test.column.aspect, None, test.column.seed)
    chosen = replace(data, responses=kept, ratings=ratings)
    return Rows(column, chosen, {name: response.item for name, response in kept.items()})
