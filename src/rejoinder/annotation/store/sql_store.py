"""The store in a database: each method is one read or one write, by the functions in the sibling modules."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rejoinder.annotation.errors import AnnotationError
from rejoinder.annotation.project import Project
from rejoinder.annotation.store import assign, overview, people, unit_cache
from rejoinder.annotation.store import submit as submission
from rejoinder.annotation.store.base import (
    ADJUDICATOR,
    Assignment,
    Judgement,
    LoadCounts,
    ProjectProgress,
    Rater,
    RaterStanding,
    Role,
)
from rejoinder.annotation.store.database import Database, DatabaseSession
from rejoinder.annotation.unit import Unit
from rejoinder.errors import InputError, RunError, brief

MIGRATIONS_FOLDER = Path(__file__).parent / "migrations"
_NAME = re.compile(r"(\d{4})_(\w+)(?:\.(\w+))?\.sql")
_MIGRATIONS_TABLE = (
    "CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL, at DOUBLE PRECISION)"
)


def read_migrations(dialect: str) -> dict[int, tuple[str, list[str]]]:
    """Return the migrations for a database: number, name and statements."""
    migrations: dict[int, tuple[str, list[str]]] = {}
    for path in sorted(MIGRATIONS_FOLDER.glob("*.sql")):
        match = _NAME.fullmatch(path.name)
        if match is not None and match[3] in (None, dialect):
            statements = re.split(r";[ \t]*\n\s*(?:\n|\Z)", path.read_text(encoding="utf-8"))
            migrations[int(match[1])] = (match[2], [s for s in statements if _has_content(s)])
    return migrations


def _has_content(statement: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("--") for line in statement.splitlines())


def migrate_database(database: Database) -> int:
    """Migrate a database, and return the number of migrations applied; one process at a time."""
    known = read_migrations(database.dialect)

    def job(session: DatabaseSession) -> int:
        if database.dialect == "postgresql":
            session.run("CREATE SCHEMA IF NOT EXISTS rejoinder")
        session.run(_MIGRATIONS_TABLE)
        done = {row[0] for row in session.rows("SELECT number FROM migrations")}
        if newer := done - known.keys():
            raise InputError(
                f"the database was written by a newer rejoinder (migration {max(newer)}, this one has {max(known)}); "
                "update rejoinder"
            )
        for number in sorted(known.keys() - done):
            name, statements = known[number]
            for statement in statements:
                session.run(statement)
            session.run("INSERT INTO migrations (number, name, at) VALUES (?, ?, ?)", number, name, time.time())
        return len(known.keys() - done)

    return database.write(job, "migrations")


_MOST_TRIES = 100


class SqlStore:
    """A project's units, raters, assignments and judgements in a database; see ``base.Store`` for each method."""

    def __init__(self, project: Project, database: Database, clock: Callable[[], float]) -> None:
        self._project, self._database, self._clock = project, database, clock
        migrate_database(database)
        self._cache = database.read(partial(unit_cache.load_unit_cache, project=project))
        self._project_lock = f"project {project.name}"

    @property
    def project(self) -> Project:
        """The project of this store."""
        return self._project

    def load(self, units: Iterable[Unit]) -> LoadCounts:
        """Load a project's units."""
        unit_list = list(units)
        counts = self._database.write(
            lambda session: unit_cache.load_units(session, self._project, unit_list, self._clock()), self._project_lock
        )
        self._cache = self._database.read(partial(unit_cache.load_unit_cache, project=self._project))
        return counts

    def add_rater(self, name: str, role: Role = "rater", expires: float | None = None) -> str:
        """Add a person, and return the token."""
        token = people.make_token()
        self._database.write(
            lambda session: people.add_person(
                session, self._ensure_project(session), name, role, token, self._clock(), expires
            )
        )
        return token

    def _ensure_project(self, session: DatabaseSession) -> str:
        """Return the project's name, after adding the project if new: people may be added before there are units."""
        unit_cache.add_project(session, self._project, self._clock())
        return self._project.name

    def renew(self, name: str, expires: float | None = None) -> str:
        """Return a new token for a person."""
        token = people.make_token()
        self._change(name, "token = ?, expires = ?, revoked = 0", people.digest_token(token), expires)
        return token

    def first_token(self, name: str) -> str | None:
        """Return a token for a person who has never had one."""
        token = people.make_token()
        statement = "UPDATE raters SET token = ? WHERE project = ? AND name = ? AND token IS NULL"
        values = people.digest_token(token), self._project.name, name
        return token if self._database.write(lambda session: session.run(statement, *values)) else None

    def revoke(self, name: str) -> None:
        """Revoke a person's access."""
        self._change(name, "revoked = 1")

    def _change(self, name: str, assignments: str, *values: Any) -> None:
        statement = f"UPDATE raters SET {assignments} WHERE project = ? AND name = ?"
        if not self._database.write(lambda session: session.run(statement, *values, self._project.name, name)):
            raise AnnotationError(f"there is nobody called {brief(name)} in this project")

    def who(self, token: str) -> Rater | None:
        """Return the person whose token this is."""
        return self._with_access(
            self._database.read(lambda session: people.find_person_by_token(session, self._project.name, token))
        )

    def had_access(self, token: str) -> bool:
        """Whether this is somebody's token that no longer works."""
        if not 0 < len(token) < 200:
            return False
        person = self._database.read(lambda session: people.find_person_by_token(session, self._project.name, token))
        return person is not None and self._with_access(person) is None

    def rater(self, id: str) -> Rater | None:
        """Return a person by id."""
        return self._with_access(
            self._database.read(lambda session: people.find_person_by_id(session, self._project.name, id))
        )

    def _with_access(self, rater: Rater | None) -> Rater | None:
        """Return a person with valid access, else None; those who used a shared link lose access when it ends."""
        rater = people.admit_if_valid(rater, self._clock())
        if rater is None or rater.by is None:
            return rater
        return rater if self.rater(rater.by) is not None else None

    def raters(self) -> list[Rater]:
        """Return all people."""
        return self._database.read(lambda session: people.list_people(session, self._project.name))

    def admit(self, entrance: Rater, name: str) -> Rater:
        """Return the rater of that name who used a shared link, added if new."""

        def job(session: DatabaseSession) -> Rater:
            rater = people.find_person_by_name(session, self._project.name, name)
            if rater is None:
                return people.add_person(
                    session, self._project.name, name, "rater", None, self._clock(), None, entrance.id
                )
            if rater.by != entrance.id or rater.revoked:
                raise AnnotationError(f"{brief(name)} has no access here; ask the owner of the project")
            return rater

        if entrance.role != "entrance":
            raise AnnotationError("this is a personal link, which only its owner can use")
        return self._database.write(job, f"entrance {entrance.id}")

    def next_unit(self, rater: Rater) -> Assignment | None:
        """Return the rater's current assignment, else the next one."""
        cache = self._cache
        cache.order(rater.name)  # computed here, not while others wait
        for _ in range(_MOST_TRIES):
            current, search = self._database.read(lambda session: self._search(session, cache, rater))
            cache.full.update(search.full)
            if current is None and search.place is None:
                return None
            if current is not None and current.until > self._clock():
                return current
            assignment = self._database.write(
                lambda session, place=search.place: self._assign(session, cache, rater, place),  # type: ignore[misc]
                f"rater {rater.id}",
                durable=False,
            )
            if assignment is not None:
                return assignment
        raise RunError("too many raters requested the same few units at once; try again")

    def _search(
        self, session: DatabaseSession, cache: unit_cache.UnitCache, rater: Rater
    ) -> tuple[Assignment | None, assign.SlotSearch]:
        now = self._clock()
        current = assign.find_current_assignment(session, cache, rater, now)
        return current, assign.SlotSearch(None) if current else assign.find_slot(session, cache, rater, now)

    def _assign(
        self, session: DatabaseSession, cache: unit_cache.UnitCache, rater: Rater, slot: assign.FreeSlot | None
    ) -> Assignment | None:
        """Return the current assignment (another page of the same rater may have been faster), else claim the slot."""
        now = self._clock()
        current = assign.find_current_assignment(session, cache, rater, now)
        if current is not None:
            return assign.renew_lease(session, cache, current, now)
        return None if slot is None else assign.claim_slot(session, cache, rater, slot, now)

    def find_assignment(self, rater: Rater, assignment: str) -> Assignment | None:
        """Return a current assignment of the rater, or None."""
        current = self._database.read(
            lambda session: assign.list_current_assignments(session, self._cache, rater, self._clock())
        )
        return next((candidate for candidate in current if candidate.id == assignment), None)

    def submit(self, rater: Rater, assignment: str, answer: Mapping[str, Any], seconds: float) -> Judgement:
        """Check and commit an answer."""
        return self._database.write(
            lambda session: submission.submit_answer(
                session, self._cache, rater, assignment, answer, seconds, self._clock()
            ),
            f"rater {rater.id}",
        )

    def undo(self, rater: Rater) -> Assignment | None:
        """Reopen the rater's latest answer."""
        return self._database.write(
            lambda session: submission.undo_answer(session, self._cache, rater, self._clock()), f"rater {rater.id}"
        )

    def record(
        self, rater: str, unit: str, answer: Mapping[str, Any], seconds: float, at: float | None = None
    ) -> Judgement | None:
        """Add a judgement made elsewhere."""
        now = self._clock()
        when = now if at is None else at
        return self._database.write(
            lambda session: submission.record_judgement(session, self._cache, rater, unit, answer, seconds, when, now),
            self._project_lock,
        )

    def decide(self, unit: str, answer: Mapping[str, Any]) -> Judgement | None:
        """Store the owner's decision about a unit."""
        now = self._clock()
        return self._database.write(
            lambda session: submission.record_judgement(
                session, self._cache, ADJUDICATOR, unit, answer, 0.0, now, now, decision=True
            ),
            self._project_lock,
        )

    def standing(self, rater: Rater) -> RaterStanding:
        """Return how far a rater is."""
        return self._database.read(
            lambda session: overview.compute_standing(session, self._cache, rater, self._clock())
        )

    def progress(self) -> ProjectProgress:
        """Return how far the project is."""
        return self._database.read(lambda session: overview.compute_progress(session, self._cache, self._clock()))

    def units(self) -> list[Unit]:
        """Return all units that were ever loaded."""
        return self._database.read(partial(unit_cache.read_units, project=self._project))

    def judgements(self, superseded: bool = False) -> list[Judgement]:
        """Return the judgements in order of time."""
        return self._database.read(lambda session: overview.read_stored_judgements(session, self._cache, superseded))

    def close(self) -> None:
        """Close the database."""
        self._database.close()
