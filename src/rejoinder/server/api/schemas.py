"""JSON schemas of what several verbs share, and how to write one; they validate requests and describe the API."""

from __future__ import annotations

from typing import Any

from rejoinder.json_schema import REF, Schema, SchemaValidator
from rejoinder.server.api.limits import CANDIDATES, CHARACTERS, TURNS

_BLANK_HINT = "write something, or leave it out"
# Not blank: written so that Python and JavaScript, which do not agree on white space, mean the same.
NOT_BLANK = r"[^\s\x1c-\x1f\x85\ufeff]"


def reference(name: str) -> dict[str, str]:
    """Return a reference to a shared schema."""
    return {"$ref": REF + name}


def array_of(items: Schema, most: int | None = None, least: int = 0) -> dict[str, Any]:
    """Return the schema of a list, of at most ``most`` entries."""
    schema: dict[str, Any] = {"type": "array", "items": items}
    return schema | ({"maxItems": most} if most else {}) | ({"minItems": least} if least else {})


def mapping_of(values: Schema) -> dict[str, Any]:
    """Return the schema of an object whose keys are specs."""
    return {"type": "object", "additionalProperties": values}


def object_of(required: tuple[str, ...] | None = None, /, **properties: Schema) -> dict[str, Any]:
    """Return the schema of an object with these keys and no others; by default, it must have all of them."""
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    names = list(properties if required is None else required)
    return schema | ({"required": names} if names else {})


def words(most: int = 200) -> dict[str, Any]:
    """Return the schema of a short text that is not blank."""
    return {"type": "string", "minLength": 1, "maxLength": most, "pattern": NOT_BLANK, "description": _BLANK_HINT}


def nullable(schema: Schema) -> dict[str, Any]:
    """Return the same schema, or null."""
    return {**schema, "type": [schema["type"], "null"]}


TEXT = words(CHARACTERS)
NAME = nullable(words())
REPLY = {"type": "string", "maxLength": CHARACTERS, "description": "a blank reply has no score (null)"}
NUMBER = {"type": "number", "minimum": -1e9, "maximum": 1e9}
FLAG = {"type": ["boolean", "null"]}
SEED = {"type": "integer", "minimum": 0, "maximum": 1_000_000, "default": 0}
GRADE = {"anyOf": [{"type": "string", "maxLength": 40}, NUMBER], "description": "higher is better; or true and false"}
# Of answers; a number that is not finite is null there.
STRING: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FIGURE, NOTE, PLACE = nullable({"type": "number"}), nullable(STRING), nullable(COUNT)


def text_with(**properties: Schema) -> dict[str, Any]:
    """Return the schema of a plain text, or of an object with a text and these keys."""
    return {"anyOf": [TEXT, object_of(("text",), text=TEXT, **properties)]}


_ITEM = {
    "context": array_of(reference("Turn"), TURNS),
    "references": array_of(reference("Reference"), TURNS),
    "future": array_of(reference("Turn"), TURNS),
    "situation": array_of(reference("Statement"), TURNS),
}
CONTEXT, SITUATION = _ITEM["context"], _ITEM["situation"]
PAIR = {"context": CONTEXT, "reply": REPLY, "references": _ITEM["references"]}
SHARED_SCHEMAS: dict[str, Schema] = {
    "Turn": text_with(speaker=NAME),
    "Reference": text_with(source=NAME, score=nullable(NUMBER), origin=nullable(words(CHARACTERS))),
    "Statement": text_with(category=NAME, relevant=FLAG),
    "Candidate": object_of(
        ("text", "grade"), text=TEXT, grade=GRADE, id=NAME, source=NAME, labels=array_of(words(), 20)
    ),
    "Pair": object_of(("context", "reply"), reply=REPLY, **_ITEM),
    "Item": object_of(("context",), id=NAME, dialogue=NAME, **_ITEM),
    "Question": object_of(
        ("context", "candidates"),
        id=NAME,
        context=CONTEXT,
        candidates=array_of(reference("Candidate"), CANDIDATES, 2),
        situation=SITUATION,
        dialogue=NAME,
    ),
}
VALIDATOR = SchemaValidator(SHARED_SCHEMAS)


def spec_schemas(metrics: list[str], systems: list[str]) -> list[Schema]:
    """Return the schemas of a metric's and of a system's spec: a name that is offered, or one with parameters."""
    any_other = {"type": "string", "minLength": 1, "maxLength": 300}
    return [
        {"anyOf": [{"enum": names, "type": "string"}, any_other], "description": f"a {what}, e.g. {names[0]}"}
        for what, names in (("metric", metrics), ("system or metric", [*systems, *metrics]))
    ]
