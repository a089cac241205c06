"""Specs: a value and its parameters in one string, ``name`` or ``name(parameter=value, ...)``.

The value is a frozen dataclass, so its fields are its parameters and its identity.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import types
import typing
import warnings
from typing import Any, NamedTuple, TypeVar, get_args

from rejoinder.errors import SpecError, nearest
from rejoinder.text.tokens import TokenizerName

_SPEC = re.compile(r"(?P<name>[^()]+?)\s*(?:\((?P<arguments>.*)\))?", re.DOTALL)
Value = TypeVar("Value")


class Spec(NamedTuple):
    """A parsed spec: the name, and the parameters as they were typed."""

    name: str
    arguments: dict[str, Any]


def parse_spec(text: str, kind: str) -> Spec:
    """Parse a spec; ``kind`` is what it should name, for the error."""
    match = _SPEC.fullmatch(text.strip())
    if not match:
        raise SpecError(f"{text!r} is not a {kind}; write NAME or NAME(parameter=value, ...)")
    return Spec(match["name"], _parse_arguments(text, match["arguments"] or ""))


def construct(cls: type[Value], spec: Spec) -> Value:
    """Return the value of a class that a spec describes; an error names wrong parameters."""
    fields = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(cls)
    arguments = {}
    for key, value in spec.arguments.items():
        if key not in fields:
            if instead := getattr(cls, "replaced_parameters", {}).get(key):
                raise SpecError(f"{spec.name} has no parameter {key!r} any more; write {instead} instead")
            hint = nearest(key, fields) if fields else "it takes none"
            raise SpecError(f"{spec.name} has no parameter {key!r}; {hint}")
        arguments[key] = _convert_argument(value, hints[key], f"{spec.name}: {key}")
    missing = [n for n, f in fields.items() if n not in arguments and _has_no_default(f)]
    if missing:
        raise SpecError(f"{spec.name} needs the parameter {missing[0]!r}")
    return cls(**arguments)


def format_spec(name: str, value: Any) -> str:
    """Return a value as a spec: its name and the parameters that differ from their defaults."""
    parameters = [
        f"{f.name}={getattr(value, f.name)!r}"
        for f in dataclasses.fields(value)
        if _has_no_default(f) or getattr(value, f.name) != f.default
    ]
    return name + (f"({', '.join(parameters)})" if parameters else "")


def _parse_arguments(spec: str, text: str) -> dict[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # '\\d' is what a user types for a pattern, and means what it says
            call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
            raise ValueError
        return {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise SpecError(
            f"the parameters of {spec!r} cannot be read; write them as name=value with quoted strings, e.g. bleu(n=2)"
        ) from None


def _convert_argument(value: Any, hint: Any, what: str) -> Any:
    """Return the value in the parameter's type, or raise an error that names what is allowed."""
    origin = typing.get_origin(hint)
    if origin is typing.Literal:
        allowed = typing.get_args(hint)
        if any(value == a and type(value) is type(a) for a in allowed):
            return value
        raise SpecError(f"{what} must be one of {', '.join(map(repr, allowed))}, not {value!r}")
    if origin in (typing.Union, types.UnionType):
        for option in typing.get_args(hint):
            try:
                return _convert_argument(value, option, what)
            except SpecError:
                continue
        if named := [
            repr(name) for o in get_args(hint) if typing.get_origin(o) is typing.Literal for name in get_args(o)
        ]:
            raise SpecError(f"{what} must be one of {', '.join(named)}, not {value!r}")
        raise SpecError(f"{what} must be {hint}, not {value!r}")
    if hint is float and type(value) is int:
        return float(value)
    plain = origin or hint
    if plain is typing.Any or (isinstance(plain, type) and type(value) is plain):
        return value
    raise SpecError(f"{what} must be of type {getattr(plain, '__name__', plain)}, not {value!r}")


def _has_no_default(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def check_choice(metric: str, parameter: str, value: object, choices: Any) -> None:
    """Raise where a parameter is not one of the values of a Literal."""
    allowed = get_args(choices)
    if value not in allowed:
        raise SpecError(f"{metric}: {parameter} must be one of {', '.join(map(repr, allowed))}, not {value!r}")


def check_between(metric: str, parameter: str, value: int, low: int, high: int) -> None:
    """Raise where a parameter is not a whole number between two others."""
    if type(value) is not int or not low <= value <= high:
        raise SpecError(f"{metric}: {parameter} must be a whole number from {low} to {high}, not {value!r}")


def check_tokenizer(metric: str, tokenizer: TokenizerName, lowercase: bool) -> None:
    """Raise where a tokeniser is not known, or cannot keep upper case where it should."""
    check_choice(metric, "tokenizer", tokenizer, TokenizerName)
    if tokenizer == "rouge" and not lowercase:
        raise SpecError(f"{metric}: tokenizer='rouge' lower-cases; leave out lowercase or choose another tokenizer")
