"""A model behind an OpenAI-compatible endpoint, as a system uses it: its address, its stored answers, its cost.

It uses the same code as judges: the same number of requests in flight, timeouts and retries (set by
``REJOINDER_JUDGE_IN_FLIGHT`` and so on, docs/judge.md). Every answer is on disk before it is used, so that nothing is
paid for twice.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from rejoinder.errors import JudgeError, SpecError
from rejoinder.judges.answer_store import AnswerStore, StoredAnswer
from rejoinder.judges.completion import ChatCompletion, parse_chat_completion
from rejoinder.judges.consistency import AnswerCounts, count_answers
from rejoinder.judges.endpoint import RawAnswer
from rejoinder.judges.protocol import EndpointRequest
from rejoinder.judges.provider import KEY, OPENAI_KEY, OPENAI_URL, URL
from rejoinder.judges.requests import ChatConverter, send_requests
from rejoinder.judges.settings import EndpointSettings, read_endpoint_settings, read_limits
from rejoinder.paths import cache_home

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class SystemEndpoint:
    """An endpoint and one system's answers from it; ``whole`` is all that decides them besides the request."""

    system: str  # for errors
    model: str
    url: str  # empty: from the environment
    key: str | None  # the environment variable that holds the key
    whole: tuple[Any, ...]

    def ask(
        self,
        requests: Iterable[EndpointRequest],
        readable: Callable[[str | None], bool],
        plain: ChatConverter | None = None,
    ) -> None:
        """Send every unanswered request; with ``plain``, send them to /completions and convert the answers."""
        try:
            settings, store = _endpoint_settings(self.model, self.url, self.key), self.store
            if plain is not None and settings.is_anthropic:
                raise JudgeError("Anthropic's API has no completions; set url to an endpoint that has them")
            with store.claim():
                send_requests(requests, settings, store, lambda completion: readable(completion.content), plain)
        except JudgeError as error:
            raise JudgeError(f"{self.system}: {_reword_error(str(error), bool(self.url))}") from None

    def answers(self, request: EndpointRequest) -> Iterator[tuple[StoredAnswer, ChatCompletion]]:
        """Yield the stored answers to a request in the order they came, including refusals; nothing is sent."""
        for answer in self.store.get_all(request.key):
            yield answer, parse_chat_completion(answer.body.encode())

    def spent(self, requests: Iterable[EndpointRequest]) -> AnswerCounts:
        """Count the stored answers to some requests, and their tokens by the endpoint's count; nothing is sent."""
        self.store.refresh()
        return count_answers(
            [
                [
                    RawAnswer(0, 1 if answer.outcome == "answered" else None, reply.usage, answer)
                    for answer, reply in self.answers(one)
                ]
                for one in requests
            ]
        )

    @property
    def store(self) -> AnswerStore:
        """The stored answers."""
        name = hashlib.blake2b(orjson.dumps([self.url, *self.whole]), digest_size=10).hexdigest()
        return _open_store(cache_home() / "systems" / f"{name}.jsonl")


def make_endpoint_request(body: dict[str, Any], again: dict[str, Any] | None = None) -> EndpointRequest:
    """Return a request whose key is the digest of its body."""
    raw = orjson.dumps(body)
    key = hashlib.blake2b(raw, digest_size=16).hexdigest()
    return EndpointRequest(key, body, body if again is None else {**body, **again})


def check_endpoint(system: str, model: str, url: str, key: str | None) -> None:
    """Raise an error if a spec's endpoint is not valid or contains a secret."""
    if not model.strip():
        raise SpecError(f"{system}: model must name a model of the endpoint")
    if url:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query:
            raise SpecError(
                f"{system}: url must be http:// or https:// with a host, up to /v1, without a user name, password or "
                "query"
            )
    if key is not None and not _VARIABLE.fullmatch(key):  # not shown in the error, since it may be the key itself
        raise SpecError(f"{system}: key must name the environment variable that holds the key, not be the key itself")


def _endpoint_settings(model: str, url: str, key: str | None) -> EndpointSettings:
    if not url:
        return read_endpoint_settings(model)
    return read_limits(EndpointSettings(url.rstrip("/"), _endpoint_key(url.rstrip("/"), key), model=model))


def _endpoint_key(url: str, variable: str | None) -> str:
    """Return the key in the named variable; without one, the environment's key if it is for this endpoint."""
    if variable is not None:
        key = os.environ.get(variable, "")
        if not key:
            raise JudgeError(f"the environment variable {variable} is not set; set it to the endpoint's key")
    else:
        sources = (
            (os.environ.get(place, "").rstrip("/"), name) for place, name in ((URL, KEY), (OPENAI_URL, OPENAI_KEY))
        )
        key = next((os.environ.get(name, "") for endpoint, name in sources if endpoint == url), "")
    if any(not 33 <= ord(c) <= 126 for c in key):
        raise JudgeError("the endpoint's key must consist of visible ASCII characters; set it again")
    return key


def _reword_error(message: str, has_url: bool) -> str:
    """Reword an error about a judge's endpoint for a system's endpoint."""
    reworded = message.replace("the judge's endpoint", "the endpoint").replace("the judge's", "the endpoint's")
    reworded = reworded.replace("no judge is reachable", "no endpoint is named").replace(
        ", or use judge(model='embedded')", ""
    )
    return (
        reworded.replace(f"set {URL}", "check its url").replace(f"set {KEY}", "check its key") if has_url else reworded
    )


@functools.lru_cache(maxsize=8)
def _open_store(path: Path) -> AnswerStore:
    return AnswerStore(path)
