"""What all pages share: the context of a server, and the endpoint that shows a view as a page or as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import orjson
from starlette.requests import Request
from starlette.responses import Response

from rejoinder.errors import RejoinderError
from rejoinder.json_schema import Schema
from rejoinder.server.api.auth import TokenAuth
from rejoinder.server.api.batching import QueueFullError
from rejoinder.server.api.endpoint import error_response, json_response, no_token_response, status_of
from rejoinder.server.api.request_schemas import VALIDATOR
from rejoinder.server.api.service import ApiService
from rejoinder.server.pages.cache import NotYetError, PageCache
from rejoinder.server.pages.library import RunLibrary
from rejoinder.server.templates import not_found_page, render_html
from rejoinder.table import Table, to_json

COMPUTING_MESSAGE = "this is being computed, which takes a while the first time; please try again in a moment"


@dataclass
class PageContext:
    """What the pages of one server need: the API service, authentication, and the library of runs and test sets."""

    service: ApiService
    auth: TokenAuth
    library: RunLibrary
    fetching: dict[str, str] = field(default_factory=dict)  # models being fetched, and their progress

    def __post_init__(self) -> None:
        self.cache = PageCache(self.service)


class PageContent(NamedTuple):
    """What a view returns: a template, the data of both page and JSON, and what only the page needs."""

    template: str
    data: dict[str, Any]
    extra: Mapping[str, Any] = {}


class QueryError(Exception):
    """An invalid query, described in one sentence."""


Query: TypeAlias = Mapping[str, Any]
View: TypeAlias = Callable[[PageContext, Request, Query], Awaitable[PageContent]]


def page_endpoint(
    context: PageContext, view: View, query: Mapping[str, Schema]
) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a page; without the token a browser gets "not found", and a program is told why."""

    async def endpoint(request: Request) -> Response:
        as_page = wants_page(request)
        if not context.auth.knows(request):
            return not_found_page() if as_page else no_token_response()
        try:
            content = await view(context, request, parse_query(request, query))
        except NotYetError:
            return _problem_response(context, as_page, 503, COMPUTING_MESSAGE, {"Retry-After": "5"})
        except QueueFullError:
            return _problem_response(context, as_page, 503, COMPUTING_MESSAGE, {"Retry-After": "5"})
        except QueryError as error:
            return _problem_response(context, as_page, 422, str(error))
        except RejoinderError as error:
            return _problem_response(context, as_page, status_of(error), str(error))
        if not as_page:
            return json_response(content.data)
        return render_html(content.template, csrf=context.auth.mark, **content.data, **content.extra)

    return endpoint


def wants_page(request: Request) -> bool:
    """Whether a client wants a page, as browsers do, and not JSON."""
    return not request.url.path.endswith(".json") and "text/html" in request.headers.get("accept", "")


def parse_query(request: Request, query: Mapping[str, Schema]) -> dict[str, Any]:
    """Parse the query parameters that a page knows; an empty one counts as missing."""
    values: dict[str, Any] = {}
    for name, schema in query.items():
        text = request.query_params.get(name, "")
        if not text:
            continue
        value: Any = text
        if schema.get("type") == "integer":
            digits = text.removeprefix("-")
            value = int(text) if digits.isdecimal() and digits.isascii() and len(digits) < 10 else text
        problem = VALIDATOR.problem(schema, value, name)
        if problem is not None:
            raise QueryError(problem)
        values[name] = value
    return values


def _problem_response(
    context: PageContext, as_page: bool, status: int, sentence: str, headers: Mapping[str, str] | None = None
) -> Response:
    if not as_page:
        return error_response(status, sentence, headers)
    title = "One moment, please" if status == 503 else "This page cannot be shown"
    values = {"title": title, "sentence": sentence, "again": status == 503}
    page = render_html("notice.html", status, csrf=context.auth.mark, **values)
    page.headers.update(headers or {})
    return page


def table_object(table: Table) -> dict[str, Any]:
    """Return a table as a plain object."""
    plain: dict[str, Any] = orjson.loads(to_json(table))
    return plain
