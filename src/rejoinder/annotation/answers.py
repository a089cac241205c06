"""Validation of answers: every field that is asked, no others, each with an allowed value.

Nothing that a browser sends is trusted: the fields are built from the unit again, and the answer is checked against
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rejoinder.annotation.errors import AnswerError
from rejoinder.annotation.fields import NONE
from rejoinder.annotation.unit import Answer, AnswerField, Value
from rejoinder.errors import brief

_MISSING = "please answer this"
# Control characters other than line feed and tab, and lone surrogates: no store and no file format accepts them.
_FORBIDDEN_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_MAX_PROBLEMS = 20


def check_answer(fields: Sequence[AnswerField], raw: Mapping[str, Any]) -> Answer:
    """Return the answer as it is stored, fields in order; AnswerError says what is wrong, per field."""
    by_name = {field.name: field for field in fields}
    problems = {brief(name): "this field does not exist here" for name in raw if name not in by_name}
    answer: Answer = {}
    for field in fields:
        if field.only_if is not None and answer.get(field.only_if[0]) != field.only_if[1]:
            continue
        raw_value = raw.get(field.name)
        try:
            value = _check_value(field, raw_value)
        except ValueError as error:
            problems[field.name] = str(error)
            continue
        if value is not None:
            answer[field.name] = value
        elif field.required:
            problems[field.name] = _MISSING
    lines = [field.name for field in fields if field.kind == "lines"]
    if lines and not problems and not any(name in answer for name in lines):
        problems[lines[0]] = "please write at least one statement in one of the fields"
    if problems:
        raise AnswerError(dict(list(problems.items())[:_MAX_PROBLEMS]))
    return answer


def _check_value(field: AnswerField, value: Any) -> Value | None:
    if value is None:
        return None
    if field.kind == "choice":
        for option in field.options:
            if type(value) is type(option.value) and value == option.value:
                return option.value
        raise ValueError(f"{brief(value)} cannot be chosen here")
    if field.kind == "labels":
        return _check_labels(field, value)
    return _check_text(field, value)


def _check_labels(field: AnswerField, labels: Any) -> list[str] | None:
    if not isinstance(labels, list | tuple) or not all(isinstance(label, str) for label in labels):
        raise ValueError("this must be a list of labels")
    options = [str(option.value) for option in field.options]
    if unknown := [label for label in labels if label not in options]:
        raise ValueError(f"{brief(unknown[0])} cannot be chosen here")
    if NONE in labels and set(labels) != {NONE}:
        raise ValueError("'Nothing' cannot be chosen together with other labels")
    return [label for label in options if label in labels] or None


def _check_text(field: AnswerField, value: Any) -> str | None:
    if not isinstance(value, str):
        raise ValueError("this must be a text")
    text = value.replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > field.longest:
        raise ValueError(f"this has {len(text):,} characters; at most {field.longest:,} are allowed")
    if forbidden := _FORBIDDEN_CHARACTERS.search(text):
        raise ValueError(f"the character U+{ord(forbidden[0]):04X} cannot be stored; please remove it")
    if field.kind == "lines":
        text = "\n".join(line.strip() for line in text.split("\n") if line.strip())
    return text.strip() or None


def split_answer_lines(text: str) -> list[str]:
    """Return the statements in the answer to a field of lines."""
    return [line for line in text.split("\n") if line]


def parse_answer_form(fields: Sequence[AnswerField], pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the values of an HTML form for ``check_answer``; names that are not fields are ignored."""
    values_by_name: dict[str, list[Any]] = {}
    for name, value in pairs:
        values_by_name.setdefault(name, []).append(value)
    raw: dict[str, Any] = {}
    for field in fields:
        values = values_by_name.get(field.name)
        if not values:
            continue
        if field.kind == "labels":
            raw[field.name] = values
        elif len(values) > 1:
            raw[field.name] = values  # ``check_answer`` refuses it: only one value is allowed
        elif field.kind == "choice":
            by_text = {str(option.value): option.value for option in field.options}
            raw[field.name] = by_text.get(values[0], values[0]) if isinstance(values[0], str) else values[0]
        else:
            raw[field.name] = values[0]
    return raw


def is_accepted_answer(accepted: Mapping[str, Sequence[int | str]], answer: Mapping[str, Value]) -> bool:
    """Whether a check accepts an answer: labels must match exactly, other fields must have one of the values."""
    return all(_is_accepted_value(values, answer.get(name)) for name, values in accepted.items())


def _is_accepted_value(accepted: Sequence[int | str], value: Value | None) -> bool:
    return set(value) == set(accepted) if isinstance(value, list) else value in accepted
