"""SQLite in WAL mode: readers never wait, and writers share their commits.

A commit that survives a power cut waits for the disk, some milliseconds each. Where several threads write at once, the
first of them carries out what all of them wait for, each in a savepoint of its own, and commits once. Other processes
may have the same file open; they wait for each other by SQLite's own locks.
"""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from rejoinder.annotation.store.database import Row, Session
from rejoinder.errors import InputError, RunError

T = TypeVar("T")
_BUSY_SECONDS = 30.0
_MOST_TOGETHER = 64


class _SqliteSession:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def rows(self, statement: str, *values: Any) -> list[Row]:
        return self.connection.execute(statement, values).fetchall()

    def run(self, statement: str, *values: Any) -> int:
        return self.connection.execute(statement, values).rowcount

    def many(self, statement: str, values: Iterable[Sequence[Any]]) -> None:
        self.connection.executemany(statement, values)


class _WriteJob(Generic[T]):
    """A job that somebody waits for, and what became of it."""

    def __init__(self, job: Callable[[Session], T], durable: bool) -> None:
        self.job, self.durable = job, durable
        self.turn = threading.Event()  # set when the job is settled, or when it is this one's turn to lead
        self.settled = False
        self.result: T | None = None
        self.error: BaseException | None = None


class SqliteDatabase:
    """A file; ``read`` and ``write`` may be called from any thread."""

    dialect = "sqlite"

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._idle: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._all: list[sqlite3.Connection] = []
        self._queue: list[_WriteJob[Any]] = []
        self._queueing, self._writing = threading.Lock(), threading.Lock()
        self._led = False
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # What people said is nobody else's business on this machine; SQLite gives its side files the same rights.
            os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            self._writer = self._connect()
            self._writer.execute("PRAGMA journal_mode = WAL")
        except (OSError, sqlite3.Error) as error:
            raise InputError(f"{self._path}: cannot be used as a database of judgements ({error})") from None

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        connection.execute("PRAGMA foreign_keys = ON")
        self._all.append(connection)
        return connection

    def read(self, job: Callable[[Session], T]) -> T:
        """What a job finds, as of one moment."""
        try:
            connection = self._idle.get_nowait()
        except queue.Empty:
            connection = self._connect()
        try:
            connection.execute("BEGIN")
            try:
                return job(_SqliteSession(connection))
            finally:
                connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise RunError(f"{self._path}: the judgements cannot be read ({error})") from error
        finally:
            self._idle.put(connection)

    def write(self, job: Callable[[Session], T], *locks: str, durable: bool = True) -> T:
        """Carry a job out; there is one writer, so that the locks are held without doing anything."""
        waiting = _WriteJob(job, durable)
        with self._queueing:
            self._queue.append(waiting)
            leads, self._led = not self._led, True
        if not leads:
            waiting.turn.wait()
        if not waiting.settled:
            self._lead()
        if waiting.error is not None:
            raise waiting.error
        return cast(T, waiting.result)

    def _lead(self) -> None:
        """Carry out what waits, from the front, and hand the lead to the next who comes too late for this commit."""
        with self._queueing:
            batch, self._queue = self._queue[:_MOST_TOGETHER], self._queue[_MOST_TOGETHER:]
        try:
            with self._writing:
                self._carry_out(batch)
        finally:
            with self._queueing:
                self._led = bool(self._queue)
                if self._queue:
                    self._queue[0].turn.set()
            for waiting in batch:
                waiting.settled = True
                waiting.turn.set()

    def _carry_out(self, batch: list[_WriteJob[Any]]) -> None:
        try:
            durable = any(waiting.durable for waiting in batch)
            self._writer.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._writer.execute("BEGIN IMMEDIATE")
            for waiting in batch:
                self._carry_out_one(waiting)
            self._writer.execute("COMMIT")
        except BaseException as error:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            for waiting in batch:
                waiting.error = RunError(f"{self._path}: the judgements cannot be written ({error})")
            if not isinstance(error, Exception):
                raise

    def _carry_out_one(self, waiting: _WriteJob[Any]) -> None:
        self._writer.execute("SAVEPOINT one")
        try:
            waiting.result = waiting.job(_SqliteSession(self._writer))
        except Exception as error:
            if not self._writer.in_transaction:  # SQLite has undone everything (a full disk): nobody's job was done
                raise
            self._writer.execute("ROLLBACK TO one")
            waiting.error = error
        self._writer.execute("RELEASE one")

    def close(self) -> None:
        """Let go of the file."""
        with self._writing:
            for connection in self._all:
                connection.close()
            self._all.clear()
