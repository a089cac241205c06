"""The shapes of requests: JSON schemas that validate what comes, and stand in the description as they are."""

from __future__ import annotations

from typing import Any

from rejoinder.server.api.json_schema import REF, Schema, Validator
from rejoinder.server.api.limits import CANDIDATES, CHARACTERS, ROWS, SPECS, TURNS

_SAID = "write something, or leave it out"
# Not blank: said so that Python and JavaScript, which do not agree on what is white space, mean the same.
NOT_BLANK = r"[^\s\x1c-\x1f\x85\ufeff]"


def ref(name: str) -> dict[str, str]:
    """A shared schema, by name."""
    return {"$ref": REF + name}


def listed(items: Schema, most: int, least: int = 0) -> dict[str, Any]:
    """A list of so many at most."""
    found: dict[str, Any] = {"type": "array", "items": items, "maxItems": most}
    return found | ({"minItems": least} if least else {})


def record(required: tuple[str, ...], **properties: Schema) -> dict[str, Any]:
    """An object with these keys and no others."""
    found: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return found | ({"required": list(required)} if required else {})


def words(most: int = 200) -> dict[str, Any]:
    """A short text that is not blank."""
    return {"type": "string", "minLength": 1, "maxLength": most, "pattern": NOT_BLANK, "description": _SAID}


def or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The same, or null."""
    return schema | {"type": [schema["type"], "null"]}


TEXT = words(CHARACTERS)
REPLY = {"type": "string", "maxLength": CHARACTERS, "description": "a blank reply has no score (null)"}
NUMBER = {"type": "number", "minimum": -1e9, "maximum": 1e9}
FLAG = {"type": ["boolean", "null"]}
GRADE = {"anyOf": [{"type": "string", "maxLength": 40}, NUMBER], "description": "more is better; or true and false"}


def _or_text(described: dict[str, Any]) -> dict[str, Any]:
    """A text by itself, or an object with more to say."""
    return {"anyOf": [TEXT, described]}


PARTS: dict[str, Schema] = {
    "Turn": _or_text(record(("text",), text=TEXT, speaker=or_null(words()))),
    "Reference": _or_text(
        record(("text",), text=TEXT, source=or_null(words()), score=or_null(NUMBER), origin=or_null(words(CHARACTERS)))
    ),
    "Statement": _or_text(record(("text",), text=TEXT, category=or_null(words()), relevant=FLAG)),
    "Candidate": record(
        ("text", "grade"),
        text=TEXT,
        grade=GRADE,
        id=or_null(words()),
        source=or_null(words()),
        labels=listed(words(), 20),
    ),
}
_ITEM: dict[str, Schema] = {
    "context": listed(ref("Turn"), TURNS),
    "references": listed(ref("Reference"), TURNS),
    "future": listed(ref("Turn"), TURNS),
    "situation": listed(ref("Statement"), TURNS),
}
PARTS |= {
    "Pair": record(("context", "reply"), reply=REPLY, **_ITEM),
    "Item": record(("context",), id=or_null(words()), dialogue=or_null(words()), **_ITEM),
    "Question": record(
        ("context", "candidates"),
        id=or_null(words()),
        context=listed(ref("Turn"), TURNS),
        candidates=listed(ref("Candidate"), CANDIDATES, 2),
        situation=listed(ref("Statement"), TURNS),
        dialogue=or_null(words()),
    ),
}


def spec_of(names: list[str], what: str) -> dict[str, Any]:
    """A spec: one of the names, or a name with parameters."""
    any_other = {"type": "string", "minLength": 1, "maxLength": 300}
    return {"anyOf": [{"enum": names, "type": "string"}, any_other], "description": f"a {what}, e.g. {names[0]}"}


def requests(metrics: list[str], systems: list[str]) -> dict[str, Schema]:
    """The bodies of all requests, by the name of the verb."""
    metric, system = spec_of(metrics, "metric"), spec_of([*systems, *metrics], "system or metric")
    plan = record(
        (),
        k={"type": "integer", "minimum": 0, "maximum": 100, "default": 5},
        retrieval={"enum": ["bm25", "dense", "hybrid", "none"], "type": "string", "default": "bm25"},
        paraphrase={"enum": ["rewording", None], "type": ["string", "null"]},
        comet={"type": "boolean", "default": False},
        least_aptness={"type": ["number", "null"], "minimum": 0, "maximum": 1},
        seed={"type": "integer", "minimum": 0, "maximum": 1_000_000, "default": 0},
    )
    alone = {key: PARTS["Pair"]["properties"][key] for key in ("context", "reply", "references")}
    return {
        "score": record(
            ("metrics", "pairs"),
            metrics=listed(metric, SPECS, 1),
            pairs=listed(ref("Pair"), ROWS, 1),
            matched={"type": "boolean", "default": False, "description": "say which reference each reply matched"},
        ),
        "rank": record(
            ("context", "candidates"),
            system=system,
            context=listed(ref("Turn"), TURNS),
            candidates=listed(_or_text(record(("text",), text=TEXT, id=or_null(words()))), CANDIDATES, 1),
            situation=listed(ref("Statement"), TURNS),
            used={"type": "boolean", "default": False, "description": "say which statements were read"},
        ),
        "augment": record(("items",), items=listed(ref("Item"), ROWS // 10, 1), plan=plan),
        "select": record(
            ("systems", "questions"),
            systems=listed(system, SPECS, 1),
            questions=listed(ref("Question"), ROWS, 1),
            seed={"type": "integer", "minimum": 0, "maximum": 1_000_000, "default": 0},
        ),
        "try": record(("context", "reply"), metrics=listed(metric, 100), **alone),
        "explain": record(("metric", "context", "reply"), metric=metric, **alone | {"reply": TEXT}),
        "attack": record(("metric", "context", "reply"), metric=metric, **alone | {"reply": TEXT}),
    }


VALIDATOR = Validator(PARTS)
