"""Answering and taking back: an answer is checked, then added; nothing that was said before is touched."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from rejoinder.annotation.answers import check_answer, is_right
from rejoinder.annotation.errors import AnsweredError, LeaseLostError, NotYoursError, TooFastError
from rejoinder.annotation.fields import list_fields
from rejoinder.annotation.store import people
from rejoinder.annotation.store.assign import IS_FREE, assignment_from_row
from rejoinder.annotation.store.base import Assignment, Judgement, Rater
from rejoinder.annotation.store.database import Session
from rejoinder.annotation.store.history import LATEST, is_stopped, read_history
from rejoinder.annotation.store.unit_cache import UnitCache, find_unit, unit_from_columns
from rejoinder.annotation.unit import Answer, Unit, UnitKind


class _StoredJudgement(NamedTuple):
    """The latest judgement of an assignment."""

    id: str
    answer: Answer
    seconds: float
    at: float
    supersedes: str | None


def submit(
    session: Session,
    holding: UnitCache,
    rater: Rater,
    id: str,
    raw: Mapping[str, Any],
    seconds: float,
    now: float,
) -> Judgement:
    """Check and add an answer; see ``Store.submit``."""
    project = holding.project
    rows = session.rows(
        "SELECT a.taken, a.reopened, r.revoked, r.expires, u.id, u.kind, u.payload, u.hidden "
        "FROM assignments a JOIN raters r ON r.id = a.rater JOIN units u ON u.project = a.project AND u.id = a.unit "
        "WHERE a.id = ? AND a.rater = ? AND a.project = ?",
        *(id, rater.id, project.name),
    )
    if not rows or rows[0][2] or (rows[0][3] is not None and rows[0][3] <= now):
        raise NotYoursError
    taken, reopened = rows[0][:2]
    unit = unit_from_columns(project, *rows[0][4:])
    answer = check_answer(list_fields(project, unit), raw)
    before = _read_latest(session, id)
    again = reopened is not None and reopened + project.lease_minutes * 60 > now
    if before is not None and not again:
        if before.answer != answer:
            raise AnsweredError
        return _to_judgement(id, unit, rater, before)
    elapsed = max(0.0, now - (reopened if again else taken))
    spent = min(seconds, elapsed) if math.isfinite(seconds) and seconds >= 0 else elapsed
    if before is None and spent < project.minimum_seconds:
        raise TooFastError(spent, project.minimum_seconds)
    _mark_done(session, holding, unit, id)
    added = _StoredJudgement(_new_id(now), answer, spent, now, before.id if before else None)
    _insert_judgement(session, id, added)
    return _to_judgement(id, unit, rater, added)


def _read_latest(session: Session, assignment: str) -> _StoredJudgement | None:
    rows = session.rows(
        f"SELECT j.id, j.answer, j.seconds, j.at, j.supersedes FROM judgements j WHERE j.assignment = ? AND {LATEST}",
        assignment,
    )
    return _StoredJudgement(rows[0][0], orjson.loads(rows[0][1]), *rows[0][2:]) if rows else None


def _mark_done(session: Session, holding: UnitCache, unit: Unit, id: str) -> None:
    """Mark an assignment as answered; one that has expired needs a free slot again."""
    if session.run("UPDATE assignments SET state = 'done', reopened = NULL WHERE id = ? AND state <> 'expired'", id):
        return
    for slot in range(holding.project.raters_per_unit):
        if session.run(
            f"UPDATE assignments SET state = 'done', slot = ?, reopened = NULL WHERE id = ? AND {IS_FREE}",
            *(slot, id, holding.project.name, unit.id, slot),
        ):
            return
    raise LeaseLostError


def _new_id(now: float) -> str:
    """An id that sorts by time and is nobody else's."""
    return f"{max(0, int(now * 1e6)):014x}{secrets.token_hex(5)}"


def _insert_judgement(session: Session, assignment: str, one: _StoredJudgement) -> None:
    session.run(
        "INSERT INTO judgements (id, assignment, answer, seconds, at, supersedes) VALUES (?, ?, ?, ?, ?, ?)",
        *(one.id, assignment, orjson.dumps(one.answer).decode(), one.seconds, one.at, one.supersedes),
    )


