"""The one JSONL schema: a record is one JSON object on one line, and its kind is one of six.

``from_object`` and ``objects.to_object`` are inverse to each other. A line may leave out ``kind`` if its keys
make it clear.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from rejoinder.errors import InputError, brief, nearest
from rejoinder.types import (
    Candidate,
    Dialogue,
    Item,
    Preference,
    Question,
    Rating,
    Record,
    Reference,
    Response,
    Statement,
    Turn,
)


class Place(NamedTuple):
    """Where a record was read."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file} line {self.line}"


class RowPlace(Place):
    """Where a record was read in a table of rows."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"{self.file} row {self.line}"


KEYS: dict[str, frozenset[str]] = {
    "dialogue": frozenset({"kind", "id", "turns", "corpus", "split", "meta"}),
    "item": frozenset({"kind", "id", "context", "references", "future", "situation", "dialogue", "truncated", "meta"}),
    "response": frozenset({"kind", "id", "item", "system", "text", "meta"}),
    "rating": frozenset({"kind", "response", "dialogue", "rater", "aspect", "value", "meta"}),
    "preference": frozenset({"kind", "item", "first", "second", "rater", "aspect", "choice", "meta"}),
    "question": frozenset({"kind", "id", "context", "candidates", "situation", "dialogue", "split", "meta"}),
}
# A key that only one kind has, in the order in which they are tried.
_KIND_BY_KEY = {
    "turns": "dialogue",
    "candidates": "question",
    "context": "item",
    "choice": "preference",
    "value": "rating",
    "item": "response",
}
_MAX_META_DEPTH = 100  # orjson reads deeper nesting than it writes: it refuses to write 254 levels
_CHOICES = ("first", "second", "tie")


def from_object(value: Any, place: Place, allow_empty: bool = False) -> Record:
    """Return the record in a JSON value; with ``allow_empty`` a response's text may be empty."""
    if not isinstance(value, dict):
        raise InputError(f"{place}: expected a JSON object, found {_type_name(value)}; write one record per line")
    kind = _infer_kind(value, place)
    if not value.keys() <= KEYS[kind]:
        unknown = min(k for k in value if k not in KEYS[kind])
        raise InputError(
            f"{place}: {kind} has an unknown key {brief(unknown)}; {nearest(unknown, KEYS[kind] - {'kind'})} "
            "(anything else goes under 'meta')"
        )
    return _READERS[kind](value, place, allow_empty)


_Kind = TypeVar("_Kind", bound=Record)


def from_worker(kind: type[_Kind], values: Iterable[Any]) -> list[_Kind]:
    """Return the records of one kind in values that ``to_object`` made, for a worker of an engine or by one."""
    records = (from_object(value, Place("a worker", 0), allow_empty=True) for value in values)
    return [record for record in records if isinstance(record, kind)]


def is_record(value: Any) -> bool:
    """Whether a JSON value is meant as a record of this schema: it names its kind, or has only keys of one kind."""
    if not isinstance(value, dict):
        return False
    kind = value.get("kind")
    if isinstance(kind, str) and kind in KEYS:
        return True
    kinds = (kind for key, kind in _KIND_BY_KEY.items() if key in value)
    return value.keys() <= KEYS.get(next(kinds, ""), frozenset())


def _infer_kind(value: Mapping[str, Any], place: Place) -> str:
    kind = value.get("kind")
    if kind is None:
        for key, kind in _KIND_BY_KEY.items():
            if key in value:
                return kind
        if "messages" in value:
            raise InputError(
                f"{place}: this looks like an OpenAI-style chat log; import it first: rejoinder import openai FILE"
            )
        keys = ", ".join(sorted(value)[:8]) or "none"
        raise InputError(
            f"{place}: cannot tell what kind of record this is (found keys: {brief(keys, 120)}); "
            f"add 'kind': one of {', '.join(KEYS)}, "
            "or convert the file with: rejoinder import jsonl FILE --field OURS=THEIRS"
        )
    if not isinstance(kind, str) or kind not in KEYS:
        raise InputError(f"{place}: unknown kind {brief(kind)}; {nearest(str(kind), KEYS)}")
    return kind


def _parse_dialogue(o: dict[str, Any], place: Place, _: bool) -> Dialogue:
    turns = _parse_turns(o, "turns", "dialogue", place, required=True)
    if not turns:
        raise InputError(f"{place}: dialogue has no turns; leave it out or fill 'turns'")
    return Dialogue(
        _get_id(o, "id", "dialogue", place),
        turns,
        _get_optional(o, "corpus", "dialogue", place),
        _get_optional(o, "split", "dialogue", place),
        _get_meta(o, "dialogue", place),
    )


def _parse_item(o: dict[str, Any], place: Place, _: bool) -> Item:
    return Item(
        _get_id(o, "id", "item", place),
        _parse_turns(o, "context", "item", place, required=True),
        tuple(_parse_reference(r, place) for r in _get_list(o, "references", "item", place)),
        _parse_turns(o, "future", "item", place),
        _parse_situation(o, "item", place),
        _get_optional_id(o, "dialogue", "item", place),
        _get_flag(o, "truncated", "item", place) or False,
        _get_meta(o, "item", place),
    )


