"""The store over a database: each method is one read or one write of the functions beside this file."""

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
from rejoinder.annotation.store import submit as answering
from rejoinder.annotation.store.base import (
    Assignment,
    Judgement,
    LoadCounts,
    ProjectProgress,
    Rater,
    RaterStanding,
    Role,
)
from rejoinder.annotation.store.database import Database, Session
from rejoinder.annotation.unit import Unit
from rejoinder.errors import InputError, RunError, brief

MIGRATIONS_FOLDER = Path(__file__).parent / "migrations"
_NAME = re.compile(r"(\d{4})_(\w+)(?:\.(\w+))?\.sql")
_MIGRATIONS_TABLE = (
    "CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL, at DOUBLE PRECISION)"
)


def read_migrations(dialect: str) -> dict[int, tuple[str, list[str]]]:
    """The steps for a database: number, name and statements."""
    found: dict[int, tuple[str, list[str]]] = {}
    for path in sorted(MIGRATIONS_FOLDER.glob("*.sql")):
        match = _NAME.fullmatch(path.name)
        if match is not None and match[3] in (None, dialect):
            statements = re.split(r";[ \t]*\n\s*(?:\n|\Z)", path.read_text(encoding="utf-8"))
            found[int(match[1])] = (match[2], [s for s in statements if _has_content(s)])
    return found


def _has_content(statement: str) -> bool:
    return any(line.strip() and not line.lstrip().startswith("--") for line in statement.splitlines())


def migrate(database: Database) -> int:
    """Bring a database up to date, and say how many steps that took; one process at a time."""
    known = read_migrations(database.dialect)

    def job(session: Session) -> int:
        if database.dialect == "postgresql":
            session.run("CREATE SCHEMA IF NOT EXISTS rejoinder")
        session.run(_MIGRATIONS_TABLE)
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


_MOST_TRIES = 100


