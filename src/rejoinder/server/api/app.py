"""The app of ``rejoinder serve``: which path answers which method, and what stands before all of them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import rejoinder
from rejoinder.server.api import augment, rank, score, select, try_reply
from rejoinder.server.api.auth import TokenAuth
from rejoinder.server.api.endpoint import Verb, error_response, json_response, no_token_response, verb_endpoint
from rejoinder.server.api.openapi import PageDescription, describe_api
from rejoinder.server.api.prometheus import MEDIA_TYPE, RequestCounters, memory_bytes
from rejoinder.server.api.service import ApiService
from rejoinder.server.limits import Limits
from rejoinder.server.middleware import RequestGuard
from rejoinder.server.templates import render_html

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
Paths: TypeAlias = Mapping[str, Mapping[str, Endpoint]]
VERBS: dict[str, Verb] = {
    "score": score.score,
    "rank": rank.rank,
    "augment": augment.augment,
    "select": select.select,
    "try": try_reply.try_reply,
    "explain": try_reply.explain_reply,
    "attack": try_reply.attack_reply,
}
_LABEL = "rejoinder.path"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})


def api_paths(
    desk: ApiService, gate: TokenAuth, pages: Mapping[str, PageDescription], names: Callable[[], Mapping[str, str]]
) -> dict[str, dict[str, Endpoint]]:
    """The paths of the API itself; ``pages`` are described beside them, with ``names`` of what they show."""
    paths = {f"/{name}": {"POST": verb_endpoint(name, verb, desk, gate)} for name, verb in VERBS.items()}

    async def health(request: Request) -> Response:
        return json_response({"status": "ok", "version": rejoinder.__version__})

    async def metrics(request: Request) -> Response:
        return (
            Response(desk.counters.text(_read_gauges(desk)), 200, media_type=MEDIA_TYPE)
            if gate.knows(request)
            else no_token_response()
        )

    async def description(request: Request) -> Response:
        return (
            json_response(describe_api(desk.shapes, pages, gate.url, names()))
            if gate.knows(request)
            else no_token_response()
        )

    return paths | {"/health": {"GET": health}, "/metrics": {"GET": metrics}, "/openapi.json": {"GET": description}}


def _read_gauges(desk: ApiService) -> dict[str, tuple[str, str, float]]:
    found = {"rejoinder_requests_under_way": ("gauge", "requests that wait for an answer", float(desk.under_way))}
    for name, lane in desk.lanes.items():
        label = f'{{lane="{name}"}}'
        found[f"rejoinder_queued_rows{label}"] = ("gauge", "rows that wait in a lane", float(lane.queued))
    for name, lane in desk.lanes.items():
        label = f'{{lane="{name}"}}'
        found[f"rejoinder_batches_total{label}"] = ("counter", "calls that a lane has made", float(lane.batches))
    for name, lane in desk.lanes.items():
        label = f'{{lane="{name}"}}'
        found[f"rejoinder_batched_rows_total{label}"] = ("counter", "rows of these calls", float(lane.rows))
    if (held := memory_bytes()) is not None:
        found["process_resident_memory_bytes"] = ("gauge", "memory that the process holds", held)
    return found


def build_app(paths: Paths, gate: TokenAuth, limits: Limits, counters: RequestCounters) -> ASGIApp:
    """The whole app: routes, refusals as JSON or as a page, the guard, and a count of everything."""
    handlers = {HTTPException: _answer_refusal, Exception: _answer_bug}
    app = Starlette(routes=[_make_route(path, methods) for path, methods in paths.items()], exception_handlers=handlers)
    app.router.redirect_slashes = False
    return CountingApp(RequestGuard(app, limits, gate.known, (gate.cookie,), time.monotonic, _refuse_request), counters)


def _make_route(path: str, methods: Mapping[str, Endpoint]) -> Route:
    async def endpoint(request: Request) -> Response:
        request.scope[_LABEL] = path
        return await methods["GET" if request.method == "HEAD" else request.method](request)

    return Route(path, endpoint, methods=list(methods))


def wants_page(headers: Mapping[str, str]) -> bool:
    """Whether who asks would rather read a page than JSON, as browsers say."""
    return "text/html" in headers.get("accept", "")


def _refuse_request(headers: Headers, status: int, sentence: str) -> Response:
    if wants_page(headers):
        return render_html("bare.html", status, title="Not now", sentence=sentence)
    return error_response(status, sentence)


async def _answer_refusal(request: Request, error: Exception) -> Response:
    """What was not found, not allowed, too long or too slow."""
    if not isinstance(error, HTTPException):
        raise error
    if wants_page(request.headers):
        title = "There is nothing here" if error.status_code in (404, 405) else "This was refused"
        page = render_html("bare.html", error.status_code, title=title, sentence=_refusal_sentence(error))
        page.headers.update(error.headers or {})
        return page
    return error_response(error.status_code, _refusal_sentence(error), error.headers)


def _refusal_sentence(error: HTTPException) -> str:
    known = {404: "there is nothing at this address", 405: "this path does not answer to this method"}
    return known.get(error.status_code, error.detail)


async def _answer_bug(request: Request, error: Exception) -> Response:
    """A bug of ours: said as such, and shown to the owner by the server itself."""
    return error_response(500, f"this is a bug of rejoinder's ({type(error).__name__}); nothing was changed")


class CountingApp:
    """An app whose answers are counted."""

    def __init__(self, app: ASGIApp, counters: RequestCounters) -> None:
        self.app = app
        self._counters = counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and count it when its answer begins."""
        begun = time.perf_counter()

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                seconds = time.perf_counter() - begun
                method = scope["method"] if scope["method"] in _METHODS else "other"
                self._counters.add(scope.get(_LABEL, "other"), method, message["status"], seconds)
            await send(message)

        await self.app(scope, receive, counting if scope["type"] == "http" else send)
