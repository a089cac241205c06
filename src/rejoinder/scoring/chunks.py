"""The chunks of a run, computed by an engine: every column of some pairs, stored at its content address."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rejoinder.engines import request_counts
from rejoinder.engines.base import Engine, WorkerSpec
from rejoinder.engines.spending import SpendingLimit, limit_spending
from rejoinder.scoring.cache import ScoreStore
from rejoinder.scoring.compute import CachedScoreColumn, ScoreColumn, compute_cached, make_score_columns
from rejoinder.scoring.index import DataFile

ChunkPositions = list[tuple[int, int, int, int]]


@dataclass(frozen=True)
class ScoringJob:
    """What a run computes, from which data, and where it stores the values."""

    data: Path
    store: Path
    specs: tuple[str, ...]
    matched: bool
    limit: SpendingLimit | None = None

    def work(self) -> WorkerSpec:
        """Return the spec of a worker that computes chunks of this job."""
        limit = None if self.limit is None else list(self.limit)
        arguments = (str(self.data.resolve()), str(self.store.resolve()), list(self.specs), self.matched, limit)
        return WorkerSpec("rejoinder.scoring.chunks:ChunkWorker", arguments)


@dataclass(frozen=True)
class ComputedChunk:
    """A computed chunk: where each column's values are, and the seconds that each took."""

    number: int
    size: int
    columns: tuple[CachedScoreColumn, ...]
    seconds: tuple[float, ...]


class ChunkWorker:
    """Computes chunks of one job; metrics are created once and kept."""

    def __init__(
        self, data: str, store: str, specs: Sequence[str], matched: bool, limit: Sequence[Any] | None = None
    ) -> None:
        self._limit = None if limit is None else SpendingLimit(*limit)
        self._data = DataFile(Path(data))
        self._store = ScoreStore(Path(store))
        self._columns: list[ScoreColumn] = make_score_columns(specs, matched)

    def compute(self, task: Sequence[Sequence[int]]) -> list[Any]:
        """Compute all columns of one chunk: its size, each address and whether it was cached, seconds, requests."""
        pairs = self._data.pairs(task)
        columns, seconds = [], []
        contents: dict[tuple[frozenset[str], frozenset[str]], str] = {}
        report: dict[str, Any] = {}
        with request_counts.fill_request_report(report), limit_spending(self._limit):
            for column in self._columns:
                start = time.perf_counter()
                result = compute_cached(column, pairs, self._store, contents)
                columns.append([result.address, result.cached])
                seconds.append(time.perf_counter() - start)
        return [len(pairs), columns, seconds, report]

    def close(self) -> None:
        """Close the data file."""
        self._data.close()


def compute_chunks(
    job: ScoringJob, chunks: Sequence[range], where: Callable[[range], ChunkPositions], engine: Engine
) -> Iterator[ComputedChunk]:
    """Yield every chunk of a run, in the order in which they are finished."""
    for result in engine.compute(job.work(), (where(chunk) for chunk in chunks)):
        size, columns, seconds, report = result.value
        request_counts.add_request_report(report)
        yield ComputedChunk(result.number, size, tuple(CachedScoreColumn(*one) for one in columns), tuple(seconds))
