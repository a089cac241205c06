"""What a store needs from a database: statements with ``?`` for values, reads, and atomic writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Row = Sequence[Any]


class DatabaseSession(Protocol):
    """A connection during one read or write."""

    def rows(self, statement: str, *values: Any) -> list[Row]:
        """Return the rows of a query."""

    def run(self, statement: str, *values: Any) -> int:
        """Execute a statement, and return how many rows it changed."""

    def many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Execute a statement once per row of values."""


class Database(Protocol):
    """A database that many threads use at once."""

    dialect: str

    def read(self, job: Callable[[DatabaseSession], T]) -> T:
        """Run a job that only reads, and return its result."""

    def write(self, job: Callable[[DatabaseSession], T], *locks: str, durable: bool = True) -> T:
        """Run a job and commit it; if it raises an error, it is rolled back and the error is raised here.

        Jobs that name the same lock never run at the same time (locks are acquired in the order given). Without
        ``durable`` a crash of the machine, but not of the process, may lose the job, unless something durable was
        committed after it.
        """

    def close(self) -> None:
        """Close all connections."""
