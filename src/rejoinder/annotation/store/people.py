"""People with access: names, roles, and tokens, of which only the sha256 is stored."""

from __future__ import annotations

import re
import secrets
from typing import cast

from rejoinder.annotation.errors import AnnotationError
from rejoinder.annotation.store.base import Rater, Role
from rejoinder.annotation.store.database import DatabaseSession, Row
from rejoinder.errors import brief
from rejoinder.files import sha256_of_bytes

_TOKEN_BYTES = 24  # 192 bits: impossible to guess
_LONGEST_NAME = 64
_NAME = re.compile(rf"[^\W_](?:[\w .:@+-]{{0,{_LONGEST_NAME - 2}}}[\w.+-])?")
_ROLES = ("owner", "rater", "entrance")
_COLUMNS = "id, name, role, created, expires, revoked, entrance"


def digest_token(token: str) -> str:
    """Return the digest of a token, which is what is stored."""
    return sha256_of_bytes(token.encode("utf-8", "surrogatepass"))


def check_person_name(name: str) -> None:
    """Raise an error if a name could not be used in a file or on a page."""
    if not _NAME.fullmatch(name):
        raise AnnotationError(
            f"{brief(name)} cannot be a rater's name; use at most {_LONGEST_NAME} letters, digits and signs as in "
            "'rater-1', starting with a letter or a digit"
        )


def add_person(
    session: DatabaseSession,
    project: str,
    name: str,
    role: Role,
    token: str | None,
    now: float,
    expires: float | None = None,
    entrance: str | None = None,
) -> Rater:
    """Add a person; the name must be new in the project."""
    check_person_name(name)
    if role not in _ROLES:
        raise AnnotationError(f"there is no role {brief(role)}; choose from: {', '.join(_ROLES)}")
    if find_person_by_name(session, project, name) is not None:
        raise AnnotationError(
            f"there is already somebody called {brief(name)}; choose another name, or renew their link"
        )
    rater = Rater(secrets.token_hex(8), name, role, now, expires, False, entrance)
    session.run(
        "INSERT INTO raters (id, project, name, role, token, created, expires, entrance) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        *(rater.id, project, name, role, digest_token(token) if token else None, now, expires, entrance),
    )
    return rater


def make_token() -> str:
    """Return a random token for a link."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def find_person_by_name(session: DatabaseSession, project: str, name: str) -> Rater | None:
    """Return a person by name, with or without access."""
    return _first_person(session.rows(f"SELECT {_COLUMNS} FROM raters WHERE project = ? AND name = ?", project, name))


def find_person_by_token(session: DatabaseSession, project: str, token: str) -> Rater | None:
    """Return the person whose token this is."""
    rows = session.rows(f"SELECT {_COLUMNS} FROM raters WHERE token = ? AND project = ?", digest_token(token), project)
    return _first_person(rows)


def find_person_by_id(session: DatabaseSession, project: str, id: str) -> Rater | None:
    """Return a person by id, with or without access."""
    return _first_person(session.rows(f"SELECT {_COLUMNS} FROM raters WHERE id = ? AND project = ?", id, project))


def list_people(session: DatabaseSession, project: str) -> list[Rater]:
    """Return all people, in the order in which they were added."""
    rows = session.rows(f"SELECT {_COLUMNS} FROM raters WHERE project = ? ORDER BY created, name", project)
    return [_rater_from_row(row) for row in rows]


def admit_if_valid(rater: Rater | None, now: float) -> Rater | None:
    """Return the rater, or None if their access was revoked or has expired."""
    if rater is None or rater.revoked or (rater.expires is not None and rater.expires <= now):
        return None
    return rater


def _first_person(rows: list[Row]) -> Rater | None:
    return _rater_from_row(rows[0]) if rows else None


def _rater_from_row(row: Row) -> Rater:
    id, name, role, created, expires, revoked, entrance = row
    return Rater(id, name, cast(Role, role), created, expires, bool(revoked), entrance)