class SqlStore:
    """A project's units, raters, assignments and judgements in a database; see ``contract.Store`` for each method."""

    def __init__(self, project: Project, database: Database, clock: Callable[[], float]) -> None:
        self._project, self._database, self._clock = project, database, clock
        migrate(database)
        self._held = database.read(partial(unit_cache.load_unit_cache, project=project))
        self._whole = f"project {project.name}"

    @property
    def project(self) -> Project:
        """The project that this store is of."""
        return self._project

    def load(self, units: Iterable[Unit]) -> LoadCounts:
        """Put a project's units in."""
        given = list(units)
        loaded = self._database.write(
            lambda session: unit_cache.load_units(session, self._project, given, self._clock()), self._whole
        )
        self._held = self._database.read(partial(unit_cache.load_unit_cache, project=self._project))
        return loaded

    def add_rater(self, name: str, role: Role = "rater", expires: float | None = None) -> str:
        """Enter somebody, and return the token."""
        token = people.make_token()
        self._database.write(
            lambda session: people.add_person(session, self._name(session), name, role, token, self._clock(), expires)
        )
        return token

    def _name(self, session: Session) -> str:
        """The project's name, entered where new: people may be added before there are units."""
        unit_cache.add_project(session, self._project, self._clock())
        return self._project.name

    def renew(self, name: str, expires: float | None = None) -> str:
        """A new token for somebody."""
        token = people.make_token()
        self._change(name, "token = ?, expires = ?, revoked = 0", people.digest_token(token), expires)
        return token

    def first_token(self, name: str) -> str | None:
        """A token for somebody who has never had one."""
        token = people.make_token()
        statement = "UPDATE raters SET token = ? WHERE project = ? AND name = ? AND token IS NULL"
        values = people.digest_token(token), self._project.name, name
        return token if self._database.write(lambda session: session.run(statement, *values)) else None

    def revoke(self, name: str) -> None:
        """Shut somebody out."""
        self._change(name, "revoked = 1")

    def _change(self, name: str, what: str, *values: Any) -> None:
        statement = f"UPDATE raters SET {what} WHERE project = ? AND name = ?"
        if not self._database.write(lambda session: session.run(statement, *values, self._project.name, name)):
            raise AnnotationError(f"nobody is called {brief(name)} in this project")

    def who(self, token: str) -> Rater | None:
        """Whose token this is."""
        return self._let_in(
            self._database.read(lambda session: people.find_by_token(session, self._project.name, token))
        )

    def rater(self, id: str) -> Rater | None:
        """Somebody by id."""
        return self._let_in(self._database.read(lambda session: people.find_by_id(session, self._project.name, id)))

    def _let_in(self, found: Rater | None) -> Rater | None:
        """Somebody, unless shut out; who came through an entrance leaves when it is closed."""
        found = people.admit_if_valid(found, self._clock())
        if found is None or found.by is None:
            return found
        return found if self.rater(found.by) is not None else None

    def raters(self) -> list[Rater]:
        """Everybody."""
        return self._database.read(lambda session: people.list_people(session, self._project.name))

    def admit(self, entrance: Rater, name: str) -> Rater:
        """The rater of that name who came through an entrance."""

        def job(session: Session) -> Rater:
            found = people.find_by_name(session, self._project.name, name)
            if found is None:
                return people.add_person(
                    session, self._project.name, name, "rater", None, self._clock(), None, entrance.id
                )
            if found.by != entrance.id or found.revoked:
                raise AnnotationError(f"{brief(name)} cannot come in here; ask the owner of the project")
            return found

        if entrance.role != "entrance":
            raise AnnotationError("this link is a personal one; nobody else can come in through it")
        return self._database.write(job, f"entrance {entrance.id}")

    def next_unit(self, rater: Rater) -> Assignment | None:
        """What the rater is to answer now."""
        held = self._held
        held.order(rater.name)  # worked out here, not while others wait
        for _ in range(_MOST_TRIES):
            mine, found = self._database.read(lambda session: self._look(session, held, rater))
            held.full.update(found.full)
            if mine is None and found.place is None:
                return None
            if mine is not None and mine.until > self._clock():
                return mine
            given = self._database.write(
                lambda session, place=found.place: self._hand_out(session, held, rater, place),  # type: ignore[misc]
                f"rater {rater.id}",
                durable=False,
            )
            if given is not None:
                return given
        raise RunError("too many raters want the same few units at once; try again")

    def _look(
        self, session: Session, held: unit_cache.UnitCache, rater: Rater
    ) -> tuple[Assignment | None, assign.SlotSearch]:
        now = self._clock()
        mine = assign.find_current_assignment(session, held, rater, now)
        return mine, assign.SlotSearch(None) if mine else assign.find_slot(session, held, rater, now)

    def _hand_out(
        self, session: Session, held: unit_cache.UnitCache, rater: Rater, place: assign.FreeSlot | None
    ) -> Assignment | None:
        """What is in hand by now (another page of the same rater may have been faster), else what was found."""
        now = self._clock()
        mine = assign.find_current_assignment(session, held, rater, now)
        if mine is not None:
            return assign.renew_lease(session, held, mine, now)
        return None if place is None else assign.claim_slot(session, held, rater, place, now)

    def held(self, rater: Rater, assignment: str) -> Assignment | None:
        """An assignment that is in the rater's hands now."""
        mine = self._database.read(
            lambda session: assign.list_current_assignments(session, self._held, rater, self._clock())
        )
        return next((one for one in mine if one.id == assignment), None)

    def submit(self, rater: Rater, assignment: str, answer: Mapping[str, Any], seconds: float) -> Judgement:
        """Check and commit an answer."""
        return self._database.write(
            lambda session: answering.submit(session, self._held, rater, assignment, answer, seconds, self._clock()),
            f"rater {rater.id}",
        )

    def undo(self, rater: Rater) -> Assignment | None:
        """Take the rater's latest answer in hand again."""
        return self._database.write(
            lambda session: answering.undo(session, self._held, rater, self._clock()), f"rater {rater.id}"
        )

    def record(
        self, rater: str, unit: str, answer: Mapping[str, Any], seconds: float, at: float | None = None
    ) -> Judgement | None:
        """Take in what was judged elsewhere."""
        now = self._clock()
        when = now if at is None else at
        return self._database.write(
            lambda session: answering.record(session, self._held, rater, unit, answer, seconds, when, now),
            self._whole,
        )

    def standing(self, rater: Rater) -> RaterStanding:
        """How far a rater is."""
        return self._database.read(lambda session: overview.compute_standing(session, self._held, rater, self._clock()))

    def progress(self) -> ProjectProgress:
        """How far the project is."""
        return self._database.read(lambda session: overview.compute_progress(session, self._held, self._clock()))

    def units(self) -> list[Unit]:
        """All units that were ever loaded."""
        return self._database.read(partial(unit_cache.read_units, project=self._project))

    def judgements(self, superseded: bool = False) -> list[Judgement]:
        """What was judged."""
        return self._database.read(lambda session: overview.read_judgements(session, self._held, superseded))

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()
