"""Pools found by an engine: workers open the repository once, then find and judge pools in batches."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rejoinder.data.objects import to_object
from rejoinder.data.schema import Place, from_object
from rejoinder.engines.base import Engine, WorkerSpec, order_results
from rejoinder.engines.caching import CachingEngine
from rejoinder.metric import parse
from rejoinder.selection import inputs as files
from rejoinder.selection.acceptability_file import SHIPPED, load_acceptability
from rejoinder.selection.model_pass import attach_acceptability
from rejoinder.selection.pools import open_pool_search
from rejoinder.selection.settings import SelectionSettings
from rejoinder.types import Question

_BATCH_SIZE = 64
_PLACE = Place("pools", 0)


@dataclass(frozen=True)
class PoolEngine:
    """An engine, and the inputs that its workers open: names as users type them."""

    engine: Engine
    dialogues: tuple[str, ...]
    repository: tuple[str, ...]
    training: tuple[str, ...] = ()
    acceptability: str | None = None

    def pools(self, settings: SelectionSettings, names: Sequence[str]) -> Iterator[list[Question]]:
        """Yield the pools of the items with these ids, in order, in batches."""
        tasks = (list(names[start : start + _BATCH_SIZE]) for start in range(0, len(names), _BATCH_SIZE))
        for objects in order_results(self.engine.compute(self._worker_spec(settings), tasks)):
            yield _read_questions(objects)

    def find_unless_cached(
        self, settings: SelectionSettings, names: Sequence[str], find: Callable[[Sequence[str]], list[Question]]
    ) -> list[Question]:
        """Return the pools of some items, found in this process unless the engine has them in its cache."""
        if not isinstance(self.engine, CachingEngine):
            return find(names)

        def objects(task: Sequence[str]) -> list[Any]:
            return [to_object(pool) for pool in find(task)]

        return _read_questions(self.engine.value(self._worker_spec(settings), list(names), objects))

    def _worker_spec(self, settings: SelectionSettings) -> WorkerSpec:
        file_lists = [list(part) for part in (self.dialogues, self.repository, self.training)]
        arguments = (*file_lists, self.acceptability, dataclasses.asdict(settings))
        return WorkerSpec(
            "rejoinder.selection.worker:PoolWorker",
            arguments,
        )


def _read_questions(objects: Sequence[Any]) -> list[Question]:
    return [record for record in (from_object(one, _PLACE) for one in objects) if isinstance(record, Question)]


class PoolWorker:
    """An opened repository with its sources, and the judge."""

    def __init__(
        self,
        dialogues: Sequence[str],
        repository: Sequence[str],
        training: Sequence[str],
        acceptability: str | None,
        settings: Mapping[str, Any],
    ) -> None:
        self._settings = SelectionSettings(**{**settings, "sources": tuple(settings["sources"])})
        file_lists = [[files.BuildInput.parse(one) for one in part] for part in (dialogues, repository, training)]
        records = files.read_context_records(file_lists[0]), files.read_repository(file_lists[1])
        search = open_pool_search(*records, self._settings, files.read_training_records(file_lists[2]))
        self._items = {item.id: item for item in search.items}
        self._finder = search.finder
        has_judge = self._settings.judge is not None and not self._settings.random
        self._acceptability = (
            load_acceptability(parse(str(self._settings.judge)), acceptability or SHIPPED) if has_judge else None
        )

    def compute(self, task: Sequence[str]) -> list[Any]:
        """Return the pools of some items, judged if there is a judge."""
        pools = self._finder.pools([self._items[name] for name in task])
        if self._acceptability is not None:
            pools = attach_acceptability(pools, parse(self._acceptability.metric), self._acceptability)
        return [to_object(pool) for pool in pools]

    def close(self) -> None:
        """Nothing to release."""
