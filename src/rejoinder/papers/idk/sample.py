"""What language models say of a fixed sample of each column's rows: they take a second or more a reply on a CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from rejoinder.metric import NAN, Metric, Row, SetMetric, Statistic, parse
from rejoinder.metrics.fed import Fed, score_together
from rejoinder.papers.own.relevance_rows import RelevanceRows
from rejoinder.scoring import compute
from rejoinder.types import Pair, Turn

SAMPLE_ROWS = 100  # a column
SampleScores: TypeAlias = Mapping[str, Mapping[str, float]]  # spec -> response -> score
_Text: TypeAlias = tuple[tuple[Turn, ...], str]


def draw_sample(rows: RelevanceRows, n: int = SAMPLE_ROWS) -> list[Pair]:
    """A sample of a column's rows in their order, by the column's seed: FED's two columns draw the same replies."""
    pairs = list(rows.data.pairs())
    if len(pairs) <= n:
        return pairs
    chosen = np.random.default_rng(rows.column.seed).choice(len(pairs), n, replace=False)
    return [pairs[i] for i in sorted(chosen.tolist())]


def score_samples(
    columns: Sequence[RelevanceRows], specs: Sequence[str], n: int = SAMPLE_ROWS
) -> Sequence[SampleScores]:
    """The scores of each column's sample, which is the whole set where a metric needs one; equal texts count once."""
    drawn = [draw_sample(rows, n) for rows in columns]
    distinct: dict[_Text, Pair] = {}
    for pair in (pair for pairs in drawn for pair in pairs):
        distinct.setdefault(_pair_texts(pair), pair)
    found: list[dict[str, Mapping[str, float]]] = [{} for _ in columns]
    for metric, statistics in _measure([parse(spec) for spec in specs], list(distinct.values())).items():
        known = dict(zip(distinct, statistics, strict=True))
        for scores, pairs in zip(found, drawn, strict=True):
            scores[str(metric)] = _settle(metric, pairs, known)
    return found


def _measure(metrics: Sequence[Metric], pairs: Sequence[Pair]) -> dict[Metric, Sequence[Statistic]]:
    """What each metric finds for the pairs; FED's aspects together, since reading the conversation costs the most."""
    found: dict[Metric, Sequence[Statistic]] = {}
    feds = [metric for metric in metrics if isinstance(metric, Fed)]
    for model in dict.fromkeys(metric.model for metric in feds):
        mine = [metric for metric in feds if metric.model == model]
        found.update(zip(mine, score_together(mine, pairs), strict=True))
    found.update({metric: compute.measure(metric, pairs) for metric in metrics if metric not in found})
    return found


def _settle(metric: Metric, pairs: Sequence[Pair], known: Mapping[_Text, Statistic]) -> dict[str, float]:
    names = [pair.response.id for pair in pairs]
    values = [known[_pair_texts(pair)] for pair in pairs]
    if isinstance(metric, SetMetric):
        values = compute.settle(metric, [Row(name, name, "", v) for name, v in zip(names, values, strict=True)])
    return {name: NAN if value is None else value for name, value in zip(names, values, strict=True)}


def _pair_texts(pair: Pair) -> _Text:
    return pair.item.context, pair.response.text