def _to_judgement(assignment: str, unit: Unit, rater: Rater, one: _StoredJudgement) -> Judgement:
    """The judgement as a rater may know it: only an exercise says what was right."""
    exercise = unit.kind == "exercise"
    right = is_right(unit.hidden.get("answer", {}), one.answer) if exercise else None
    said = str(unit.hidden.get("explanation", "")) if exercise else ""
    kind: UnitKind = "exercise" if exercise else "unit"
    return Judgement(
        one.id, assignment, unit.id, kind, rater.name, one.answer, one.seconds, one.at, one.supersedes, right, said
    )


def undo(session: Session, holding: UnitCache, rater: Rater, now: float) -> Assignment | None:
    """Take the latest answer in hand again; see ``Store.undo``."""
    row = find_undoable(session, holding, rater, now)
    if row is None or is_stopped(holding, read_history(session, holding, rater)):
        return None
    session.run("UPDATE assignments SET reopened = ? WHERE id = ?", now, row[0])
    return assignment_from_row(holding, rater, (*row[:6], now, row[7]))


def find_undoable(session: Session, holding: UnitCache, rater: Rater, now: float) -> tuple[Any, ...] | None:
    """The latest answered assignment that can be taken back: no exercise, and not in hand again already."""
    rows = session.rows(
        "SELECT a.id, a.unit, a.attempt, a.state, a.taken, a.leased_until, a.reopened, j.answer FROM assignments a "
        f"JOIN judgements j ON j.assignment = a.id AND {LATEST} "
        "JOIN units u ON u.project = a.project AND u.id = a.unit "
        "WHERE a.rater = ? AND a.project = ? AND a.state = 'done' AND u.kind <> 'exercise' AND u.retired = 0 "
        "AND (a.reopened IS NULL OR a.reopened <= ?) ORDER BY j.at DESC, j.id DESC LIMIT 1",
        *(rater.id, holding.project.name, now - holding.project.lease_minutes * 60),
    )
    return tuple(rows[0]) if rows and rows[0][1] in holding.units else None


def record(
    session: Session,
    holding: UnitCache,
    name: str,
    unit_id: str,
    raw: Mapping[str, Any],
    seconds: float,
    at: float,
    now: float,
) -> Judgement | None:
    """Take in what was judged elsewhere; see ``Store.record``."""
    project = holding.project
    unit = find_unit(session, project, unit_id)
    if unit is None:
        raise NotYoursError
    answer = check_answer(list_fields(project, unit), raw)
    rater = people.find_by_name(session, project.name, name) or people.add_person(
        session, project.name, name, "rater", None, now
    )
    rows = session.rows(
        "SELECT id, state FROM assignments WHERE project = ? AND unit = ? AND rater = ? AND attempt = 1",
        *(project.name, unit_id, rater.id),
    )
    id = rows[0][0] if rows else secrets.token_hex(8)
    before = _read_latest(session, id)
    if before is not None:
        if before.answer == answer:
            return None
        raise AnsweredError
    slot = _next_slot(session, holding, unit) if unit.kind == "unit" else None
    if rows and rows[0][1] == "open":
        session.run("UPDATE assignments SET state = 'done' WHERE id = ?", id)
    elif rows:
        session.run("UPDATE assignments SET state = 'done', slot = ? WHERE id = ?", slot, id)
    else:
        session.run(
            "INSERT INTO assignments (id, project, unit, rater, slot, state, taken, leased_until) "
            "VALUES (?, ?, ?, ?, ?, 'done', ?, ?)",
            *(id, project.name, unit_id, rater.id, slot, at, at),
        )
    added = _StoredJudgement(_new_id(at), answer, max(0.0, seconds), at, None)
    _insert_judgement(session, id, added)
    return _to_judgement(id, unit, rater, added)


def _next_slot(session: Session, holding: UnitCache, unit: Unit) -> int:
    rows = session.rows(
        "SELECT slot FROM assignments WHERE project = ? AND unit = ? AND slot IS NOT NULL",
        holding.project.name,
        unit.id,
    )
    used = {row[0] for row in rows}
    return next(n for n in range(len(used) + 1) if n not in used)
