"""The way in: a personal link leaves a cookie and leads to an address without the token."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from rejoinder.annotation.errors import AnnotationError
from rejoinder.annotation.exports.prolific import links_csv, study_link
from rejoinder.annotation.store.base import Rater, Role, Store
from rejoinder.errors import InputError
from rejoinder.server.access import digest, set_cookie
from rejoinder.server.site import Site, go, recognised
from rejoinder.server.templates import asset, html, nothing_here

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


MOST_NEW = 500
OWNER = "owner"


def link(url: str, token: str) -> str:
    """The address that lets somebody in."""
    return f"{url.rstrip('/')}/r/{token}"


def owner_link(store: Store, url: str) -> str:
    """A new link for the owner; the one before ends, since tokens are not kept and cannot be shown again."""
    known = any(rater.name == OWNER for rater in store.raters())
    return link(url, store.renew(OWNER) if known else store.add_rater(OWNER, "owner"))


def new_links(
    store: Store, url: str, wanted: str, role: Role = "rater", expires: float | None = None
) -> dict[str, str]:
    """Links by name for the names that are wanted; all of them are looked at before the first is entered.

    An entrance's link has the places where Prolific puts a participant's id.
    """
    names = new_names(wanted, [rater.name for rater in store.raters()])
    made = {name: link(url, store.add_rater(name, role, expires)) for name in names}
    return {name: study_link(one) for name, one in made.items()} if role == "entrance" else made


def write_links(file: Path, make: Callable[[], dict[str, str]]) -> None:
    """Make links straight into a new CSV file that its owner alone can read; none is made where it cannot be had."""
    try:
        handle = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError(f"{file}: links cannot be written there ({error.strerror}); name a new file") from None
    try:
        with open(handle, "wb") as out:
            out.write(links_csv(make()))
    except BaseException:
        file.unlink()
        raise


def new_names(wanted: str, known: Sequence[str]) -> list[str]:
    """The names that were written, one a line or with commas; of a number, so many names that nobody has."""
    if re.fullmatch("[0-9]{1,5}", wanted.strip()):
        free = (name for n in range(1, len(known) + 2 * MOST_NEW) if (name := f"rater-{n}") not in known)
        names = [name for name, _ in zip(free, range(min(int(wanted), MOST_NEW + 1)), strict=False)]
    else:
        names = [name.strip() for name in re.split(r"[\n,]", wanted) if name.strip()]
    if not 1 <= len(names) <= MOST_NEW:
        raise AnnotationError(f"write names, one a line, or how many raters there shall be, at most {MOST_NEW}")
    for place, name in enumerate(names):
        if name in known or name in names[:place]:
            raise AnnotationError(f"there is a rater called {name} already; nobody was entered")
    return names
