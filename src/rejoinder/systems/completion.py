"""A language model behind a completion endpoint as a system: it echoes the prompt with its log-probabilities."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import orjson

from rejoinder.errors import JudgeError
from rejoinder.judges.consistency import AnswerCounts
from rejoinder.judges.protocol import EndpointRequest
from rejoinder.metric import NAN
from rejoinder.models.language_model.prompt_format import clean_turn_text
from rejoinder.spec import check_between
from rejoinder.systems._base import System
from rejoinder.systems._endpoint import SystemEndpoint, check_endpoint, make_endpoint_request
from rejoinder.systems._likelihood import CITATION, Normalise, check_normalise, minus_loss
from rejoinder.systems._texts import distinct_texts, place_scores, spoken_question_turns
from rejoinder.types import Question

VERSION = 1  # of how an answer is read
_MARK = re.compile(r"<[^<>\s]+>|\[[A-Z]+\]|<\|.+\|>")  # <s>, <|begin_of_text|>, [CLS]
_WHITE_SPACE = str.maketrans({"▁": " ", "Ġ": " ", "Ċ": "\n"})  # how vocabularies write white space


class UnechoedError(Exception):
    """An answer without the log-probabilities of the prompt; the message says what is missing."""


def echoed_log_probabilities(content: str | None) -> list[float]:
    """Return the natural log-probabilities of the tokens in the prompt's last line, from a prompt and its answer.

    ``text_offset`` has the start of each token in the echoed text. A token that starts before the last line and reaches
    into it counts. Text generated after the prompt does not.
    """
    prompt, choice = _parse_answer(content)
    start = prompt.rfind("\n") + 1
    text, logprobs = choice.get("text"), choice.get("logprobs")
    if not isinstance(text, str) or not text.startswith(prompt):
        raise UnechoedError("it does not echo the prompt (echo)")
    if not isinstance(logprobs, dict):
        raise UnechoedError("it returns no log-probabilities (logprobs)")
    tokens, values, offsets = (logprobs.get(name) for name in ("tokens", "token_logprobs", "text_offset"))
    if not (isinstance(tokens, list) and isinstance(values, list) and isinstance(offsets, list)):
        raise UnechoedError("it does not return tokens, token_logprobs and text_offset")
    if not len(tokens) == len(values) == len(offsets) or not all(type(place) is int for place in offsets):
        raise UnechoedError("its tokens, token_logprobs and text_offset do not match each other")
    begins = _token_starts(text, [str(token) for token in tokens], offsets)
    ends = [*begins[1:], len(text)]
    own = [i for i, begin in enumerate(begins) if begin < len(prompt) and max(begin, ends[i] - 1) >= start]
    spelling = "".join(str(tokens[i]) for i in own).translate(_WHITE_SPACE)
    # Non-ASCII characters may be split between tokens, and each server writes the pieces in its own way.
    if prompt[start:].isascii() and not spelling.endswith(prompt[start:]):
        raise UnechoedError("its text_offset does not match the text that it echoes")
    return [_log_probability_number(values[i]) for i in own]


def _parse_answer(content: str | None) -> tuple[str, dict[str, Any]]:
    """Return the prompt and the first choice of its answer."""
    try:
        both = json.loads(content or "")
        prompt, choice = both["prompt"], json.loads(both["answer"])["choices"][0]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        choice = None
    if not isinstance(choice, dict):
        raise UnechoedError("it returns no completion")
    return prompt, choice


def _token_starts(text: str, tokens: Sequence[str], offsets: Sequence[int]) -> list[int]:
    """The start of each token in the text; some servers count a first special token as if it were part of it."""
    counted = bool(tokens) and _MARK.fullmatch(tokens[0]) is not None and not text.startswith(tokens[0])
    shift = offsets[1] - offsets[0] if counted and len(offsets) > 1 else 0
    first = offsets[0] if offsets else 0
    return [max(0, place - first - shift) for place in offsets]


def _log_probability_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UnechoedError("it returns no log-probability for a token of the reply")
    return float(value)


def convert_to_chat(sent: bytes, raw: bytes) -> bytes:
    """Return a completion as the content of a chat completion, with its prompt and the same token counts."""
    try:
        completion = orjson.loads(raw)
    except orjson.JSONDecodeError:
        completion = {}
    fields = (
        {name: completion[name] for name in ("model", "usage") if name in completion}
        if isinstance(completion, dict)
        else {}
    )
    content = {"prompt": orjson.loads(sent)["prompt"], "answer": raw.decode("utf-8", "replace")}
    return orjson.dumps({**fields, "choices": [{"message": {"content": orjson.dumps(content).decode()}}]})


_PROBE_REQUESTS = 3  # requests that show whether the endpoint echoes prompts, before the others are paid for


class _CandidateRequest(NamedTuple):
    """A candidate, and the request that shows it after its context."""

    text: str
    request: EndpointRequest


@dataclass(frozen=True)
class Completion(System):
    """Minus the softmax cross-entropy of each candidate after its context, by an endpoint's /completions.

    The prompt has one line per turn and the candidate as the last line; it is sent with ``echo`` and ``logprobs``, and
    the log-probabilities of the tokens of the last line count. ``normalise='token'`` takes their mean, ``'none'`` their
    sum. ``max_tokens`` is 0, or 1 for servers that must generate something. NaN if the endpoint refuses a prompt.
    """

    model: str
    url: str = ""
    key: str | None = None
    normalise: Normalise = "token"
    max_tokens: int = 0

    citation = CITATION
    decimals = 4
    alone = True  # the scores of a question do not depend on the others
    over_http = False

    def __post_init__(self) -> None:
        check_endpoint("completion", self.model, self.url, self.key)
        check_normalise("completion", self.normalise)
        check_between("completion", "max_tokens", self.max_tokens, 0, 1)

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """Return one score per candidate."""
        requests = (one for question in questions for one in self._requests(question))
        first = list(islice(requests, _PROBE_REQUESTS))
        if first:
            self._check_echo(first)
            self._ask(requests)
        return [
            place_scores(question, {one.text: self._value(one) for one in self._requests(question)})
            for question in questions
        ]

    def trace(self, questions: Sequence[Question]) -> Iterator[list[dict[str, Any]]]:
        """Yield every raw answer about each question's candidates from the store."""
        self._endpoint().store.refresh()
        for question in questions:
            yield [
                {
                    **{"question": question.id, "candidate": one.text, "model": reply.model},
                    **{"usage": reply.usage._asdict(), **answer._asdict()},
                    "body": answer.body if reply.content is None else reply.content,
                }
                for one in self._requests(question)
                for answer, reply in self._endpoint().answers(one.request)
            ]

    def spent(self, questions: Sequence[Question]) -> AnswerCounts:
        """Return how many answers and tokens these questions took, from the store."""
        return self._endpoint().spent(one.request for question in questions for one in self._requests(question))

    def details(self) -> dict[str, str]:
        """Return how turns are joined, and the version of how an answer is read."""
        return {"join": "newline", "reading": f"echo {VERSION}"}

    def _check_echo(self, first: Sequence[_CandidateRequest]) -> None:
        """Raise an error if the endpoint echoes none of the first prompts: then it does not echo at all."""
        self._ask(first)
        results = [self._score_or_problem(one) for one in first]
        problem = next((one for one in results if isinstance(one, UnechoedError)), None)
        if problem is not None and not any(isinstance(one, float) for one in results):
            wanted = f"{{'echo': true, 'logprobs': 1, 'max_tokens': {self.max_tokens}}}"
            raise JudgeError(
                f"{self}: the endpoint cannot be used, since {problem}; it must support {wanted} (docs/systems.md has "
                f"alternatives; if the endpoint has changed since, delete {self._endpoint().store.path})"
            )

    def _ask(self, requests: Iterable[_CandidateRequest]) -> None:
        try:
            self._endpoint().ask((one.request for one in requests), _is_readable, convert_to_chat)
        except JudgeError as error:
            hint = "; try max_tokens=1" if "max_tokens" in str(error) and not self.max_tokens else ""
            raise JudgeError(f"{error}{hint}") from None

    def _value(self, one: _CandidateRequest) -> float:
        result = self._score_or_problem(one)
        return result if isinstance(result, float) else NAN

    def _score_or_problem(self, one: _CandidateRequest) -> float | UnechoedError | None:
        """The score from the first readable answer, else why the last is not readable; None if all were refused."""
        problem: UnechoedError | None = None
        for answer, reply in self._endpoint().answers(one.request):
            if answer.outcome != "refused":
                try:
                    return minus_loss(echoed_log_probabilities(reply.content), self.normalise)
                except UnechoedError as error:
                    problem = error
        return problem

    def _requests(self, question: Question) -> Iterator[_CandidateRequest]:
        lines = [clean_turn_text(turn.text, "newline") for turn in spoken_question_turns(question)] or [
            ""
        ]  # a first token needs one before it
        for text in distinct_texts(question):
            prompt = "\n".join([*lines, clean_turn_text(text, "newline")])
            body = {"model": self.model, "prompt": prompt, "echo": True, "logprobs": 1}
            yield _CandidateRequest(
                text, make_endpoint_request({**body, "max_tokens": self.max_tokens, "temperature": 0})
            )

    def _endpoint(self) -> SystemEndpoint:
        return SystemEndpoint(
            str(self), self.model, self.url, self.key, ("completion", VERSION, self.model, self.max_tokens)
        )


def _is_readable(content: str | None) -> bool:
    try:
        return bool(echoed_log_probabilities(content))
    except UnechoedError:
        return False
