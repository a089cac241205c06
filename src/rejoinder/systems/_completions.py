"""Answers of /completions in the form of a chat completion, whose content holds the prompt and the raw answer.

So all that is known of answers of judges (readable or not, kept, counted, never paid twice) holds for these too.
"""

from __future__ import annotations

import orjson


def as_chat(sent: bytes, raw: bytes) -> bytes:
    """A completion as the content of a chat completion, beside the prompt that it is about, with the same counts."""
    try:
        found = orjson.loads(raw)
    except orjson.JSONDecodeError:
        found = {}
    told = {name: found[name] for name in ("model", "usage") if name in found} if isinstance(found, dict) else {}
    content = {"prompt": orjson.loads(sent)["prompt"], "answer": raw.decode("utf-8", "replace")}
    return orjson.dumps({**told, "choices": [{"message": {"content": orjson.dumps(content).decode()}}]})
