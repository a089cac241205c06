"""What a valid answer is: every field that is asked, nothing else, each with a value that it allows.

Nothing of what a browser sends is believed: the fields are made from the unit again, here, and the answer is held
against them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rejoinder.annotation.errors import AnswerError
from rejoinder.annotation.fields import NONE
from rejoinder.annotation.unit import Answer, Field, Value
from rejoinder.errors import brief

_MISSING = "please answer this"
# Control characters but for line feed and tab, and halves of surrogate pairs: no store and no file format takes them.
_FORBIDDEN_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_MAX_PROBLEMS = 20


def check_answer(fields: Sequence[Field], raw: Mapping[str, Any]) -> Answer:
    """The answer in its lasting form, fields in their order; AnswerError says what is wrong, field by field."""
    by_name = {field.name: field for field in fields}
    problems = {brief(name): "this is not asked here" for name in raw if name not in by_name}
    answer: Answer = {}
    for field in fields:
        if field.only_if is not None and answer.get(field.only_if[0]) != field.only_if[1]:
            continue
        given = raw.get(field.name)
        try:
            value = _check_value(field, given)
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


def _check_value(field: Field, given: Any) -> Value | None:
    if given is None:
        return None
    if field.kind == "choice":
        for option in field.options:
            if type(given) is type(option.value) and given == option.value:
                return option.value
        raise ValueError(f"{brief(given)} cannot be chosen here")
    if field.kind == "labels":
        return _check_labels(field, given)
    return _check_text(field, given)


def _check_labels(field: Field, given: Any) -> list[str] | None:
    if not isinstance(given, list | tuple) or not all(isinstance(label, str) for label in given):
        raise ValueError("this must be a list of labels")
    known = [str(option.value) for option in field.options]
    if foreign := [label for label in given if label not in known]:
        raise ValueError(f"{brief(foreign[0])} cannot be chosen here")
    if NONE in given and set(given) != {NONE}:
        raise ValueError("'nothing' cannot be chosen together with something")
    return [label for label in known if label in given] or None


def _check_text(field: Field, given: Any) -> str | None:
    if not isinstance(given, str):
        raise ValueError("this must be a text")
    text = given.replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > field.longest:
        raise ValueError(f"this has {len(text):,} characters; at most {field.longest:,} are allowed")
    if found := _FORBIDDEN_CHARACTERS.search(text):
        raise ValueError(f"the character U+{ord(found[0]):04X} cannot be kept; please remove it")
    if field.kind == "lines":
        text = "\n".join(line.strip() for line in text.split("\n") if line.strip())
    return text.strip() or None


def split_statements(text: str) -> list[str]:
    """The statements of an answer to a field of lines."""
    return [line for line in text.split("\n") if line]


def parse_form(fields: Sequence[Field], pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """What an HTML form sent, as ``checked`` takes it; names that are no fields (a page's own) are passed over."""
    sent: dict[str, list[Any]] = {}
    for name, value in pairs:
        sent.setdefault(name, []).append(value)
    raw: dict[str, Any] = {}
    for field in fields:
        values = sent.get(field.name)
        if not values:
            continue
        if field.kind == "labels":
            raw[field.name] = values
        elif len(values) > 1:
            raw[field.name] = values  # refused by ``checked``: one value was asked for
        elif field.kind == "choice":
            meant = {str(option.value): option.value for option in field.options}
            raw[field.name] = meant.get(values[0], values[0]) if isinstance(values[0], str) else values[0]
        else:
            raw[field.name] = values[0]
    return raw


def is_right(accepted: Mapping[str, Sequence[int | str]], answer: Mapping[str, Value]) -> bool:
    """Whether an answer is one that a check accepts: labels must be the very same, else one of the values."""
    return all(_fits(values, answer.get(name)) for name, values in accepted.items())


def _fits(values: Sequence[int | str], given: Value | None) -> bool:
    return set(given) == set(values) if isinstance(given, list) else given in values
