"""Conditions on replies, as typed: ``aptness<0.3 and not system="baseline" and meta.topic="refund"``.

    condition  = both { "or" both }
    both       = negation { "and" negation }
    negation   = "not" negation | "(" condition ")" | comparison
    comparison = operand sign operand { sign operand }
    sign       = "=" | "==" | "!=" | "<" | "<=" | ">" | ">="
    operand    = NAME | NUMBER | "TEXT" | true | false | none

Names are those of ``ReplyFields``; one with spaces or signs is written between backquotes. A reply without the value
meets no comparison, except ``= none``. Texts are compared as they are written, and one word needs no quotes, because a
shell removes them; a value of ``meta`` that is a list equals each of its members. Nothing that is typed is ever run as
a program.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import SpecError, brief
from rejoinder.scoring.fields import ReplyFields

Mask = NDArray[np.bool_]
_TOKEN = re.compile(
    r"""\s*(?:
      (?P<sign><=|>=|==|!=|<>|<|>|=)
    | (?P<bracket>[()])
    | (?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w.]))
    | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | `(?P<quoted>[^`]+)`
    | (?P<word>(?:and|or|not|true|false|none|null)\b(?![.:-]))
    | (?P<name>[^\W\d][\w.:/-]*(?:\((?:[^()"']|"[^"]*"|'[^']*')*\))?)
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<>": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_VALUES = {"true": True, "false": False, "none": None, "null": None}
_EXAMPLE = 'e.g. aptness<0.3 and system="bot"'
_MAX_DEPTH = 50  # brackets within brackets


class _Token(NamedTuple):
    kind: str
    value: Any
    at: int


class _Operand(NamedTuple):
    """A name, or a value that was typed."""

    name: str | None
    value: Any = None


def select_rows(condition: str, fields: ReplyFields) -> Mask:
    """Return which replies meet a condition."""
    parser = _Parser(condition, fields)
    mask = parser.condition()
    parser.end()
    return mask


class _Parser:
    """Reads a condition from left to right and computes it for all replies at once."""

    def __init__(self, text: str, fields: ReplyFields) -> None:
        self._text, self._fields, self._depth = text, fields, 0
        self._tokens = list(_split(text))
        self._next = 0

    def condition(self) -> Mask:
        mask = self._both()
        while self._accept("word", "or"):
            mask = mask | self._both()
        return mask

    def end(self) -> None:
        """Raise an error where something is left."""
        if self._next < len(self._tokens):
            raise self._error("'and' or 'or' is expected")

    def _both(self) -> Mask:
        mask = self._negation()
        while self._accept("word", "and"):
            mask = mask & self._negation()
        return mask

    def _negation(self) -> Mask:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise SpecError(f"the condition is nested more than {_MAX_DEPTH} levels deep; write it more simply")
        try:
            if self._accept("word", "not"):
                return ~self._negation()
            if self._accept("bracket", "("):
                mask = self.condition()
                if not self._accept("bracket", ")"):
                    raise self._error("a closing bracket is expected")
                return mask
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Mask:
        left, mask = self._operand(), np.ones(len(self._fields.scores), dtype=bool)
        if self._peek("sign") is None:
            raise self._error("a comparison (= != < <= > >=) is expected")
        while (sign := self._peek("sign")) is not None:
            self._next += 1
            right = self._operand()
            mask &= _compare(left, sign.value, right, self._fields)
            left = right
        return mask

    def _operand(self) -> _Operand:
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        is_word = token is not None and token.kind == "word" and token.value in _VALUES
        if token is None or not (is_word or token.kind in ("number", "text", "name")):
            raise self._error("a name, a number or a quoted text is expected")
        self._next += 1
        if token.kind == "name":
            return _Operand(token.value)
        return _Operand(None, _VALUES[token.value] if token.kind == "word" else token.value)

    def _accept(self, kind: str, value: str) -> bool:
        token = self._peek(kind)
        if token is None or token.value != value:
            return False
        self._next += 1
        return True

    def _peek(self, kind: str) -> _Token | None:
        token = self._tokens[self._next] if self._next < len(self._tokens) else None
        return token if token is not None and token.kind == kind else None

    def _error(self, problem: str) -> SpecError:
        at = self._tokens[self._next].at if self._next < len(self._tokens) else len(self._text)
        place = f"before {brief(self._text[at:].strip(), 40)}" if self._text[at:].strip() else "at the end"
        return SpecError(f"the condition {brief(self._text)} cannot be read: {problem} {place}; {_EXAMPLE}")


def _split(text: str) -> Iterator[_Token]:
    """The tokens of a condition."""
    at = 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None or not match.lastgroup:
            rest = brief(text[at:].strip(), 40)
            raise SpecError(f"the condition {brief(text)} cannot be read from {rest} on; {_EXAMPLE}")
        kind, value = match.lastgroup, match[match.lastgroup]
        start = match.start(kind)
        if kind == "text":
            yield _Token("text", re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL), start)
        elif kind == "number":
            yield _Token("number", float(value), start)
        elif kind == "word":
            yield _Token("word", value.lower(), start)
        else:
            yield _Token("name" if kind in ("name", "quoted") else kind, value, start)
        at = match.end()
    if not text.strip():
        raise SpecError(f"the condition is empty; write one, {_EXAMPLE}")


def _compare(left: _Operand, sign: str, right: _Operand, fields: ReplyFields) -> Mask:
    if left.name is None and right.name is None:
        raise SpecError(f"a comparison of two values is the same for all replies; name a metric or a field, {_EXAMPLE}")
    if left.name is None:
        left, right, sign = right, left, sign.translate({60: ">", 62: "<"}) if sign != "<>" else sign
    column = fields.column(str(left.name))
    if column.dtype != object and right.name is None:
        return _compare_numbers(str(left.name), column, sign, right.value)
    if right.name is not None and column.dtype == object and not fields.has(right.name):
        right = _Operand(None, right.name)
    others = fields.column(right.name) if right.name is not None else [right.value] * len(column)
    return np.array([_holds(value, sign, other) for value, other in zip(column, others, strict=True)], dtype=bool)


def _compare_numbers(name: str, column: NDArray[Any], sign: str, value: Any) -> Mask:
    missing = np.isnan(column)
    if value is None:
        _check_equality(sign)
        is_missing: Mask = missing if _SIGNS[sign] is operator.eq else ~missing
        return is_missing
    if isinstance(value, str):
        raise SpecError(f"{name} is a number, but it is compared with the text {brief(value)}; leave out the quotes")
    mask: Mask = _SIGNS[sign](column, float(value)) & ~missing
    return mask


def _holds(value: Any, sign: str, other: Any) -> bool:
    """Whether a comparison holds for one reply; a list equals each of its members."""
    if isinstance(value, list):
        members = [_holds(member, "=" if sign in ("!=", "<>") else sign, other) for member in value]
        return not any(members) if sign in ("!=", "<>") else any(members)
    known, wanted = _is_known(value), _is_known(other)
    if not known or not wanted:
        return sign in ("=", "==", "!=", "<>") and other is None and (known is not (_SIGNS[sign] is operator.eq))
    first, second = _align(value, other)
    if isinstance(first, str) != isinstance(second, str) and _SIGNS[sign] not in (operator.eq, operator.ne):
        return False
    try:
        return bool(_SIGNS[sign](first, second))
    except TypeError:  # an object of JSON has no order
        return False


def _align(value: Any, other: Any) -> tuple[Any, Any]:
    """Two values that can be compared: a number that a file holds as a text counts as a number, and the reverse."""
    if isinstance(other, str) and not isinstance(value, str):
        return _as_text(value), other
    if isinstance(other, int | float) and not isinstance(other, bool) and isinstance(value, str):
        try:
            return float(value), other
        except ValueError:
            return value, other
    if isinstance(other, bool) and isinstance(value, str):
        return value.lower(), _as_text(other)
    return value, other


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _is_known(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def _check_equality(sign: str) -> None:
    if _SIGNS[sign] not in (operator.eq, operator.ne):
        raise SpecError(f"none can only be compared with = and !=, not with {sign}")
