"""Login: a personal link sets a cookie and redirects to an address without the token."""

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
from rejoinder.server.site import ProjectSite, identify_rater, redirect_to
from rejoinder.server.templates import asset_response, ended_page, not_found_page, render_html

HOME = {"rater": "/", "owner": "/owner"}
PARTICIPANT = "PROLIFIC_PID"
_AGAIN_PARAMETER = "again"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


async def login_page(request: Request) -> Response:
    """Log in by a personal link, or by a shared link with a participant's id."""
    return await run_in_threadpool(_enter, request)


def _enter(request: Request) -> Response:
    site: ProjectSite = request.app.state.site
    token = str(request.path_params["token"])
    rater = identify_rater(site, token)
    if rater is None:
        return ended_page(site.project.contact) if site.store.had_access(token) else not_found_page()
    if rater.role == "entrance":
        return _admit_participant(site, request, rater)
    return _log_in(site, request, rater, token)


def _admit_participant(site: ProjectSite, request: Request, entrance: Rater) -> Response:
    """Give a participant a token at the first visit; later visits must bring it, because ids are not secret."""
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


def _refuse_return(site: ProjectSite, request: Request, name: str) -> Response:
    """Refuse a second visit; first reload from a page of ours, since strict cookies are not sent from other sites."""
    if _AGAIN_PARAMETER not in request.query_params:
        return render_html("enter.html", home=f"{request.url.path}?{PARTICIPANT}={name}&{_AGAIN_PARAMETER}=1")
    contact = site.project.contact
    sentence = (
        "This id has been used before. Please continue in the browser in which you started, or ask for a personal "
        f"link{f': {contact}' if contact else ''}."
    )
    return render_html("bare.html", 403, title="This id is in use", sentence=sentence)


def _ask_for_id(site: ProjectSite, token: str, participant: str) -> Response:
    """Return the page that asks for an id, if the link has none or an invalid one."""
    status = 422 if participant else 200
    values = {"token": token, "field": PARTICIPANT, "participant": participant[:64], "wrong": bool(participant)}
    return render_html("entrance.html", status, project=site.project, **values)


async def login_style(request: Request) -> Response:
    """Serve the style of that page, to visitors who have no cookie yet."""
    return await run_in_threadpool(_style, request)


def _style(request: Request) -> Response:
    rater = identify_rater(request.app.state.site, str(request.path_params["token"]))
    return not_found_page() if rater is None else asset_response("annotate.css") or not_found_page()


def _log_in(site: ProjectSite, request: Request, rater: Rater, token: str) -> Response:
    response = log_in(request, HOME[rater.role], site.cookie(rater.role), token, site.secure)
    site.known.add(token_digest(token))
    return response


def log_in(request: Request, home: str, cookie: str, token: str, secure: bool) -> Response:
    """Set the cookie and redirect; after a click on another site by a page that redirects, since browsers do not send
    strict cookies along redirects that started elsewhere."""
    from_other_site = request.headers.get("sec-fetch-site") in ("cross-site", "same-site")
    response = render_html("enter.html", home=home) if from_other_site else redirect_to(home)
    set_cookie(response, cookie, token, secure)
    return response


MAX_NEW_LINKS = 500
OWNER = "owner"


def make_link(url: str, token: str) -> str:
    """Return the personal link of a token."""
    return f"{url.rstrip('/')}/r/{token}"


def renew_owner_link(store: Store, url: str) -> str:
    """Return a new link for the owner; the previous one ends, since tokens are not stored and cannot be shown again."""
    has_owner = any(rater.name == OWNER for rater in store.raters())
    return make_link(url, store.renew(OWNER) if has_owner else store.add_rater(OWNER, "owner"))


def make_links(
    store: Store, url: str, raters: str, role: Role = "rater", expires: float | None = None
) -> dict[str, str]:
    """Create links and return them by name; all names are checked before the first rater is added.

    A shared link has the placeholder that Prolific replaces by a participant's id.
    """
    new_names = parse_new_names(raters, [rater.name for rater in store.raters()])
    links = {name: make_link(url, store.add_rater(name, role, expires)) for name in new_names}
    return {name: study_link(link) for name, link in links.items()} if role == "entrance" else links


def write_links(file: Path, make: Callable[[], dict[str, str]]) -> None:
    """Create links in a new CSV file that only its owner can read; if the file cannot be created, no link is made."""
    try:
        handle = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError(f"{file}: links cannot be written there ({error.strerror}); choose a new file") from None
    try:
        with open(handle, "wb") as out:
            out.write(links_csv(make()))
    except BaseException:
        file.unlink()
        raise


def parse_new_names(text: str, existing: Sequence[str]) -> list[str]:
    """Return the names in a text, separated by lines or commas; for a number, that many unused names."""
    if re.fullmatch("[0-9]{1,5}", text.strip()):
        unused = (name for n in range(1, len(existing) + 2 * MAX_NEW_LINKS) if (name := f"rater-{n}") not in existing)
        names = [name for name, _ in zip(unused, range(min(int(text), MAX_NEW_LINKS + 1)), strict=False)]
    else:
        names = [name.strip() for name in re.split(r"[\n,]", text) if name.strip()]
    if not 1 <= len(names) <= MAX_NEW_LINKS:
        raise AnnotationError(f"enter names, one per line, or a number of raters, at most {MAX_NEW_LINKS}")
    for i, name in enumerate(names):
        if name in existing or name in names[:i]:
            raise AnnotationError(f"there is already a rater called {name}; no rater was added")
    return names
