"""A unit: what one rater sees and answers at once, and the fields of its answer.

The payload is what is shown, and nothing else: no system, no id of the data, no right answer. Those are hidden, and
units leave the store without them.

    payload = {
        "context": [{"speaker": "user", "text": "..."}, ...],   # speaker may be missing
        "replies": [{"key": "r1", "text": "..."}, ...],         # in the order shown; may be empty
        "goal": "...",                                           # if known
        "situation": [{"text": "...", "category": "..."}],       # if known
        "initial": {"FIELD": "text to start from"},              # if there is any
        "note": "...",                                           # the note of an exercise question or a check
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
class AnswerOption:
    """One option: its value in the answer, its label, and its meaning if one is given."""

    value: int | str
    label: str
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class AnswerField:
    """One question to a rater; its name is its key in the answer.

    choice: one of ``options``; the value is the option's (int or str). labels: some of ``options``; a list of strings,
    never empty ("none" stands alone). text: one text. lines: a text of which each line counts as one statement.
    ``reply`` is the key of the reply that the field is about, None if it is about the whole unit. A field with
    ``only_if`` counts only if the other field has that value, and is then required.
    """

    name: str
    kind: FieldKind
    aspect: str
    question: str
    reply: str | None = None
    options: tuple[AnswerOption, ...] = ()
    initial: str = ""
    required: bool = True
    longest: int = 2000
    only_if: tuple[str, int | str] | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """What one rater sees and answers at once.

    ``hidden`` is never shown: {"replies": {"r1": {"response": ..., "system": ...}}, "item": ..., "answer": {...}} as
    far as they apply. ``kind`` is hidden too, except for exercises. The id reveals nothing.
    """

    id: str
    form: FormName
    payload: JSON = field(hash=False)
    hidden: JSON = field(default_factory=dict, hash=False)
    kind: UnitKind = "unit"


def order_units(units: Sequence[str], seed: int, rater: str, block: int = 0) -> list[str]:
    """Return the order in which a rater is given units.

    With blocks, all raters go through the same blocks in the same order, each block shuffled per rater: so the blocks
    are completed one after another, instead of each unit being seen by only one rater.
    """
    if not block:
        return stable_shuffle(units, seed, "rater", rater)
    common = stable_shuffle(units, seed, "blocks")
    blocks = [common[start : start + block] for start in range(0, len(common), block)]
    return [unit for one in blocks for unit in stable_shuffle(one, seed, "rater", rater)]


def place_check(number: int, every: int, seed: int, rater: str) -> int:
    """Return after how many units a rater gets check ``number`` (from 0): at random within its ``every`` units."""
    return number * every + stable_hash(seed, "check", rater, number) % every


def arrange_replies(unit: Unit, seed: int, rater: str) -> Unit:
    """Return the unit with its replies in the order in which this rater sees them."""
    replies = unit.payload.get("replies", ())
    if len(replies) < 2:
        return unit
    places = stable_shuffle((reply["key"] for reply in replies), seed, "sides", rater, unit.id)
    by_key = {reply["key"]: reply for reply in replies}
    return replace(unit, payload={**unit.payload, "replies": [by_key[key] for key in places]})
