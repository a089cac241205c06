"""The values of a foreign table or object, as text, numbers, names and turns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief

_TURN_KEYS = (("speaker", "text"), ("role", "content"), ("from", "value"))


def lookup(row: Mapping[str, Any], column: str) -> Any:
    """The value under a column, or under a path such as ``choices.0.message``; None where there is none."""
    if column in row:
        return row[column]
    value: Any = row
    for part in column.split("."):
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def text(value: Any, column: str, place: Place) -> str | None:
    """A cell as text; None where it is missing or blank. Numbers become their digits."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str):
        return None if not value or value.isspace() else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{place}: {column!r} holds {_type(value)} ({brief(value)}); it must be text")
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def number(value: Any, column: str, place: Place) -> float | None:
    """A cell as a number; None where it is missing or blank."""
    if isinstance(value, str):
        if not value or value.isspace():
            return None
        try:
            value = float(value)
        except ValueError:
            raise InputError(f"{place}: {column!r} holds {brief(value)}; it must be a number or empty") from None
        if not math.isfinite(value):
            raise InputError(f"{place}: {column!r} holds {value}; it must be a finite number or empty")
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{place}: {column!r} holds {brief(value)}; it must be a number or empty")
    return float(value)


def texts(value: Any, column: str, place: Place) -> list[str]:
    """A cell that holds one text or a list of them; blank ones are passed over."""
    values = value if isinstance(value, list) else [value]
    return [found for one in values if (found := text(one, column, place)) is not None]


def turns(value: Any, column: str, place: Place, separator: str | None) -> list[dict[str, str]]:
    """A cell that holds turns: one text (split at the separator, if any) or a list of texts or of messages."""
    if isinstance(value, str) and separator is not None:
        value = value.split(separator)
    if isinstance(value, Mapping) and value and all(isinstance(v, list) for v in value.values()):
        # A list of structures may be stored as one structure of lists.
        value = [dict(zip(value, row, strict=False)) for row in zip(*value.values(), strict=False)]
    values = value if isinstance(value, list) else [value]
    return [found for one in values if (found := _turn(one, column, place)) is not None]


def _turn(value: Any, column: str, place: Place) -> dict[str, str] | None:
    speaker = None
    if isinstance(value, Mapping):
        for speaker_key, text_key in _TURN_KEYS:
            if text_key in value:
                speaker = text(value.get(speaker_key), f"{column}.{speaker_key}", place)
                value = value[text_key]
                break
    said = text(value, column, place)
    if said is None:
        return None
    said = said.strip("\r\n")
    return {"text": said} if speaker is None else {"speaker": speaker, "text": said}


def _type(value: Any) -> str:
    names = {bool: "true or false", list: "a list", dict: "an object"}
    return names.get(type(value), f"a value of type {type(value).__name__}")
