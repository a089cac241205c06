"""From HTTP to a verb and back: who asks, what they send, how long they wait, and what is told where it fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import orjson
from starlette.requests import Request
from starlette.responses import Response

from rejoinder.errors import InputError, MissingExtraError, RejoinderError, SpecError, brief
from rejoinder.server.api.auth import TokenAuth
from rejoinder.server.api.batching import QueueFullError
from rejoinder.server.api.request_schemas import VALIDATOR
from rejoinder.server.api.service import ApiService

Verb: TypeAlias = Callable[[ApiService, Mapping[str, Any]], Awaitable[dict[str, Any]]]
JSON = "application/json"
NO_TOKEN = "this needs the server's token; send it as: Authorization: Bearer TOKEN"
FORGED = "this did not come from a page of yours, or the page was old; nothing was done, please reload the page"
BUSY = "the server has as much to do as it takes on; please wait a moment, then try again"


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A JSON answer; NaN is null."""
    return Response(orjson.dumps(value), status, headers, JSON)


def error_response(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """What went wrong, in one sentence."""
    return json_response({"error": " ".join(sentence.split())}, status, headers)


def no_token_response() -> Response:
    """The answer to a program without a token."""
    return error_response(401, NO_TOKEN, {"WWW-Authenticate": "Bearer"})


def busy_response() -> Response:
    """The answer to whom there is no room for."""
    return error_response(429, BUSY, {"Retry-After": "1"})


def status_of(error: RejoinderError) -> int:
    """404 for a name that means nothing here, 409 for what cannot be done as things stand."""
    return 404 if isinstance(error, SpecError) else 409


def verb_endpoint(name: str, verb: Verb, desk: ApiService, gate: TokenAuth) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of one verb."""

    async def endpoint(request: Request) -> Response:
        if not gate.knows(request):
            return no_token_response()
        if gate.is_forged(request):
            return error_response(403, FORGED)
        if desk.under_way >= desk.load.concurrent:
            return busy_response()
        desk.under_way += 1
        try:
            return await _answer_verb(request, name, verb, desk)
        finally:
            desk.under_way -= 1

    return endpoint


async def _answer_verb(request: Request, name: str, verb: Verb, desk: ApiService) -> Response:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        return error_response(415, f"only JSON is taken here; send it as Content-Type: {JSON}")
    try:
        body = orjson.loads(await request.body())
    except orjson.JSONDecodeError as error:
        return error_response(
            400, f"the body is not valid JSON ({error.msg} at line {error.lineno} column {error.colno})"
        )
    problem = VALIDATOR.problem(desk.shapes[name], body)
    if problem is not None:
        return error_response(422, problem)
    try:
        return json_response(await asyncio.wait_for(verb(desk, body), desk.load.seconds))
    except asyncio.TimeoutError:
        return error_response(504, f"this took longer than {desk.load.seconds:g} seconds; send less at once")
    except QueueFullError:
        return busy_response()
    except RejoinderError as error:
        return error_response(status_of(error), _error_sentence(error))


def _error_sentence(error: RejoinderError) -> str:
    if isinstance(error, MissingExtraError | InputError | SpecError):
        return str(error)
    return brief(str(error), 400).strip("'\"")
