"""The validator of requests: it knows all that the schemas use, and agrees with what JSON Schema means."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("starlette")

from rejoinder.json_schema import KEYWORDS, SchemaValidator
from rejoinder.server.api.app import VERBS
from rejoinder.server.api.schemas import SHARED_SCHEMAS, spec_schemas

CHECK = SchemaValidator({"Name": {"type": "string", "minLength": 1}})


def keywords(schema: Any) -> set[str]:
    """The keywords of a schema and of those inside it."""
    if not isinstance(schema, dict):
        return set()
    found = set(schema)
    inside = [*schema.get("anyOf", []), schema.get("items"), *schema.get("properties", {}).values()]
    return found.union(*(keywords(one) for one in inside))


def test_no_schema_uses_what_the_validator_does_not_know() -> None:
    specs = spec_schemas(["bleu"], ["tfidf"])
    for schema in [*SHARED_SCHEMAS.values(), *(verb.request(*specs) for verb in VERBS.values())]:
        assert keywords(schema) <= KEYWORDS


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "integer"}, [0, -3, 2.0], [True, 2.5, "2", None]),
        ({"type": "number"}, [0, 1.5], [False, "1"]),
        ({"type": ["string", "null"]}, ["", None], [0]),
        ({"type": "boolean"}, [True, False], [0, 1, "true"]),
        ({"type": "string", "minLength": 2, "maxLength": 3}, ["ab", "🙂🙂"], ["a", "abcd"]),
        ({"type": "string", "pattern": r"\d"}, ["a1"], ["a"]),
        ({"type": "integer", "minimum": 1, "maximum": 2}, [1, 2], [0, 3]),
        ({"enum": ["a", None]}, ["a", None], ["b", 0]),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Name"}, "minItems": 1}, [["a"]], [[], [""], "a"]),
        (
            {"type": "object", "properties": {"a": {"type": "null"}}, "required": ["a"], "additionalProperties": False},
            [{"a": None}],
            [{}, {"a": 1}, {"a": None, "b": 1}, []],
        ),
        ({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}, ["a", ["a"]], [1, [1], None]),
    ],
)
def test_what_fits_fits_and_what_does_not_is_told(schema: Any, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert CHECK.problem(schema, value) is None
    for value in bad:
        told = CHECK.problem(schema, value)
        assert told is not None
        assert told.startswith(("the body", "a "))


def test_the_place_of_what_is_wrong_is_told() -> None:
    schema = {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "string"}}}}
    assert CHECK.problem(schema, {"rows": ["a", 1]}) == "rows[1] is a whole number; it must be a string"
