"""A judge's answer, parsed strictly: one JSON object with exactly the requested keys, or nothing."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from rejoinder.judges.rubric import Rubric
from rejoinder.types import Choice

_MAX_TOKENS = 10**9  # in one answer: a larger number is not a valid count


class TokenUsage(NamedTuple):
    """The tokens of one request as the endpoint counts them; None where it is missing or invalid."""

    input: int | None
    output: int | None


class ChatCompletion(NamedTuple):
    """The body of an HTTP response; the content is None where it is not a chat completion."""

    content: str | None
    usage: TokenUsage
    model: str | None


def parse_chat_completion(raw: bytes) -> ChatCompletion:
    """Parse a chat completion; only the message of the first choice counts."""
    empty = ChatCompletion(None, TokenUsage(None, None), None)
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return empty
    if not isinstance(body, dict):
        return empty
    counts = body.get("usage")
    tokens = [_token_count(counts, key) for key in ("prompt_tokens", "completion_tokens")]
    model = body.get("model")
    completion = ChatCompletion(None, TokenUsage(*tokens), model if isinstance(model, str) else None)
    try:
        content = body["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        return completion
    return completion._replace(content=content) if isinstance(content, str) else completion


def parse_score_answer(content: str | None, rubric: Rubric) -> int | None:
    """The score of an answer such as {"score": 4, "reason": "..."}; None for anything else."""
    answer = _parse_answer_object(content, "score")
    score = None if answer is None else answer["score"]
    return score if type(score) is int and rubric.low <= score <= rubric.high else None


def parse_choice_answer(content: str | None) -> Choice | None:
    """The choice of an answer such as {"better": "first", "reason": "..."}; None for anything else."""
    answer = _parse_answer_object(content, "better")
    choices: dict[Any, Choice] = {"first": "first", "second": "second", "tie": "tie"}
    better = None if answer is None else answer["better"]
    return choices.get(better) if isinstance(better, str) else None


def _parse_answer_object(content: str | None, key: str) -> dict[str, Any] | None:
    """The one object of an answer, with the key, a reason and nothing else; a duplicate key is refused."""
    if content is None:
        return None
    try:
        pairs = json.loads(content, object_pairs_hook=_Pairs, parse_constant=_refuse_json_constant)
    except (ValueError, RecursionError):
        return None
    if not isinstance(pairs, _Pairs) or sorted(k for k, _ in pairs) != sorted([key, "reason"]):
        return None
    answer = dict(pairs)
    return answer if isinstance(answer["reason"], str) else None


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object, including duplicates."""


def _refuse_json_constant(constant: str) -> Any:
    raise ValueError(constant)


def _token_count(counts: Any, key: str) -> int | None:
    count = counts.get(key) if isinstance(counts, dict) else None
    return count if type(count) is int and 0 <= count <= _MAX_TOKENS else None
