"""The body of an endpoint's answer: a chat completion of the OpenAI protocol, or a message of Anthropic's."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple, TypeAlias

_MAX_TOKENS = 10**9  # in one answer: a larger number is not a valid count
_CUT, _REFUSED = frozenset({"length", "max_tokens"}), frozenset({"content_filter", "refusal", "safety"})
Ending: TypeAlias = Literal["cut", "refusal"]


class TokenUsage(NamedTuple):
    """The tokens of one request as the endpoint counts them; None where it is missing or invalid."""

    input: int | None
    output: int | None


class ChatCompletion(NamedTuple):
    """The body of an HTTP response; the content is None where it is not a chat completion.

    ``ending`` says if the answer was cut by the length limit or refused; ``tokens`` are the objects with the
    log-probabilities of the content's tokens, unchecked.
    """

    content: str | None
    usage: TokenUsage
    model: str | None
    ending: Ending | None = None
    tokens: tuple[Any, ...] = ()


def parse_chat_completion(raw: bytes) -> ChatCompletion:
    """Parse a chat completion or a message; of several choices only the first counts."""
    empty = ChatCompletion(None, TokenUsage(None, None), None)
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return empty
    if not isinstance(body, dict):
        return empty
    model = body.get("model")
    completion = empty._replace(usage=_parse_usage(body.get("usage")), model=model if isinstance(model, str) else None)
    if "choices" not in body and isinstance(body.get("content"), list):
        return completion._replace(content=_join_parts(body["content"]), ending=_parse_ending(body.get("stop_reason")))
    try:
        choice = body["choices"][0]
        message = choice["message"]
        content = _message_content(message)
    except (KeyError, IndexError, TypeError):
        return completion
    ending = "refusal" if message.get("refusal") else _parse_ending(choice.get("finish_reason"))
    return completion._replace(content=content, ending=ending, tokens=_parse_tokens(choice.get("logprobs")))


def _message_content(message: dict[str, Any]) -> str | None:
    """The arguments of a tool call where there is one, else the text."""
    for call in message.get("tool_calls") or []:
        arguments = call["function"]["arguments"]
        return arguments if isinstance(arguments, str) else json.dumps(arguments)
    content = message["content"]
    if isinstance(content, list):
        return _join_parts(content)
    return "" if content is None else content if isinstance(content, str) else None


def _join_parts(parts: list[Any]) -> str | None:
    """The input of a tool call among the parts of a message, else their texts together."""
    blocks = [part for part in parts if isinstance(part, dict)]
    tool = next((block["input"] for block in blocks if block.get("type") == "tool_use" and "input" in block), None)
    if tool is not None:
        return json.dumps(tool)
    texts = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    return "".join(texts) if texts or not parts else None


def _parse_ending(reason: Any) -> Ending | None:
    if not isinstance(reason, str):
        return None
    return "cut" if reason.lower() in _CUT else "refusal" if reason.lower() in _REFUSED else None


def _parse_tokens(logprobs: Any) -> tuple[Any, ...]:
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    return tuple(tokens) if isinstance(tokens, list) else ()


def _parse_usage(counts: Any) -> TokenUsage:
    if not isinstance(counts, dict):
        return TokenUsage(None, None)
    if "input_tokens" not in counts:
        return TokenUsage(*(_token_count(counts.get(key)) for key in ("prompt_tokens", "completion_tokens")))
    # Anthropic counts what is written to its cache, and read from it, apart from the other tokens of the input.
    cached = (counts.get(f"cache_{kind}_input_tokens") for kind in ("creation", "read"))
    parts = [_token_count(0 if count is None else count) for count in (counts["input_tokens"], *cached)]
    known = [count for count in parts if count is not None]
    total = sum(known) if len(known) == len(parts) else None
    return TokenUsage(_token_count(total), _token_count(counts.get("output_tokens")))


def _token_count(count: Any) -> int | None:
    return count if type(count) is int and 0 <= count <= _MAX_TOKENS else None
