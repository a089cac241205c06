"""Assignment of units: a rater's current assignment, else the next unit, with a free slot and a lease on it."""

from __future__ import annotations

import itertools
import secrets
from typing import NamedTuple

import orjson

from rejoinder.annotation.store.base import Assignment, Rater
from rejoinder.annotation.store.database import DatabaseSession, Row
from rejoinder.annotation.store.history import (
    LATEST,
    RaterHistory,
    exercise_attempt,
    is_rater_stopped,
    next_due_check,
    read_history,
)
from rejoinder.annotation.store.unit_cache import UnitCache

_UNITS_AT_ONCE = 16  # units whose slots are read in one query
_MAX_UNITS_AT_ONCE = 256
IS_FREE = "NOT EXISTS (SELECT 1 FROM assignments b WHERE b.project = ? AND b.unit = ? AND b.slot = ?)"


class FreeSlot(NamedTuple):
    """A free slot of a unit; ``evict`` is the assignment whose lease on it has expired."""

    unit: str
    slot: int | None
    attempt: int = 1
    evict: str | None = None


class SlotSearch(NamedTuple):
    """The result of a search: a slot or none, units that turned out to be full, and whether others hold open slots."""

    place: FreeSlot | None
    full: frozenset[str] = frozenset()
    held_by_others: bool = False


def find_current_assignment(session: DatabaseSession, cache: UnitCache, rater: Rater, now: float) -> Assignment | None:
    """Return the answer that a rater took back last and did not replace, else the open assignment (even if expired)."""
    return next(iter(list_current_assignments(session, cache, rater, now)), None)


def list_current_assignments(session: DatabaseSession, cache: UnitCache, rater: Rater, now: float) -> list[Assignment]:
    """Return the answers that a rater has taken back, latest first, then open assignments."""
    lease = cache.project.lease_minutes * 60
    rows = session.rows(
        "SELECT a.id, a.unit, a.attempt, a.state, a.taken, a.leased_until, a.reopened, j.answer, j.at "
        f"FROM assignments a LEFT JOIN judgements j ON j.assignment = a.id AND {LATEST} "
        "WHERE a.rater = ? AND (a.state = 'open' OR (a.reopened IS NOT NULL AND a.reopened > ?))",
        *(rater.id, now - lease),
    )
    rows = [row for row in rows if row[1] in cache.units]
    again = sorted((row for row in rows if row[6] is not None and row[3] == "done"), key=lambda r: (-r[6], r[8]))
    return [assignment_from_row(cache, rater, row) for row in (*again, *(row for row in rows if row[3] == "open"))]


def assignment_from_row(cache: UnitCache, rater: Rater, row: Row) -> Assignment:
    """Build an assignment from its row (id, unit, attempt, state, taken, leased_until, reopened, answer, ...)."""
    id, unit, attempt, state, taken, until, reopened, answer = row[:8]
    again = state == "done" and reopened is not None
    if again:
        taken, until = reopened, reopened + cache.project.lease_minutes * 60
    previous = orjson.loads(answer) if again and answer is not None else None
    return Assignment(id, cache.for_rater(cache.units[unit], rater.name), rater.id, taken, until, previous, attempt)


def find_slot(session: DatabaseSession, cache: UnitCache, rater: Rater, now: float) -> SlotSearch:
    """Find what a rater should get next, without claiming it."""
    history = read_history(session, cache, rater)
    project = cache.project
    if rater.role != "rater":
        return SlotSearch(None)
    if questions := cache.of_kind("exercise"):
        attempt, passed = exercise_attempt(cache, history)
        if not passed:
            left = [id for id in questions if id not in history.exercise.get(attempt, {})]
            return SlotSearch(FreeSlot(left[0], None, attempt) if attempt else None)
    if is_rater_stopped(cache, history):
        return SlotSearch(None)
    if project.units_per_rater and len(history.done) >= project.units_per_rater:
        return SlotSearch(None)
    if (check := next_due_check(cache, history, rater.name)) is not None:
        return SlotSearch(FreeSlot(check, None))
    return _find_free_slot(session, cache, rater, history, now)


