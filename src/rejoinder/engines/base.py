"""The contract of engines: an engine creates workers that stay, lets them compute tasks, and yields their results.

A worker is specified by the import path of its class and by plain values (what JSON can hold), so that any process on
any machine can create one. A task and its result are plain values too. Which worker computes a task, and in what order,
does not change any result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol


class Worker(Protocol):
    """Computes tasks, and loads what it needs only once."""

    def compute(self, task: Any) -> Any:
        """Return the result of a task."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


@dataclass(frozen=True)
class WorkerSpec:
    """A kind of worker: ``package.module:name`` of a class or a function that creates it, and its arguments."""

    factory: str
    arguments: tuple[Any, ...] = ()

    def worker(self) -> Worker:
        """Create a worker."""
        module, _, name = self.factory.partition(":")
        created: Worker = getattr(import_module(module), name)(*self.arguments)
        return created


@dataclass(frozen=True)
class TaskResult:
    """A finished task: its number in the order of the tasks, and its result."""

    number: int
    value: Any


@dataclass
class FailureCounts:
    """Failures that were recovered from so far; None if an engine cannot tell."""

    failures: int | None = 0  # workers or nodes that died
    retries: int | None = 0  # tasks that were started again


class Engine(Protocol):
    """Computes tasks with workers."""

    @property
    def name(self) -> str:
        """The engine's name on the command line."""
        ...

    @property
    def workers(self) -> int:
        """The number of tasks computed at the same time."""
        ...

    @property
    def counts(self) -> FailureCounts:
        """The failures since the engine was opened; it may be read while tasks are computed."""
        ...

    def compute(self, work: WorkerSpec, tasks: Iterable[Any]) -> Iterator[TaskResult]:
        """Yield the result of every task as it is finished; ``tasks`` is consumed as needed."""
        ...


def order_results(results: Iterable[TaskResult]) -> Iterator[Any]:
    """Yield the values of results in the order of their numbers; an early one waits for those before it."""
    early: dict[int, Any] = {}
    following = 0
    for result in results:
        early[result.number] = result.value
        while following in early:
            yield early.pop(following)
            following += 1
