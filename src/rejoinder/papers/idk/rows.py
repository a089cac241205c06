"""Rated rows: vectors for the regressions, mean ratings, and scores of other metrics.

Language models take a second or more per reply on a CPU: they score a fixed sample of each column's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.inputs import read
from rejoinder.metric import NAN, Metric, Row, SetMetric, Statistic, parse
from rejoinder.metrics.fed import Fed, score_together
from rejoinder.models.base import Vectors
from rejoinder.models.encoder.pair_encoder import PairEncoder
from rejoinder.models.idk import regression_probabilities
from rejoinder.papers.own.relevance.measures import score_relevance_rows
from rejoinder.papers.own.relevance.rows import COLUMNS, RelevanceColumn, RelevanceRows, read_relevance_rows
from rejoinder.scoring import compute
from rejoinder.stats.bootstrap import BootstrapPlan, correlation_intervals
from rejoinder.stats.correlation import Method, pearson, spearman
from rejoinder.stats.interval import Interval
from rejoinder.training.idk import IdkRegression
from rejoinder.types import Pair, Turn

SPEARMAN, PEARSON = "S", "P"  # in the names of cells, as "HUMOD S"
SAMPLE_ROWS = 100  # per column
SampleScores: TypeAlias = Mapping[str, Mapping[str, float]]  # spec -> response -> score
_Text: TypeAlias = tuple[tuple[Turn, ...], str]


def draw_rated_rows(rows: RelevanceRows, n: int = SAMPLE_ROWS) -> list[Pair]:
    """Sample rows from a column, in their order, by its seed: FED's two columns get the same replies."""
    pairs = list(rows.data.pairs())
    if len(pairs) <= n:
        return pairs
    chosen = np.random.default_rng(rows.column.seed).choice(len(pairs), n, replace=False)
    return [pairs[i] for i in sorted(chosen.tolist())]


def score_samples(
    columns: Sequence[RelevanceRows], specs: Sequence[str], n: int = SAMPLE_ROWS
) -> Sequence[SampleScores]:
    """Return the scores of each column's sample; a metric over a whole set gets the sample as its set."""
    samples = [draw_rated_rows(rows, n) for rows in columns]
    distinct: dict[_Text, Pair] = {}
    for pair in (pair for pairs in samples for pair in pairs):
        distinct.setdefault(_pair_texts(pair), pair)
    scores_by_column: list[dict[str, Mapping[str, float]]] = [{} for _ in columns]
    for metric, statistics in _measure_rows([parse(spec) for spec in specs], list(distinct.values())).items():
        known = dict(zip(distinct, statistics, strict=True))
        for scores, pairs in zip(scores_by_column, samples, strict=True):
            scores[str(metric)] = _settle_rows(metric, pairs, known)
    return scores_by_column


def _measure_rows(metrics: Sequence[Metric], pairs: Sequence[Pair]) -> dict[Metric, Sequence[Statistic]]:
    """Each metric's statistics of the pairs; FED's aspects together, since reading the conversation takes most time."""
    statistics: dict[Metric, Sequence[Statistic]] = {}
    feds = [metric for metric in metrics if isinstance(metric, Fed)]
    for model in dict.fromkeys(metric.model for metric in feds):
        same_model = [metric for metric in feds if metric.model == model]
        statistics.update(zip(same_model, score_together(same_model, pairs), strict=True))
    statistics.update({metric: compute.measure_pairs(metric, pairs) for metric in metrics if metric not in statistics})
    return statistics


def _settle_rows(metric: Metric, pairs: Sequence[Pair], known: Mapping[_Text, Statistic]) -> dict[str, float]:
    names = [pair.response.id for pair in pairs]
    values = [known[_pair_texts(pair)] for pair in pairs]
    if isinstance(metric, SetMetric):
        values = compute.settle_set(metric, [Row(name, name, "", v) for name, v in zip(names, values, strict=True)])
    return {name: NAN if value is None else value for name, value in zip(names, values, strict=True)}


def _pair_texts(pair: Pair) -> _Text:
    return pair.item.context, pair.response.text


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
        by_spec: dict[str, dict[str, Interval]] = {spec: {} for spec in self.others}
        methods: tuple[tuple[str, Method], ...] = ((SPEARMAN, "spearman"), (PEARSON, "pearson"))
        for kind, method in methods if self.others else ():
            plan = BootstrapPlan(method=method, seed=self.seed)
            intervals_by_spec = correlation_intervals(self.others, self.ratings, plan, items=list(self.units) or None)
            for spec, interval in intervals_by_spec.items():
                by_spec[spec][f"{self.name} {kind}"] = interval
        return by_spec

    def scores(self, fitted: IdkRegression) -> Values:
        """Return the probabilities that a regression gives the replies."""
        return regression_probabilities(self.features, fitted.weights, fitted.bias)


def score_column(
    rows: RelevanceRows, encoder: PairEncoder, specs: Sequence[str], sampled: SampleScores | None = None
) -> RatedColumn:
    """Compute the vectors of a column's replies and other metrics' scores; ``sampled`` are scores of some rows."""
    scored = score_relevance_rows(rows, [*_FREE_METRICS, *specs])
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
    return [read_relevance_rows(column) for column in COLUMNS[:5]]


def read_valid_rows(test: RelevanceRows) -> RelevanceRows:
    """Return the paper's validation rows: USR's contexts that are not in the test rows (HUMOD's are not available)."""
    data = read("dataset:usr/topical_chat")
    tested = set(test.units.values())
    responses = {p.response.id: p.response for p in data.pairs() if (p.item.dialogue or p.item.id) not in tested}
    ratings = [rating for rating in data.ratings if rating.response in responses]
    column = RelevanceColumn("USR-TC", "usr/topical_chat", test.column.aspect, None, test.column.seed)
    chosen = replace(data, responses=responses, ratings=ratings)
    return RelevanceRows(column, chosen, {name: response.item for name, response in responses.items()})
