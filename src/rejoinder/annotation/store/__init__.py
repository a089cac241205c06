"""Where judgements are kept: SQLite for one machine, PostgreSQL for a team; one schema, one set of statements."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rejoinder.errors import InputError

if TYPE_CHECKING:
    from rejoinder.annotation.project import Project
    from rejoinder.annotation.store.base import Store
    from rejoinder.annotation.store.database import Database


def open_store(project: Project, url: str | None = None, clock: Callable[[], float] = time.time) -> Store:
    """The store of a project: at its own database unless another is named (a file, or postgresql://...)."""
    from rejoinder.annotation.store.sql_store import SqlStore

    return SqlStore(project, open_database(project.database if url is None else url), clock)


def is_url(database: str) -> bool:
    """Whether a database is named by a URL, and not by its file."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", database) is not None


def open_database(url: str) -> Database:
    """A database by its URL or path; an error of a URL shows no more of it than its scheme."""
    if re.match(r"postgres(ql)?://", url):
        from rejoinder.annotation.store.postgresql import PostgresqlDatabase

        return PostgresqlDatabase(url)
    if url.startswith("sqlite:///"):
        url = url.removeprefix("sqlite:///")
    elif is_url(url):
        raise InputError(
            f"the database {url.partition('://')[0]}:// is of no kind that judgements are kept in; name a file or "
            "postgresql://..."
        )
    from rejoinder.annotation.store.sqlite import SqliteDatabase

    return SqliteDatabase(url)
