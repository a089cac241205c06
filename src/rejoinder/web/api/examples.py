"""A request of each verb, as it stands in the description; a test sends them all."""

from __future__ import annotations

from typing import Any

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
