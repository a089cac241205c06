"""The part of JSON Schema (2020-12) that our requests use: the schemas that validate are those that are published.

Schemas may use only the keywords below; a test checks this.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from rejoinder.errors import brief, nearest

Schema: TypeAlias = Mapping[str, Any]
REF = "#/components/schemas/"
KEYWORDS = frozenset(
    "$ref anyOf enum type minLength maxLength pattern minimum maximum items minItems maxItems properties required "
    "additionalProperties description title default examples".split()
)
_NAMES = {"object": "an object", "array": "a list", "string": "a string", "integer": "a whole number"}
_NAMES |= {"number": "a number", "boolean": "true or false", "null": "null"}


class SchemaValidator:
    """A validator, with the shared schemas that others refer to."""

    def __init__(self, shared: Mapping[str, Schema]) -> None:
        self._shared = shared

    def problem(self, schema: Schema, value: Any, where: str = "the body") -> str | None:
        """Return what is wrong with a value, in one sentence that says where; None if it is valid."""
        schema = self._resolve(schema)
        if "anyOf" in schema:
            return self._any(schema["anyOf"], value, where)
        if "enum" in schema and value not in schema["enum"]:
            return f"{where} is {brief(value)}; it must be one of {', '.join(map(repr, schema['enum']))}"
        if "type" in schema:
            types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
            type_name = next((name for name in types if _TYPES[name](value)), None)
            if type_name is None:
                return f"{where} is {json_kind(value)}; it must be {' or '.join(_NAMES[name] for name in types)}"
            check = _CHECKS.get(type_name)
            return check(self, schema, value, where) if check else None
        return None

    def _resolve(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            schema = self._shared[schema["$ref"].removeprefix(REF)]
        return schema

    def _any(self, schemas: Sequence[Schema], value: Any, where: str) -> str | None:
        """Return None if one schema fits, else the problem with the schema of the value's own type."""
        problems = []
        for schema in schemas:
            problem = self.problem(schema, value, where)
            if problem is None:
                return None
            problems.append((f"{where} is {json_kind(value)};" in problem, problem))
        if all(of_type for of_type, _ in problems):
            wanted = dict.fromkeys(problem.rpartition("it must be ")[2] for _, problem in problems)
            return f"{where} is {json_kind(value)}; it must be {' or '.join(wanted)}"
        return next(problem for of_type, problem in problems if not of_type)

    def object(self, schema: Schema, value: dict[str, Any], where: str) -> str | None:
        """Return what is wrong with an object."""
        properties = schema.get("properties", {})
        inside = "" if where == "the body" else f"{where}."
        for name in schema.get("required", ()):
            if name not in value:
                keys = ", ".join(sorted(value)) or "none"
                return f"{where} has no {name!r} (found keys: {brief(keys, 120)})"
        for name, entry in value.items():
            if name in properties:
                problem = self.problem(properties[name], entry, f"{inside}{name}")
                if problem is not None:
                    return problem
            elif schema.get("additionalProperties", True) is False:
                return f"{where} has an unknown key {brief(name)}; {nearest(name, properties)}"
        return None

    def array(self, schema: Schema, value: list[Any], where: str) -> str | None:
        """Return what is wrong with a list."""
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if len(value) < least:
            return f"{where} has {len(value):,} entries; it must have at least {least:,}"
        if most is not None and len(value) > most:
            return f"{where} has {len(value):,} entries; it may have at most {most:,}, so send the rest separately"
        items: Schema = schema.get("items", {})
        for n, entry in enumerate(value):
            problem = self.problem(items, entry, f"{where}[{n}]")
            if problem is not None:
                return problem
        return None

    def string(self, schema: Schema, value: str, where: str) -> str | None:
        """Return what is wrong with a text."""
        if len(value) < schema.get("minLength", 0):
            return f"{where} is empty; fill it or leave it out"
        if len(value) > schema.get("maxLength", len(value)):
            return f"{where} has {len(value):,} characters; it may have at most {schema['maxLength']:,}"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            return f"{where} is {brief(value) if value.strip() else 'blank'}; {schema.get('description', 'change it')}"
        return None

    def number(self, schema: Schema, value: float, where: str) -> str | None:
        """Return what is wrong with a number."""
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            low, high = schema.get("minimum", "anything"), schema.get("maximum", "anything")
            return f"{where} is {brief(value)}; it must be from {low} to {high}"
        return None


def json_kind(value: Any) -> str:
    """Name the type of a JSON value."""
    return next(_NAMES[name] for name, is_type in _TYPES.items() if is_type(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: _is_number(value) and float(value).is_integer(),
    "number": _is_number,
}
_CHECKS: dict[str, Callable[[SchemaValidator, Schema, Any, str], str | None]] = {
    "object": SchemaValidator.object,
    "array": SchemaValidator.array,
    "string": SchemaValidator.string,
    "integer": SchemaValidator.number,
    "number": SchemaValidator.number,
}
