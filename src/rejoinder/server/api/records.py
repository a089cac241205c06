"""Records from validated requests: parsed like the lines of a file, so that both mean the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from rejoinder.data.collection import collect
from rejoinder.data.schema import Place, from_object
from rejoinder.types import Item, Pair, Question, Response

SYSTEM = "request"
_ITEM_KEYS = ("context", "references", "future", "situation", "dialogue")


def pair_of(body: Mapping[str, Any], number: int = 0) -> Pair:
    """Return the pair of an item and its reply."""
    item = _make_item(body, f"{number}", number)
    return Pair(item, Response(f"{item.id}/{SYSTEM}", item.id, SYSTEM, body["reply"]))


def items_of(entries: Sequence[Mapping[str, Any]]) -> list[Item]:
    """Return the items, each with an id of its own."""
    items = [
        _make_item(entry, entry.get("id") or f"item-{number}", number) for number, entry in enumerate(entries, start=1)
    ]
    return list(collect(items, SYSTEM).items.values())


def questions_of(entries: Sequence[Mapping[str, Any]]) -> list[Question]:
    """Return the questions, each with an id of its own."""
    bodies = [{**entry, "id": entry.get("id") or f"question-{number}"} for number, entry in enumerate(entries, start=1)]
    questions = [question_of(entry, number) for number, entry in enumerate(bodies, start=1)]
    return list(collect(questions, SYSTEM).questions.values())


def question_of(body: Mapping[str, Any], number: int = 1) -> Question:
    """Return one question."""
    candidates = [
        {"text": candidate} if isinstance(candidate, str) else _drop_empty(candidate)
        for candidate in body["candidates"]
    ]
    fields = {**_drop_empty(body), "kind": "question", "candidates": candidates}
    return cast(Question, from_object(fields, Place(SYSTEM, number)))


def _make_item(body: Mapping[str, Any], name: str, number: int) -> Item:
    fields = {key: body[key] for key in _ITEM_KEYS if body.get(key) is not None}
    return cast(Item, from_object({"kind": "item", "id": name, **fields}, Place(SYSTEM, number)))


def _drop_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}
