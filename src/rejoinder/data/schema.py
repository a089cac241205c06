"""The one JSONL schema: a record is one JSON object on one line, and its kind is one of six.

``from_object`` and ``objects.to_object`` are inverse to each other. A line may leave out ``kind`` if its keys
make it clear.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

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


def from_object(found: Any, place: Place, allow_empty: bool = False) -> Record:
    """Return the record in a JSON value; with ``allow_empty`` a response's text may be empty."""
    if not isinstance(found, dict):
        raise InputError(f"{place}: expected a JSON object, found {_type_name(found)}; write one record per line")
    kind = _infer_kind(found, place)
    if not found.keys() <= KEYS[kind]:
        unknown = min(k for k in found if k not in KEYS[kind])
        raise InputError(
            f"{place}: {kind} has an unknown key {brief(unknown)}; {nearest(unknown, KEYS[kind] - {'kind'})} "
            "(anything else goes under 'meta')"
        )
    return _READERS[kind](found, place, allow_empty)


def _infer_kind(found: Mapping[str, Any], place: Place) -> str:
    kind = found.get("kind")
    if kind is None:
        for key, kind in _KIND_BY_KEY.items():
            if key in found:
                return kind
        if "messages" in found:
            raise InputError(
                f"{place}: this looks like an OpenAI-style chat log; import it first: rejoinder import openai FILE"
            )
        keys = ", ".join(sorted(found)[:8]) or "none"
        raise InputError(
            f"{place}: cannot tell what kind of record this is (found keys: {brief(keys, 120)}); "
            f"add 'kind': one of {', '.join(KEYS)}, "
            "or convert the file with: rejoinder import jsonl FILE --field OURS=THEIRS"
        )
    if not isinstance(kind, str) or kind not in KEYS:
        raise InputError(f"{place}: unknown kind {brief(kind)}; {nearest(str(kind), KEYS)}")
    return kind


def _parse_dialogue(o: dict[str, Any], at: Place, _: bool) -> Dialogue:
    turns = _parse_turns(o, "turns", "dialogue", at, required=True)
    if not turns:
        raise InputError(f"{at}: dialogue has no turns; leave it out or fill 'turns'")
    return Dialogue(
        _get_id(o, "id", "dialogue", at),
        turns,
        _get_optional(o, "corpus", "dialogue", at),
        _get_optional(o, "split", "dialogue", at),
        _get_meta(o, "dialogue", at),
    )


def _parse_item(o: dict[str, Any], at: Place, _: bool) -> Item:
    return Item(
        _get_id(o, "id", "item", at),
        _parse_turns(o, "context", "item", at, required=True),
        tuple(_parse_reference(r, at) for r in _get_list(o, "references", "item", at)),
        _parse_turns(o, "future", "item", at),
        _parse_situation(o, "item", at),
        _get_optional_id(o, "dialogue", "item", at),
        _get_flag(o, "truncated", "item", at) or False,
        _get_meta(o, "item", at),
    )


def _parse_response(o: dict[str, Any], at: Place, allow_empty: bool) -> Response:
    item = _get_id(o, "item", "response", at)
    system = _get_id(o, "system", "response", at)
    text = _get_string(o, "text", "response", at) if allow_empty else _get_text(o, "text", "response", at)
    given = _get_optional_id(o, "id", "response", at)
    return Response(given or f"{item}/{system}", item, system, text, _get_meta(o, "response", at))


def _parse_rating(o: dict[str, Any], at: Place, _: bool) -> Rating:
    response, dialogue = (_get_optional_id(o, key, "rating", at) for key in ("response", "dialogue"))
    if (response is None) == (dialogue is None):
        raise InputError(f"{at}: rating must name either a 'response' or a 'dialogue' (exactly one of them)")
    value = o.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{at}: rating has no number in 'value' (found {brief(value)}); leave the line out if unrated")
    return Rating(
        _get_id(o, "rater", "rating", at),
        _get_id(o, "aspect", "rating", at),
        float(value),
        response,
        dialogue,
        _get_meta(o, "rating", at),
    )


