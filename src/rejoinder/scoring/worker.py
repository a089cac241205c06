"""Pairs scored by an engine: some at a time, by workers that create the metric once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rejoinder.data.objects import to_object
from rejoinder.data.schema import from_worker
from rejoinder.engines.base import Engine, WorkerSpec, order_results
from rejoinder.engines.caching import CachingEngine
from rejoinder.metric import Metric, SetMetric, check_shareable, parse, signature
from rejoinder.scoring.api import score_pairs
from rejoinder.scoring.result import Values
from rejoinder.types import Item, Pair, Response

_PAIRS_AT_ONCE = 512


class PairWorker:
    """A metric by its spec."""

    def __init__(
        self, spec: str, signature: str = ""
    ) -> None:  # the signature is part of the address of stored results
        self._metric = parse(spec)

    def compute(self, task: Sequence[Any]) -> list[float | None]:
        """Return the scores of items with their responses; None where there is none."""
        pairs = [
            Pair(item, response)
            for value, responses in task
            for item in from_worker(Item, [value])
            for response in from_worker(Response, responses)
        ]
        return [None if math.isnan(value) else float(value) for value in score_pairs(self._metric, pairs)]

    def close(self) -> None:
        """Nothing to release."""


def score_pairs_with_engine(engine: Engine | None, metric: Metric, pairs: Sequence[Pair]) -> Values:
    """Return the same scores as ``score_pairs``, computed by an engine; a SetMetric is computed in this process."""
    in_process = engine is None or (engine.workers < 2 and not isinstance(engine, CachingEngine))
    if engine is None or in_process or isinstance(metric, SetMetric) or len(pairs) <= _PAIRS_AT_ONCE:
        return score_pairs(metric, pairs)
    check_shareable(metric)
    work = WorkerSpec(
        "rejoinder.scoring.worker:PairWorker",
        (str(metric), signature(metric)),
    )
    scores: list[float | None] = []
    for values in order_results(engine.compute(work, _make_tasks(pairs))):
        scores += values
    return np.array([math.nan if value is None else value for value in scores], np.float64)


def _make_tasks(pairs: Sequence[Pair]) -> Iterator[list[Any]]:
    """Yield some pairs at a time; an item that several neighbouring pairs share is written once."""
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        grouped = itertools.groupby(pairs[start : start + _PAIRS_AT_ONCE], key=lambda pair: pair.item.id)
        task = []
        for _, group in grouped:
            neighbours = list(group)
            task.append([to_object(neighbours[0].item), [to_object(pair.response) for pair in neighbours]])
        yield task
