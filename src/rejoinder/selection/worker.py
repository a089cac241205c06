"""Pools found by an engine: workers open the repository once, then find and judge pools in batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rejoinder.data.objects import to_object
from rejoinder.data.schema import from_worker
from rejoinder.engines.base import Engine, WorkerSpec, order_results
from rejoinder.engines.caching import compute_here
from rejoinder.metric import Metric, parse, parse_stored
from rejoinder.selection import inputs as files
from rejoinder.selection.acceptability import Acceptability
from rejoinder.selection.acceptability_file import SHIPPED, load_acceptability
from rejoinder.selection.model_pass import attach_acceptability
from rejoinder.selection.pools import PoolSearch, open_pool_search
from rejoinder.selection.settings import SelectionSettings
from rejoinder.types import Question

_BATCH_SIZE = 256  # pools that this process finds and judges together
_TASK_SIZE = 64  # those of a task of several workers


class PoolWorker:
    """An open search for pools, and the measurements of the judge of their candidates, if there is one."""

    def __init__(self, search: PoolSearch, settings: SelectionSettings, acceptability: Acceptability | None) -> None:
        self.search, self.acceptability = search, acceptability
        self._settings = settings
        self._items = {item.id: item for item in search.items}

    def find(self, names: Sequence[str]) -> list[Question]:
        """Find and judge the pools of the items with these ids."""
        pools = self.search.finder.pools([self._items[name] for name in names])
        if self.acceptability is None:
            return pools
        return attach_acceptability(pools, parse_judge(self._settings, self.acceptability), self.acceptability)

    def compute(self, task: Sequence[str]) -> list[Any]:
        """Return the pools of some items as JSON objects."""
        return [to_object(pool) for pool in self.find(task)]

    def close(self) -> None:
        """Nothing to release."""


def open_pool_worker(
    dialogues: Sequence[str],
    repository: Sequence[str],
    training: Sequence[str],
    acceptability: str | None,
    values: Mapping[str, Any],
) -> PoolWorker:
    """Open the files of a ``PoolEngine`` in a process of its engine."""
    settings = SelectionSettings(**{**values, "sources": tuple(values["sources"])})
    file_lists = [[files.BuildInput.parse(one) for one in part] for part in (dialogues, repository, training)]
    records = files.read_context_records(file_lists[0]), files.read_repository(file_lists[1])
    search = open_pool_search(*records, settings, files.read_training_records(file_lists[2]))
    return PoolWorker(search, settings, resolve_judge(settings, path=acceptability))


def resolve_judge(
    settings: SelectionSettings, acceptability: Acceptability | None = None, path: str | None = None
) -> Acceptability | None:
    """Return the measurements of the settings' judge, by default those of a file; None if there is no judge."""
    if settings.judge is None or settings.random:
        return None
    return acceptability if acceptability is not None else load_acceptability(parse(settings.judge), path or SHIPPED)


def parse_judge(settings: SelectionSettings, acceptability: Acceptability) -> Metric:
    """Return the judge of the measurements, which may have been read from a file: only a typed one may be a file."""
    typed = settings.judge is not None and str(parse(settings.judge)) == acceptability.metric
    return parse(acceptability.metric) if typed else parse_stored(acceptability.metric)


@dataclass(frozen=True)
class PoolEngine:
    """An engine, and the inputs that its workers open: names as users type them."""

    engine: Engine
    dialogues: tuple[str, ...]
    repository: tuple[str, ...]
    training: tuple[str, ...] = ()
    acceptability: str | None = None

    def find(self, worker: PoolWorker, settings: SelectionSettings, names: Sequence[str]) -> Iterator[list[Question]]:
        """Yield the pools of items in batches, in order; an engine of one worker uses the open one of this process."""
        shared = self.engine.workers > 1
        engine = self.engine if shared else compute_here(self.engine, worker)
        file_lists = [list(part) for part in (self.dialogues, self.repository, self.training)]
        arguments = (*file_lists, self.acceptability, dataclasses.asdict(settings))
        work = WorkerSpec("rejoinder.selection.worker:open_pool_worker", arguments)
        tasks = split_names(names, _TASK_SIZE if shared else _BATCH_SIZE)
        for objects in order_results(engine.compute(work, tasks)):
            yield from_worker(Question, objects)


def split_names(names: Sequence[str], size: int = _BATCH_SIZE) -> Iterator[list[str]]:
    """Yield the names in batches."""
    return (list(names[start : start + size]) for start in range(0, len(names), size))
