"""Records from requests that were validated: read as a file's lines are, so that both mean the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from rejoinder.data.collection import collect
from rejoinder.data.schema import Place, from_object
from rejoinder.types import Item, Pair, Question, Response

SYSTEM = "request"
_OF_ITEM = ("context", "references", "future", "situation", "dialogue")


def pair_of(found: Mapping[str, Any], number: int = 0) -> Pair:
    """An item and its reply."""
    item = _make_item(found, f"{number}", number)
    return Pair(item, Response(f"{item.id}/{SYSTEM}", item.id, SYSTEM, found["reply"]))


def items_of(found: Sequence[Mapping[str, Any]]) -> list[Item]:
    """Items, each with an id of its own."""
    items = [_make_item(one, one.get("id") or f"item-{number}", number) for number, one in enumerate(found, start=1)]
    return list(collect(items, SYSTEM).items.values())


def questions_of(found: Sequence[Mapping[str, Any]]) -> list[Question]:
    """Questions, each with an id of its own."""
    named = [{**one, "id": one.get("id") or f"question-{number}"} for number, one in enumerate(found, start=1)]
    read = [question_of(one, number) for number, one in enumerate(named, start=1)]
    return list(collect(read, SYSTEM).questions.values())


def question_of(found: Mapping[str, Any], number: int = 1) -> Question:
    """One question."""
    candidates = [{"text": one} if isinstance(one, str) else _drop_empty(one) for one in found["candidates"]]
    given = {**_drop_empty(found), "kind": "question", "candidates": candidates}
    return cast(Question, from_object(given, Place(SYSTEM, number)))


def _make_item(found: Mapping[str, Any], name: str, number: int) -> Item:
    given = {key: found[key] for key in _OF_ITEM if found.get(key) is not None}
    return cast(Item, from_object({"kind": "item", "id": name, **given}, Place(SYSTEM, number)))


def _drop_empty(found: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in found.items() if value is not None}
