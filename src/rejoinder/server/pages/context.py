"""What all pages share: the house that they belong to, and a view as a page or as JSON."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import orjson
from starlette.requests import Request
from starlette.responses import Response

from rejoinder.errors import RejoinderError
from rejoinder.server.api.auth import TokenAuth
from rejoinder.server.api.batching import QueueFullError
from rejoinder.server.api.endpoint import error_response, json_response, no_token_response, status_of
from rejoinder.server.api.json_schema import Schema
from rejoinder.server.api.request_schemas import VALIDATOR
from rejoinder.server.api.service import ApiService
from rejoinder.server.pages.cache import NotYetError, PageCache
from rejoinder.server.pages.library import Library
from rejoinder.server.templates import not_found_page, render_html
from rejoinder.table import Table, to_json

COMPUTING_MESSAGE = "this is being computed; it takes a while the first time, so please try again in a moment"


@dataclass
class PageContext:
    """One server's pages: what is computed, who may come in, and what there is to look at."""

    desk: ApiService
    gate: TokenAuth
    library: Library
    fetching: dict[str, str] = field(default_factory=dict)  # models that are being fetched, and how that stands

    def __post_init__(self) -> None:
        self.kept = PageCache(self.desk)


class PageContent(NamedTuple):
    """What a view gives: a template, what both page and JSON tell, and what only the page needs."""

    template: str
    told: dict[str, Any]
    extra: Mapping[str, Any] = {}


class QueryError(Exception):
    """A query that does not fit; one sentence."""


Query: TypeAlias = Mapping[str, Any]
View: TypeAlias = Callable[[PageContext, Request, Query], Awaitable[PageContent]]


def page_endpoint(
    house: PageContext, view: View, query: Mapping[str, Schema]
) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of a page; without the token there is nothing here, and a program is told so."""

    async def endpoint(request: Request) -> Response:
        as_page = wants_page(request)
        if not house.gate.knows(request):
            return not_found_page() if as_page else no_token_response()
        try:
            shown = await view(house, request, parse_query(request, query))
        except NotYetError:
            return _problem_response(house, as_page, 503, COMPUTING_MESSAGE, {"Retry-After": "5"})
        except QueueFullError:
            return _problem_response(house, as_page, 503, COMPUTING_MESSAGE, {"Retry-After": "5"})
        except QueryError as error:
            return _problem_response(house, as_page, 422, str(error))
        except RejoinderError as error:
            return _problem_response(house, as_page, status_of(error), str(error))
        if not as_page:
            return json_response(shown.told)
        return render_html(shown.template, csrf=house.gate.mark, **shown.told, **shown.extra)

    return endpoint


def wants_page(request: Request) -> bool:
    """Whether a page is wanted, as browsers say, and not JSON."""
    return not request.url.path.endswith(".json") and "text/html" in request.headers.get("accept", "")


def parse_query(request: Request, query: Mapping[str, Schema]) -> dict[str, Any]:
    """The parameters of a request's query that a page knows; an empty one counts as not given."""
    found: dict[str, Any] = {}
    for name, schema in query.items():
        given = request.query_params.get(name, "")
        if not given:
            continue
        value: Any = given
        if schema.get("type") == "integer":
            digits = given.removeprefix("-")
            value = int(given) if digits.isdecimal() and digits.isascii() and len(digits) < 10 else given
        problem = VALIDATOR.problem(schema, value, name)
        if problem is not None:
            raise QueryError(problem)
        found[name] = value
    return found


def _problem_response(
    house: PageContext, as_page: bool, status: int, sentence: str, headers: Mapping[str, str] | None = None
) -> Response:
    if not as_page:
        return error_response(status, sentence, headers)
    title = "A moment, please" if status == 503 else "This cannot be shown"
    told = {"title": title, "sentence": sentence, "again": status == 503}
    page = render_html("notice.html", status, csrf=house.gate.mark, **told)
    page.headers.update(headers or {})
    return page


def table_object(table: Table) -> dict[str, Any]:
    """A table as a plain object."""
    found: dict[str, Any] = orjson.loads(to_json(table))
    return found
