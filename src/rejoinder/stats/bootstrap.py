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
from rejoinder.stats.resampling import Design, IntervalKind, ResamplingUnit, make_generators, percentile_interval

Progress: TypeAlias = Callable[[int, int], None]
_ENOUGH = 2 * 10**8  # resamples times rows times metrics, a few seconds of work: less is not worth another process
_STRETCH = 2 * 10**7  # of a task


class ResamplingTask(NamedTuple):
    """What is resampled, how often, and which correlation is computed."""

    at: Level
    method: Method
    unit: ResamplingUnit
    n_resamples: int
    seed: int


class SampleBlock(NamedTuple):
    """Some resamples of a block of metrics: the number of the first one, and the correlations of each metric."""

    drawing: int
    part: int
    first: int
    samples: Floats


class DrawWorker:
    """The worker of an engine: holds the data and correlates blocks of them."""

    def __init__(self, columns: Sequence[str], ratings: str, design: Sequence[str], drawings: Sequence[Any]) -> None:
        codes = (_decode_array(one, "<i8") for one in design)
        self._parts = CorrelationData(
            [_decode_array(one, "<f8") for one in columns], _decode_array(ratings, "<f8"), Design(*codes)
        ).parts()
        self._drawings = [ResamplingTask(*one) for one in drawings]
        self._known: tuple[tuple[int, int], LevelCorrelation] | None = None

    def compute(self, task: Sequence[Any]) -> str:
        """The correlations in some resamples, encoded."""
        drawing, part, size, states = task
        if self._known is None or self._known[0] != (drawing, part):
            asked = self._drawings[drawing]
            self._known = (drawing, part), self._parts[part].correlate(asked.at, asked.method)
        standing = [_restore_generator(state) for state in json.loads(states)]
        draws = self._parts[part].design.drawn(self._drawings[drawing].unit, size, standing)
        correlate = self._known[1]
        return _encode_array(np.concatenate([correlate(draw) for draw in draws]), "<f8")

    def close(self) -> None:
        """Nothing to release."""


def is_worth_workers(data: CorrelationData, drawings: Sequence[ResamplingTask], engine: Engine | None) -> bool:
    """Whether workers would be faster than this process."""
    work = sum(drawing.n_resamples for drawing in drawings) * len(data.ratings) * len(data.columns)
    return engine is not None and engine.workers > 1 and work >= _ENOUGH


def resample_with_engine(
    engine: Engine, data: CorrelationData, drawings: Sequence[ResamplingTask], progress: Progress | None
) -> Iterator[SampleBlock]:
    """Every resample of every block of metrics, in batches as they are finished."""
    parts = data.parts()
    design = [_encode_array(codes, "<i8") for codes in (data.design.systems, data.design.items, data.design.dialogues)]
    columns, ratings = [_encode_array(one, "<f8") for one in data.columns], _encode_array(data.ratings, "<f8")
    work = WorkerSpec(
        "rejoinder.stats.bootstrap:DrawWorker", (columns, ratings, design, [list(one) for one in drawings])
    )
    asked: list[tuple[int, int, int]] = []

    def tasks() -> Iterator[list[Any]]:
        for number, drawing in enumerate(drawings):
            for at, part in enumerate(parts):
                for first, size, states in _split_blocks(part, drawing):
                    asked.append((number, at, first))
                    yield [number, at, size, states]

    done, total = 0, sum(drawing.n_resamples for drawing in drawings) * len(parts)
    for outcome in engine.compute(work, tasks()):
        number, at, first = asked[outcome.number]
        samples = _decode_array(outcome.value, "<f8").reshape(-1, len(parts[at].members))
        done += len(samples)
        if progress is not None:
            progress(done, total)
        yield SampleBlock(number, at, first, samples)


def _split_blocks(part: MetricBlock, drawing: ResamplingTask) -> Iterator[tuple[int, int, str]]:
    """The first resample of each batch, its size, and the states of the generators before it."""
    standing, at_once = make_generators(drawing.seed), part.design.at_once
    each = max(1, _STRETCH // max(1, len(part.ratings) * len(part.members)))
    each = -(-each // at_once) * at_once  # whole draws, so that they equal those of a single process
    for first in range(0, drawing.n_resamples, each):
        size = min(each, drawing.n_resamples - first)
        yield first, size, json.dumps([one.bit_generator.state for one in standing])
        part.design.skip(drawing.unit, size, standing)


def _restore_generator(state: dict[str, Any]) -> np.random.Generator:
    found = np.random.default_rng(0)
    found.bit_generator.state = state
    return found


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

    def drawing(self) -> ResamplingTask:
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
    drawings = [plan.drawing() for plan in plans]
    found = [_empty_result(tuple(scores), plan.n_resamples) for plan in plans]
    shared = engine if is_worth_workers(data, drawings, engine) else None
    parts = data.parts()
    for plan, into in zip(plans, found, strict=True):
        for part in parts:
            correlate = part.correlate(plan.at, plan.method)
            into.values[part.members] = correlate(part.design.as_it_is())[0]
            into.n[part.members] = len(part.ratings)
            into.n_missing[part.members] = len(data.ratings) - len(part.ratings)
            into.n_units[part.members] = part.design.n_units(plan.resample)
            if shared is None:
                draws = part.design.draws(plan.resample, plan.n_resamples, plan.seed)
                into.samples[:, part.members] = np.concatenate([correlate(draw) for draw in draws])
    for stretch in resample_with_engine(shared, data, drawings, progress) if shared is not None else ():
        rows = slice(stretch.first, stretch.first + len(stretch.samples))
        found[stretch.drawing].samples[rows, parts[stretch.part].members] = stretch.samples
    return found


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
    done = resample_correlations(scores, ratings, plan, systems=systems, items=items, dialogues=dialogues)
    counts = zip(done.n.tolist(), done.n_missing.tolist(), done.n_units.tolist(), strict=True)
    return {
        name: plan.interval(float(value), samples, *of_name)
        for name, value, samples, of_name in zip(done.names, done.values, done.samples.T, counts, strict=True)
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
    done = resample_correlations(scores, ratings, plan, systems=systems, items=items, dialogues=dialogues)
    value = float(done.values[0] - done.values[1])
    samples = done.samples[:, 0] - done.samples[:, 1]
    counts = int(done.n[0]), int(done.n_missing[0]), int(done.n_units[0])
    return plan.interval(value, samples, *counts)
