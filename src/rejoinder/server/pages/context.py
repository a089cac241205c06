"""What all pages share: the context of a server, and the endpoint that shows a view as a page or as JSON."""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import orjson
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rejoinder.errors import RejoinderError, SpecError
from rejoinder.json_schema import Schema
from rejoinder.server.api.auth import TokenAuth
from rejoinder.server.api.batching import QueueFullError
from rejoinder.server.api.endpoint import error_response, json_response, no_token_response, status_of
from rejoinder.server.api.schemas import VALIDATOR
from rejoinder.server.api.service import ApiService
from rejoinder.server.pages.cache import PAGE_SECONDS, PATIENCE, NotYetError, PageCache, WorkProgress
from rejoinder.server.pages.library import RunLibrary
from rejoinder.server.templates import BOTH, not_found_page, render_html
from rejoinder.table import Table, to_json
from rejoinder.types import Statement

_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,15}\.?[0-9]{0,15}|\.[0-9]{1,15})(?:[eE][+-]?[0-9]{1,2})?")
PAGE_SIZE = 50  # lines of a list
_MAX_HEADLINES = 1_000
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
        self.headlines = PageCache(self.service, most=_MAX_HEADLINES)  # small values, one per run


class PageContent(NamedTuple):
    """What a view returns: a template, the data of both page and JSON, what only the page needs, and the status."""

    template: str
    data: dict[str, Any]
    extra: Mapping[str, Any] = {}
    status: int = 200


class QueryError(Exception):
    """An invalid query, described in one sentence."""


class OtherAddressError(Exception):
    """A page has a better address, which a browser is sent to: a form adds empty parameters, for example."""


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
        if as_page:
            PATIENCE.set(PAGE_SECONDS)
        try:
            content = await view(context, request, parse_query(request, query))
        except NotYetError as error:
            return _progress_page(context, request, error.progress) if as_page else _computing_response()
        except QueueFullError:
            return _progress_page(context, request, WorkProgress()) if as_page else _computing_response()
        except OtherAddressError as other:
            return RedirectResponse(str(other), 303)
        except QueryError as error:
            return problem_response(context, as_page, 422, str(error), request.url.path)
        except RejoinderError as error:
            return problem_response(context, as_page, status_of(error), str(error), request.url.path)
        if not as_page:
            return json_response(content.data, content.status)
        values = {"csrf": context.auth.mark, "has_annotation": BOTH in request.scope, **content.data, **content.extra}
        return render_html(content.template, content.status, **values)

    return endpoint


def wants_page(request: Request) -> bool:
    """Whether a client wants a page, as browsers do, and not JSON."""
    return not request.url.path.endswith(".json") and "text/html" in request.headers.get("accept", "")


def parse_query(request: Request, query: Mapping[str, Schema]) -> dict[str, Any]:
    """Parse the query parameters that a page knows; an empty one counts as missing."""
    values: dict[str, Any] = {}
    for name, schema in query.items():
        texts = [text for text in request.query_params.getlist(name) if text]
        if not texts:
            continue
        text = texts[-1]
        value: Any = texts if schema.get("type") == "array" else text
        if schema.get("type") == "integer":
            digits = text.removeprefix("-")
            value = int(text) if digits.isdecimal() and digits.isascii() and len(digits) < 10 else text
        elif schema.get("type") == "number":
            value = float(text) if _NUMBER.fullmatch(text) else text
        problem = VALIDATOR.problem(schema, value, name)
        if problem is not None:
            raise QueryError(problem)
        values[name] = value
    return values


def _computing_response() -> Response:
    return error_response(503, COMPUTING_MESSAGE, {"Retry-After": "5"})


def _progress_page(context: PageContext, request: Request, progress: WorkProgress) -> Response:
    """Say what is being computed and how far it is; the page reloads by itself."""
    run = request.path_params.get("run")
    path = request.url.path
    other = f"/runs/{run}/replies" if run and path in (f"/runs/{run}", f"/runs/{run}/people") else None
    values = {"step": progress.step, "percent": round(100 * progress.share), "other": other}
    page = render_html("progress.html", 503, csrf=context.auth.mark, **values)
    page.headers["Retry-After"] = "2"
    return page


_TITLES = {403: "This was refused", 404: "Page not found"}
_SECTIONS = {"runs": "Runs", "sets": "Test sets", "models": "Models"}


def problem_response(context: PageContext, as_page: bool, status: int, sentence: str, path: str = "") -> Response:
    """Return an error in one sentence: as JSON, or as a page with ways back."""
    if not as_page:
        return error_response(status, sentence)
    title = _TITLES.get(status, "This page cannot be shown")
    first, second = (*path.split("/")[1:3], "", "")[:2]
    back = (f"/{first}", _SECTIONS[first]) if first in _SECTIONS else ("/runs", "Runs")
    if first == "runs" and path != f"/runs/{second}" and second in context.library.runs():
        back = (f"/runs/{second}", f"The run {second}")
    return render_html("notice.html", status, csrf=context.auth.mark, title=title, sentence=sentence, back=back)


def paginate(lines: Sequence[Any] | NDArray[Any], number: int) -> tuple[Any, dict[str, int]]:
    """Return one page of a long list, and its position."""
    pages = max(1, math.ceil(len(lines) / PAGE_SIZE))
    if number > pages:
        raise SpecError(f"there is no page {number}; the last page is {pages}")
    return lines[(number - 1) * PAGE_SIZE : number * PAGE_SIZE], {"page": number, "pages": pages, "n": len(lines)}


def statement_objects(statements: Sequence[Statement]) -> list[dict[str, Any]]:
    """Return the statements of a situation as plain objects."""
    return [{"text": one.text, "category": one.category, "relevant": one.relevant} for one in statements]


def table_object(table: Table) -> dict[str, Any]:
    """Return a table as a plain object."""
    plain: dict[str, Any] = orjson.loads(to_json(table))
    return plain
