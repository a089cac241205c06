"""The annotation app: which path shows what, and to whom."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rejoinder.annotation.project import Project
from rejoinder.annotation.store.base import Store
from rejoinder.server import judgement_pages, owner_pages, rater_pages
from rejoinder.server.access import ROLES
from rejoinder.server.limits import ServerLimits
from rejoinder.server.login import login_page, login_style
from rejoinder.server.middleware import RequestGuard
from rejoinder.server.site import PageVisit, ProjectSite, View, page_endpoint_for
from rejoinder.server.templates import asset_response, compile_templates, not_found_page, render_html

RATER_PATHS: dict[str, dict[str, View]] = {
    "/": {"GET": rater_pages.welcome_page},
    "/work": {"GET": rater_pages.work_page, "POST": rater_pages.submit_page},
    "/undo": {"POST": rater_pages.undo_page},
    "/leave": {"POST": rater_pages.leave_page},
}
OWNER_PATHS: dict[str, dict[str, View]] = {
    "/owner": {"GET": owner_pages.progress_page},
    "/owner/judgements": {"GET": judgement_pages.judgements_page},
    "/owner/judgements/{unit}": {"GET": judgement_pages.unit_page, "POST": judgement_pages.decide_page},
    "/owner/agreement": {"GET": owner_pages.agreement_page},
    "/owner/raters": {"GET": owner_pages.raters_page, "POST": owner_pages.change_raters_page},
    "/owner/export": {"GET": owner_pages.exports_page},
    "/owner/export/{name}": {"GET": owner_pages.download_page},
    "/owner/leave": {"POST": rater_pages.leave_page},
}


def make_annotation_app(
    project: Project,
    store: Store,
    url: str = "http://127.0.0.1:8700",
    limits: ServerLimits | None = None,
    clock: Callable[[], float] = time.time,
    monotonic_clock: Callable[[], float] = time.monotonic,
) -> RequestGuard:
    """Return the app of a project; ``url`` is where raters reach it, ``clock`` must agree with the store's."""
    site = ProjectSite(project, store, url.rstrip("/"), limits or ServerLimits(), clock)
    routes = [
        Route("/r/{token}", login_page),
        Route("/r/{token}/annotate.css", login_style),
        Route("/static/{name}", _answer_static),
    ]
    for role, pages in (("rater", RATER_PATHS), ("owner", OWNER_PATHS)):
        for path, views in pages.items():
            routes += [Route(path, page_endpoint_for(role, view), methods=[method]) for method, view in views.items()]
    app = Starlette(routes=routes, exception_handlers={404: _answer_missing, 405: _answer_missing})
    app.router.redirect_slashes = False
    app.state.site = site
    compile_templates()
    return RequestGuard(
        app, site.limits, site.known, tuple(site.cookie(role) for role in ROLES), monotonic_clock, _refuse_request
    )


def _refuse_request(headers: Headers, status: int, sentence: str) -> Response:
    if "text/html" in headers.get("accept", ""):
        return render_html("bare.html", status, title="Please try again later", sentence=sentence)
    return PlainTextResponse(sentence, status)


async def _answer_missing(request: Request, error: Exception) -> Response:
    return not_found_page()


async def _answer_static(request: Request) -> Response:
    """Serve a style or script to those who may see a page."""
    for role in ROLES:
        response = await page_endpoint_for(role, _answer_asset)(request)
        if response.status_code == 200:
            return response
    return not_found_page()


def _answer_asset(visit: PageVisit) -> Response:
    return asset_response(str(visit.request.path_params["name"])) or not_found_page()
