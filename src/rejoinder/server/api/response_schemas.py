"""The shapes of answers, for the description."""

from __future__ import annotations

from typing import Any

from rejoinder.server.api.json_schema import Schema
from rejoinder.server.api.request_schemas import listed, or_null, record

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_MAYBE = {"type": ["number", "null"]}
_FLAG = {"type": ["boolean", "null"]}


def many(items: Schema) -> dict[str, Any]:
    """A list of any length."""
    return {"type": "array", "items": items}


def by_name(values: Schema) -> dict[str, Any]:
    """An object whose keys are specs."""
    return {"type": "object", "additionalProperties": values}


def whole(**properties: Schema) -> dict[str, Any]:
    """An object that has all of these keys and no others."""
    return record(tuple(properties), **properties)


_FACTS = whole(
    signature=_TEXT, range={"type": "array", "items": _MAYBE}, higher_is_better=_FLAG, needs=many({"type": "string"})
)
_ESTIMATE = whole(value=_MAYBE, low=_MAYBE, high=_MAYBE)
_SPAN = whole(start=_COUNT, end=_COUNT, text=_TEXT, worth=_MAYBE)
_PART = whole(turn=_COUNT, text=_TEXT, is_piece={"type": "boolean"}, share=_MAYBE, alone=_MAYBE)
_PLACE = {"type": ["integer", "null"], "minimum": 0}
_STANDING = whole(
    system=_TEXT,
    signature=_TEXT,
    answered=_COUNT,
    unanswered=_COUNT,
    ties=_COUNT,
    accuracy=_ESTIMATE,
    ranks={"type": "array", "items": _MAYBE, "minItems": 2, "maxItems": 2},
)
_REFERENCE = whole(text=_TEXT, source=_TEXT, score=_MAYBE, origin=or_null({"type": "string"}))
_TRIAL = whole(
    name=_TEXT, kind={"enum": ["true", "attack", "edit"]}, about=_TEXT, text=_TEXT, score=_MAYBE, lead=_MAYBE
)
ANSWERS: dict[str, Schema] = {
    "score": whole(
        scores=by_name(many(_MAYBE)), matched=by_name(many(_PLACE)), cut=by_name(_COUNT), metrics=by_name(_FACTS)
    ),
    "rank": whole(
        system=_TEXT,
        signature=_TEXT,
        scores=many(_MAYBE),
        order=many(_COUNT),
        used={"anyOf": [many(many(_COUNT)), {"type": "null"}]},
    ),
    "augment": whole(items=many(whole(id=_TEXT, references=many(_REFERENCE), added=_COUNT)), notes=many(_TEXT)),
    "select": whole(
        chance={"type": "number"},
        systems=listed(_STANDING, 100),
        questions=many(whole(id=_TEXT, right=many(_COUNT), chosen=by_name(many(_COUNT)), scores=by_name(many(_MAYBE)))),
    ),
    "try": whole(
        metrics=many(
            whole(
                metric=_TEXT,
                score=_MAYBE,
                missing={"type": ["string", "null"]},
                error={"type": ["string", "null"]},
                reference=_PLACE,
                turn=_PLACE,
                facts={"anyOf": [_FACTS, {"type": "null"}]},
            )
        )
    ),
    "explain": whole(
        metric=_TEXT,
        score=_MAYBE,
        unit={"enum": ["word", "sentence", "stretch"]},
        words=many(_SPAN),
        costly=many(_SPAN),
        earning=many(_SPAN),
        context=many(_PART),
        leans_on=many(_PART),
        notes=many(_TEXT),
    ),
    "attack": whole(metric=_TEXT, higher_is_better=_FLAG, trials=many(_TRIAL)),
}
ERROR: Schema = whole(error={"type": "string", "minLength": 1})
HEALTH: Schema = whole(status={"enum": ["ok"]}, version=_TEXT)


_TALK = {
    "context": [{"speaker": "guest", "text": "Hello."}, {"speaker": "guest", "text": "Is it open on Sunday?"}],
    "reply": "Yes, from ten to five.",
}
EXAMPLES: dict[str, dict[str, Any]] = {
    "score": {"metrics": ["aptness(model='bi')", "bleu"], "pairs": [{**_TALK, "references": ["Yes, from ten."]}]},
    "rank": {
        "system": "tfidf",
        "context": ["It is too dark to read."],
        "situation": [{"text": "There is a lamp on the desk.", "category": "possession"}, "It is ten in the evening."],
        "candidates": ["Shall I turn on the lamp on the desk?", "Shall I read to you?", "Shall I close the window?"],
    },
    "augment": {
        "items": [{"context": ["Is it open on Sunday?"], "references": ["Yes, it is open from ten."]}],
        "plan": {"k": 3, "retrieval": "none", "paraphrase": "rewording"},
    },
    "select": {
        "systems": ["aptness(model='bi')", "tfidf"],
        "questions": [
            {
                "context": ["Is it open on Sunday?"],
                "candidates": [
                    {"text": "Yes, from ten to five.", "grade": "true"},
                    {"text": "I had soup on Sunday.", "grade": "false"},
                ],
            }
        ],
    },
    "try": {**_TALK, "metrics": ["length", "context_overlap"]},
    "explain": {**_TALK, "metric": "context_overlap"},
    "attack": {**_TALK, "metric": "context_overlap"},
}
