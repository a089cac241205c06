"""Requests to /completions, sent by the machinery that asks judges at /chat/completions.

An answer goes on in the form of a chat completion, whose content holds the prompt and the raw answer, so that all that
is known of answers (readable or not, kept, counted, never paid twice) holds for these too.
"""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from rejoinder.judging.asking import Readable, Request, _Asking, _refusal, _unanswered
from rejoinder.judging.connection import Connection, Received
from rejoinder.judging.errors import JudgeError
from rejoinder.judging.settings import Settings
from rejoinder.judging.store import AnswerStore

_CHAT, _PLAIN = "/chat/completions", "/completions"


def ask_completions(requests: Iterable[Request], settings: Settings, store: AnswerStore, readable: Readable) -> None:
    """Have every request answered into the store, as ``judging.asking.ask`` does for chats."""
    todo = _unanswered(requests, settings.tries, store, readable)
    asking = _Completing(settings, todo, readable, alike=not store.has_answers)
    try:
        asking.start()
        for event in asking.events():
            if isinstance(event, JudgeError):
                raise event
            store.add(event)
            if asking.stopped:
                break
        if asking.refusal is not None:
            raise _refusal(asking.refusal, settings)
    finally:
        asking.stop()


class _Completing(_Asking):
    """Workers that post to /completions."""

    def _answered(self, body: bytes, connection: Connection) -> Received | None:
        connection._path = connection._path.removesuffix(_CHAT).removesuffix(_PLAIN) + _PLAIN
        received = super()._answered(body, connection)
        if received is None or received.status != 200:
            return received
        return received._replace(body=as_chat(body, received.body))


def as_chat(sent: bytes, raw: bytes) -> bytes:
    """A completion as the content of a chat completion, beside the prompt that it is about, with the same counts."""
    try:
        found = orjson.loads(raw)
    except orjson.JSONDecodeError:
        found = {}
    told = {name: found[name] for name in ("model", "usage") if name in found} if isinstance(found, dict) else {}
    content = {"prompt": orjson.loads(sent)["prompt"], "answer": raw.decode("utf-8", "replace")}
    return orjson.dumps({**told, "choices": [{"message": {"content": orjson.dumps(content).decode()}}]})
