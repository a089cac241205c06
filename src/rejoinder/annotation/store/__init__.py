"""The store of judgements: SQLite for one machine, PostgreSQL for a team, with one schema and one set of statements."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from rejoinder.annotation.project import is_url
from rejoinder.errors import InputError

if TYPE_CHECKING:
    from rejoinder.annotation.project import Project
    from rejoinder.annotation.store.base import Store
    from rejoinder.annotation.store.database import Database


def open_store(project: Project, url: str | None = None, clock: Callable[[], float] = time.time) -> Store:
    """Open the store of a project, in its own database unless ``url`` names another (a file, or postgresql://...)."""
    from rejoinder.annotation.store.sql_store import SqlStore

    return SqlStore(project, open_database(project.database if url is None else url), clock)


def open_database(url: str) -> Database:
    """Open a database by its URL or path; errors show only the scheme of a URL."""
    if re.match(r"postgres(ql)?://", url):
        from rejoinder.annotation.store.postgresql import PostgresqlDatabase

        return PostgresqlDatabase(url)
    if url.startswith("sqlite:///"):
        url = url.removeprefix("sqlite:///")
    elif is_url(url):
        raise InputError(
            f"databases of the kind {url.partition('://')[0]}:// are not supported; name a file or postgresql://..."
        )
    from rejoinder.annotation.store.sqlite import SqliteDatabase

    return SqliteDatabase(url)
