"""Pools found by an engine: workers open the repository once, and find and judge some pools at a time."""

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
    """An engine, and where its workers find what they need: names as they are typed."""

    engine: Engine
    dialogues: tuple[str, ...]
    repository: tuple[str, ...]
    training: tuple[str, ...] = ()
    acceptability: str | None = None

    def pools(self, settings: SelectionSettings, names: Sequence[str]) -> Iterator[list[Question]]:
        """The pools of items, by their ids and in order, some at a time."""
        tasks = (list(names[start : start + _BATCH_SIZE]) for start in range(0, len(names), _BATCH_SIZE))
        for objects in order_results(self.engine.compute(self._work(settings), tasks)):
            yield _read_questions(objects)

    def kept_here(
        self, settings: SelectionSettings, names: Sequence[str], found: Callable[[Sequence[str]], list[Question]]
    ) -> list[Question]:
        """The pools of some items, found in this process unless the engine kept them."""
        if not isinstance(self.engine, CachingEngine):
            return found(names)

        def objects(task: Sequence[str]) -> list[Any]:
            return [to_object(pool) for pool in found(task)]

        return _read_questions(self.engine.value(self._work(settings), list(names), objects))

    def _work(self, settings: SelectionSettings) -> WorkerSpec:
        named = [list(part) for part in (self.dialogues, self.repository, self.training)]
        given = (*named, self.acceptability, dataclasses.asdict(settings))
        return WorkerSpec(
            "rejoinder.selection.worker:PoolWorker",
            given,
            address="rejoinder.selection.by_engine:PoolWorker",
        )


def _read_questions(objects: Sequence[Any]) -> list[Question]:
    return [record for record in (from_object(one, _PLACE) for one in objects) if isinstance(record, Question)]


class PoolWorker:
    """A repository with its sources opened, and the judge."""

    def __init__(
        self,
        dialogues: Sequence[str],
        repository: Sequence[str],
        training: Sequence[str],
        acceptability: str | None,
        settings: Mapping[str, Any],
    ) -> None:
        self._settings = SelectionSettings(**{**settings, "sources": tuple(settings["sources"])})
        named = [[files.BuildInput.of(one) for one in part] for part in (dialogues, repository, training)]
        read = files.read_contexts(named[0]), files.read_repository(named[1])
        work = open_pool_search(*read, self._settings, files.read_training(named[2]))
        self._items = {item.id: item for item in work.items}
        self._proposing = work.proposing
        judged = self._settings.judge is not None and not self._settings.random
        self._known = load_acceptability(parse(str(self._settings.judge)), acceptability or SHIPPED) if judged else None

    def compute(self, task: Sequence[str]) -> list[Any]:
        """The pools of some items, judged where there is a judge."""
        pools = self._proposing.pools([self._items[name] for name in task])
        if self._known is not None:
            pools = attach_acceptability(pools, parse(self._known.metric), self._known)
        return [to_object(pool) for pool in pools]

    def close(self) -> None:
        """There is nothing to let go of."""
