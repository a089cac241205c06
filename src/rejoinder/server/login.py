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
from rejoinder.server.access import set_cookie, token_digest
from rejoinder.server.site import Site, identify_rater, redirect_to
from rejoinder.server.templates import asset_response, not_found_page, render_html

HOME = {"rater": "/", "owner": "/owner"}
PARTICIPANT = "PROLIFIC_PID"
_AGAIN_PARAMETER = "again"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


async def enter(request: Request) -> Response:
    """Open a personal link, or come through a common entrance under a participant's id."""
    return await run_in_threadpool(_enter, request)


def _enter(request: Request) -> Response:
    site: Site = request.app.state.site
    token = str(request.path_params["token"])
    who = identify_rater(site, token)
    if who is None:
        return not_found_page()
    if who.role == "entrance":
        return _admit_participant(site, request, who)
    return _log_in(site, request, who, token)


def _admit_participant(site: Site, request: Request, entrance: Rater) -> Response:
    """A participant gets a token of their own at the first coming; later ones must bring it, for ids are no secret."""
    name = request.query_params.get(PARTICIPANT, "")
    if not _NAME.fullmatch(name):
        return _ask_for_id(site, str(request.path_params["token"]), name)
    try:
        rater = site.store.admit(entrance, name)
        token = site.store.first_token(rater.name)
    except AnnotationError:
        return not_found_page()
    if token is not None:
        return _log_in(site, request, rater, token)
    token = request.cookies.get(site.cookie("rater"), "")
    me = identify_rater(site, token)
    return (
        _log_in(site, request, me, token)
        if me is not None and me.id == rater.id
        else _refuse_return(site, request, name)
    )


def _refuse_return(site: Site, request: Request, name: str) -> Response:
    """A refusal; first by way of a page of ours, since a strict cookie does not come along from another site."""
    if _AGAIN_PARAMETER not in request.query_params:
        return render_html("enter.html", home=f"{request.url.path}?{PARTICIPANT}={name}&{_AGAIN_PARAMETER}=1")
    contact = site.project.contact
    sentence = (
        "Somebody came in with this id before. Please go on in the browser in which you began, or ask for a link of "
        f"your own{f': {contact}' if contact else ''}."
    )
    return render_html("bare.html", 403, title="This id is in use", sentence=sentence)


def _ask_for_id(site: Site, token: str, given: str) -> Response:
    """The page that asks for an id, where none came with the link, or no possible one."""
    status = 422 if given else 200
    values = {"token": token, "field": PARTICIPANT, "given": given[:64], "wrong": bool(given)}
    return render_html("entrance.html", status, project=site.project, **values)


async def style(request: Request) -> Response:
    """The style of that page; who has no more than an entrance has no cookie for the others' yet."""
    return await run_in_threadpool(_style, request)


def _style(request: Request) -> Response:
    who = identify_rater(request.app.state.site, str(request.path_params["token"]))
    return not_found_page() if who is None else asset_response("annotate.css") or not_found_page()


def _log_in(site: Site, request: Request, who: Rater, token: str) -> Response:
    response = log_in(request, HOME[who.role], site.cookie(who.role), token, site.secure)
    site.known.add(token_digest(token))
    return response


def log_in(request: Request, home: str, cookie: str, token: str, secure: bool) -> Response:
    """A redirect; from another site a page that goes on by itself, since a strict cookie does not follow redirects
    that began elsewhere."""
    begun_elsewhere = request.headers.get("sec-fetch-site") in ("cross-site", "same-site")
    response = render_html("enter.html", home=home) if begun_elsewhere else redirect_to(home)
    set_cookie(response, cookie, token, secure)
    return response


MAX_NEW_LINKS = 500
OWNER = "owner"


def make_link(url: str, token: str) -> str:
    """The address that lets somebody in."""
    return f"{url.rstrip('/')}/r/{token}"


def renew_owner_link(store: Store, url: str) -> str:
    """A new link for the owner; the one before ends, since tokens are not kept and cannot be shown again."""
    known = any(rater.name == OWNER for rater in store.raters())
    return make_link(url, store.renew(OWNER) if known else store.add_rater(OWNER, "owner"))


def make_links(
    store: Store, url: str, wanted: str, role: Role = "rater", expires: float | None = None
) -> dict[str, str]:
    """Links by name for the names that are wanted; all of them are looked at before the first is entered.

    An entrance's link has the places where Prolific puts a participant's id.
    """
    names = parse_new_names(wanted, [rater.name for rater in store.raters()])
    made = {name: make_link(url, store.add_rater(name, role, expires)) for name in names}
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


def parse_new_names(wanted: str, known: Sequence[str]) -> list[str]:
    """The names that were written, one a line or with commas; of a number, so many names that nobody has."""
    if re.fullmatch("[0-9]{1,5}", wanted.strip()):
        free = (name for n in range(1, len(known) + 2 * MAX_NEW_LINKS) if (name := f"rater-{n}") not in known)
        names = [name for name, _ in zip(free, range(min(int(wanted), MAX_NEW_LINKS + 1)), strict=False)]
    else:
        names = [name.strip() for name in re.split(r"[\n,]", wanted) if name.strip()]
    if not 1 <= len(names) <= MAX_NEW_LINKS:
        raise AnnotationError(f"write names, one a line, or how many raters there shall be, at most {MAX_NEW_LINKS}")
    for place, name in enumerate(names):
        if name in known or name in names[:place]:
            raise AnnotationError(f"there is a rater called {name} already; nobody was entered")
    return names
