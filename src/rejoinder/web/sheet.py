"""A unit as a page shows it: what is read, and what is asked, with the key that stands for each choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rejoinder.annotation.unit import Field, Option, Unit


class Choice(NamedTuple):
    """One thing to choose; ``key`` is the digit that chooses it, empty where there are too many."""

    id: str
    value: str
    label: str
    anchor: str
    key: str
    chosen: bool


class Ask(NamedTuple):
    """One thing asked, with what was chosen or written so far, and what is wrong with it."""

    id: str
    field: Field
    choices: tuple[Choice, ...]
    text: str
    problem: str

    @property
    def is_scale(self) -> bool:
        """Whether the choices are numbers, which stand in one row."""
        return all(choice.label.lstrip("-").isdecimal() for choice in self.choices)


class Panel(NamedTuple):
    """A reply with what is asked about it; no reply where the whole unit is meant."""

    title: str
    text: str | None
    asks: tuple[Ask, ...]


class Sheet(NamedTuple):
    """All that a unit's page shows."""

    unit: Unit
    panels: tuple[Panel, ...]
    problems: dict[str, str]  # those that belong to no field

    @property
    def refused(self) -> bool:
        """Whether something is wrong with what was sent."""
        return bool(self.problems) or any(ask.problem for panel in self.panels for ask in panel.asks)

    @property
    def side_by_side(self) -> bool:
        """Whether two replies stand beside each other."""
        return self.unit.form == "compare"

    @property
    def long(self) -> bool:
        """Whether there is so much to answer that the conversation should stay in sight."""
        return not self.side_by_side and sum(len(panel.asks) for panel in self.panels) > 2


def sheet_of(
    unit: Unit,
    fields: Sequence[Field],
    answer: Mapping[str, Any] | None = None,
    problems: Mapping[str, str] | None = None,
) -> Sheet:
    """A unit's page; ``answer`` is what was sent or judged before, and goes before the fields' own first values."""
    problems = dict(problems or {})
    asks = [_ask(number, field, answer, problems.pop(field.name, "")) for number, field in enumerate(fields)]
    replies = unit.payload.get("replies", ())
    panels = []
    for number, reply in enumerate(replies, start=1):
        about = tuple(ask for ask in asks if ask.field.reply == reply["key"])
        panels.append(Panel(_title(unit, number, len(replies)), reply["text"], about))
    if whole := tuple(ask for ask in asks if ask.field.reply is None):
        panels.append(Panel("", None, whole))
    return Sheet(unit, tuple(panels), problems)


def _title(unit: Unit, number: int, count: int) -> str:
    if unit.form == "compare":
        return ("The first reply", "The second reply")[number - 1]
    return "Reply" if count == 1 else f"Reply {number}"


def _ask(number: int, field: Field, answer: Mapping[str, Any] | None, problem: str) -> Ask:
    name = f"f{number}"
    given = None if answer is None else answer.get(field.name)
    if field.kind in ("text", "lines"):
        text = given if isinstance(given, str) else field.initial if answer is None or field.only_if else ""
        return Ask(name, field, (), text, problem)
    chosen = {str(one) for one in (given if isinstance(given, list | tuple) else [given]) if one is not None}
    keys = keys_of(field.options)
    choices = tuple(
        Choice(f"{name}-{n}", str(option.value), option.label, option.anchor, key, str(option.value) in chosen)
        for n, (option, key) in enumerate(zip(field.options, keys, strict=True))
    )
    return Ask(name, field, choices, "", problem)


def keys_of(options: Sequence[Option]) -> list[str]:
    """The digit of each option: its own label where all are numbers (0 for a 10 without a 0), else its place from 1."""
    labels = [option.label for option in options]
    if all(label.isdecimal() for label in labels):
        ten = "" if "0" in labels else "0"
        return [label if len(label) == 1 else ten if label == "10" else "" for label in labels]
    return [str(place) if place < 10 else "" for place in range(1, len(labels) + 1)]
