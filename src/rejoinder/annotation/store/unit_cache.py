"""The units of a project in the store: all in the database, and those that can be assigned also in memory."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from rejoinder.annotation.errors import AnnotationError
from rejoinder.annotation.project import Project
from rejoinder.annotation.store.base import LoadCounts
from rejoinder.annotation.store.database import DatabaseSession, Row
from rejoinder.annotation.unit import Unit, UnitKind, arrange_replies, order_units
from rejoinder.seeded import stable_shuffle

_COLUMNS = "id, kind, payload, hidden"
_MOST_ORDERS = 1000  # orders in memory


@dataclass
class UnitCache:
    """The units that can be assigned, and each rater's order of them.

    ``full`` are units that all their raters have answered; since judgements are never deleted, they stay full.
    """

    project: Project
    units: dict[str, Unit]
    full: set[str] = field(default_factory=set)
    _orders: dict[str, list[str]] = field(default_factory=dict)
    _kinds: dict[UnitKind, list[str]] = field(default_factory=dict)
    _all: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        for unit in self.units.values():
            self._kinds.setdefault(unit.kind, []).append(unit.id)
        self._all = frozenset(self._kinds.get("unit", ()))

    def of_kind(self, kind: UnitKind) -> list[str]:
        """Return the ids of the units of a kind, in the project's order."""
        return self._kinds.get(kind, [])

    def order(self, rater: str) -> list[str]:
        """Return a rater's units (without checks) in order, without those that the rater must not judge."""
        ids = self._orders.get(rater)
        if ids is None:
            units = [id for id in self.of_kind("unit") if rater not in self.units[id].hidden.get("not_for", ())]
            ids = order_units(units, self.project.seed, rater, self.project.block)
            if len(self._orders) >= _MOST_ORDERS:
                self._orders.clear()
            self._orders[rater] = ids
        return ids

    def count_left(self, rater: str, excluded: AbstractSet[str]) -> int:
        """Return how many of a rater's units are not among these."""
        order = self.order(rater)
        if len(order) < len(self._all):  # the rater must not judge some
            return sum(id not in excluded for id in order)
        return len(order) - len(excluded & self._all)

    @property
    def n_checks(self) -> int:
        """The number of checks."""
        return len(self.of_kind("gold")) + len(self.of_kind("attention"))

    def checks(self, rater: str) -> list[str]:
        """Return the checks in a rater's order."""
        return stable_shuffle([*self.of_kind("gold"), *self.of_kind("attention")], self.project.seed, "checks", rater)

    def for_rater(self, unit: Unit, rater: str) -> Unit:
        """Return a unit as this rater may see it."""
        kind: UnitKind = "exercise" if unit.kind == "exercise" else "unit"
        return replace(arrange_replies(unit, self.project.seed, rater), hidden={}, kind=kind)


def load_unit_cache(session: DatabaseSession, project: Project) -> UnitCache:
    """Load the units that can be assigned."""
    rows = session.rows(
        f"SELECT {_COLUMNS} FROM units WHERE project = ? AND retired = 0 ORDER BY place, id", project.name
    )
    return UnitCache(project, {row[0]: _unit_from_row(project, row) for row in rows})


def read_units(session: DatabaseSession, project: Project) -> list[Unit]:
    """Return all units that were ever loaded."""
    rows = session.rows(f"SELECT {_COLUMNS} FROM units WHERE project = ? ORDER BY retired, place, id", project.name)
    return [_unit_from_row(project, row) for row in rows]


def find_unit(session: DatabaseSession, project: Project, id: str) -> Unit | None:
    """Return one unit, retired or not."""
    rows = session.rows(f"SELECT {_COLUMNS} FROM units WHERE project = ? AND id = ?", project.name, id)
    return _unit_from_row(project, rows[0]) if rows else None


def _unit_from_row(project: Project, row: Row) -> Unit:
    return unit_from_columns(project, *row)


def unit_from_columns(project: Project, id: str, kind: UnitKind, payload: str, hidden: str) -> Unit:
    """Build a unit from its columns."""
    return Unit(id, project.form, orjson.loads(payload), orjson.loads(hidden), kind)


def load_units(session: DatabaseSession, project: Project, units: Iterable[Unit], now: float) -> LoadCounts:
    """Load units into the database; see ``Store.load``."""
    add_project(session, project, now)
    rows = session.rows(f"SELECT {_COLUMNS}, retired FROM units WHERE project = ?", project.name)
    existing = {row[0]: row for row in rows}
    judged = {
        row[0]
        for row in session.rows(
            "SELECT DISTINCT a.unit FROM assignments a JOIN judgements j ON j.assignment = a.id WHERE a.project = ?",
            project.name,
        )
    }
    added: list[tuple[Any, ...]] = []
    updated: list[tuple[Any, ...]] = []
    changed, loaded_ids = 0, set()
    for place, unit in enumerate(units):
        loaded_ids.add(unit.id)
        payload, hidden = _to_json(unit.payload), _to_json(unit.hidden)
        current = existing.get(unit.id)
        if current is None:
            added.append((project.name, unit.id, place, unit.kind, payload, hidden))
            continue
        if (current[1], current[2]) != (unit.kind, payload):
            changed += 1
            if unit.id in judged:
                raise AnnotationError(_explain_judged(project, unit))
        updated.append((place, unit.kind, payload, hidden, project.name, unit.id))
    retired = [(project.name, id) for id, row in existing.items() if id not in loaded_ids and not row[4]]
    session.many("INSERT INTO units (project, id, place, kind, payload, hidden) VALUES (?, ?, ?, ?, ?, ?)", added)
    session.many(
        "UPDATE units SET place = ?, kind = ?, payload = ?, hidden = ?, retired = 0 WHERE project = ? AND id = ?",
        updated,
    )
    session.many("UPDATE units SET retired = 1 WHERE project = ? AND id = ?", retired)
    return LoadCounts(len(added), len(updated) - changed, changed, len(retired))


def add_project(session: DatabaseSession, project: Project, now: float) -> None:
    """Make sure that the project is in the database with its form."""
    rows = session.rows("SELECT form FROM projects WHERE id = ?", project.name)
    if not rows:
        session.run("INSERT INTO projects (id, form, created) VALUES (?, ?, ?)", project.name, project.form, now)
    elif rows[0][0] != project.form:
        raise AnnotationError(
            f"the database has another project {project.name!r}, with the form {rows[0][0]!r}; rename this one"
        )


def _explain_judged(project: Project, unit: Unit) -> str:
    about = unit.hidden.get("item") or unit.payload.get("context")
    return (
        f"the unit about {about!r} has been judged, but its text or kind has changed since; give the project another "
        f"name (now {project.name!r}) or another database, or give what changed a new id"
    )


def _to_json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
