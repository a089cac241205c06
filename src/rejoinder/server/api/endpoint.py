"""What a verb of the API is, and from HTTP to a verb and back: authentication, validation, limits and errors."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from rejoinder.errors import InputError, MissingExtraError, RejoinderError, SpecError, brief
from rejoinder.json_schema import Schema
from rejoinder.server.api.auth import TokenAuth
from rejoinder.server.api.batching import QueueFullError
from rejoinder.server.api.schemas import VALIDATOR
from rejoinder.server.api.service import ApiService

JSON = "application/json"
NO_TOKEN = "this requires the server's token; send it as: Authorization: Bearer TOKEN"
FORGED = "this was not sent from one of your pages, or the page was out of date; nothing was done, so please reload it"
BUSY = "the server is busy; please wait a moment, then try again"


@dataclass(frozen=True)
class Verb:
    """A verb of the API, ``POST /name``: its route, validation and description are derived from this declaration.

    ``request`` returns the schema of the body, given the schemas of a metric's and of a system's spec; ``answer`` is
    that of what ``respond`` returns, whose docstring is published.
    """

    name: str
    request: Callable[[Schema, Schema], Schema]
    answer: Schema
    example: Mapping[str, Any]
    respond: Callable[[ApiService, Mapping[str, Any]], Awaitable[dict[str, Any]]]


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON response; NaN becomes null."""
    return Response(orjson.dumps(value), status, headers, JSON)


def error_response(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error as JSON, in one sentence."""
    return json_response({"error": " ".join(sentence.split())}, status, headers)


def no_token_response() -> Response:
    """Return the response to a program without a token."""
    return error_response(401, NO_TOKEN, {"WWW-Authenticate": "Bearer"})


def busy_response() -> Response:
    """Return the response when the server is busy."""
    return error_response(429, BUSY, {"Retry-After": "1"})


def status_of(error: RejoinderError) -> int:
    """Return 404 for an unknown name, 409 for what cannot be done in the current state."""
    return 404 if isinstance(error, SpecError) else 409


def verb_endpoint(
    verb: Verb, request_schema: Schema, service: ApiService, auth: TokenAuth
) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of one verb."""

    async def endpoint(request: Request) -> Response:
        if not auth.knows(request):
            return no_token_response()
        if auth.is_forged(request):
            return error_response(403, FORGED)
        if service.active_requests >= service.load.concurrent:
            return busy_response()
        service.active_requests += 1
        try:
            return await _answer_verb(request, verb, request_schema, service)
        finally:
            service.active_requests -= 1

    return endpoint


async def _answer_verb(request: Request, verb: Verb, schema: Schema, service: ApiService) -> Response:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        return error_response(415, f"only JSON is accepted here; send it as Content-Type: {JSON}")
    try:
        body = orjson.loads(await request.body())
    except orjson.JSONDecodeError as error:
        return error_response(
            400, f"the body is not valid JSON ({error.msg} at line {error.lineno} column {error.colno})"
        )
    problem = VALIDATOR.problem(schema, body)
    if problem is not None:
        return error_response(422, problem)
    try:
        return json_response(await asyncio.wait_for(verb.respond(service, body), service.load.seconds))
    except TimeoutError:
        return error_response(504, f"this took longer than {service.load.seconds:g} seconds; send less per request")
    except QueueFullError:
        return busy_response()
    except RejoinderError as error:
        return error_response(status_of(error), _error_sentence(error))


def _error_sentence(error: RejoinderError) -> str:
    if isinstance(error, MissingExtraError | InputError | SpecError):
        return str(error)
    return brief(str(error), 400).strip("'\"")
