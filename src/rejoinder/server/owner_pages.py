"""The owner's pages: how far it is, how far raters agree, who they are, and what to take away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.responses import Response

from rejoinder.annotation.exports import export, list_formats
from rejoinder.annotation.progress import read_judgements
from rejoinder.annotation.store.base import Role, Store
from rejoinder.comparison.agreement import examine_agreement, suspects
from rejoinder.errors import RejoinderError
from rejoinder.reports.agreement import aspect_table, class_table, rater_table, suspect_table
from rejoinder.server.login import make_link, make_links
from rejoinder.server.site import Visit
from rejoinder.server.templates import not_found_page
from rejoinder.table import Table

RESAMPLES = 1000  # as the command has it, so that both show the same numbers


class AgreementTables(NamedTuple):
    """The tables of the owner's page; ``suspects`` alone where nothing was chosen that could be compared."""

    aspects: Table | None
    suspects: Table
    classes: Table | None
    raters: Sequence[Table]


def compute_agreement(store: Store, resamples: int = RESAMPLES) -> AgreementTables | None:
    """Agreement in every aspect, each rater against the rest, and signs against raters; None before the first answer.

    Checks and the exercise are no part of agreement; checks count as signs.
    """
    given = read_judgements(store)
    if not given.raters:
        return None
    found = [examine_agreement(judged, resamples=resamples) for judged in given.aspects.values()]
    signs = suspect_table(suspects(given, found))
    if not found:
        return AgreementTables(None, signs, None, ())
    return AgreementTables(aspect_table(found, given), signs, class_table(found), [rater_table(one) for one in found])


_DAY = 24 * 3600.0


def progress(visit: Visit) -> Response:
    """How far the project is, in all and by rater."""
    return visit.page("owner_progress.html", here="progress", progress=visit.store.progress())


def agreement(visit: Visit) -> Response:
    """How far raters agree, aspect by aspect and rater by rater, and whom to look at."""
    return visit.page("owner_agreement.html", here="agreement", found=compute_agreement(visit.store))


def raters(visit: Visit) -> Response:
    """Who has a link, and forms to make, renew and revoke links."""
    return _raters_page(visit)


def change_raters(visit: Visit) -> Response:
    """Make links, a link anew, or one worth nothing; new links are shown this once."""
    action, expires = visit.sent("action"), _link_expiry(visit)
    try:
        if action == "revoke":
            visit.store.revoke(visit.sent("name"))
            return _raters_page(visit, said=f"The link of {visit.sent('name')} is worth nothing now.")
        if action == "renew":
            name = visit.sent("name")
            return _raters_page(visit, links={name: make_link(visit.site.url, visit.store.renew(name, expires))})
        if action == "add":
            role: Role = "entrance" if visit.sent("role") == "entrance" else "rater"
            return _raters_page(
                visit, links=make_links(visit.store, visit.site.url, visit.sent("names"), role, expires)
            )
    except RejoinderError as error:
        return _raters_page(visit, problem=str(error))
    return _raters_page(visit, problem="Nothing was done.")


def exports(visit: Visit) -> Response:
    """What can be taken away."""
    return visit.page("owner_export.html", here="export", formats=list_formats(), problem="")


def download(visit: Visit) -> Response:
    """The judgements in one format."""
    name = str(visit.request.path_params["name"])
    if name not in list_formats():
        return not_found_page()
    try:
        file = export(visit.store, name)
    except RejoinderError as error:
        return visit.page("owner_export.html", 409, here="export", formats=list_formats(), problem=str(error))
    return Response(file.content, 200, {"Content-Disposition": f'attachment; filename="{file.name}"'}, file.media)


def _link_expiry(visit: Visit) -> float | None:
    days = visit.sent("days")
    return visit.site.clock() + int(days) * _DAY if days.isdecimal() and 0 < len(days) < 5 and int(days) else None


def _raters_page(visit: Visit, links: Mapping[str, str] | None = None, said: str = "", problem: str = "") -> Response:
    """The page; what was written and refused is still there."""
    wanted = {name: visit.sent(name) if problem else "" for name in ("names", "days", "role")}
    return visit.page(
        "owner_raters.html",
        422 if problem else 200,
        here="raters",
        raters=visit.store.raters(),
        links=links or {},
        said=said,
        problem=problem,
        wanted=wanted,
        now=visit.site.clock(),
    )
