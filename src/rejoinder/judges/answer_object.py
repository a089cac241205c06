"""Objects in an answer's text: JSON, or what models write for it (Python, trailing commas, single quotes)."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

_MAX_BRACES = 30  # looked at in one answer
_MAX_SIZE = 5_000  # characters of an object that is not JSON
_CONSTANTS = re.compile(r"\b(?:true|false|null)\b")
_UNKNOWN_ESCAPE = re.compile(r"\\(?![\\'\"abfnrtvxuUN0-7\n])")
_PYTHON = {"true": "True", "false": "False", "null": "None"}


class AnswerObject(NamedTuple):
    """An object in a text, and the values under the keys that are looked for."""

    start: int
    end: int
    values: list[Any]


def find_objects(text: str, keys: Sequence[str]) -> list[AnswerObject]:
    """The objects of a text that have one of some keys, in any case; the first key that is there counts."""
    found, position = [], 0
    for _ in range(_MAX_BRACES):
        start = text.find("{", position)
        if start < 0:
            break
        decoded = _decode_json(text, start) or _decode_python(text, start)
        if decoded is None:
            position = start + 1
            continue
        pairs, position = decoded
        values = _find_values(pairs, keys)
        if values:
            found.append(AnswerObject(start, position, values))
    return found


def blank_out(match: re.Match[str]) -> str:
    """Blanks instead of a match, so that positions in the text stay the same; its lines stay lines."""
    return re.sub(r"[^\n]", " ", match[0])


class _Pairs(list[tuple[Any, Any]]):
    """The keys and values of an object, including duplicates."""


def _find_values(pairs: _Pairs, keys: Sequence[str]) -> list[Any]:
    """The values under the first of the keys that an object has, else those of the objects in it."""
    named = [(_normalise_key(key), value) for key, value in pairs]
    for key in keys:
        for wanted in (key, f"final {key}", f"overall {key}"):
            if values := [value for name, value in named if name == wanted]:
                return values
    return [value for _, inner in pairs for nested in _inner_pairs(inner) for value in _find_values(nested, keys)]


def _inner_pairs(value: Any) -> Iterator[_Pairs]:
    if isinstance(value, _Pairs):
        yield value
    elif isinstance(value, list):
        yield from (one for one in value if isinstance(one, _Pairs))


def _normalise_key(key: Any) -> str:
    return " ".join(re.split(r"[\s_-]+", str(key).casefold().strip(" \"'*"))) if isinstance(key, str) else ""


def _decode_json(text: str, start: int) -> tuple[_Pairs, int] | None:
    decoder = json.JSONDecoder(object_pairs_hook=_Pairs, strict=False)
    try:
        pairs, end = decoder.raw_decode(text, start)
    except ValueError:
        return None
    except RecursionError:  # so deep that it is no answer, and each brace in it would take as long again
        return _Pairs(), len(text)
    return (pairs, end) if isinstance(pairs, _Pairs) else None


def _decode_python(text: str, start: int) -> tuple[_Pairs, int] | None:
    """An object as Python would read it, with the names that JSON has for True, False and None."""
    end = _matching_brace(text, start)
    if end is None:
        return None
    source = _CONSTANTS.sub(lambda match: _PYTHON[match[0]], text[start:end])
    source = _UNKNOWN_ESCAPE.sub(r"\\\\", source)  # Python would warn about them
    try:
        pairs = _to_pairs(ast.parse(source, mode="eval").body)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return (pairs, end) if isinstance(pairs, _Pairs) else None


def _to_pairs(node: ast.expr) -> Any:
    if isinstance(node, ast.Dict):
        if any(key is None for key in node.keys):
            raise ValueError("not a literal")
        return _Pairs(
            (ast.literal_eval(key), _to_pairs(value))
            for key, value in zip(node.keys, node.values, strict=True)
            if key is not None
        )
    return [_to_pairs(one) for one in node.elts] if isinstance(node, ast.List) else ast.literal_eval(node)


def _matching_brace(text: str, start: int) -> int | None:
    """The end of the object that begins at a brace; braces in quoted strings do not count."""
    depth, quote, position = 0, "", start
    while position < min(len(text), start + _MAX_SIZE):
        character = text[position]
        if quote:
            if character == "\\":
                position += 1
            elif character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character in "{}":
            depth += 1 if character == "{" else -1
            if not depth:
                return position + 1
        position += 1
    return None
