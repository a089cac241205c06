"""JSON Schema (2020-12), as much of it as requests are described in: what validates is what is published.

Only the keywords that stand here may be used in ``shapes``; a test holds it to that.
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


class Validator:
    """Schemas with the shared ones that they refer to."""

    def __init__(self, shared: Mapping[str, Schema]) -> None:
        self._shared = shared

    def problem(self, schema: Schema, value: Any, where: str = "the body") -> str | None:
        """What is wrong with a value, in one sentence that says where; None where nothing is."""
        schema = self._resolved(schema)
        if "anyOf" in schema:
            return self._any(schema["anyOf"], value, where)
        if "enum" in schema and value not in schema["enum"]:
            return f"{where} is {brief(value)}; it must be one of {', '.join(map(repr, schema['enum']))}"
        if "type" in schema:
            types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
            found = next((name for name in types if _TYPES[name](value)), None)
            if found is None:
                return f"{where} is {json_kind(value)}; it must be {' or '.join(_NAMES[name] for name in types)}"
            check = _CHECKS.get(found)
            return check(self, schema, value, where) if check else None
        return None

    def _resolved(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            schema = self._shared[schema["$ref"].removeprefix(REF)]
        return schema

    def _any(self, schemas: Sequence[Schema], value: Any, where: str) -> str | None:
        """Of several that do not fit, the complaint of the one that is of the value's type."""
        told = []
        for schema in schemas:
            problem = self.problem(schema, value, where)
            if problem is None:
                return None
            told.append((f"{where} is {json_kind(value)};" in problem, problem))
        if all(of_type for of_type, _ in told):
            wanted = dict.fromkeys(problem.rpartition("it must be ")[2] for _, problem in told)
            return f"{where} is {json_kind(value)}; it must be {' or '.join(wanted)}"
        return next(problem for of_type, problem in told if not of_type)

    def object(self, schema: Schema, value: dict[str, Any], where: str) -> str | None:
        """What is wrong with an object."""
        known = schema.get("properties", {})
        inside = "" if where == "the body" else f"{where}."
        for name in schema.get("required", ()):
            if name not in value:
                keys = ", ".join(sorted(value)) or "none"
                return f"{where} has no {name!r} (found keys: {brief(keys, 120)})"
        for name, one in value.items():
            if name in known:
                problem = self.problem(known[name], one, f"{inside}{name}")
                if problem is not None:
                    return problem
            elif schema.get("additionalProperties", True) is False:
                return f"{where} has an unknown key {brief(name)}; {nearest(name, known)}"
        return None

    def array(self, schema: Schema, value: list[Any], where: str) -> str | None:
        """What is wrong with a list."""
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if len(value) < least:
            return f"{where} has {len(value):,} entries; it must have at least {least:,}"
        if most is not None and len(value) > most:
            return f"{where} has {len(value):,} entries; it may have at most {most:,}, so send the rest apart"
        items: Schema = schema.get("items", {})
        for place, one in enumerate(value):
            problem = self.problem(items, one, f"{where}[{place}]")
            if problem is not None:
                return problem
        return None

    def string(self, schema: Schema, value: str, where: str) -> str | None:
        """What is wrong with a text."""
        if len(value) < schema.get("minLength", 0):
            return f"{where} is empty; fill it or leave it out"
        if len(value) > schema.get("maxLength", len(value)):
            return f"{where} has {len(value):,} characters; it may have at most {schema['maxLength']:,}"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            return f"{where} is {brief(value) if value.strip() else 'blank'}; {schema.get('description', 'change it')}"
        return None

    def number(self, schema: Schema, value: float, where: str) -> str | None:
        """What is wrong with a number."""
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            low, high = schema.get("minimum", "anything"), schema.get("maximum", "anything")
            return f"{where} is {brief(value)}; it must be from {low} to {high}"
        return None


def json_kind(value: Any) -> str:
    """What a JSON value is."""
    return next(_NAMES[name] for name, is_it in _TYPES.items() if is_it(value))


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
_CHECKS: dict[str, Callable[[Validator, Schema, Any, str], str | None]] = {
    "object": Validator.object,
    "array": Validator.array,
    "string": Validator.string,
    "integer": Validator.number,
    "number": Validator.number,
}
