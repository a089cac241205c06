"""The JSON schemas of answers, for the API description."""

from __future__ import annotations

from typing import Any

from rejoinder.json_schema import Schema
from rejoinder.server.api.request_schemas import list_schema, nullable_schema, object_schema

_TEXT: Schema = {"type": "string"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_MAYBE = {"type": ["number", "null"]}
_FLAG = {"type": ["boolean", "null"]}


def array_schema(items: Schema) -> dict[str, Any]:
    """Return the schema of a list of any length."""
    return {"type": "array", "items": items}


def mapping_schema(values: Schema) -> dict[str, Any]:
    """Return the schema of an object whose keys are specs."""
    return {"type": "object", "additionalProperties": values}


def closed_schema(**properties: Schema) -> dict[str, Any]:
    """Return the schema of an object that has all of these keys and no others."""
    return object_schema(tuple(properties), **properties)


_FACTS = closed_schema(
    signature=_TEXT,
    range={"type": "array", "items": _MAYBE},
    higher_is_better=_FLAG,
    needs=array_schema({"type": "string"}),
)
_ESTIMATE = closed_schema(value=_MAYBE, low=_MAYBE, high=_MAYBE)
_SPAN = closed_schema(start=_COUNT, end=_COUNT, text=_TEXT, worth=_MAYBE)
_PART = closed_schema(turn=_COUNT, text=_TEXT, is_piece={"type": "boolean"}, share=_MAYBE, alone=_MAYBE)
_PLACE = {"type": ["integer", "null"], "minimum": 0}
_STANDING = closed_schema(
    system=_TEXT,
    signature=_TEXT,
    answered=_COUNT,
    unanswered=_COUNT,
    ties=_COUNT,
    accuracy=_ESTIMATE,
    ranks={"type": "array", "items": _MAYBE, "minItems": 2, "maxItems": 2},
)
_REFERENCE = closed_schema(text=_TEXT, source=_TEXT, score=_MAYBE, origin=nullable_schema({"type": "string"}))
_TRIAL = closed_schema(
    name=_TEXT, kind={"enum": ["true", "attack", "edit"]}, about=_TEXT, text=_TEXT, score=_MAYBE, lead=_MAYBE
)
ANSWER_SCHEMAS: dict[str, Schema] = {
    "score": closed_schema(
        scores=mapping_schema(array_schema(_MAYBE)),
        matched=mapping_schema(array_schema(_PLACE)),
        cut=mapping_schema(_COUNT),
        metrics=mapping_schema(_FACTS),
    ),
    "rank": closed_schema(
        system=_TEXT,
        signature=_TEXT,
        scores=array_schema(_MAYBE),
        order=array_schema(_COUNT),
        used={"anyOf": [array_schema(array_schema(_COUNT)), {"type": "null"}]},
    ),
    "augment": closed_schema(
        items=array_schema(closed_schema(id=_TEXT, references=array_schema(_REFERENCE), added=_COUNT)),
        notes=array_schema(_TEXT),
    ),
    "select": closed_schema(
        chance={"type": "number"},
        systems=list_schema(_STANDING, 100),
        questions=array_schema(
            closed_schema(
                id=_TEXT,
                right=array_schema(_COUNT),
                chosen=mapping_schema(array_schema(_COUNT)),
                scores=mapping_schema(array_schema(_MAYBE)),
            )
        ),
    ),
    "try": closed_schema(
        metrics=array_schema(
            closed_schema(
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
    "explain": closed_schema(
        metric=_TEXT,
        score=_MAYBE,
        unit={"enum": ["word", "sentence", "stretch"]},
        words=array_schema(_SPAN),
        costly=array_schema(_SPAN),
        earning=array_schema(_SPAN),
        context=array_schema(_PART),
        leans_on=array_schema(_PART),
        notes=array_schema(_TEXT),
    ),
    "attack": closed_schema(metric=_TEXT, higher_is_better=_FLAG, trials=array_schema(_TRIAL)),
}
ERROR: Schema = closed_schema(error={"type": "string", "minLength": 1})
HEALTH: Schema = closed_schema(status={"enum": ["ok"]}, version=_TEXT)


_CONVERSATION = {
    "context": [{"speaker": "guest", "text": "Hello."}, {"speaker": "guest", "text": "Is it open on Sunday?"}],
    "reply": "Yes, from ten to five.",
}
EXAMPLES: dict[str, dict[str, Any]] = {
    "score": {
        "metrics": ["aptness(model='bi')", "bleu"],
        "pairs": [{**_CONVERSATION, "references": ["Yes, from ten."]}],
    },
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
    "try": {**_CONVERSATION, "metrics": ["length", "context_overlap"]},
    "explain": {**_CONVERSATION, "metric": "context_overlap"},
    "attack": {**_CONVERSATION, "metric": "context_overlap"},
}
