"""Requests and goals, before anybody has replied: what the first human steps of SUGAR begin with.

A file has lines ``{"id", "request", "goal"}`` (a seed's other keys may be there, and are passed over), or items and
questions whose meta has a goal.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rejoinder.data.reading import Source, decode
from rejoinder.data.schema import from_object
from rejoinder.data.seed import request_and_goal
from rejoinder.errors import InputError, brief
from rejoinder.types import Item, Question, Turn


def read_requests(*given: str | Path) -> list[Item]:
    """An item for each request: its text as the context, the goal in its meta, and nothing else."""
    found: dict[str, Item] = {}
    for name in given:
        for where, id, request, goal in _requests(str(name)):
            if id in found:
                raise InputError(f"{where}: the request {id!r} was there before; give each its own id")
            found[id] = Item(id, (Turn(request, "user"),), meta={"goal": goal})
    return list(found.values())


def _requests(name: str) -> Iterator[tuple[str, str, str, str]]:
    for line in Source(name).lines():
        found, where = decode(line), str(line.place)
        if isinstance(found, dict) and "request" in found:
            texts = [
                str(found[key]) if type(found.get(key)) is int else found.get(key) for key in ("id", "request", "goal")
            ]
            for key, text in zip(("id", "request", "goal"), texts, strict=True):
                if not isinstance(text, str) or not text.strip():
                    raise InputError(f"{where}: '{key}' must be a text that is not empty, found {brief(text)}")
            yield where, str(texts[0]), str(texts[1]), str(texts[2])
            continue
        record = from_object(found, line.place)
        if isinstance(record, Item | Question):
            yield where, record.id, *request_and_goal(record, where)
