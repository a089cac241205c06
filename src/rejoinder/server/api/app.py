"""The API of ``rejoinder serve`` as an app: its routes, its error responses, and the middleware in front."""

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
from rejoinder.server.api.augment import AUGMENT
from rejoinder.server.api.auth import TokenAuth
from rejoinder.server.api.endpoint import error_response, json_response, no_token_response, verb_endpoint
from rejoinder.server.api.openapi import PageDescription, describe_api
from rejoinder.server.api.prometheus import MEDIA_TYPE, RequestCounters, memory_bytes
from rejoinder.server.api.rank import RANK
from rejoinder.server.api.schemas import spec_schemas
from rejoinder.server.api.score import SCORE
from rejoinder.server.api.select import SELECT
from rejoinder.server.api.service import ApiService
from rejoinder.server.api.try_reply import ATTACK, EXPLAIN, TRY
from rejoinder.server.limits import ServerLimits
from rejoinder.server.middleware import RequestGuard
from rejoinder.server.templates import render_html

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
Paths: TypeAlias = Mapping[str, Mapping[str, Endpoint]]
VERBS = {verb.name: verb for verb in (SCORE, RANK, AUGMENT, SELECT, TRY, EXPLAIN, ATTACK)}
_LABEL = "rejoinder.path"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"})


def api_paths(
    service: ApiService, auth: TokenAuth, pages: Mapping[str, PageDescription], names: Callable[[], Mapping[str, str]]
) -> dict[str, dict[str, Endpoint]]:
    """Return the paths of the API; its description covers ``pages`` too, with ``names`` as examples for their paths."""
    specs = spec_schemas(service.offer.metrics, service.offer.systems)
    requests = {name: verb.request(*specs) for name, verb in VERBS.items()}
    paths = {f"/{name}": {"POST": verb_endpoint(VERBS[name], requests[name], service, auth)} for name in VERBS}

    async def health(request: Request) -> Response:
        return json_response({"status": "ok", "version": rejoinder.__version__})

    async def metrics(request: Request) -> Response:
        return (
            Response(service.counters.text(_read_gauges(service)), 200, media_type=MEDIA_TYPE)
            if auth.knows(request)
            else no_token_response()
        )

    async def description(request: Request) -> Response:
        return (
            json_response(describe_api(VERBS, requests, pages, auth.url, names()))
            if auth.knows(request)
            else no_token_response()
        )

    return paths | {"/health": {"GET": health}, "/metrics": {"GET": metrics}, "/openapi.json": {"GET": description}}


def _read_gauges(service: ApiService) -> dict[str, tuple[str, str, float]]:
    gauges = {"rejoinder_requests_under_way": ("gauge", "requests being answered", float(service.active_requests))}
    for name, queue in service.queues.items():
        label = f'{{queue="{name}"}}'
        gauges[f"rejoinder_queued_rows{label}"] = ("gauge", "rows waiting in a queue", float(queue.queued))
    for name, queue in service.queues.items():
        label = f'{{queue="{name}"}}'
        gauges[f"rejoinder_batches_total{label}"] = ("counter", "calls made by a queue", float(queue.batches))
    for name, queue in service.queues.items():
        label = f'{{queue="{name}"}}'
        gauges[f"rejoinder_batched_rows_total{label}"] = ("counter", "rows in these calls", float(queue.rows))
    gauges["process_cpu_seconds_total"] = ("counter", "processor time of the process", time.process_time())
    if (memory := memory_bytes()) is not None:
        gauges["process_resident_memory_bytes"] = ("gauge", "resident memory of the process", memory)
    return gauges


def build_app(paths: Paths, auth: TokenAuth, limits: ServerLimits, counters: RequestCounters) -> ASGIApp:
    """Build the whole app: routes, error responses as JSON or as a page, the request guard, and the counters."""

    async def answer_refusal(request: Request, error: Exception) -> Response:
        return _answer_refusal(request, error, auth)

    handlers = {HTTPException: answer_refusal, Exception: _answer_bug}
    app = Starlette(routes=[_make_route(path, methods) for path, methods in paths.items()], exception_handlers=handlers)
    app.router.redirect_slashes = False
    return CountingApp(RequestGuard(app, limits, auth.known, (auth.cookie,), time.monotonic, _refuse_request), counters)


def _make_route(path: str, methods: Mapping[str, Endpoint]) -> Route:
    async def endpoint(request: Request) -> Response:
        request.scope[_LABEL] = path
        return await methods["GET" if request.method == "HEAD" else request.method](request)

    return Route(path, endpoint, methods=list(methods))


def prefers_page(headers: Mapping[str, str]) -> bool:
    """Whether a client prefers a page to JSON, as browsers do."""
    return "text/html" in headers.get("accept", "")


def _refuse_request(headers: Headers, status: int, sentence: str) -> Response:
    if prefers_page(headers):
        return render_html("bare.html", status, title="Please try again later", sentence=sentence)
    return error_response(status, sentence)


def _answer_refusal(request: Request, error: Exception, auth: TokenAuth) -> Response:
    """Answer a request that was not found, not allowed, too large or too slow; who has the token gets ways back."""
    if not isinstance(error, HTTPException):
        raise error
    if not prefers_page(request.headers):
        return error_response(error.status_code, _refusal_sentence(error), error.headers)
    values = {
        "title": "There is nothing here" if error.status_code in (404, 405) else "This was refused",
        "sentence": _refusal_sentence(error),
    }
    if auth.knows(request):
        values["title"] = "Page not found" if error.status_code == 404 else values["title"]
        page = render_html("notice.html", error.status_code, csrf=auth.mark, back=("/runs", "Runs"), **values)
    else:
        page = render_html("bare.html", error.status_code, **values)
    page.headers.update(error.headers or {})
    return page


def _refusal_sentence(error: HTTPException) -> str:
    sentences = {404: "there is nothing at this address", 405: "this path does not support this method"}
    return sentences.get(error.status_code, error.detail)


async def _answer_bug(request: Request, error: Exception) -> Response:
    """Report a bug of ours as such; the server itself shows the traceback to the owner."""
    return error_response(500, f"this is a bug in rejoinder ({type(error).__name__}); nothing was changed")


class CountingApp:
    """An app whose responses are counted."""

    def __init__(self, app: ASGIApp, counters: RequestCounters) -> None:
        self.app = app
        self._counters = counters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and count it when its response starts."""
        start = time.perf_counter()

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                seconds = time.perf_counter() - start
                method = scope["method"] if scope["method"] in _METHODS else "other"
                self._counters.add(scope.get(_LABEL, "other"), method, message["status"], seconds)
            await send(message)

        await self.app(scope, receive, counting if scope["type"] == "http" else send)
