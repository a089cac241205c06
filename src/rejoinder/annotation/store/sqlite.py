"""SQLite in WAL mode: readers never wait, and writers share commits.

A commit that survives a power failure waits a few milliseconds for the disk. If several threads write at once, the
first of them runs the jobs of all, each in its own savepoint, and commits once. Other processes may have the same file
open; they wait for each other by SQLite's own locks.
"""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from rejoinder.annotation.store.database import DatabaseSession, Row
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
    """A job that a thread waits for, and its result or error."""

    def __init__(self, job: Callable[[DatabaseSession], T], durable: bool) -> None:
        self.job, self.durable = job, durable
        self.turn = threading.Event()  # set when the job is done, or when this thread is to run the next batch
        self.done = False
        self.result: T | None = None
        self.error: BaseException | None = None


class SqliteDatabase:
    """A SQLite file; ``read`` and ``write`` may be called from any thread."""

    dialect = "sqlite"

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._idle: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        self._all: list[sqlite3.Connection] = []
        self._queue: list[_WriteJob[Any]] = []
        self._queue_lock, self._write_lock = threading.Lock(), threading.Lock()
        self._has_leader = False
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # Judgements are private to the owner of the file; SQLite gives its side files the same permissions.
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

    def read(self, job: Callable[[DatabaseSession], T]) -> T:
        """Run a job that only reads, in one transaction."""
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
            raise RunError(f"{self._path}: the judgements could not be read ({error})") from error
        finally:
            self._idle.put(connection)

    def write(self, job: Callable[[DatabaseSession], T], *locks: str, durable: bool = True) -> T:
        """Run a job and commit it; there is only one writer, so the locks hold without further action."""
        write_job = _WriteJob(job, durable)
        with self._queue_lock:
            self._queue.append(write_job)
            is_leader, self._has_leader = not self._has_leader, True
        if not is_leader:
            write_job.turn.wait()
        if not write_job.done:
            self._run_batch()
        if write_job.error is not None:
            raise write_job.error
        return cast(T, write_job.result)

    def _run_batch(self) -> None:
        """Run the jobs that wait, in order; then the first thread that came too late runs the next batch."""
        with self._queue_lock:
            batch, self._queue = self._queue[:_MOST_TOGETHER], self._queue[_MOST_TOGETHER:]
        try:
            with self._write_lock:
                self._run_jobs(batch)
        finally:
            with self._queue_lock:
                self._has_leader = bool(self._queue)
                if self._queue:
                    self._queue[0].turn.set()
            for write_job in batch:
                write_job.done = True
                write_job.turn.set()

    def _run_jobs(self, batch: list[_WriteJob[Any]]) -> None:
        try:
            durable = any(write_job.durable for write_job in batch)
            self._writer.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._writer.execute("BEGIN IMMEDIATE")
            for write_job in batch:
                self._run_job(write_job)
            self._writer.execute("COMMIT")
        except BaseException as error:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            for write_job in batch:
                write_job.error = RunError(f"{self._path}: the judgements could not be written ({error})")
            if not isinstance(error, Exception):
                raise

    def _run_job(self, write_job: _WriteJob[Any]) -> None:
        self._writer.execute("SAVEPOINT one")
        try:
            write_job.result = write_job.job(_SqliteSession(self._writer))
        except Exception as error:
            if not self._writer.in_transaction:  # SQLite has rolled back everything (disk full): no job was done
                raise
            self._writer.execute("ROLLBACK TO one")
            write_job.error = error
        self._writer.execute("RELEASE one")

    def close(self) -> None:
        """Close the file."""
        with self._write_lock:
            for connection in self._all:
                connection.close()
            self._all.clear()
