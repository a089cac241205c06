"""Handing out: what a rater has in hand, else the next thing, with a place of its own and a lease on it."""

from __future__ import annotations

import itertools
import secrets
from typing import NamedTuple

import orjson

from rejoinder.annotation.store.base import Assignment, Rater
from rejoinder.annotation.store.database import Row, Session
from rejoinder.annotation.store.history import LATEST, History, exercise_attempt, is_stopped, next_check, read_history
from rejoinder.annotation.store.unit_cache import UnitCache

_UNITS_AT_ONCE = 16  # units at once
_MAX_UNITS_AT_ONCE = 256
IS_FREE = "NOT EXISTS (SELECT 1 FROM assignments b WHERE b.project = ? AND b.unit = ? AND b.slot = ?)"


class FreeSlot(NamedTuple):
    """A free place at a unit; ``evict`` is the assignment whose lease there is over."""

    unit: str
    slot: int | None
    attempt: int = 1
    evict: str | None = None


class SlotSearch(NamedTuple):
    """What was found for a rater: a place, or none; units met that are full; whether others hold what may return."""

    place: FreeSlot | None
    full: frozenset[str] = frozenset()
    held_by_others: bool = False


def find_current_assignment(session: Session, holding: UnitCache, rater: Rater, now: float) -> Assignment | None:
    """What a rater took back last and has not answered again, else what is open (its lease may be over)."""
    return next(iter(list_current_assignments(session, holding, rater, now)), None)


def list_current_assignments(session: Session, holding: UnitCache, rater: Rater, now: float) -> list[Assignment]:
    """What a rater has taken back, the latest first, then what is open."""
    lease = holding.project.lease_minutes * 60
    rows = session.rows(
        "SELECT a.id, a.unit, a.attempt, a.state, a.taken, a.leased_until, a.reopened, j.answer, j.at "
        f"FROM assignments a LEFT JOIN judgements j ON j.assignment = a.id AND {LATEST} "
        "WHERE a.rater = ? AND (a.state = 'open' OR (a.reopened IS NOT NULL AND a.reopened > ?))",
        *(rater.id, now - lease),
    )
    rows = [row for row in rows if row[1] in holding.units]
    again = sorted((row for row in rows if row[6] is not None and row[3] == "done"), key=lambda r: (-r[6], r[8]))
    return [assignment_from_row(holding, rater, row) for row in (*again, *(row for row in rows if row[3] == "open"))]


def assignment_from_row(holding: UnitCache, rater: Rater, row: Row) -> Assignment:
    """An assignment from its row (id, unit, attempt, state, taken, leased_until, reopened, answer, ...)."""
    id, unit, attempt, state, taken, until, reopened, answer = row[:8]
    again = state == "done" and reopened is not None
    if again:
        taken, until = reopened, reopened + holding.project.lease_minutes * 60
    previous = orjson.loads(answer) if again and answer is not None else None
    return Assignment(id, holding.shown(holding.units[unit], rater.name), rater.id, taken, until, previous, attempt)


def find_slot(session: Session, holding: UnitCache, rater: Rater, now: float) -> SlotSearch:
    """What a rater should get next, without taking it."""
    history = read_history(session, holding, rater)
    project = holding.project
    if rater.role != "rater":
        return SlotSearch(None)
    if questions := holding.of_kind("exercise"):
        attempt, passed = exercise_attempt(holding, history)
        if not passed:
            left = [id for id in questions if id not in history.exercise.get(attempt, {})]
            return SlotSearch(FreeSlot(left[0], None, attempt) if attempt else None)
    if is_stopped(holding, history):
        return SlotSearch(None)
    if project.units_per_rater and len(history.done) >= project.units_per_rater:
        return SlotSearch(None)
    if (check := next_check(holding, history, rater.name)) is not None:
        return SlotSearch(FreeSlot(check, None))
    return _find_free_slot(session, holding, rater, history, now)


