"""JSON Schema (2020-12): requests over HTTP, and replies that should be JSON, are checked against such schemas.

``KEYWORDS`` are those that are known; ``check_schema`` reports a schema with others. Not known are ``$dynamicRef``,
``unevaluatedItems`` and ``unevaluatedProperties``, and references to other documents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias
from urllib.parse import unquote

from rejoinder.errors import SpecError, brief, nearest
from rejoinder.text.pattern import compile_pattern, search_pattern

Schema: TypeAlias = Mapping[str, Any]
REF = "#/components/schemas/"
KEYWORDS = frozenset(
    "$ref anyOf allOf oneOf not if then else enum const type minLength maxLength pattern minimum maximum "
    "exclusiveMinimum exclusiveMaximum multipleOf items prefixItems contains minContains maxContains minItems maxItems "
    "uniqueItems properties patternProperties additionalProperties propertyNames required dependentRequired "
    "dependentSchemas minProperties maxProperties "
    # these say nothing about which values are valid
    "$schema $id $comment $defs definitions $anchor title description default examples deprecated readOnly writeOnly "
    "format contentEncoding contentMediaType contentSchema".split()
)
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")  # of schemas
_MAPPINGS = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")  # to schemas
_SINGLE = ("items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else")
_NAMES = {"object": "an object", "array": "a list", "string": "a string", "integer": "a whole number"}
_NAMES |= {"number": "a number", "boolean": "true or false", "null": "null"}


class SchemaValidator:
    """A validator, with the shared schemas that others refer to by name, and the document that ``#/...`` refers to."""

    def __init__(self, shared: Mapping[str, Schema], root: Schema | bool = True) -> None:
        self._shared, self._root = shared, root

    def problem(self, schema: Schema | bool, value: Any, where: str = "the body") -> str | None:
        """Return what is wrong with a value, in one sentence that says where; None if it is valid."""
        if isinstance(schema, bool):
            return None if schema else f"{where} is {json_kind(value)}; nothing is allowed there"
        if "$ref" in schema and (problem := self.problem(self._resolve(schema["$ref"]), value, where)):
            return problem
        if "enum" in schema and not any(_equal(value, one) for one in schema["enum"]):
            return f"{where} is {brief(value)}; it must be one of {', '.join(map(repr, schema['enum']))}"
        if "const" in schema and not _equal(value, schema["const"]):
            return f"{where} is {brief(value)}; it must be {brief(schema['const'])}"
        if "type" in schema:
            types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
            if not any(_TYPES[name](value) for name in types):
                return f"{where} is {json_kind(value)}; it must be {' or '.join(_NAMES[name] for name in types)}"
        check = next((check for name, check in _CHECKS.items() if _TYPES[name](value)), None)
        return (check(self, schema, value, where) if check else None) or self._combined(schema, value, where)

    def _resolve(self, reference: str) -> Schema | bool:
        if reference.startswith(REF) and reference.removeprefix(REF) in self._shared:
            return self._shared[reference.removeprefix(REF)]
        found: Schema | bool | None = _follow(self._root, reference)
        if found is None:
            raise KeyError(reference)
        return found

    def _combined(self, schema: Schema, value: Any, where: str) -> str | None:
        """Return what is wrong by the keywords that combine schemas."""
        if "anyOf" in schema and (problem := self._any(schema["anyOf"], value, where)):
            return problem
        for one in schema.get("allOf", ()):
            if problem := self.problem(one, value, where):
                return problem
        if "oneOf" in schema:
            fits = sum(self.problem(one, value, where) is None for one in schema["oneOf"])
            if fits != 1:
                return self._any(schema["oneOf"], value, where) or f"{where} fits {fits} schemas; it must fit one"
        if "not" in schema and self.problem(schema["not"], value, where) is None:
            return f"{where} is {brief(value)}, which is not allowed"
        if "if" in schema:
            branch = "then" if self.problem(schema["if"], value, where) is None else "else"
            return self.problem(schema.get(branch, True), value, where)
        return None

    def _any(self, schemas: Sequence[Schema | bool], value: Any, where: str) -> str | None:
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
        for name in schema.get("required", ()):
            if name not in value:
                keys = ", ".join(sorted(value)) or "none"
                return f"{where} has no {name!r} (found keys: {brief(keys, 120)})"
        for name, others in schema.get("dependentRequired", {}).items():
            missing = [other for other in others if name in value and other not in value]
            if missing:
                return f"{where} has {name!r} but no {missing[0]!r}"
        if not schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", len(value)):
            low, high = schema.get("minProperties", 0), schema.get("maxProperties", "any number")
            return f"{where} has {len(value):,} keys; it must have from {low} to {high}"
        for name, dependent in schema.get("dependentSchemas", {}).items():
            if name in value and (problem := self.problem(dependent, value, where)):
                return problem
        return self._keys(schema, value, where)

    def _keys(self, schema: Schema, value: dict[str, Any], where: str) -> str | None:
        properties, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
        others = schema.get("additionalProperties", True)
        inside = "" if where == "the body" else f"{where}."
        for name, entry in value.items():
            schemas = [properties[name]] if name in properties else []
            schemas += [one for pattern, one in patterns.items() if search_pattern(pattern, name)]
            if not schemas and others is False:
                return f"{where} has an unknown key {brief(name)}; {nearest(name, properties)}"
            for one in schemas or [others]:
                if problem := self.problem(one, entry, f"{inside}{name}"):
                    return problem
            if problem := self.problem(schema.get("propertyNames", True), name, f"the key {brief(name)} of {where}"):
                return problem
        return None

    def array(self, schema: Schema, value: list[Any], where: str) -> str | None:
        """Return what is wrong with a list."""
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if len(value) < least:
            return f"{where} has {len(value):,} entries; it must have at least {least:,}"
        if most is not None and len(value) > most:
            return f"{where} has {len(value):,} entries; it may have at most {most:,}, so send the rest separately"
        if schema.get("uniqueItems") and any(_equal(a, b) for n, a in enumerate(value) for b in value[:n]):
            return f"{where} has an entry twice"
        first: Sequence[Any] = schema.get("prefixItems", ())
        for n, entry in enumerate(value):
            problem = self.problem(first[n] if n < len(first) else schema.get("items", True), entry, f"{where}[{n}]")
            if problem is not None:
                return problem
        if "contains" in schema:
            fits = sum(self.problem(schema["contains"], entry, where) is None for entry in value)
            if not schema.get("minContains", 1) <= fits <= schema.get("maxContains", len(value)):
                return f"{where} has {fits:,} entries of a kind that it must have more or fewer of"
        return None

    def string(self, schema: Schema, value: str, where: str) -> str | None:
        """Return what is wrong with a text."""
        if len(value) < schema.get("minLength", 0):
            if value:
                return f"{where} has {len(value):,} characters; it must have at least {schema['minLength']:,}"
            return f"{where} is empty; fill it or leave it out"
        if len(value) > schema.get("maxLength", len(value)):
            return f"{where} has {len(value):,} characters; it may have at most {schema['maxLength']:,}"
        if "pattern" in schema and not search_pattern(schema["pattern"], value):
            return f"{where} is {brief(value) if value.strip() else 'blank'}; {schema.get('description', 'change it')}"
        return None

    def number(self, schema: Schema, value: float, where: str) -> str | None:
        """Return what is wrong with a number."""
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            low, high = schema.get("minimum", "anything"), schema.get("maximum", "anything")
            return f"{where} is {brief(value)}; it must be from {low} to {high}"
        if value <= schema.get("exclusiveMinimum", -math.inf) or value >= schema.get("exclusiveMaximum", math.inf):
            low, high = schema.get("exclusiveMinimum", "anything"), schema.get("exclusiveMaximum", "anything")
            return f"{where} is {brief(value)}; it must be between {low} and {high}"
        step = schema.get("multipleOf")
        if step is not None and not math.isclose(value / step, round(value / step), rel_tol=1e-12, abs_tol=1e-9):
            return f"{where} is {brief(value)}; it must be a multiple of {step}"
        return None