def _parse_response(o: dict[str, Any], place: Place, allow_empty: bool) -> Response:
    item = _get_id(o, "item", "response", place)
    system = _get_id(o, "system", "response", place)
    text = _get_string(o, "text", "response", place) if allow_empty else _get_text(o, "text", "response", place)
    name = _get_optional_id(o, "id", "response", place)
    return Response(name or f"{item}/{system}", item, system, text, _get_meta(o, "response", place))


def _parse_rating(o: dict[str, Any], place: Place, _: bool) -> Rating:
    response, dialogue = (_get_optional_id(o, key, "rating", place) for key in ("response", "dialogue"))
    if (response is None) == (dialogue is None):
        raise InputError(f"{place}: rating must name either a 'response' or a 'dialogue' (exactly one of them)")
    value = o.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(
            f"{place}: rating has no number in 'value' (found {brief(value)}); leave the line out if unrated"
        )
    return Rating(
        _get_id(o, "rater", "rating", place),
        _get_id(o, "aspect", "rating", place),
        float(value),
        response,
        dialogue,
        _get_meta(o, "rating", place),
    )


def _parse_preference(o: dict[str, Any], place: Place, _: bool) -> Preference:
    choice = o.get("choice")
    if choice not in _CHOICES:
        raise InputError(f"{place}: preference has 'choice' {brief(choice)}; it must be first, second or tie")
    return Preference(
        _get_id(o, "item", "preference", place),
        _get_id(o, "first", "preference", place),
        _get_id(o, "second", "preference", place),
        _get_id(o, "rater", "preference", place),
        choice,
        _get_optional_id(o, "aspect", "preference", place) or "overall",
        _get_meta(o, "preference", place),
    )


def _parse_question(o: dict[str, Any], place: Place, _: bool) -> Question:
    candidates = tuple(_parse_candidate(c, place) for c in _get_list(o, "candidates", "question", place))
    if not candidates:
        raise InputError(f"{place}: question has no candidates; fill 'candidates' or write it as an item")
    return Question(
        _get_id(o, "id", "question", place),
        _parse_turns(o, "context", "question", place, required=True),
        candidates,
        _parse_situation(o, "question", place),
        _get_optional_id(o, "dialogue", "question", place),
        _get_optional(o, "split", "question", place),
        _get_meta(o, "question", place),
    )


_READERS: dict[str, Callable[[dict[str, Any], Place, bool], Record]] = {
    "dialogue": _parse_dialogue,
    "item": _parse_item,
    "response": _parse_response,
    "rating": _parse_rating,
    "preference": _parse_preference,
    "question": _parse_question,
}


def _parse_turns(o: dict[str, Any], key: str, what: str, place: Place, required: bool = False) -> tuple[Turn, ...]:
    if required and key not in o:
        raise _missing_key_error(o, key, what, place)
    return tuple(_parse_turn(t, key, what, place) for t in _get_list(o, key, what, place))


def _parse_turn(value: Any, key: str, what: str, place: Place) -> Turn:
    if isinstance(value, str):
        value = {"text": value}
    name = f"a turn in '{key}' of {what}"
    if not isinstance(value, dict):
        raise InputError(f"{place}: {name} is {_type_name(value)}; write it as an object with 'speaker' and 'text'")
    if value.keys() == {"role", "content"}:
        value = {"speaker": value["role"], "text": value["content"]}
    if not value.keys() <= {"speaker", "text"}:
        raise _unknown_key_error(value, ("speaker", "text"), name, place)
    return Turn(_get_text(value, "text", name, place), _get_optional_id(value, "speaker", name, place))


_REFERENCE_KEYS = ("text", "source", "score", "origin")


def _parse_reference(value: Any, place: Place) -> Reference:
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, dict):
        raise InputError(f"{place}: a reference is {_type_name(value)}; write it as a string or an object with 'text'")
    if not value.keys() <= set(_REFERENCE_KEYS):
        raise _unknown_key_error(value, _REFERENCE_KEYS, "a reference", place)
    score = value.get("score")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise InputError(f"{place}: a reference has the score {brief(score)}; it must be a number")
    return Reference(
        _get_text(value, "text", "a reference", place),
        _get_optional(value, "source", "a reference", place) or "human",
        None if score is None else float(score),
        _get_optional(value, "origin", "a reference", place),
    )


def _parse_situation(o: dict[str, Any], what: str, place: Place) -> tuple[Statement, ...]:
    return tuple(_parse_statement(s, place) for s in _get_list(o, "situation", what, place))


def _parse_statement(value: Any, place: Place) -> Statement:
    if isinstance(value, str):
        value = {"text": value}
    name = "a statement in 'situation'"
    if not isinstance(value, dict):
        raise InputError(f"{place}: {name} is {_type_name(value)}; write it as a string or an object with 'text'")
    if not value.keys() <= {"text", "category", "relevant"}:
        raise _unknown_key_error(value, ("text", "category", "relevant"), name, place)
    return Statement(
        _get_text(value, "text", name, place),
        _get_optional(value, "category", name, place),
        _get_flag(value, "relevant", name, place),
    )


