"""When messages were written, in the formats that exports have: numbers, ISO 8601, mail dates, dates with slashes."""

from __future__ import annotations

import email.utils
import math
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from rejoinder.data.schema import Place
from rejoinder.data.tables.columns import suggest_score
from rejoinder.errors import InputError, brief


class _Timed(Protocol):
    @property
    def time(self) -> Any: ...

    @property
    def place(self) -> Place: ...


def sort_keys(messages: Sequence[_Timed]) -> list[float]:
    """Return a number for each message by which they can be sorted; all are 0 if there is no time."""
    if all(message.time is None for message in messages):
        return [0.0] * len(messages)
    orders: list[list[float]] = []
    failed: _Timed | None = None
    for parse in _FORMATS:
        keys = []
        for message in messages:
            key = _try(parse, message.time)
            if key is None:
                failed = failed or message
                break
            keys.append(key)
        else:
            orders.append(keys)
    if not orders and failed is not None:
        raise InputError(
            f"{failed.place}: the time is {brief(failed.time)}, which is not a date that all rows are written like; "
            f"keep the order of the file with: {suggest_score(failed.place, '--field time=')}"
        )
    if any(_ranks(keys) != _ranks(orders[0]) for keys in orders[1:]):
        place = messages[0].place
        raise InputError(
            f"{place.file}: the times may begin with the day or with the month ({brief(messages[0].time)}); write them "
            f"as 2026-12-31, or keep the order of the file with: {suggest_score(place, '--field time=')}"
        )
    return orders[0]


def _ranks(keys: list[float]) -> list[int]:
    return sorted(range(len(keys)), key=keys.__getitem__)


def _try(parse: Callable[[Any], float], value: Any) -> float | None:
    try:
        key = parse(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return key if math.isfinite(key) else None


def _seconds(moment: datetime) -> float:
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _parse_iso(value: Any) -> float:
    text = re.sub(r"Z$", "+00:00", str(value).strip()).removesuffix(" UTC").removesuffix(" GMT").replace("/", "-")
    return _seconds(datetime.fromisoformat(text))


def _parse_mail(value: Any) -> float:
    return _seconds(email.utils.parsedate_to_datetime(str(value)))


def _parse_date(*formats: str) -> Callable[[Any], float]:
    def parse(value: Any) -> float:
        text = " ".join(str(value).replace(",", " ").split())
        for form in formats:
            for clock in ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p"):
                try:
                    return _seconds(datetime.strptime(text, form + clock))
                except ValueError:
                    continue
        raise ValueError(value)

    return parse


_FORMATS: tuple[Callable[[Any], float], ...] = (
    float,
    _parse_iso,
    _parse_mail,
    _parse_date("%d.%m.%Y", "%d.%m.%y"),
    _parse_date("%b %d %Y", "%B %d %Y", "%d %b %Y", "%d %B %Y"),
    _parse_date("%m/%d/%Y", "%m/%d/%y"),
    _parse_date("%d/%m/%Y", "%d/%m/%y"),
)
