"""Bootstrap intervals of correlations between metrics and ratings: dialogues, items or systems are resampled.

All metrics see the same resamples, so their differences have intervals too. A rank correlation is ranked again in every
resample (see ``weighted_correlation``).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rejoinder.engines.base import Engine, WorkerSpec
from rejoinder.stats.arrays import NAN, Floats, Ints, Labels, Numbers, as_finite, check_at_least, check_same_length
from rejoinder.stats.correlation import Method
from rejoinder.stats.interval import Interval
from rejoinder.stats.levels import CorrelationData, Level, LevelCorrelation, MetricBlock
from rejoinder.stats.resampling import (
    IntervalKind,
    ResamplingDesign,
    ResamplingUnit,
    make_generators,
    percentile_interval,
)

Progress: TypeAlias = Callable[[int, int], None]
_MIN_WORK = 2 * 10**8  # resamples times rows times metrics, a few seconds of work: less is not worth another process
_TASK_WORK = 2 * 10**7  # the same, of one task


class ResamplingTask(NamedTuple):
    """What is resampled, how often, and which correlation is computed."""

    at: Level
    method: Method
    unit: ResamplingUnit
    n_resamples: int
    seed: int


class SampleBlock(NamedTuple):
    """Some resamples of a block of metrics: the number of the first one, and the correlations of each metric."""

    task: int
    block: int
    first: int
    samples: Floats


class DrawWorker:
    """The worker of an engine: holds the data and correlates blocks of them."""

    def __init__(self, columns: Sequence[str], ratings: str, design: Sequence[str], tasks: Sequence[Any]) -> None:
        codes = (_decode_array(one, "<i8") for one in design)
        self._blocks = CorrelationData(
            [_decode_array(one, "<f8") for one in columns], _decode_array(ratings, "<f8"), ResamplingDesign(*codes)
        ).blocks()
        self._tasks = [ResamplingTask(*one) for one in tasks]
        self._last: tuple[tuple[int, int], LevelCorrelation] | None = None

    def compute(self, task: Sequence[Any]) -> str:
        """The correlations in some resamples, encoded."""
        number, block, size, states = task
        if self._last is None or self._last[0] != (number, block):
            resampling = self._tasks[number]
            self._last = (number, block), self._blocks[block].correlate(resampling.at, resampling.method)
        generators = [_restore_generator(state) for state in json.loads(states)]
        draws = self._blocks[block].design.draws_from(self._tasks[number].unit, size, generators)
        correlate = self._last[1]
        return _encode_array(np.concatenate([correlate(draw) for draw in draws]), "<f8")

    def close(self) -> None:
        """Nothing to release."""


def is_worth_workers(data: CorrelationData, tasks: Sequence[ResamplingTask], engine: Engine | None) -> bool:
    """Whether workers would be faster than this process."""
    work = sum(task.n_resamples for task in tasks) * len(data.ratings) * len(data.columns)
    return engine is not None and engine.workers > 1 and work >= _MIN_WORK


def resample_with_engine(
    engine: Engine, data: CorrelationData, resamplings: Sequence[ResamplingTask], progress: Progress | None
) -> Iterator[SampleBlock]:
    """Every resample of every block of metrics, in batches as they are finished."""
    blocks = data.blocks()
    design = [_encode_array(codes, "<i8") for codes in (data.design.systems, data.design.items, data.design.dialogues)]
    columns, ratings = [_encode_array(one, "<f8") for one in data.columns], _encode_array(data.ratings, "<f8")
    worker = WorkerSpec(
        "rejoinder.stats.bootstrap:DrawWorker", (columns, ratings, design, [list(one) for one in resamplings])
    )
    places: list[tuple[int, int, int]] = []

    def tasks() -> Iterator[list[Any]]:
        for number, resampling in enumerate(resamplings):
            for block_number, block in enumerate(blocks):
                for first, size, states in _split_blocks(block, resampling):
                    places.append((number, block_number, first))
                    yield [number, block_number, size, states]

    done, total = 0, sum(resampling.n_resamples for resampling in resamplings) * len(blocks)
    for result in engine.compute(worker, tasks()):
        number, block_number, first = places[result.number]
        samples = _decode_array(result.value, "<f8").reshape(-1, len(blocks[block_number].members))
        done += len(samples)
        if progress is not None:
            progress(done, total)
        yield SampleBlock(number, block_number, first, samples)


def _split_blocks(block: MetricBlock, resampling: ResamplingTask) -> Iterator[tuple[int, int, str]]:
    """The first resample of each batch, its size, and the states of the generators before it."""
    generators, at_once = make_generators(resampling.seed), block.design.batch_size
    size_each = max(1, _TASK_WORK // max(1, len(block.ratings) * len(block.members)))
    size_each = -(-size_each // at_once) * at_once  # whole draws, so that they equal those of a single process
    for first in range(0, resampling.n_resamples, size_each):
        size = min(size_each, resampling.n_resamples - first)
        yield first, size, json.dumps([one.bit_generator.state for one in generators])
        block.design.skip(resampling.unit, size, generators)


def _restore_generator(state: dict[str, Any]) -> np.random.Generator:
    generator = np.random.default_rng(0)
    generator.bit_generator.state = state
    return generator


def _encode_array(array: Floats | Ints, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array, kind).tobytes()).decode()


def _decode_array(raw: str, kind: str) -> Any:
    return np.frombuffer(base64.b64decode(raw), kind)


@dataclass(frozen=True)
class BootstrapPlan:
    """What determines a bootstrap interval: which correlation, at which level, what is resampled and how often."""

    at: Level = "pooled"
    resample: ResamplingUnit = "items"
    method: Method = "spearman"
    n_resamples: int = 1000
    seed: int = 0
    level: float = 0.95
    kind: IntervalKind = "corrected"

    def interval(self, value: float, samples: Floats, n: int, n_missing: int, n_units: int) -> Interval:
        """The interval of this plan around an estimate."""
        return percentile_interval(value, samples, n, n_missing, n_units, self.level, self.kind)

    def task(self) -> ResamplingTask:
        """The resampling that this plan needs."""
        return ResamplingTask(self.at, self.method, self.resample, self.n_resamples, self.seed)


DEFAULT_PLAN = BootstrapPlan()


class ResampledCorrelations(NamedTuple):
    """Correlations of several metrics with the ratings, and their values on resamples (resamples by metrics)."""

    names: tuple[str, ...]
    values: Floats
    samples: Floats
    n: Ints
    n_missing: Ints
    n_units: Ints


def resample_correlations(
    scores: Mapping[str, Numbers],
    ratings: Numbers,
    plan: BootstrapPlan = DEFAULT_PLAN,
    *,
    systems: Labels | None = None,
    items: Labels | None = None,
    dialogues: Labels | None = None,
) -> ResampledCorrelations:
    """Every metric's correlation with the ratings at a level, on the data and on seeded resamples.

    Missing and infinite scores of a metric are left out for that metric alone. Without systems all rows belong
    to one system; without items every row is its own item, without dialogues every item is its own dialogue.
    """
    return resample_plans(scores, ratings, [plan], systems=systems, items=items, dialogues=dialogues)[0]


def resample_plans(
    scores: Mapping[str, Numbers],
    ratings: Numbers,
    plans: Sequence[BootstrapPlan],
    *,
    systems: Labels | None = None,
    items: Labels | None = None,
    dialogues: Labels | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> list[ResampledCorrelations]:
    """The same under several plans; an engine's workers share the resamples where there is enough work.

    The numbers do not depend on who computes a resample.
    """
    data = CorrelationData.of(scores, ratings, systems, items, dialogues)
    for plan in plans:
        check_at_least(plan.n_resamples, 1, "n_resamples")
    tasks = [plan.task() for plan in plans]
    results = [_empty_result(tuple(scores), plan.n_resamples) for plan in plans]
    worker_engine = engine if is_worth_workers(data, tasks, engine) else None
    blocks = data.blocks()
    for plan, result in zip(plans, results, strict=True):
        for block in blocks:
            correlate = block.correlate(plan.at, plan.method)
            result.values[block.members] = correlate(block.design.full_sample())[0]
            result.n[block.members] = len(block.ratings)
            result.n_missing[block.members] = len(data.ratings) - len(block.ratings)
            result.n_units[block.members] = block.design.n_units(plan.resample)
            if worker_engine is None:
                draws = block.design.draws(plan.resample, plan.n_resamples, plan.seed)
                result.samples[:, block.members] = np.concatenate([correlate(draw) for draw in draws])
    for batch in resample_with_engine(worker_engine, data, tasks, progress) if worker_engine is not None else ():
        rows = slice(batch.first, batch.first + len(batch.samples))
        results[batch.task].samples[rows, blocks[batch.block].members] = batch.samples
    return results


def _empty_result(names: tuple[str, ...], n_resamples: int) -> ResampledCorrelations:
    """A result with nothing filled in."""
    size = len(names)
    counts = [np.zeros(size, dtype=np.int64) for _ in range(3)]
    return ResampledCorrelations(names, np.full(size, NAN), np.full((n_resamples, size), NAN), *counts)


def correlation_intervals(
    scores: Mapping[str, Numbers],
    ratings: Numbers,
    plan: BootstrapPlan = DEFAULT_PLAN,
    *,
    systems: Labels | None = None,
    items: Labels | None = None,
    dialogues: Labels | None = None,
) -> dict[str, Interval]:
    """Every metric's correlation with the ratings at a level, with its bootstrap interval."""
    resampled = resample_correlations(scores, ratings, plan, systems=systems, items=items, dialogues=dialogues)
    counts = zip(resampled.n.tolist(), resampled.n_missing.tolist(), resampled.n_units.tolist(), strict=True)
    return {
        name: plan.interval(float(value), samples, *name_counts)
        for name, value, samples, name_counts in zip(
            resampled.names, resampled.values, resampled.samples.T, counts, strict=True
        )
    }


def correlation_difference(
    first: Numbers,
    second: Numbers,
    ratings: Numbers,
    plan: BootstrapPlan = DEFAULT_PLAN,
    *,
    systems: Labels | None = None,
    items: Labels | None = None,
    dialogues: Labels | None = None,
) -> Interval:
    """How much better the first metric correlates with the ratings than the second, on rows that have both."""
    x, y = as_finite(first, "first"), as_finite(second, "second")
    check_same_length(first=x, second=y)
    missing = np.isnan(x) | np.isnan(y)
    scores = {"first": np.where(missing, NAN, x), "second": np.where(missing, NAN, y)}
    resampled = resample_correlations(scores, ratings, plan, systems=systems, items=items, dialogues=dialogues)
    value = float(resampled.values[0] - resampled.values[1])
    samples = resampled.samples[:, 0] - resampled.samples[:, 1]
    counts = int(resampled.n[0]), int(resampled.n_missing[0]), int(resampled.n_units[0])
    return plan.interval(value, samples, *counts)
