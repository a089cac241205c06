"""What a store needs of a database: statements with ``?`` for values, reads, and writes that are whole or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
Row = Sequence[Any]


class Session(Protocol):
    """A connection during one read or write."""

    def rows(self, statement: str, *values: Any) -> list[Row]:
        """The rows that a query gives."""

    def run(self, statement: str, *values: Any) -> int:
        """Carry a statement out, and say how many rows it touched."""

    def many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        """Carry a statement out once for each row of values."""


class Database(Protocol):
    """A database that many threads use at once."""

    dialect: str

    def read(self, job: Callable[[Session], T]) -> T:
        """What a job finds; it must not write."""

    def write(self, job: Callable[[Session], T], *locks: str, durable: bool = True) -> T:
        """Carry a job out and commit it; what it raises undoes it, and is raised here.

        Jobs that name the same lock never run at the same time (taken in the order given). Without ``durable`` a crash
        of the machine, though not of the process, may lose it, unless something durable was committed after it.
        """

    def close(self) -> None:
        """Let go of all connections."""
