"""Records as JSON objects: what ``schema`` reads back to the same record."""

from __future__ import annotations

from typing import Any

from rejoinder.types import (
    Candidate,
    Dialogue,
    Item,
    Preference,
    Question,
    Rating,
    Record,
    Reference,
    Response,
    Statement,
    Turn,
)

LONGEST_LINE = 64 * 2**20  # bytes of a record, as a line or as a row


def to_object(record: Record) -> dict[str, Any]:
    """Return a record as a JSON object, with its kind first and without empty fields."""
    o: dict[str, Any]
    match record:
        case Dialogue():
            o = {"kind": "dialogue", "id": record.id, "turns": [turn_object(t) for t in record.turns]}
            o |= {"corpus": record.corpus, "split": record.split}
        case Item():
            o = {"kind": "item", "id": record.id, "context": [turn_object(t) for t in record.context]}
            o |= {
                "references": [_reference_object(r) for r in record.references],
                "future": [turn_object(t) for t in record.future],
                "situation": [_drop_empty(_fields(s)) for s in record.situation],
                "dialogue": record.dialogue,
                "truncated": record.truncated or None,
            }
        case Response():
            o = {"kind": "response", "id": record.id, "item": record.item, "system": record.system}
            o |= {"text": record.text}
        case Rating():
            o = {"kind": "rating", "response": record.response, "dialogue": record.dialogue}
            o |= {"rater": record.rater, "aspect": record.aspect, "value": record.value}
        case Preference():
            o = {"kind": "preference", "item": record.item, "first": record.first, "second": record.second}
            o |= {"rater": record.rater, "aspect": record.aspect, "choice": record.choice}
        case Question():
            o = {"kind": "question", "id": record.id, "context": [turn_object(t) for t in record.context]}
            o |= {
                "candidates": [_drop_empty(_fields(c)) for c in record.candidates],
                "situation": [_drop_empty(_fields(s)) for s in record.situation],
                "dialogue": record.dialogue,
                "split": record.split,
            }
    o["meta"] = dict(record.meta)
    keep = ("text", "context")  # kept even when empty: a record without them could not be read back
    return {k: v for k, v in o.items() if k in keep or (v is not None and v != [] and v != {})}


def turn_object(turn: Turn) -> dict[str, Any]:
    """Return a turn as a JSON object."""
    return {"text": turn.text} if turn.speaker is None else {"speaker": turn.speaker, "text": turn.text}


def _reference_object(reference: Reference) -> str | dict[str, Any]:
    if reference == Reference(reference.text):
        return reference.text
    return _drop_empty(_fields(reference))


def _fields(value: Statement | Candidate | Reference) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


def _drop_empty(o: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in o.items() if v is not None and v != () and v != {}}
