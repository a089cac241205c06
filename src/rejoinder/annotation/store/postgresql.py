"""PostgreSQL, for teams: tables in their own schema, ``rejoinder``, and a limited number of connections."""

from __future__ import annotations

import contextlib
import functools
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from rejoinder.annotation.store.database import DatabaseSession, Row
from rejoinder.errors import InputError, MissingExtraError, RunError
from rejoinder.seeded import stable_hash

if TYPE_CHECKING:
    import psycopg


class FairSemaphore:
    """A semaphore that serves threads in order; used by ``with``."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._waiting: deque[threading.Event] = deque()
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self._free and not self._waiting:
                self._free -= 1
                return
            turn = threading.Event()
            self._waiting.append(turn)
        turn.wait()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()  # the next thread gets this place
            else:
                self._free += 1


T = TypeVar("T")
_MOST_CONNECTIONS = 16
_MOST_TRIES = 5
_TRUSTED_SECONDS = 10.0  # a connection that was idle for longer is tested before use


class _PostgresqlSession:
    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection

    def rows(self, statement: str, *values: Any) -> list[Row]:
        return self.connection.execute(_translate_placeholders(statement), values).fetchall()

    def run(self, statement: str, *values: Any) -> int:
        return self.connection.execute(_translate_placeholders(statement), values).rowcount

    def many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        with self.connection.cursor() as cursor:
            cursor.executemany(_translate_placeholders(statement), values)


@functools.cache
def _translate_placeholders(statement: str) -> bytes:
    return statement.replace("%", "%%").replace("?", "%s").encode()


class PostgresqlDatabase:
    """A PostgreSQL database by its URL; ``read`` and ``write`` may be called from any thread."""

    dialect = "postgresql"

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("psycopg", "postgres", "a PostgreSQL database") from None
        self._psycopg, self._url = psycopg, url
        self._check_url()
        self._places = FairSemaphore(_MOST_CONNECTIONS)
        self._idle: list[tuple[float, psycopg.Connection[Any]]] = []
        try:
            with self._connection() as connection:
                self._name = f"{connection.info.host}:{connection.info.port}/{connection.info.dbname}"
        except psycopg.Error as error:
            # The error names the host, never the password.
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise InputError(f"the PostgreSQL database could not be reached ({reason})") from None

    def _check_url(self) -> None:
        """Raise an error if a name or password ends too early: libpq's own error message would show part of it."""
        try:
            parts = self._psycopg.conninfo.conninfo_to_dict(self._url)
        except self._psycopg.Error:
            parts = {"host": "@"}
        shown_parts = f"{parts.get('host', '')}{parts.get('dbname', '')}"
        if "@" in shown_parts or not re.fullmatch(r"[0-9,]*", str(parts.get("port", ""))):
            raise InputError(
                "the URL of the PostgreSQL database could not be parsed; percent-encode special characters in its name "
                "and password, e.g. a space as %20"
            )

    @contextlib.contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Any]]:
        with self._places:
            connection = self._idle_connection() or self._open_connection()
            try:
                yield connection
            finally:
                if connection.broken or connection.closed:
                    connection.close()
                else:
                    self._idle.append((time.monotonic(), connection))

    def _idle_connection(self) -> psycopg.Connection[Any] | None:
        while self._idle:
            try:
                since, connection = self._idle.pop()
            except IndexError:  # another thread was faster
                return None
            if time.monotonic() - since < _TRUSTED_SECONDS:
                return connection
            try:
                connection.execute("SELECT 1")
                return connection
            except self._psycopg.Error:
                connection.close()
        return None

    def _open_connection(self) -> psycopg.Connection[Any]:
        connection = self._psycopg.connect(self._url, autocommit=True, connect_timeout=10)
        connection.execute("SET search_path TO rejoinder")
        return connection

    def read(self, job: Callable[[DatabaseSession], T]) -> T:
        """Run a job that only reads."""
        return self._attempt(job)

    def write(self, job: Callable[[DatabaseSession], T], *locks: str, durable: bool = True) -> T:
        """Run a job under advisory locks, which last until the end of the transaction."""

        def locked_job(session: DatabaseSession) -> T:
            for lock in locks:
                session.rows("SELECT pg_advisory_xact_lock(?)", stable_hash("lock", lock) - 2**63)
            if not durable:
                session.run("SET LOCAL synchronous_commit = off")
            return job(session)

        return self._attempt(locked_job)

    def _attempt(self, job: Callable[[DatabaseSession], T]) -> T:
        """Run a job in a transaction; if it conflicted with another and was rolled back, try again."""
        errors = self._psycopg.errors
        for tries in range(1, _MOST_TRIES + 1):
            try:
                with self._connection() as connection, connection.transaction():
                    return job(_PostgresqlSession(connection))
            except (errors.SerializationFailure, errors.DeadlockDetected, errors.UniqueViolation) as error:
                if tries == _MOST_TRIES:
                    raise RunError(f"{self._name}: too many writers at once ({type(error).__name__})") from error
            except self._psycopg.Error as error:
                raise RunError(f"{self._name}: the database failed ({str(error).strip()})") from error
        raise AssertionError("unreachable")

    def close(self) -> None:
        """Close the idle connections."""
        while self._idle:
            self._idle.pop()[1].close()
