"""The units of a project as the store holds them: in the database, and those to hand out also in memory."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from rejoinder.annotation.errors import AnnotationError
from rejoinder.annotation.project import Project
from rejoinder.annotation.store.base import LoadCounts
from rejoinder.annotation.store.database import Row, Session
from rejoinder.annotation.unit import Unit, UnitKind, arrange_replies, order_units
from rejoinder.seeded import stable_shuffle

_COLUMNS = "id, kind, payload, hidden"
_MOST_ORDERS = 1000  # kept in memory


@dataclass
class UnitCache:
    """The units that may be handed out, and each rater's order of them.

    ``full`` are units that all their raters have answered; since no judgement is ever taken away, they stay so.
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
        """The ids of the units of a kind, in the project's order."""
        return self._kinds.get(kind, [])

    def order(self, rater: str) -> list[str]:
        """The units (no checks) in the order that a rater is given them, without those that are not for them."""
        found = self._orders.get(rater)
        if found is None:
            units = [id for id in self.of_kind("unit") if rater not in self.units[id].hidden.get("not_for", ())]
            found = order_units(units, self.project.seed, rater, self.project.block)
            if len(self._orders) >= _MOST_ORDERS:
                self._orders.clear()
            self._orders[rater] = found
        return found

    def left(self, rater: str, taken: AbstractSet[str]) -> int:
        """How many of a rater's units are none of these."""
        order = self.order(rater)
        if len(order) < len(self._all):  # some are not for this rater
            return sum(id not in taken for id in order)
        return len(order) - len(taken & self._all)

    @property
    def checks_there(self) -> int:
        """How many checks there are."""
        return len(self.of_kind("gold")) + len(self.of_kind("attention"))

    def checks(self, rater: str) -> list[str]:
        """The checks in the order that a rater is given them."""
        return stable_shuffle([*self.of_kind("gold"), *self.of_kind("attention")], self.project.seed, "checks", rater)

    def shown(self, unit: Unit, rater: str) -> Unit:
        """A unit as this rater may see it."""
        kind: UnitKind = "exercise" if unit.kind == "exercise" else "unit"
        return replace(arrange_replies(unit, self.project.seed, rater), hidden={}, kind=kind)


def load_unit_cache(session: Session, project: Project) -> UnitCache:
    """What the database has to hand out."""
    rows = session.rows(
        f"SELECT {_COLUMNS} FROM units WHERE project = ? AND retired = 0 ORDER BY place, id", project.name
    )
    return UnitCache(project, {row[0]: _unit_from_row(project, row) for row in rows})


def read_units(session: Session, project: Project) -> list[Unit]:
    """All units that were ever loaded."""
    rows = session.rows(f"SELECT {_COLUMNS} FROM units WHERE project = ? ORDER BY retired, place, id", project.name)
    return [_unit_from_row(project, row) for row in rows]


def find_unit(session: Session, project: Project, id: str) -> Unit | None:
    """One unit, taken out or not."""
    rows = session.rows(f"SELECT {_COLUMNS} FROM units WHERE project = ? AND id = ?", project.name, id)
    return _unit_from_row(project, rows[0]) if rows else None


def _unit_from_row(project: Project, row: Row) -> Unit:
    return unit_from_columns(project, *row)


def unit_from_columns(project: Project, id: str, kind: UnitKind, payload: str, hidden: str) -> Unit:
    """A unit from what is stored of it."""
    return Unit(id, project.form, orjson.loads(payload), orjson.loads(hidden), kind)


def load_units(session: Session, project: Project, units: Iterable[Unit], now: float) -> LoadCounts:
    """Put units in; see ``Store.load``."""
    add_project(session, project, now)
    found = session.rows(f"SELECT {_COLUMNS}, retired FROM units WHERE project = ?", project.name)
    there = {row[0]: row for row in found}
    judged = {
        row[0]
        for row in session.rows(
            "SELECT DISTINCT a.unit FROM assignments a JOIN judgements j ON j.assignment = a.id WHERE a.project = ?",
            project.name,
        )
    }
    added: list[tuple[Any, ...]] = []
    updated: list[tuple[Any, ...]] = []
    changed, given = 0, set()
    for place, unit in enumerate(units):
        given.add(unit.id)
        payload, hidden = _to_json(unit.payload), _to_json(unit.hidden)
        old = there.get(unit.id)
        if old is None:
            added.append((project.name, unit.id, place, unit.kind, payload, hidden))
            continue
        if (old[1], old[2]) != (unit.kind, payload):
            changed += 1
            if unit.id in judged:
                raise AnnotationError(_explain_judged(project, unit))
        updated.append((place, unit.kind, payload, hidden, project.name, unit.id))
    gone = [(project.name, id) for id, row in there.items() if id not in given and not row[4]]
    session.many("INSERT INTO units (project, id, place, kind, payload, hidden) VALUES (?, ?, ?, ?, ?, ?)", added)
    session.many(
        "UPDATE units SET place = ?, kind = ?, payload = ?, hidden = ?, retired = 0 WHERE project = ? AND id = ?",
        updated,
    )
    session.many("UPDATE units SET retired = 1 WHERE project = ? AND id = ?", gone)
    return LoadCounts(len(added), len(updated) - changed, changed, len(gone))


def add_project(session: Session, project: Project, now: float) -> None:
    """Make sure that the project stands in the database, with its form."""
    rows = session.rows("SELECT form FROM projects WHERE id = ?", project.name)
    if not rows:
        session.run("INSERT INTO projects (id, form, created) VALUES (?, ?, ?)", project.name, project.form, now)
    elif rows[0][0] != project.form:
        raise AnnotationError(
            f"the database has a project {project.name!r} with the form {rows[0][0]!r}; give this one another name"
        )


def _explain_judged(project: Project, unit: Unit) -> str:
    about = unit.hidden.get("item") or unit.payload.get("context")
    return (
        f"the unit about {about!r} has been judged, and its text or its use has changed since; give the project "
        f"another name (now {project.name!r}) or another database, or give what changed another id"
    )


def _to_json(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