_CANDIDATE_KEYS = dict.fromkeys(Candidate.__dataclass_fields__)


def _parse_candidate(value: Any, place: Place) -> Candidate:
    if not isinstance(value, dict):
        raise InputError(f"{place}: a candidate is {_type_name(value)}; write it as an object with 'text' and 'grade'")
    if not value.keys() <= _CANDIDATE_KEYS.keys():
        raise _unknown_key_error(value, tuple(_CANDIDATE_KEYS), "a candidate", place)
    grade = value.get("grade")
    if isinstance(grade, bool) or not isinstance(grade, str | int | float | None):
        raise InputError(f"{place}: a candidate has the grade {brief(grade)}; it must be a number or a word")
    return Candidate(
        _get_text(value, "text", "a candidate", place),
        _get_optional_id(value, "id", "a candidate", place),
        grade,
        _get_optional(value, "source", "a candidate", place),
        _get_words(value, "labels", "a candidate", place),
        _get_meta(value, "a candidate", place),
    )


def _get_words(o: dict[str, Any], key: str, what: str, place: Place) -> tuple[str, ...]:
    words = _get_list(o, key, what, place)
    if not all(isinstance(word, str) and word for word in words):
        raise InputError(f"{place}: '{key}' of {what} must be a list of non-empty strings")
    return tuple(words)


def _get_list(o: dict[str, Any], key: str, what: str, place: Place) -> list[Any]:
    value = o.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise InputError(f"{place}: '{key}' of {what} is {_type_name(value)}; it must be a list")
    return value


def _get_string(o: Mapping[str, Any], key: str, what: str, place: Place) -> str:
    value = o.get(key)
    if isinstance(value, str):
        return value
    if value is None:
        raise _missing_key_error(o, key, what, place)
    raise InputError(f"{place}: '{key}' of {what} is {_type_name(value)}; it must be a string")


def _get_text(o: Mapping[str, Any], key: str, what: str, place: Place) -> str:
    text = _get_string(o, key, what, place)
    if not text or text.isspace():
        hint = "remove the line, or keep it as a counted NaN (empty=nan)" if what == "response" else "remove it"
        raise InputError(f"{place}: '{key}' of {what} is empty; {hint}")
    return text


def _get_id(o: Mapping[str, Any], key: str, what: str, place: Place) -> str:
    name = _get_optional_id(o, key, what, place)
    if name is None:
        raise _missing_key_error(o, key, what, place)
    return name


def _get_optional_id(o: Mapping[str, Any], key: str, what: str, place: Place) -> str | None:
    """Return an id; a whole number becomes its digits."""
    value = o.get(key)
    if value is None:
        return None
    if type(value) is int:
        return str(value)
    if not isinstance(value, str):
        raise InputError(f"{place}: '{key}' of {what} is {_type_name(value)}; it must be a string")
    if not value or value.isspace():
        raise InputError(f"{place}: '{key}' of {what} is empty; give it a name or leave it out")
    return value


def _get_optional(o: Mapping[str, Any], key: str, what: str, place: Place) -> str | None:
    return None if o.get(key) is None else _get_string(o, key, what, place)


def _get_flag(o: Mapping[str, Any], key: str, what: str, place: Place) -> bool | None:
    value = o.get(key)
    if value is None or isinstance(value, bool):
        return value
    raise InputError(f"{place}: '{key}' of {what} is {_type_name(value)}; it must be true or false")


def _get_meta(o: Mapping[str, Any], what: str, place: Place) -> dict[str, Any]:
    meta = o.get("meta")
    if meta is None:
        return {}
    if not isinstance(meta, dict):
        raise InputError(f"{place}: 'meta' of {what} is {_type_name(meta)}; it must be an object")
    nested: list[Any] = [meta]
    for _ in range(_MAX_META_DEPTH):
        nested = [v for o in nested for v in (o.values() if isinstance(o, dict) else o) if isinstance(v, dict | list)]
        if not nested:
            return meta
    raise InputError(f"{place}: 'meta' of {what} is nested more than {_MAX_META_DEPTH} levels deep; flatten it")


def _missing_key_error(o: Mapping[str, Any], key: str, what: str, place: Place) -> InputError:
    keys = ", ".join(k for k in sorted(o) if k != "kind") or "none"
    other = [k for k in o if k not in KEYS.get(what, ())]
    hint = f"; rename {brief(other[0])} to '{key}' or import with --field {key}={other[0]}" if len(other) == 1 else ""
    return InputError(f"{place}: {what} has no '{key}' (found keys: {brief(keys, 120)}){hint}")


def _unknown_key_error(o: Mapping[str, Any], known: tuple[str, ...], what: str, place: Place) -> InputError:
    key = min(k for k in o if k not in known)
    return InputError(f"{place}: {what} has an unknown key {brief(key)}; {nearest(key, known)}")


def _type_name(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