def _find_free_slot(
    session: DatabaseSession, cache: UnitCache, rater: Rater, history: RaterHistory, now: float
) -> SlotSearch:
    own = history.done | history.open
    left = (id for id in cache.order(rater.name) if id not in own and id not in cache.full)
    full: set[str] = set()
    size, held_by_others = _UNITS_AT_ONCE, False
    while batch := list(itertools.islice(left, size)):
        slots = _read_slots(session, cache, batch)
        for unit in batch:
            rows = slots.get(unit, [])
            slot = _find_slot_at(unit, rows, cache.project.raters_per_unit, now)
            if slot is not None:
                return SlotSearch(slot, frozenset(full))
            if all(row[2] == "done" for row in rows):
                full.add(unit)
            else:
                held_by_others = True
        size = min(2 * size, _MAX_UNITS_AT_ONCE)
    return SlotSearch(None, frozenset(full), held_by_others)


def _read_slots(session: DatabaseSession, cache: UnitCache, units: list[str]) -> dict[str, list[Row]]:
    marks = ", ".join("?" * len(units))
    rows = session.rows(
        "SELECT unit, slot, state, leased_until, id FROM assignments "
        f"WHERE project = ? AND slot IS NOT NULL AND unit IN ({marks}) ORDER BY slot",
        *(cache.project.name, *units),
    )
    slots: dict[str, list[Row]] = {}
    for row in rows:
        slots.setdefault(row[0], []).append(row)
    return slots


def _find_slot_at(unit: str, rows: list[Row], count: int, now: float) -> FreeSlot | None:
    """Return a free slot, else one whose lease has expired."""
    if len(rows) < count:
        used = {row[1] for row in rows}
        return FreeSlot(unit, next(n for n in range(count) if n not in used))
    for _, slot, state, until, id in rows:
        if state == "open" and until <= now:
            return FreeSlot(unit, slot, evict=id)
    return None


def claim_slot(
    session: DatabaseSession, cache: UnitCache, rater: Rater, slot: FreeSlot, now: float
) -> Assignment | None:
    """Claim a slot; None if another rater has taken it in the meantime.

    No lock is needed: a constraint of the table ensures that a slot is held only once.
    """
    until = now + cache.project.lease_minutes * 60
    if slot.evict is not None and not session.run(
        "UPDATE assignments SET state = 'expired', slot = NULL WHERE id = ? AND state = 'open' AND leased_until <= ?",
        *(slot.evict, now),
    ):
        return None
    rows = session.rows(
        "SELECT id FROM assignments WHERE project = ? AND unit = ? AND rater = ? AND attempt = ?",
        *(cache.project.name, slot.unit, rater.id, slot.attempt),
    )
    id = rows[0][0] if rows else secrets.token_hex(8)
    if rows:  # this rater's assignment had expired; a page that still shows it may send its answer
        claimed = session.run(
            f"UPDATE assignments SET state = 'open', slot = ?, taken = ?, leased_until = ? WHERE id = ? AND {IS_FREE}",
            *(slot.slot, now, until, id, cache.project.name, slot.unit, slot.slot),
        )
    else:
        claimed = session.run(
            "INSERT INTO assignments (id, project, unit, rater, attempt, slot, state, taken, leased_until) "
            "VALUES (?, ?, ?, ?, ?, ?, 'open', ?, ?) ON CONFLICT DO NOTHING",
            *(id, cache.project.name, slot.unit, rater.id, slot.attempt, slot.slot, now, until),
        )
    if not claimed:
        return None
    return assignment_from_row(cache, rater, (id, slot.unit, slot.attempt, "open", now, until, None, None))


def renew_lease(session: DatabaseSession, cache: UnitCache, assignment: Assignment, now: float) -> Assignment:
    """Return the same assignment, with a new lease if the old one has expired and nobody took the slot."""
    if assignment.until > now or assignment.previous is not None:
        return assignment
    until = now + cache.project.lease_minutes * 60
    session.run("UPDATE assignments SET leased_until = ? WHERE id = ?", until, assignment.id)
    return Assignment(
        assignment.id, assignment.unit, assignment.rater, assignment.taken, until, None, assignment.attempt
    )