def check_schema(schema: Any) -> str | None:
    """Return why a document cannot be used as a schema, in one sentence; None where it can."""
    try:
        problems = [problem for one in _walk(schema, "the schema") for problem in _find_faults(one, schema)]
        if not problems:
            validator = SchemaValidator({}, root=schema)
            samples: list[Any] = [{}, [], "", 0, None, True]
            for value in samples:
                validator.problem(schema, value)
    except RecursionError:
        return "the schema refers to itself without end"
    except (ValueError, TypeError, AttributeError, ArithmeticError) as error:
        return f"the schema cannot be used ({type(error).__name__}: {error})"
    return problems[0] if problems else None


def _walk(schema: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Yield a schema and those inside it, each with its place."""
    yield where, schema
    if not isinstance(schema, dict):
        return
    inside = {key: schema[key] for key in _SINGLE if key in schema}
    inside |= {f"{key}[{n}]": one for key in _LISTS for n, one in enumerate(schema.get(key, ()))}
    inside |= {f"{key}.{name}": one for key in _MAPPINGS for name, one in schema.get(key, {}).items()}
    for key, one in inside.items():
        yield from _walk(one, f"{where}, {key}")


def _find_faults(place: tuple[str, Any], root: Any) -> Iterator[str]:
    where, schema = place
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield f"{where} is {json_kind(schema)}; it must be an object"
        return
    for key in schema:
        if key not in KEYWORDS and key.startswith(("$", "unevaluated", "dependencies", "additionalItems")):
            yield f"{where} uses {key!r}, which is not known here; write it without"
    types = schema.get("type", [])
    for name in [types] if isinstance(types, str) else types:
        if name not in _TYPES:
            yield f"{where} has the type {brief(name)}; {nearest(str(name), _TYPES)}"
    if "$ref" in schema and _follow(root, schema["$ref"]) is None:
        yield f"{where} refers to {brief(schema['$ref'])}, which is not in it"
    for pattern in [*([schema["pattern"]] if "pattern" in schema else []), *schema.get("patternProperties", ())]:
        try:
            compile_pattern(pattern)
        except SpecError as error:
            yield f"{where}: {error}"
    for key in _NUMBERS:
        if key in schema and not _is_number(schema[key]):
            yield f"{where}: {key} is {json_kind(schema[key])}; it must be a number"


def _follow(root: Any, reference: str) -> Any:
    """Return what a reference such as ``#/$defs/Name`` points to in a document; None where it points to nothing."""
    if reference in ("#", ""):
        return root
    value = root
    for part in reference.removeprefix("#/").split("/") if reference.startswith("#/") else [None]:
        key = None if part is None else unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and key is not None and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return None
    return value


def _equal(first: Any, second: Any) -> bool:
    """Whether two JSON values are the same: true is not 1, but 1.0 is."""
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_equal, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_equal(first[key], second[key]) for key in first)
    return bool(first == second)


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
    "number": SchemaValidator.number,
}
