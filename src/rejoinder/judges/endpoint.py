"""A judge at an endpoint: a hosted service, or a server on this machine."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import orjson

from rejoinder.judges.answer import find_written_scores, read_choice, read_score
from rejoinder.judges.answer_store import AnswerStore, StoredAnswer
from rejoinder.judges.budget import claim_budget
from rejoinder.judges.completion import ChatCompletion, TokenUsage, parse_chat_completion
from rejoinder.judges.expected_score import compute_expected_score
from rejoinder.judges.pairs import PairComparison, ResponsePair
from rejoinder.judges.prices import explain_missing_price, find_price
from rejoinder.judges.prompt import NOTHING, RETRY_PREFIX, VERSION, Messages, Shown, choice_messages, rating_messages
from rejoinder.judges.protocol import AnswerForm, EndpointRequest, Format
from rejoinder.judges.requests import Readable, is_unanswered, send_requests
from rejoinder.judges.rubric import Rubric
from rejoinder.judges.settings import read_endpoint_settings, read_max_tries
from rejoinder.judges.token_estimate import estimate_tokens
from rejoinder.judges.verdict import Problem
from rejoinder.paths import cache_home
from rejoinder.scoring.cost import RequestPreview, RequestPrice
from rejoinder.types import Choice, Turn

AnswerFormat: TypeAlias = Literal["auto", "schema", "tool", "text"]


class RatingRequest(NamedTuple):
    """A request to rate a single reply."""

    context: Sequence[Turn]
    reply: str
    shown: Shown = NOTHING


class RawAnswer(NamedTuple):
    """One raw answer, with the score read from it, or why there is none.

    ``weighted`` says whether the score is the expected one under the log-probabilities; None where they were not
    requested, or there is no score. ``repeats`` says whether the answer states a verdict that is written in the reply
    itself; None where none is, or there is no score.
    """

    repeat: int
    score: float | None
    usage: TokenUsage
    answer: StoredAnswer
    problem: Problem | None = None
    weighted: bool | None = None
    repeats: bool | None = None

    def record(self) -> dict[str, Any]:
        """The answer as a JSON object; whole scores are whole numbers."""
        whole = self.score is not None and self.score == int(self.score)
        score = int(self.score) if whole and self.score is not None else self.score
        parsed: dict[str, Any] = {"repeat": self.repeat, "score": score, "usage": self.usage._asdict()}
        parsed |= {"problem": self.problem} if self.problem else {}
        parsed |= {} if self.weighted is None else {"weighted": self.weighted}
        parsed |= {} if self.repeats is None else {"repeats_reply": self.repeats}
        return {**parsed, **self.answer._asdict()}

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> RawAnswer:
        """The answer that ``record`` wrote."""
        answer = StoredAnswer(**{name: record[name] for name in StoredAnswer._fields if name in record})
        usage = TokenUsage(**record["usage"])
        more = (record.get(name) for name in ("problem", "weighted", "repeats_reply"))
        return cls(record["repeat"], record["score"], usage, answer, *more)


@dataclass(frozen=True)
class RemoteJudge:
    """A model at an endpoint, a rubric, and how the model is run; the environment says where it is."""

    model: str
    rubric: Rubric
    repeats: int = 1
    temperature: float | None = 0.0  # None: the endpoint's default
    max_tokens: int | None = 512  # None: no limit is sent
    format: AnswerFormat = "auto"  # in which the answer is requested; auto: the first that the endpoint takes
    logprobs: bool = False  # take the expected score under the log-probabilities of the score's token

    def rate(self, requests: Sequence[RatingRequest], as_written: bool = False) -> list[list[float | None]]:
        """The scores of each reply, one per repeat; None where no answer could be read.

        ``as_written``: those that the same answers state, whatever the log-probabilities say.
        """
        self._ask((r for request in requests for r in self.rating_requests(request)), self._has_score)
        reader = replace(self, logprobs=False) if as_written else self
        store = self._store()
        return [
            [reader._read_rating(store.get_all(r.key)) for r in self.rating_requests(request)] for request in requests
        ]

    def is_open(self, ratings: Sequence[RatingRequest]) -> bool:
        """Whether a request about these replies failed and would be sent again; nothing is sent now."""
        store, max_tries = self._store(), read_max_tries()
        store.refresh()
        stored = (store.get_all(request.key) for rating in ratings for request in self.rating_requests(rating))
        return any(answers and is_unanswered(answers, max_tries, self._has_score) for answers in stored)

    def compare(self, pairs: Sequence[ResponsePair]) -> list[PairComparison]:
        """Which of two replies is better, asked in both orders."""
        self._ask((r for pair in pairs for r in self.choice_requests(pair)), _has_choice)
        return self._read_comparisons(pairs)

    def stored_comparisons(self, pairs: Sequence[ResponsePair]) -> list[PairComparison]:
        """Which of two replies is better by the stored answers; nothing is sent."""
        self._store().refresh()
        return self._read_comparisons(pairs)

    @property
    def has_answers(self) -> bool:
        """Whether an answer of this judge is stored, about whatever was asked."""
        store = self._store()
        store.refresh()
        return store.has_answers

    def count_requests(self, ratings: Sequence[RatingRequest]) -> int:
        """How many requests would be sent now, because no answer to them is stored."""
        store, tries = self._store(), read_max_tries()
        store.refresh()
        keys = {request.key for rating in ratings for request in self.rating_requests(rating)}
        return sum(is_unanswered(store.get_all(key), tries, self._has_score) for key in keys)

    def _read_comparisons(self, pairs: Sequence[ResponsePair]) -> list[PairComparison]:
        comparisons = []
        for pair in pairs:
            forward, backward = (self._choice(r) for r in self.choice_requests(pair))
            comparisons.append(PairComparison.of_choices(forward, swap_choice(backward)))
        return comparisons

    def stored_answers(self, requests: Sequence[RatingRequest]) -> Iterator[list[RawAnswer]]:
        """The stored raw answers about each reply; nothing is sent."""
        store = self._store()
        store.refresh()
        for request in requests:
            stored = [
                (n, answer) for n, r in enumerate(self.rating_requests(request)) for answer in store.get_all(r.key)
            ]
            said = request.reply or "\n".join(turn.text for turn in request.context)
            written = find_written_scores(said, self.rubric) if stored else set()
            yield [self._read_answer(n, answer, written) for n, answer in stored]

    def preview(self, ratings: Sequence[RatingRequest]) -> Iterator[RequestPreview]:
        """The requests about some replies, and whether they are answered; nothing is sent."""
        return self._preview((r for rating in ratings for r in self.rating_requests(rating)), self._has_score)

    def preview_pairs(self, pairs: Sequence[ResponsePair]) -> Iterator[RequestPreview]:
        """The requests about some pairs, in both orders, and whether they are answered; nothing is sent."""
        return self._preview((r for pair in pairs for r in self.choice_requests(pair)), _has_choice)

    def trace_pairs(self, pairs: Sequence[ResponsePair]) -> Iterator[dict[str, Any]]:
        """The stored raw answers about some pairs, as a run folder has those about replies; nothing is sent."""
        store = self._store()
        store.refresh()
        for key in dict.fromkeys(request.key for pair in pairs for request in self.choice_requests(pair)):
            for answer in store.get_all(key):
                completion = parse_chat_completion(answer.body.encode())
                reading = read_choice(completion.content, completion.ending)
                problem = reading.problem if answer.outcome != "refused" else None
                yield {"response": key, "usage": completion.usage._asdict(), "problem": problem, **answer._asdict()}

    def request_price(self) -> RequestPrice | str:
        """Return the price of the model's tokens, or why it is not known."""
        price = find_price(self.model)
        if price is None:
            return explain_missing_price(self.model)
        return RequestPrice(price.input, price.output, price.currency, price.describe())

    def longest_output(self) -> int | None:
        """Return the most tokens of an answer."""
        return self.max_tokens

    def __str__(self) -> str:
        return f"judge:{self.model}"

    def _preview(self, requests: Iterator[EndpointRequest], readable: Readable) -> Iterator[RequestPreview]:
        store, max_tries = self._store(), read_max_tries()
        store.refresh()
        for request in requests:
            stored = store.get_all(request.key)
            paid = [answer for answer in stored if answer.outcome != "refused"]
            usage = parse_chat_completion(paid[-1].body.encode()).usage if paid else TokenUsage(None, None)
            size = estimate_tokens(*(str(message["content"]) for message in request.body["messages"]))
            yield RequestPreview(request.key, size, not is_unanswered(stored, max_tries, readable), *usage)

    def _read_answer(self, repeat: int, answer: StoredAnswer, written: Set[float] = frozenset()) -> RawAnswer:
        """An answer with its score; ``written`` are the verdicts in the reply itself."""
        completion = parse_chat_completion(answer.body.encode())
        if answer.outcome == "refused":
            return RawAnswer(repeat, None, completion.usage, answer)
        reading = read_score(completion.content, self.rubric, completion.ending)
        repeats = reading.score in written if written and reading.score is not None else None
        if reading.score is None or not self.logprobs:
            return RawAnswer(repeat, reading.score, completion.usage, answer, reading.problem, None, repeats)
        expected = compute_expected_score(completion, self.rubric, reading.score)
        score = reading.score if expected is None else expected
        return RawAnswer(repeat, score, completion.usage, answer, None, expected is not None, repeats)

    def _has_score(self, completion: ChatCompletion) -> bool:
        return read_score(completion.content, self.rubric, completion.ending).score is not None

    def _ask(self, requests: Iterator[EndpointRequest], readable: Readable) -> None:
        asked, store, max_tries = list(requests), self._store(), read_max_tries()
        store.refresh()
        if not any(is_unanswered(store.get_all(request.key), max_tries, readable) for request in asked):
            return  # nothing is sent, so no endpoint is needed
        settings = read_endpoint_settings(self.model)
        with claim_budget(settings, self.model) as budget, store.claim():
            send_requests(asked, settings, store, readable, budget=budget)

    def _read_rating(self, answers: Sequence[StoredAnswer]) -> float | None:
        """The score of the first answer that can be read."""
        scores = (self._read_answer(0, answer).score for answer in answers)
        return next((score for score in scores if score is not None), None)

    def _choice(self, request: EndpointRequest) -> Choice | None:
        """The choice of the first answer that can be read."""
        paid = (answer for answer in self._store().get_all(request.key) if answer.outcome != "refused")
        completions = (parse_chat_completion(answer.body.encode()) for answer in paid)
        choices = (read_choice(completion.content, completion.ending).choice for completion in completions)
        return next((choice for choice in choices if choice is not None), None)

    def rating_requests(self, request: RatingRequest) -> Iterator[EndpointRequest]:
        """What is sent about one reply, once per repeat."""
        for repeat in range(self.repeats):
            messages = rating_messages(self.rubric, request.context, request.reply, repeat, request.shown)
            yield self._request(messages, {"score": {"type": "integer", "enum": list(self.rubric.levels)}})

    def choice_requests(self, pair: ResponsePair) -> Iterator[EndpointRequest]:
        """What is sent about two replies: both orders."""
        for one in (pair, pair.swap()):
            messages = choice_messages(self.rubric, one.context, one.first, one.second, shown=one.shown)
            yield self._request(messages, {"better": {"type": "string", "enum": ["first", "second", "tie"]}})

    def _request(self, messages: Messages, verdict: dict[str, Any]) -> EndpointRequest:
        body: dict[str, Any] = {"model": self.model, "messages": messages}
        body |= {} if self.temperature is None else {"temperature": self.temperature}
        body |= {} if self.max_tokens is None else {"max_tokens": self.max_tokens}
        body |= {"logprobs": True} if self.logprobs else {}
        asked = body if self.format == "auto" else {**body, "format": self.format}
        key = hashlib.blake2b(orjson.dumps(asked), digest_size=16).hexdigest()
        retry_messages = [*messages[:-1], {**messages[-1], "content": messages[-1]["content"] + "\n" + RETRY_PREFIX}]
        properties = {**verdict, "reason": {"type": "string"}}
        schema = {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
        form = AnswerForm(schema, self._formats)
        return EndpointRequest(key, body, {**body, "messages": retry_messages}, form)

    @property
    def _formats(self) -> tuple[Format, ...]:
        """The formats to try, best first; the tokens of a tool call mostly come without log-probabilities."""
        if self.format != "auto":
            return (self.format,)
        return ("schema", "text") if self.logprobs else ("schema", "tool", "text")

    def _store(self) -> AnswerStore:
        identity = [VERSION, self.model, self.rubric.digest, self.temperature, self.max_tokens, self.format]
        name = hashlib.blake2b(orjson.dumps([*identity, self.logprobs]), digest_size=10).hexdigest()
        return _open_store(cache_home() / "judge" / f"{name}.jsonl")


def _has_choice(completion: ChatCompletion) -> bool:
    return read_choice(completion.content, completion.ending).choice is not None


def swap_choice(choice: Choice | None) -> Choice | None:
    """A choice between two replies that were shown in the other order."""
    other: dict[Choice, Choice] = {"first": "second", "second": "first", "tie": "tie"}
    return None if choice is None else other[choice]


@functools.lru_cache(maxsize=8)
def _open_store(path: Path) -> AnswerStore:
    return AnswerStore(path)