def _parse_preference(o: dict[str, Any], at: Place, _: bool) -> Preference:
    choice = o.get("choice")
    if choice not in _CHOICES:
        raise InputError(f"{at}: preference has 'choice' {brief(choice)}; it must be first, second or tie")
    return Preference(
        _get_id(o, "item", "preference", at),
        _get_id(o, "first", "preference", at),
        _get_id(o, "second", "preference", at),
        _get_id(o, "rater", "preference", at),
        choice,
        _get_optional_id(o, "aspect", "preference", at) or "overall",
        _get_meta(o, "preference", at),
    )


def _parse_question(o: dict[str, Any], at: Place, _: bool) -> Question:
    candidates = tuple(_parse_candidate(c, at) for c in _get_list(o, "candidates", "question", at))
    if not candidates:
        raise InputError(f"{at}: question has no candidates; fill 'candidates' or write it as an item")
    return Question(
        _get_id(o, "id", "question", at),
        _parse_turns(o, "context", "question", at, required=True),
        candidates,
        _parse_situation(o, "question", at),
        _get_optional_id(o, "dialogue", "question", at),
        _get_optional(o, "split", "question", at),
        _get_meta(o, "question", at),
    )


_READERS: dict[str, Callable[[dict[str, Any], Place, bool], Record]] = {
    "dialogue": _parse_dialogue,
    "item": _parse_item,
    "response": _parse_response,
    "rating": _parse_rating,
    "preference": _parse_preference,
    "question": _parse_question,
}


def _parse_turns(o: dict[str, Any], key: str, what: str, at: Place, required: bool = False) -> tuple[Turn, ...]:
    if required and key not in o:
        raise _missing_key_error(o, key, what, at)
    return tuple(_parse_turn(t, key, what, at) for t in _get_list(o, key, what, at))


def _parse_turn(found: Any, key: str, what: str, at: Place) -> Turn:
    if isinstance(found, str):
        found = {"text": found}
    name = f"a turn in '{key}' of {what}"
    if not isinstance(found, dict):
        raise InputError(f"{at}: {name} is {_type_name(found)}; write it as an object with 'speaker' and 'text'")
    if not found.keys() <= {"speaker", "text"}:
        raise _unknown_key_error(found, ("speaker", "text"), name, at)
    return Turn(_get_text(found, "text", name, at), _get_optional_id(found, "speaker", name, at))


_REFERENCE_KEYS = ("text", "source", "score", "origin")


def _parse_reference(found: Any, at: Place) -> Reference:
    if isinstance(found, str):
        found = {"text": found}
    if not isinstance(found, dict):
        raise InputError(f"{at}: a reference is {_type_name(found)}; write it as a string or an object with 'text'")
    if not found.keys() <= set(_REFERENCE_KEYS):
        raise _unknown_key_error(found, _REFERENCE_KEYS, "a reference", at)
    score = found.get("score")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise InputError(f"{at}: a reference has the score {brief(score)}; it must be a number")
    return Reference(
        _get_text(found, "text", "a reference", at),
        _get_optional(found, "source", "a reference", at) or "human",
        None if score is None else float(score),
        _get_optional(found, "origin", "a reference", at),
    )


def _parse_situation(o: dict[str, Any], what: str, at: Place) -> tuple[Statement, ...]:
    return tuple(_parse_statement(s, at) for s in _get_list(o, "situation", what, at))


def _parse_statement(found: Any, at: Place) -> Statement:
    if isinstance(found, str):
        found = {"text": found}
    name = "a statement in 'situation'"
    if not isinstance(found, dict):
        raise InputError(f"{at}: {name} is {_type_name(found)}; write it as a string or an object with 'text'")
    if not found.keys() <= {"text", "category", "relevant"}:
        raise _unknown_key_error(found, ("text", "category", "relevant"), name, at)
    return Statement(
        _get_text(found, "text", name, at),
        _get_optional(found, "category", name, at),
        _get_flag(found, "relevant", name, at),
    )


_CANDIDATE_KEYS = dict.fromkeys(Candidate.__dataclass_fields__)


def _parse_candidate(found: Any, at: Place) -> Candidate:
    if not isinstance(found, dict):
        raise InputError(f"{at}: a candidate is {_type_name(found)}; write it as an object with 'text' and 'grade'")
    if not found.keys() <= _CANDIDATE_KEYS.keys():
        raise _unknown_key_error(found, tuple(_CANDIDATE_KEYS), "a candidate", at)
    grade = found.get("grade")
    if isinstance(grade, bool) or not isinstance(grade, str | int | float | None):
        raise InputError(f"{at}: a candidate has the grade {brief(grade)}; it must be a number or a word")
    return Candidate(
        _get_text(found, "text", "a candidate", at),
        _get_optional_id(found, "id", "a candidate", at),
        grade,
        _get_optional(found, "source", "a candidate", at),
        _get_words(found, "labels", "a candidate", at),
        _get_meta(found, "a candidate", at),
    )


