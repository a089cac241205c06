"""What all pages of a project share: its store and limits, and a visit, which is one request of a known person."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rejoinder.annotation.project import Project
from rejoinder.annotation.store.base import Rater, Store
from rejoinder.server.access import cookie_name, is_genuine, make_csrf_mark, token_digest
from rejoinder.server.limits import RecentDigests, ServerLimits
from rejoinder.server.templates import BOTH, ended_page, not_found_page, render_html

_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class ProjectSite:
    """A project that is being served; ``url`` is where raters reach it, without a trailing slash."""

    project: Project
    store: Store
    url: str
    limits: ServerLimits
    clock: Callable[[], float] = time.time
    known: RecentDigests = field(default_factory=lambda: RecentDigests(10_000))

    @property
    def secure(self) -> bool:
        """Whether cookies are sent over encrypted connections only."""
        return self.url.startswith("https:")

    def cookie(self, role: str) -> str:
        """Return the name of a role's cookie."""
        return cookie_name(self.project.name, role)


@dataclass(frozen=True, slots=True)
class PageVisit:
    """One request of a rater or an owner, with the fields of its form, if it sent one."""

    site: ProjectSite
    request: Request
    me: Rater
    token: str
    pairs: tuple[tuple[str, str], ...] = ()

    @property
    def store(self) -> Store:
        """The project's store."""
        return self.site.store

    def form_value(self, name: str) -> str:
        """Return the value of a form field; empty if it was not sent, or sent twice."""
        values = [value for key, value in self.pairs if key == name]
        return values[0] if len(values) == 1 else ""

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """Render a page for this visitor."""
        return render_html(
            template,
            status,
            project=self.site.project,
            me=self.me,
            csrf=make_csrf_mark(self.token),
            has_runs=BOTH in self.request.scope,
            **values,
        )


View = Callable[[PageVisit], Response]


def page_endpoint_for(role: str, view: View) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint of a view that only one role may see; everybody else gets "not found"."""

    async def endpoint(request: Request) -> Response:
        site: ProjectSite = request.app.state.site
        token = request.cookies.get(site.cookie(role), "")
        pairs = await read_form(request, site.limits.fields) if request.method == "POST" else ()
        return await run_in_threadpool(_answer_view, site, request, role, token, pairs, view)

    return endpoint


def _answer_view(
    site: ProjectSite, request: Request, role: str, token: str, pairs: tuple[tuple[str, str], ...], view: View
) -> Response:
    me = identify_rater(site, token)
    if me is None or me.role != role:
        site.known.drop(token_digest(token))
        return ended_page(site.project.contact) if me is None and site.store.had_access(token) else not_found_page()
    site.known.add(token_digest(token))
    if request.method == "POST" and not (is_genuine(token, pairs) and is_own_origin(request.headers)):
        return render_html(
            "problem.html", 403, project=site.project, me=me, csrf=make_csrf_mark(token), sentence=_FORGED
        )
    return view(PageVisit(site, request, me, token, pairs))


def identify_rater(site: ProjectSite, token: str) -> Rater | None:
    """Return the rater whose token this is, or None; access through a shared link ends with that link."""
    me = site.store.who(token) if 0 < len(token) < 200 else None
    return me if me is None or me.by is None else site.store.rater(me.id)


_FORGED = (
    "This form was not sent from one of your pages, or the page was out of date; nothing was saved. Please reload it"
)


def is_own_origin(headers: Mapping[str, str]) -> bool:
    """Whether a request that changes something was made by one of our pages, according to the browser."""
    return headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")


async def read_form(request: Request, most: int) -> tuple[tuple[str, str], ...]:
    """Return the fields of a form as pairs; any other content type is refused."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise HTTPException(415, "Only forms are accepted here.")
    body = await request.body()
    try:
        return tuple(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=most, errors="strict"))
    except ValueError:  # too many fields, or not text
        raise HTTPException(400, "This form could not be read.") from None


def redirect_to(path: str) -> Response:
    """Redirect to another page after a form."""
    return RedirectResponse(path, 303)
