"""The JSON schemas of requests: they validate what is sent, and are published as they are in the API description."""

from __future__ import annotations

from typing import Any

from rejoinder.json_schema import REF, Schema, SchemaValidator
from rejoinder.server.api.limits import CANDIDATES, CHARACTERS, ROWS, SPECS, TURNS

_BLANK_HINT = "write something, or leave it out"
# Not blank: written so that Python and JavaScript, which do not agree on white space, mean the same.
NOT_BLANK = r"[^\s\x1c-\x1f\x85\ufeff]"


def schema_reference(name: str) -> dict[str, str]:
    """Return a reference to a shared schema."""
    return {"$ref": REF + name}


def list_schema(items: Schema, most: int, least: int = 0) -> dict[str, Any]:
    """Return the schema of a list of at most ``most`` entries."""
    schema: dict[str, Any] = {"type": "array", "items": items, "maxItems": most}
    return schema | ({"minItems": least} if least else {})


def object_schema(required: tuple[str, ...], **properties: Schema) -> dict[str, Any]:
    """Return the schema of an object with these keys and no others."""
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": list(required)} if required else {})


def words_schema(most: int = 200) -> dict[str, Any]:
    """Return the schema of a short text that is not blank."""
    return {"type": "string", "minLength": 1, "maxLength": most, "pattern": NOT_BLANK, "description": _BLANK_HINT}


def nullable_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the same schema, or null."""
    return schema | {"type": [schema["type"], "null"]}


TEXT = words_schema(CHARACTERS)
REPLY = {"type": "string", "maxLength": CHARACTERS, "description": "a blank reply has no score (null)"}
NUMBER = {"type": "number", "minimum": -1e9, "maximum": 1e9}
FLAG = {"type": ["boolean", "null"]}
GRADE = {"anyOf": [{"type": "string", "maxLength": 40}, NUMBER], "description": "higher is better; or true and false"}


def _text_or_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a plain text or of an object with further keys."""
    return {"anyOf": [TEXT, schema]}


SHARED_SCHEMAS: dict[str, Schema] = {
    "Turn": _text_or_schema(object_schema(("text",), text=TEXT, speaker=nullable_schema(words_schema()))),
    "Reference": _text_or_schema(
        object_schema(
            ("text",),
            text=TEXT,
            source=nullable_schema(words_schema()),
            score=nullable_schema(NUMBER),
            origin=nullable_schema(words_schema(CHARACTERS)),
        )
    ),
    "Statement": _text_or_schema(
        object_schema(("text",), text=TEXT, category=nullable_schema(words_schema()), relevant=FLAG)
    ),
    "Candidate": object_schema(
        ("text", "grade"),
        text=TEXT,
        grade=GRADE,
        id=nullable_schema(words_schema()),
        source=nullable_schema(words_schema()),
        labels=list_schema(words_schema(), 20),
    ),
}
_ITEM: dict[str, Schema] = {
    "context": list_schema(schema_reference("Turn"), TURNS),
    "references": list_schema(schema_reference("Reference"), TURNS),
    "future": list_schema(schema_reference("Turn"), TURNS),
    "situation": list_schema(schema_reference("Statement"), TURNS),
}
SHARED_SCHEMAS |= {
    "Pair": object_schema(("context", "reply"), reply=REPLY, **_ITEM),
    "Item": object_schema(
        ("context",), id=nullable_schema(words_schema()), dialogue=nullable_schema(words_schema()), **_ITEM
    ),
    "Question": object_schema(
        ("context", "candidates"),
        id=nullable_schema(words_schema()),
        context=list_schema(schema_reference("Turn"), TURNS),
        candidates=list_schema(schema_reference("Candidate"), CANDIDATES, 2),
        situation=list_schema(schema_reference("Statement"), TURNS),
        dialogue=nullable_schema(words_schema()),
    ),
}


def spec_schema(names: list[str], what: str) -> dict[str, Any]:
    """Return the schema of a spec: one of the names, or a name with parameters."""
    any_other = {"type": "string", "minLength": 1, "maxLength": 300}
    return {"anyOf": [{"enum": names, "type": "string"}, any_other], "description": f"a {what}, e.g. {names[0]}"}


def request_schemas(metrics: list[str], systems: list[str]) -> dict[str, Schema]:
    """Return the schemas of all request bodies, by the name of the verb."""
    metric, system = spec_schema(metrics, "metric"), spec_schema([*systems, *metrics], "system or metric")
    plan = object_schema(
        (),
        k={"type": "integer", "minimum": 0, "maximum": 100, "default": 5},
        retrieval={"enum": ["bm25", "dense", "hybrid", "none"], "type": "string", "default": "bm25"},
        paraphrase={"enum": ["rewording", None], "type": ["string", "null"]},
        comet={"type": "boolean", "default": False},
        least_aptness={"type": ["number", "null"], "minimum": 0, "maximum": 1},
        seed={"type": "integer", "minimum": 0, "maximum": 1_000_000, "default": 0},
    )
    conversation = {key: SHARED_SCHEMAS["Pair"]["properties"][key] for key in ("context", "reply", "references")}
    return {
        "score": object_schema(
            ("metrics", "pairs"),
            metrics=list_schema(metric, SPECS, 1),
            pairs=list_schema(schema_reference("Pair"), ROWS, 1),
            matched={
                "type": "boolean",
                "default": False,
                "description": "return which reference each reply matched",
            },
        ),
        "rank": object_schema(
            ("context", "candidates"),
            system=system,
            context=list_schema(schema_reference("Turn"), TURNS),
            candidates=list_schema(
                _text_or_schema(object_schema(("text",), text=TEXT, id=nullable_schema(words_schema()))), CANDIDATES, 1
            ),
            situation=list_schema(schema_reference("Statement"), TURNS),
            used={"type": "boolean", "default": False, "description": "return which statements were read"},
        ),
        "augment": object_schema(("items",), items=list_schema(schema_reference("Item"), ROWS // 10, 1), plan=plan),
        "select": object_schema(
            ("systems", "questions"),
            systems=list_schema(system, SPECS, 1),
            questions=list_schema(schema_reference("Question"), ROWS, 1),
            seed={"type": "integer", "minimum": 0, "maximum": 1_000_000, "default": 0},
        ),
        "try": object_schema(("context", "reply"), metrics=list_schema(metric, 100), **conversation),
        "explain": object_schema(("metric", "context", "reply"), metric=metric, **conversation | {"reply": TEXT}),
        "attack": object_schema(("metric", "context", "reply"), metric=metric, **conversation | {"reply": TEXT}),
    }


VALIDATOR = SchemaValidator(SHARED_SCHEMAS)