def _get_words(o: dict[str, Any], key: str, what: str, at: Place) -> tuple[str, ...]:
    found = _get_list(o, key, what, at)
    if not all(isinstance(word, str) and word for word in found):
        raise InputError(f"{at}: '{key}' of {what} must be a list of non-empty strings")
    return tuple(found)


def _get_list(o: dict[str, Any], key: str, what: str, at: Place) -> list[Any]:
    found = o.get(key)
    if found is None:
        return []
    if not isinstance(found, list):
        raise InputError(f"{at}: '{key}' of {what} is {_type_name(found)}; it must be a list")
    return found


def _get_string(o: Mapping[str, Any], key: str, what: str, at: Place) -> str:
    found = o.get(key)
    if isinstance(found, str):
        return found
    if found is None:
        raise _missing_key_error(o, key, what, at)
    raise InputError(f"{at}: '{key}' of {what} is {_type_name(found)}; it must be a string")


def _get_text(o: Mapping[str, Any], key: str, what: str, at: Place) -> str:
    text = _get_string(o, key, what, at)
    if not text or text.isspace():
        hint = "remove the line, or keep it as a counted NaN (empty=nan)" if what == "response" else "remove it"
        raise InputError(f"{at}: '{key}' of {what} is empty; {hint}")
    return text


def _get_id(o: Mapping[str, Any], key: str, what: str, at: Place) -> str:
    found = _get_optional_id(o, key, what, at)
    if found is None:
        raise _missing_key_error(o, key, what, at)
    return found


def _get_optional_id(o: Mapping[str, Any], key: str, what: str, at: Place) -> str | None:
    """Return an id; a whole number becomes its digits."""
    found = o.get(key)
    if found is None:
        return None
    if type(found) is int:
        return str(found)
    if not isinstance(found, str):
        raise InputError(f"{at}: '{key}' of {what} is {_type_name(found)}; it must be a string")
    if not found or found.isspace():
        raise InputError(f"{at}: '{key}' of {what} is empty; give it a name or leave it out")
    return found


def _get_optional(o: Mapping[str, Any], key: str, what: str, at: Place) -> str | None:
    return None if o.get(key) is None else _get_string(o, key, what, at)


def _get_flag(o: Mapping[str, Any], key: str, what: str, at: Place) -> bool | None:
    found = o.get(key)
    if found is None or isinstance(found, bool):
        return found
    raise InputError(f"{at}: '{key}' of {what} is {_type_name(found)}; it must be true or false")


def _get_meta(o: Mapping[str, Any], what: str, at: Place) -> dict[str, Any]:
    found = o.get("meta")
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise InputError(f"{at}: 'meta' of {what} is {_type_name(found)}; it must be an object")
    nested: list[Any] = [found]
    for _ in range(_MAX_META_DEPTH):
        nested = [v for o in nested for v in (o.values() if isinstance(o, dict) else o) if isinstance(v, dict | list)]
        if not nested:
            return found
    raise InputError(f"{at}: 'meta' of {what} is nested more than {_MAX_META_DEPTH} levels deep; flatten it")


def _missing_key_error(o: Mapping[str, Any], key: str, what: str, at: Place) -> InputError:
    keys = ", ".join(k for k in sorted(o) if k != "kind") or "none"
    other = [k for k in o if k not in KEYS.get(what, ())]
    hint = f"; rename {brief(other[0])} to '{key}' or import with --field {key}={other[0]}" if len(other) == 1 else ""
    return InputError(f"{at}: {what} has no '{key}' (found keys: {brief(keys, 120)}){hint}")


def _unknown_key_error(o: Mapping[str, Any], known: tuple[str, ...], what: str, at: Place) -> InputError:
    key = min(k for k in o if k not in known)
    return InputError(f"{at}: {what} has an unknown key {brief(key)}; {nearest(key, known)}")


def _type_name(found: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}
    return names.get(type(found), "a number")
