"""The way in: a personal link leaves a cookie and leads to an address without the token."""

from __future__ import annotations

import re

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from rejoinder.annotation.errors import AnnotationError
from rejoinder.annotation.store.contract import Rater
from rejoinder.web.access import digest, set_cookie
from rejoinder.web.pages import asset, html, nothing_here
from rejoinder.web.site import Site, go, recognised

HOME = {"rater": "/", "owner": "/owner"}
PARTICIPANT = "PROLIFIC_PID"
_AGAIN = "again"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


async def enter(request: Request) -> Response:
    """Open a personal link, or come through a common entrance under a participant's id."""
    return await run_in_threadpool(_enter, request)


def _enter(request: Request) -> Response:
    site: Site = request.app.state.site
    token = str(request.path_params["token"])
    who = recognised(site, token)
    if who is None:
        return nothing_here()
    if who.role == "entrance":
        return _admitted(site, request, who)
    return _let_in(site, request, who, token)


def _admitted(site: Site, request: Request, entrance: Rater) -> Response:
    """A participant gets a token of their own at the first coming; later ones must bring it, for ids are no secret."""
    name = request.query_params.get(PARTICIPANT, "")
    if not _NAME.fullmatch(name):
        return _asked(site, str(request.path_params["token"]), name)
    try:
        rater = site.store.admit(entrance, name)
        token = site.store.first_token(rater.name)
    except AnnotationError:
        return nothing_here()
    if token is not None:
        return _let_in(site, request, rater, token)
    token = request.cookies.get(site.cookie("rater"), "")
    me = recognised(site, token)
    return (
        _let_in(site, request, me, token) if me is not None and me.id == rater.id else _not_again(site, request, name)
    )


def _not_again(site: Site, request: Request, name: str) -> Response:
    """A refusal; first by way of a page of ours, since a strict cookie does not come along from another site."""
    if _AGAIN not in request.query_params:
        return html("enter.html", home=f"{request.url.path}?{PARTICIPANT}={name}&{_AGAIN}=1")
    contact = site.project.contact
    sentence = (
        "Somebody came in with this id before. Please go on in the browser in which you began, or ask for a link of "
        f"your own{f': {contact}' if contact else ''}."
    )
    return html("bare.html", 403, title="This id is in use", sentence=sentence)


def _asked(site: Site, token: str, given: str) -> Response:
    """The page that asks for an id, where none came with the link, or no possible one."""
    status = 422 if given else 200
    values = {"token": token, "field": PARTICIPANT, "given": given[:64], "wrong": bool(given)}
    return html("entrance.html", status, project=site.project, **values)


async def style(request: Request) -> Response:
    """The style of that page; who has no more than an entrance has no cookie for the others' yet."""
    return await run_in_threadpool(_style, request)


def _style(request: Request) -> Response:
    who = recognised(request.app.state.site, str(request.path_params["token"]))
    return nothing_here() if who is None else asset("annotate.css") or nothing_here()


def _let_in(site: Site, request: Request, who: Rater, token: str) -> Response:
    response = let_in(request, HOME[who.role], site.cookie(who.role), token, site.secure)
    site.known.add(digest(token))
    return response


def let_in(request: Request, home: str, cookie: str, token: str, secure: bool) -> Response:
    """A redirect; from another site a page that goes on by itself, since a strict cookie does not follow redirects
    that began elsewhere."""
    begun_elsewhere = request.headers.get("sec-fetch-site") in ("cross-site", "same-site")
    response = html("enter.html", home=home) if begun_elsewhere else go(home)
    set_cookie(response, cookie, token, secure)
    return response
