"""Submission and undo: an answer is checked, then added; earlier judgements are never changed."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from rejoinder.annotation.answers import check_answer, is_accepted_answer
from rejoinder.annotation.errors import AnsweredError, LeaseLostError, NotYoursError, TooFastError
from rejoinder.annotation.fields import list_fields
from rejoinder.annotation.store import people
from rejoinder.annotation.store.assign import IS_FREE, assignment_from_row
from rejoinder.annotation.store.base import Assignment, Judgement, Rater
from rejoinder.annotation.store.database import DatabaseSession
from rejoinder.annotation.store.history import LATEST, is_rater_stopped, read_history
from rejoinder.annotation.store.unit_cache import UnitCache, find_unit, unit_from_columns
from rejoinder.annotation.unit import Answer, Unit, UnitKind


class _StoredJudgement(NamedTuple):
    """The latest judgement of an assignment."""

    id: str
    answer: Answer
    seconds: float
    at: float
    supersedes: str | None


def submit_answer(
    session: DatabaseSession,
    cache: UnitCache,
    rater: Rater,
    id: str,
    raw: Mapping[str, Any],
    seconds: float,
    now: float,
) -> Judgement:
    """Check and add an answer; see ``Store.submit``."""
    project = cache.project
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
    previous = _read_latest(session, id)
    again = reopened is not None and reopened + project.lease_minutes * 60 > now
    if previous is not None and not again:
        if previous.answer != answer:
            raise AnsweredError
        return _to_judgement(id, unit, rater, previous)
    elapsed = max(0.0, now - (reopened if again else taken))
    duration = min(seconds, elapsed) if math.isfinite(seconds) and seconds >= 0 else elapsed
    if previous is None and duration < project.minimum_seconds:
        raise TooFastError(duration, project.minimum_seconds)
    _mark_done(session, cache, unit, id)
    judgement = _StoredJudgement(_new_id(now), answer, duration, now, previous.id if previous else None)
    _insert_judgement(session, id, judgement)
    return _to_judgement(id, unit, rater, judgement)


def _read_latest(session: DatabaseSession, assignment: str) -> _StoredJudgement | None:
    rows = session.rows(
        f"SELECT j.id, j.answer, j.seconds, j.at, j.supersedes FROM judgements j WHERE j.assignment = ? AND {LATEST}",
        assignment,
    )
    return _StoredJudgement(rows[0][0], orjson.loads(rows[0][1]), *rows[0][2:]) if rows else None


def _mark_done(session: DatabaseSession, cache: UnitCache, unit: Unit, id: str) -> None:
    """Mark an assignment as answered; one that has expired needs a free slot again."""
    if session.run("UPDATE assignments SET state = 'done', reopened = NULL WHERE id = ? AND state <> 'expired'", id):
        return
    for slot in range(cache.project.raters_per_unit):
        if session.run(
            f"UPDATE assignments SET state = 'done', slot = ?, reopened = NULL WHERE id = ? AND {IS_FREE}",
            *(slot, id, cache.project.name, unit.id, slot),
        ):
            return
    raise LeaseLostError


def _new_id(now: float) -> str:
    """Return a unique id that sorts by time."""
    return f"{max(0, int(now * 1e6)):014x}{secrets.token_hex(5)}"


def _insert_judgement(session: DatabaseSession, assignment: str, judgement: _StoredJudgement) -> None:
    session.run(
        "INSERT INTO judgements (id, assignment, answer, seconds, at, supersedes) VALUES (?, ?, ?, ?, ?, ?)",
        *(
            judgement.id,
            assignment,
            orjson.dumps(judgement.answer).decode(),
            judgement.seconds,
            judgement.at,
            judgement.supersedes,
        ),
    )


def _to_judgement(assignment: str, unit: Unit, rater: Rater, stored: _StoredJudgement) -> Judgement:
    """Return the judgement as a rater may see it: only an exercise says whether it was right."""
    exercise = unit.kind == "exercise"
    right = is_accepted_answer(unit.hidden.get("answer", {}), stored.answer) if exercise else None
    explanation = str(unit.hidden.get("explanation", "")) if exercise else ""
    kind: UnitKind = "exercise" if exercise else "unit"
    return Judgement(
        stored.id,
        assignment,
        unit.id,
        kind,
        rater.name,
        stored.answer,
        stored.seconds,
        stored.at,
        stored.supersedes,
        right,
        explanation,
    )


def undo_answer(session: DatabaseSession, cache: UnitCache, rater: Rater, now: float) -> Assignment | None:
    """Reopen the latest answer; see ``Store.undo``."""
    row = find_undoable(session, cache, rater, now)
    if row is None or is_rater_stopped(cache, read_history(session, cache, rater)):
        return None
    session.run("UPDATE assignments SET reopened = ? WHERE id = ?", now, row[0])
    return assignment_from_row(cache, rater, (*row[:6], now, row[7]))


def find_undoable(session: DatabaseSession, cache: UnitCache, rater: Rater, now: float) -> tuple[Any, ...] | None:
    """Return the latest answered assignment that can be reopened: not an exercise, and not reopened already."""
    rows = session.rows(
        "SELECT a.id, a.unit, a.attempt, a.state, a.taken, a.leased_until, a.reopened, j.answer FROM assignments a "
        f"JOIN judgements j ON j.assignment = a.id AND {LATEST} "
        "JOIN units u ON u.project = a.project AND u.id = a.unit "
        "WHERE a.rater = ? AND a.project = ? AND a.state = 'done' AND u.kind <> 'exercise' AND u.retired = 0 "
        "AND (a.reopened IS NULL OR a.reopened <= ?) ORDER BY j.at DESC, j.id DESC LIMIT 1",
        *(rater.id, cache.project.name, now - cache.project.lease_minutes * 60),
    )
    return tuple(rows[0]) if rows and rows[0][1] in cache.units else None


def record_judgement(
    session: DatabaseSession,
    cache: UnitCache,
    name: str,
    unit_id: str,
    raw: Mapping[str, Any],
    seconds: float,
    at: float,
    now: float,
    decision: bool = False,
) -> Judgement | None:
    """Add a judgement made elsewhere, or the owner's decision; see ``Store.record`` and ``Store.decide``."""
    project = cache.project
    unit = find_unit(session, project, unit_id)
    if unit is None:
        raise NotYoursError
    answer = check_answer(list_fields(project, unit), raw)
    rater = people.find_person_by_name(session, project.name, name) or people.add_person(
        session, project.name, name, "owner" if decision else "rater", None, now
    )
    rows = session.rows(
        "SELECT id, state FROM assignments WHERE project = ? AND unit = ? AND rater = ? AND attempt = 1",
        *(project.name, unit_id, rater.id),
    )
    id = rows[0][0] if rows else secrets.token_hex(8)
    previous = _read_latest(session, id)
    if previous is not None:
        if previous.answer == answer:
            return None
        if not decision:
            raise AnsweredError
    slot = _next_slot(session, cache, unit) if unit.kind == "unit" and not decision else None
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
    supersedes = None if previous is None else previous.id
    judgement = _StoredJudgement(_new_id(at), answer, max(0.0, seconds), at, supersedes)
    _insert_judgement(session, id, judgement)
    return _to_judgement(id, unit, rater, judgement)


def _next_slot(session: DatabaseSession, cache: UnitCache, unit: Unit) -> int:
    rows = session.rows(
        "SELECT slot FROM assignments WHERE project = ? AND unit = ? AND slot IS NOT NULL",
        cache.project.name,
        unit.id,
    )
    used = {row[0] for row in rows}
    return next(n for n in range(len(used) + 1) if n not in used)
