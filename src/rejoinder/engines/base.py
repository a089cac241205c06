"""What an engine is: it makes workers, which stay, and lets them compute tasks; the results come as they are done.

A worker is named by the place of its class and by plain values (what JSON can hold), so that any process on any machine
can make one. A task and its result are plain values too. Which worker computes a task, and
in what order, changes no result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol


class Worker(Protocol):
    """What computes tasks; what it needs is loaded once."""

    def compute(self, task: Any) -> Any:
        """The result of a task."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


@dataclass(frozen=True)
class WorkerSpec:
    """A kind of worker: ``package.module:Class``, and what one is made with.

    ``address`` is what results are kept under: it stays as it was when a class moves to another module.
    """

    maker: str
    given: tuple[Any, ...] = ()
    address: str = ""

    def worker(self) -> Worker:
        """A new worker."""
        module, _, name = self.maker.partition(":")
        found: Worker = getattr(import_module(module), name)(*self.given)
        return found


@dataclass(frozen=True)
class TaskResult:
    """A task that is done: its number in the order of asking, and its result."""

    number: int
    value: Any


@dataclass
class FailureCounts:
    """What went wrong on the way and was made good, up to now; None where an engine cannot tell."""

    failures: int | None = 0  # workers or nodes that died
    retries: int | None = 0  # tasks that were given out again


class Engine(Protocol):
    """Who computes."""

    @property
    def name(self) -> str:
        """What the engine is called on the command line."""
        ...

    @property
    def workers(self) -> int:
        """How many tasks are computed at the same time."""
        ...

    @property
    def counts(self) -> FailureCounts:
        """What went wrong and was made good since the engine was opened; it is read while tasks are computed."""
        ...

    def compute(self, work: WorkerSpec, tasks: Iterable[Any]) -> Iterator[TaskResult]:
        """Every task, in the order in which they are done; tasks are taken as they are needed."""
        ...


def order_results(outcomes: Iterable[TaskResult]) -> Iterator[Any]:
    """The values of outcomes by number; one that comes early waits for those before it."""
    early: dict[int, Any] = {}
    following = 0
    for outcome in outcomes:
        early[outcome.number] = outcome.value
        while following in early:
            yield early.pop(following)
            following += 1
