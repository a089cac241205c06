"""A judge at an OpenAI-compatible endpoint."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from rejoinder.judges.answer import TokenUsage, parse_chat_completion, parse_choice_answer, parse_score_answer
from rejoinder.judges.answer_store import AnswerStore, StoredAnswer
from rejoinder.judges.pairs import PairComparison, ResponsePair
from rejoinder.judges.prompt import NOTHING, RETRY_PREFIX, VERSION, Messages, Shown, choice_messages, rating_messages
from rejoinder.judges.requests import EndpointRequest, is_unanswered, send_requests
from rejoinder.judges.rubric import Rubric
from rejoinder.judges.settings import read_endpoint_settings, read_max_tries
from rejoinder.paths import cache_home
from rejoinder.types import Choice, Turn


class RatingRequest(NamedTuple):
    """A request to rate a single reply."""

    context: Sequence[Turn]
    reply: str
    shown: Shown = NOTHING


class RawAnswer(NamedTuple):
    """One raw answer, with the score read from it."""

    repeat: int
    score: int | None
    usage: TokenUsage
    answer: StoredAnswer

    def record(self) -> dict[str, Any]:
        """The answer as a JSON object."""
        parsed = {"repeat": self.repeat, "score": self.score, "usage": self.usage._asdict()}
        return {**parsed, **self.answer._asdict()}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> RawAnswer:
        """The answer that ``record`` wrote."""
        answer = StoredAnswer(*(record[name] for name in StoredAnswer._fields))
        return cls(record["repeat"], record["score"], TokenUsage(**record["usage"]), answer)


@dataclass(frozen=True)
class RemoteJudge:
    """A model at an endpoint, a rubric, and how the model is run; the environment says where it is."""

    model: str
    rubric: Rubric
    repeats: int = 1
    temperature: float | None = 0.0  # None: the endpoint's default
    max_tokens: int | None = 512  # None: no limit is sent
    json_mode: bool = False  # ask the endpoint to return only JSON

    def rate(self, requests: Sequence[RatingRequest]) -> list[list[int | None]]:
        """The scores of each reply, one per repeat; None where no answer could be read."""
        self._ask((r for request in requests for r in self._ratings(request)), self._has_score)
        return [[self._rating(r) for r in self._ratings(request)] for request in requests]

    def is_open(self, ratings: Sequence[RatingRequest]) -> bool:
        """Whether a request about these replies failed and would be sent again; nothing is sent now."""
        store, max_tries = self._store(), read_max_tries()
        store.refresh()
        stored = (store.get_all(request.key) for rating in ratings for request in self._ratings(rating))
        return any(answers and is_unanswered(answers, max_tries, self._has_score) for answers in stored)

    def compare(self, pairs: Sequence[ResponsePair]) -> list[PairComparison]:
        """Which of two replies is better, asked in both orders."""
        self._ask((r for pair in pairs for r in self._choices(pair)), lambda c: parse_choice_answer(c) is not None)
        comparisons = []
        for pair in pairs:
            forward, backward = (self._choice(r) for r in self._choices(pair))
            comparisons.append(PairComparison.of_choices(forward, swap_choice(backward)))
        return comparisons

    def stored_answers(self, requests: Sequence[RatingRequest]) -> Iterator[list[RawAnswer]]:
        """The stored raw answers about each reply; nothing is sent."""
        store = self._store()
        store.refresh()
        for request in requests:
            stored = [(n, answer) for n, r in enumerate(self._ratings(request)) for answer in store.get_all(r.key)]
            bodies = [parse_chat_completion(answer.body.encode()) for _, answer in stored]
            yield [RawAnswer(n, self._score(b.content), b.usage, a) for (n, a), b in zip(stored, bodies, strict=True)]

    def _score(self, content: str | None) -> int | None:
        return parse_score_answer(content, self.rubric)

    def _has_score(self, content: str | None) -> bool:
        return self._score(content) is not None

    def _ask(self, requests: Iterator[EndpointRequest], readable: Callable[[str | None], bool]) -> None:
        settings, store = read_endpoint_settings(), self._store()
        with store.claim():
            send_requests(requests, settings, store, readable)

    def _rating(self, request: EndpointRequest) -> int | None:
        """The score of the first answer that can be read."""
        scores = (self._score(content) for content in self._contents(request))
        return next((score for score in scores if score is not None), None)

    def _choice(self, request: EndpointRequest) -> Choice | None:
        choices = (parse_choice_answer(content) for content in self._contents(request))
        return next((choice for choice in choices if choice is not None), None)

    def _contents(self, request: EndpointRequest) -> Iterator[str | None]:
        for answer in self._store().get_all(request.key):
            if answer.outcome != "refused":
                yield parse_chat_completion(answer.body.encode()).content

    def _ratings(self, request: RatingRequest) -> Iterator[EndpointRequest]:
        for repeat in range(self.repeats):
            yield self._request(rating_messages(self.rubric, request.context, request.reply, repeat, request.shown))

    def _choices(self, pair: ResponsePair) -> Iterator[EndpointRequest]:
        for one in (pair, pair.swap()):
            yield self._request(choice_messages(self.rubric, one.context, one.first, one.second, shown=one.shown))

    def _request(self, messages: Messages) -> EndpointRequest:
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        body |= {} if self.temperature is None else {"temperature": self.temperature}
        body |= {} if self.max_tokens is None else {"max_tokens": self.max_tokens}
        body |= {"response_format": {"type": "json_object"}} if self.json_mode else {}
        raw = orjson.dumps(body)
        retry_messages = [*messages[:-1], {**messages[-1], "content": messages[-1]["content"] + "\n" + RETRY_PREFIX}]
        key = hashlib.blake2b(raw, digest_size=16).hexdigest()
        return EndpointRequest(key, raw, orjson.dumps({**body, "messages": retry_messages}))

    def _store(self) -> AnswerStore:
        identity = [VERSION, self.model, self.rubric.digest, self.temperature, self.max_tokens, self.json_mode]
        name = hashlib.blake2b(orjson.dumps(identity), digest_size=10).hexdigest()
        return _open_store(cache_home() / "judge" / f"{name}.jsonl")


def swap_choice(choice: Choice | None) -> Choice | None:
    """A choice between two replies that were shown in the other order."""
    other: dict[Choice, Choice] = {"first": "second", "second": "first", "tie": "tie"}
    return None if choice is None else other[choice]


@functools.lru_cache(maxsize=8)
def _open_store(path: Path) -> AnswerStore:
    return AnswerStore(path)