def _find_free_slot(session: Session, holding: UnitCache, rater: Rater, history: History, now: float) -> SlotSearch:
    mine = history.done | history.open
    left = (id for id in holding.order(rater.name) if id not in mine and id not in holding.full)
    full: set[str] = set()
    size, others = _UNITS_AT_ONCE, False
    while look := list(itertools.islice(left, size)):
        taken = _read_slots(session, holding, look)
        for unit in look:
            rows = taken.get(unit, [])
            place = _find_slot_at(unit, rows, holding.project.raters_per_unit, now)
            if place is not None:
                return SlotSearch(place, frozenset(full))
            if all(row[2] == "done" for row in rows):
                full.add(unit)
            else:
                others = True
        size = min(2 * size, _MAX_UNITS_AT_ONCE)
    return SlotSearch(None, frozenset(full), others)


def _read_slots(session: Session, holding: UnitCache, units: list[str]) -> dict[str, list[Row]]:
    marks = ", ".join("?" * len(units))
    rows = session.rows(
        "SELECT unit, slot, state, leased_until, id FROM assignments "
        f"WHERE project = ? AND slot IS NOT NULL AND unit IN ({marks}) ORDER BY slot",
        *(holding.project.name, *units),
    )
    taken: dict[str, list[Row]] = {}
    for row in rows:
        taken.setdefault(row[0], []).append(row)
    return taken


def _find_slot_at(unit: str, rows: list[Row], wanted: int, now: float) -> FreeSlot | None:
    """A slot that nobody has, else one whose lease is over."""
    if len(rows) < wanted:
        used = {row[1] for row in rows}
        return FreeSlot(unit, next(n for n in range(wanted) if n not in used))
    for _, slot, state, until, id in rows:
        if state == "open" and until <= now:
            return FreeSlot(unit, slot, evict=id)
    return None


def claim_slot(session: Session, holding: UnitCache, rater: Rater, place: FreeSlot, now: float) -> Assignment | None:
    """Take a place that was found; None where somebody else has it by now.

    No lock is needed: that a slot is held once is the table's own rule.
    """
    until = now + holding.project.lease_minutes * 60
    if place.evict is not None and not session.run(
        "UPDATE assignments SET state = 'expired', slot = NULL WHERE id = ? AND state = 'open' AND leased_until <= ?",
        *(place.evict, now),
    ):
        return None
    before = session.rows(
        "SELECT id FROM assignments WHERE project = ? AND unit = ? AND rater = ? AND attempt = ?",
        *(holding.project.name, place.unit, rater.id, place.attempt),
    )
    id = before[0][0] if before else secrets.token_hex(8)
    if before:  # it was this rater's once and had expired; a page that still shows it may send its answer
        taken = session.run(
            f"UPDATE assignments SET state = 'open', slot = ?, taken = ?, leased_until = ? WHERE id = ? AND {IS_FREE}",
            *(place.slot, now, until, id, holding.project.name, place.unit, place.slot),
        )
    else:
        taken = session.run(
            "INSERT INTO assignments (id, project, unit, rater, attempt, slot, state, taken, leased_until) "
            "VALUES (?, ?, ?, ?, ?, ?, 'open', ?, ?) ON CONFLICT DO NOTHING",
            *(id, holding.project.name, place.unit, rater.id, place.attempt, place.slot, now, until),
        )
    if not taken:
        return None
    return assignment_from_row(holding, rater, (id, place.unit, place.attempt, "open", now, until, None, None))


def renew_lease(session: Session, holding: UnitCache, held: Assignment, now: float) -> Assignment:
    """The same assignment with a new lease, where the old one is over and nobody took the place."""
    if held.until > now or held.previous is not None:
        return held
    until = now + holding.project.lease_minutes * 60
    session.run("UPDATE assignments SET leased_until = ? WHERE id = ?", until, held.id)
    return Assignment(held.id, held.unit, held.rater, held.taken, until, None, held.attempt)
