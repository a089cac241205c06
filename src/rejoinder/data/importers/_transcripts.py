"""What rated sets keep as plain JSON: a transcript with or without names before its lines, and lists of ratings."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rejoinder.data.importers import _cells as cells
from rejoinder.data.importers._contract import Tally
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief
from rejoinder.types import Turn

_LABEL = re.compile(r"\s*(User|System|Human|Model|Bot)\s*:\s*", re.IGNORECASE)


class Judgement(NamedTuple):
    """What one person gave in one aspect."""

    aspect: str
    rater: str
    value: float


def transcript(value: Any, column: str, place: Place) -> tuple[Turn, ...]:
    """The turns of a text, one a line, or of a list; names before all lines of a text become speakers."""
    if not isinstance(value, str):
        found = cells.turns(value, column, place, None)
        return tuple(Turn(turn["text"], turn.get("speaker")) for turn in found)
    lines = [line.strip() for line in value.split("\n") if line.strip()]
    labels = [_LABEL.match(line) for line in lines]
    if all(label is not None and label.end() < len(line) for label, line in zip(labels, lines, strict=True)):
        return tuple(Turn(line[m.end() :], m[1]) for line, m in zip(lines, labels, strict=True) if m)
    return tuple(Turn(line) for line in lines)


def reply(value: Any, column: str, place: Place, context: Sequence[Turn]) -> str | None:
    """A reply, without the name before it where the context has names too; None where it is blank."""
    found = cells.text(value, column, place)
    if found is None:
        return None
    label = _LABEL.match(found) if context and context[0].speaker is not None else None
    return (found[label.end() :] if label else found).strip() or None


def judgements(found: Any, raters: Any, place: Place, tally: Tally) -> Iterator[Judgement]:
    """The ratings under each aspect: a list with one value a rater, or one value alone."""
    if found is None:
        return
    if not isinstance(found, dict):
        raise InputError(f"{place}: 'annotations' is {brief(found)}; it must be an object with one list an aspect")
    names = [name for name in raters if isinstance(name, str) and name.strip()] if isinstance(raters, list) else []
    for aspect, values in found.items():
        if not aspect.strip():
            raise InputError(f"{place}: an aspect in 'annotations' has no name")
        values = values if isinstance(values, list) else [values]
        for position, value in enumerate(values):
            number = _number(value, aspect, place)
            if number is None:
                tally.left_out["ratings that are no numbers"] += 1
                continue
            rater = names[position] if len(names) == len(values) else f"rater-{position + 1}"
            yield Judgement(aspect.strip().lower().replace(" ", "-"), rater, number)


def _number(value: Any, aspect: str, place: Place) -> float | None:
    if value is None or isinstance(value, str):
        try:
            number = float(value or "nan")
        except ValueError:
            return None
        return number if math.isfinite(number) else None
    return cells.number(value, aspect, place)
