"""A unit: what one rater sees and answers at once; and the fields that its answer consists of.

The payload is what is shown, and nothing else: no system, no id of the data, no right answer. Those are hidden, and the
store hands out units without them.

    payload = {
        "context": [{"speaker": "user", "text": "..."}, ...],   # speaker may be missing
        "replies": [{"key": "r1", "text": "..."}, ...],         # in the order to show; may be empty
        "goal": "...",                                           # where known
        "situation": [{"text": "...", "category": "..."}],       # where known
        "initial": {"FIELD": "text to start from"},              # where there is any
        "note": "...",                                           # an exercise's or a check's own words, where given
    }
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from rejoinder.seeded import stable_hash, stable_shuffle

FormName: TypeAlias = Literal[
    "rate",
    "candidates",
    "grade",
    "references",
    "review",
    "write",
    "situation",
    "validate",
    "errors",
    "compare",
]
UnitKind: TypeAlias = Literal["unit", "gold", "attention", "exercise"]
FieldKind: TypeAlias = Literal["choice", "labels", "text", "lines"]
Value: TypeAlias = int | str | list[str]
Answer: TypeAlias = dict[str, Value]
JSON: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Option:
    """One thing that can be chosen: its value in the answer, its label, and what it means where that is said."""

    value: int | str
    label: str
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One thing asked of a rater; its name is its key in the answer.

    choice: one of ``options``; the value is the option's (int or str). labels: some of ``options``; a list of strings,
    never empty ("none" stands alone). text: one text. lines: a text of which each line counts as one statement.
    ``reply`` is the key of the reply that the field is about, None where it is about the whole unit. A field with
    ``only_if`` counts only where that other field has that value, and is needed there.
    """

    name: str
    kind: FieldKind
    aspect: str
    question: str
    reply: str | None = None
    options: tuple[Option, ...] = ()
    initial: str = ""
    required: bool = True
    longest: int = 2000
    only_if: tuple[str, int | str] | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """What one rater sees and answers at once.

    ``hidden`` is never shown: {"replies": {"r1": {"response": ..., "system": ...}}, "item": ..., "answer": {...}} as
    far as it applies. ``kind`` is hidden too, but for exercises, which a rater may know to be one. The id says nothing.
    """

    id: str
    form: FormName
    payload: JSON = field(hash=False)
    hidden: JSON = field(default_factory=dict, hash=False)
    kind: UnitKind = "unit"


def order_units(units: Sequence[str], seed: int, rater: str, block: int = 0) -> list[str]:
    """The order in which a rater is given units.

    Where there are blocks, all raters go through the same blocks in the same order, each shuffled by itself: so units
    fill up one block after the other, instead of each being seen by one rater only.
    """
    if not block:
        return stable_shuffle(units, seed, "rater", rater)
    common = stable_shuffle(units, seed, "blocks")
    blocks = [common[start : start + block] for start in range(0, len(common), block)]
    return [unit for one in blocks for unit in stable_shuffle(one, seed, "rater", rater)]


def check_due(number: int, every: int, seed: int, rater: str) -> int:
    """After how many units a rater's check of that number (from 0) comes: somewhere in its stretch of ``every``."""
    return number * every + stable_hash(seed, "check", rater, number) % every


def arrange_replies(unit: Unit, seed: int, rater: str) -> Unit:
    """The unit with its replies in the order in which this rater sees them."""
    replies = unit.payload.get("replies", ())
    if len(replies) < 2:
        return unit
    places = stable_shuffle((reply["key"] for reply in replies), seed, "sides", rater, unit.id)
    by_key = {reply["key"]: reply for reply in replies}
    return replace(unit, payload={**unit.payload, "replies": [by_key[key] for key in places]})
