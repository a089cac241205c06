"""The schema, by numbered steps: a step that has been published is never changed, a new one is a new file.

A step is ``NNNN_name.sql``, or ``NNNN_name.DIALECT.sql`` where the two databases have different words for it.
Statements end with a semicolon and an empty line.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

from rejoinder.annotation.store.database import Database, Session
from rejoinder.errors import InputError

FOLDER = Path(__file__).parent / "migrations"
_NAME = re.compile(r"(\d{4})_(\w+)(?:\.(\w+))?\.sql")
_BOOK = "CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL, at DOUBLE PRECISION)"


def steps(dialect: str) -> dict[int, tuple[str, list[str]]]:
    """The steps for a database: number, name and statements."""
    found: dict[int, tuple[str, list[str]]] = {}
    for path in sorted(FOLDER.glob("*.sql")):
        match = _NAME.fullmatch(path.name)
        if match is not None and match[3] in (None, dialect):
            statements = re.split(r";[ \t]*\n\s*(?:\n|\Z)", path.read_text(encoding="utf-8"))
            found[int(match[1])] = (match[2], [s for s in statements if _says_something(s)])
    return found


def _says_something(statement: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("--") for line in statement.splitlines())


def migrate(database: Database) -> int:
    """Bring a database up to date, and say how many steps that took; one process at a time."""
    known = steps(database.dialect)

    def job(session: Session) -> int:
        if database.dialect == "postgresql":
            session.run("CREATE SCHEMA IF NOT EXISTS rejoinder")
        session.run(_BOOK)
        done = {row[0] for row in session.rows("SELECT number FROM migrations")}
        if newer := done - known.keys():
            raise InputError(
                f"the database was written by a newer rejoinder (step {max(newer)}, this one knows {max(known)}); "
                "update rejoinder"
            )
        for number in sorted(known.keys() - done):
            name, statements = known[number]
            for statement in statements:
                session.run(statement)
            session.run("INSERT INTO migrations (number, name, at) VALUES (?, ?, ?)", number, name, time.time())
        return len(known.keys() - done)

    return database.write(job, "migrations")
