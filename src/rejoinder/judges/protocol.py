"""How a request is written for an endpoint: its protocol, the format of the answer, and what the model accepts.

Requests are made in the OpenAI chat protocol. A style says how one is sent: with the answer's JSON schema as
``response_format``, with a tool whose input is the answer, or as plain text; with ``max_tokens`` or the newer
``max_completion_tokens``; with a temperature and log-probabilities or without. Where an endpoint refuses a parameter by
its name, ``adapt_style`` gives the next style to try.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import orjson

Format: TypeAlias = Literal["schema", "tool", "text"]
Limit: TypeAlias = Literal["max_tokens", "max_completion_tokens", "no limit"]
TOOL_NAME = "give_verdict"
ALTERNATIVES = 20  # log-probabilities per token: the most that OpenAI and vLLM return by default
_FEWER_ALTERNATIVES = 5
_DEFAULT_LIMIT = 4096  # Anthropic requires one
_FORMAT_NAMES = {
    "schema": re.compile(r"response_format|json_schema|structured.output|guided|grammar", re.IGNORECASE),
    "tool": re.compile(r"\btools?\b|tool_choice|tool use|tool calling|function", re.IGNORECASE),
}
_LIMIT_NAMES = re.compile(r"max_(?:completion_)?tokens")
_TOO_LONG = re.compile(r"too (?:large|long|many)|context|maximum|at least|exceed|reduce|>", re.IGNORECASE)

_OUT_OF_RANGE = re.compile(r"\brange\b|between|less than|greater than|at most|maximum", re.IGNORECASE)


@dataclass(frozen=True)
class AnswerForm:
    """The JSON schema of an answer, and the formats in which it may be requested, best first."""

    schema: Mapping[str, Any]
    formats: tuple[Format, ...]


@dataclass(frozen=True)
class EndpointRequest:
    """What to send first, and what to send after an unreadable answer, in the OpenAI protocol.

    The key is the digest of all that decides the answer; ``form`` is the answer's, where it is requested as JSON.
    """

    key: str
    body: Mapping[str, Any]
    again: Mapping[str, Any]
    form: AnswerForm | None = None


class RequestStyle(NamedTuple):
    """How requests are sent to one model of one endpoint."""

    format: Format = "text"
    limit: Limit = "max_tokens"
    temperature: bool = True
    alternatives: int = ALTERNATIVES

    def __str__(self) -> str:
        parts: list[str] = [self.format, *([] if self.limit == "max_tokens" else [self.limit])]
        parts += [] if self.temperature else ["no temperature"]
        return ", ".join(parts + ([] if self.alternatives == ALTERNATIVES else [f"{self.alternatives} logprobs"]))

    @classmethod
    def parse(cls, text: str) -> RequestStyle | None:
        """The style that a text describes; None where it describes none."""
        styles = (
            cls(form, limit, temperature, alternatives)
            for form in ("schema", "tool", "text")
            for limit in ("max_tokens", "max_completion_tokens", "no limit")
            for temperature in (True, False)
            for alternatives in (ALTERNATIVES, _FEWER_ALTERNATIVES, 0)
        )
        return next((style for style in styles if str(style) == text), None)


def write_request(body: Mapping[str, Any], form: AnswerForm | None, style: RequestStyle, is_anthropic: bool) -> bytes:
    """A request in a style, as it is sent."""
    kept = dict(body)
    if not style.temperature:
        kept.pop("temperature", None)
    if "logprobs" in kept:
        kept |= {"top_logprobs": style.alternatives}
        if not style.alternatives:
            del kept["logprobs"], kept["top_logprobs"]
    if is_anthropic:
        return orjson.dumps(_to_anthropic(kept, form, style))
    if "max_tokens" in kept and style.limit != "max_tokens":
        limit = kept.pop("max_tokens")
        kept |= {style.limit: limit} if style.limit == "max_completion_tokens" else {}
    if form is not None and style.format == "schema":
        schema = {"name": "verdict", "strict": True, "schema": form.schema}
        kept["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif form is not None and style.format == "tool":
        kept["tools"] = [{"type": "function", "function": {"name": TOOL_NAME, "parameters": form.schema}}]
        kept["tool_choice"] = {"type": "function", "function": {"name": TOOL_NAME}}
    return orjson.dumps(kept)


def _to_anthropic(body: Mapping[str, Any], form: AnswerForm | None, style: RequestStyle) -> dict[str, Any]:
    """A request in Anthropic's protocol: the system's text is a parameter, and a length limit is required."""
    system = "\n\n".join(message["content"] for message in body["messages"] if message["role"] == "system")
    request = {
        "model": body["model"],
        "max_tokens": body.get("max_tokens", _DEFAULT_LIMIT),
        "messages": [message for message in body["messages"] if message["role"] != "system"],
        **({"system": system} if system else {}),
        **({"temperature": body["temperature"]} if "temperature" in body else {}),
    }
    if form is not None and style.format == "tool":
        description = "Give the verdict in the requested form."
        request["tools"] = [{"name": TOOL_NAME, "description": description, "input_schema": form.schema}]
        request["tool_choice"] = {"type": "tool", "name": TOOL_NAME}
    return request


def adapt_style(
    style: RequestStyle, sent: Mapping[str, Any], form: AnswerForm | None, refusal: str
) -> RequestStyle | None:
    """The style without what a refusal's message names; None where it names nothing that was sent."""
    formats = form.formats if form is not None else ()
    if style.format in _FORMAT_NAMES and _FORMAT_NAMES[style.format].search(refusal):
        others = formats[formats.index(style.format) + 1 :]
        return style._replace(format=others[0]) if others else None
    if "logprobs" in refusal and "logprobs" in sent and style.alternatives:
        fewer = _FEWER_ALTERNATIVES if style.alternatives > _FEWER_ALTERNATIVES and "top_logprobs" in refusal else 0
        return style._replace(alternatives=fewer)
    if "temperature" in refusal and "temperature" in sent and style.temperature and not _OUT_OF_RANGE.search(refusal):
        return style._replace(temperature=False)
    if _LIMIT_NAMES.search(refusal) and "max_tokens" in sent and not _TOO_LONG.search(refusal):
        limits: dict[Limit, Limit] = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "no limit"}
        return style._replace(limit=limits[style.limit]) if style.limit in limits else None
    return None


def refuses_format(form: Format, refusal: str) -> bool:
    """Whether a refusal's message is about the format of the answer."""
    return form in _FORMAT_NAMES and bool(_FORMAT_NAMES[form].search(refusal)) and not _TOO_LONG.search(refusal)


def read_error_message(body: str) -> str:
    """The message of an error, with the parameter that it names; the whole body where it has another shape."""
    try:
        content = orjson.loads(body)
    except ValueError:
        return body
    error = content.get("error", content) if isinstance(content, dict) else content
    if not isinstance(error, dict):
        return str(error)
    message = error.get("message") or error.get("detail") or body
    if isinstance(message, list):  # FastAPI: one object per problem, which may repeat what was sent
        message = "; ".join(f"{one.get('msg')} ({one.get('loc')})" for one in message if isinstance(one, dict))
    parameter, code = (error[key] if isinstance(error.get(key), str) else "" for key in ("param", "code"))
    named = [part for part in (parameter, code) if part and part not in str(message)]
    return f"{message} ({', '.join(named)})" if named else str(message)
