"""Resamples shared out to the workers of an engine: the same numbers as one process draws, whoever draws them.

Here the generators are only led through the resamples, and where they stand at the beginning of each stretch goes with
its task; the workers draw and correlate.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rejoinder.engines.contract import Engine, Work
from rejoinder.stats.arrays import Floats, Ints
from rejoinder.stats.correlation import Method
from rejoinder.stats.levels import AtLevel, Level
from rejoinder.stats.patterned import Data, Part
from rejoinder.stats.resampling import Design, Unit, generators

Progress: TypeAlias = Callable[[int, int], None]
_ENOUGH = 2 * 10**8  # resamples times rows times metrics, some seconds' work: less is not worth another process
_STRETCH = 2 * 10**7  # of a task


class Drawing(NamedTuple):
    """What is drawn again, how often, and what is computed of it."""

    at: Level
    method: Method
    unit: Unit
    n_resamples: int
    seed: int


class Stretch(NamedTuple):
    """Some resamples of a part under one drawing: the first one's number, and the correlations of each metric."""

    drawing: int
    part: int
    first: int
    samples: Floats


class DrawWorker:
    """The data, and what correlates their parts."""

    def __init__(self, columns: Sequence[str], ratings: str, design: Sequence[str], drawings: Sequence[Any]) -> None:
        codes = (_unpacked(one, "<i8") for one in design)
        self._parts = Data(
            [_unpacked(one, "<f8") for one in columns], _unpacked(ratings, "<f8"), Design(*codes)
        ).parts()
        self._drawings = [Drawing(*one) for one in drawings]
        self._known: tuple[tuple[int, int], AtLevel] | None = None

    def compute(self, task: Sequence[Any]) -> str:
        """The correlations in some resamples."""
        drawing, part, size, states = task
        if self._known is None or self._known[0] != (drawing, part):
            asked = self._drawings[drawing]
            self._known = (drawing, part), self._parts[part].correlate(asked.at, asked.method)
        standing = [_standing(state) for state in json.loads(states)]
        draws = self._parts[part].design.drawn(self._drawings[drawing].unit, size, standing)
        correlate = self._known[1]
        return _packed(np.concatenate([correlate(draw) for draw in draws]), "<f8")

    def close(self) -> None:
        """There is nothing to let go of."""


def is_worth(data: Data, drawings: Sequence[Drawing], engine: Engine | None) -> bool:
    """Whether workers would be quicker than this process."""
    work = sum(drawing.n_resamples for drawing in drawings) * len(data.ratings) * len(data.columns)
    return engine is not None and engine.workers > 1 and work >= _ENOUGH


def draw_by(engine: Engine, data: Data, drawings: Sequence[Drawing], progress: Progress | None) -> Iterator[Stretch]:
    """Every resample of every part, in stretches as they are done."""
    parts = data.parts()
    design = [_packed(codes, "<i8") for codes in (data.design.systems, data.design.items, data.design.dialogues)]
    columns, ratings = [_packed(one, "<f8") for one in data.columns], _packed(data.ratings, "<f8")
    work = Work("rejoinder.stats.by_engine:DrawWorker", (columns, ratings, design, [list(one) for one in drawings]))
    asked: list[tuple[int, int, int]] = []

    def tasks() -> Iterator[list[Any]]:
        for number, drawing in enumerate(drawings):
            for at, part in enumerate(parts):
                for first, size, states in _stretches(part, drawing):
                    asked.append((number, at, first))
                    yield [number, at, size, states]

    done, total = 0, sum(drawing.n_resamples for drawing in drawings) * len(parts)
    for outcome in engine.compute(work, tasks()):
        number, at, first = asked[outcome.number]
        samples = _unpacked(outcome.value, "<f8").reshape(-1, len(parts[at].members))
        done += len(samples)
        if progress is not None:
            progress(done, total)
        yield Stretch(number, at, first, samples)


def _stretches(part: Part, drawing: Drawing) -> Iterator[tuple[int, int, str]]:
    """The first resample of each stretch, how many it has, and where the generators stand before it."""
    standing, at_once = generators(drawing.seed), part.design.at_once
    each = max(1, _STRETCH // max(1, len(part.ratings) * len(part.members)))
    each = -(-each // at_once) * at_once  # whole draws, so that they are the ones that one process makes
    for first in range(0, drawing.n_resamples, each):
        size = min(each, drawing.n_resamples - first)
        yield first, size, json.dumps([one.bit_generator.state for one in standing])
        part.design.skip(drawing.unit, size, standing)


def _standing(state: dict[str, Any]) -> np.random.Generator:
    found = np.random.default_rng(0)
    found.bit_generator.state = state
    return found


def _packed(array: Floats | Ints, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array, kind).tobytes()).decode()


def _unpacked(raw: str, kind: str) -> Any:
    return np.frombuffer(base64.b64decode(raw), kind)
