"""The common shape of all units of a project, for tools with a fixed page.

Such tools show as many replies as the largest unit has, and leave empty what a unit lacks.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rejoinder.annotation.fields import list_fields
from rejoinder.annotation.store.results import ProjectResults
from rejoinder.annotation.unit import AnswerField, Unit


class UnitShape(NamedTuple):
    """Units to judge, replies on a page, fields under names that any tool accepts, and which other texts exist."""

    units: list[Unit]
    replies: list[str]
    fields: dict[str, AnswerField]  # by the name in the tool
    certain: set[str]  # those that every unit has
    goal: bool
    situation: bool
    note: bool


def find_shape(results: ProjectResults) -> UnitShape:
    """Return the shape of a project's units; exercises are left out, since other tools cannot use them."""
    units = [unit for unit in results.units.values() if unit.kind != "exercise"]
    widest = max(units, key=lambda unit: len(unit.payload["replies"]))
    fields = list_fields(results.project, _sort_replies(widest))
    names: dict[str, AnswerField] = {}
    for field in fields:
        name = re.sub(r"\W", "_", field.name)
        names[name if name not in names else f"{name}_{len(names)}"] = field
    everywhere = set.intersection(*({f.name for f in list_fields(results.project, unit)} for unit in units))
    replies = [reply["key"] for reply in _sort_replies(widest).payload["replies"]]
    present = [{key for unit in units if unit.payload.get(key)} & {key} for key in ("goal", "situation", "note")]
    certain = {name for name, field in names.items() if field.name in everywhere}
    return UnitShape(units, replies, names, certain, *(bool(keys) for keys in present))


def _sort_replies(unit: Unit) -> Unit:
    replies = sorted(unit.payload["replies"], key=lambda reply: int(reply["key"][1:]))
    return Unit(unit.id, unit.form, {**unit.payload, "replies": replies}, unit.hidden, unit.kind)


def list_lines(unit: Unit, key: str) -> list[str]:
    """Return the context or the situation as lines, with speakers or categories."""
    prefix_key = "speaker" if key == "context" else "category"
    return [
        f"{entry[prefix_key]}: {entry['text']}" if entry.get(prefix_key) else entry["text"]
        for entry in unit.payload.get(key, ())
    ]
