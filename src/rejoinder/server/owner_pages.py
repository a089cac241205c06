"""The owner's pages: progress, agreement, raters and their links, exports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from starlette.responses import Response

from rejoinder.annotation.analysis.judgements import read_sorted_judgements
from rejoinder.annotation.exports import export_judgements, list_judgement_formats
from rejoinder.annotation.exports.ratings import has_ratings
from rejoinder.annotation.exports.texts import has_texts
from rejoinder.annotation.store.base import Role, Store
from rejoinder.annotation.unit import FormName
from rejoinder.comparison.agreement import examine_agreement, find_suspect_raters
from rejoinder.errors import RejoinderError
from rejoinder.reports.agreement import agreement_advice, aspect_table, class_table, rater_table, suspect_table
from rejoinder.server.login import make_link, make_links
from rejoinder.server.site import PageVisit
from rejoinder.server.templates import not_found_page
from rejoinder.table import Table

RESAMPLES = 1000  # the command's default, so that both show the same numbers


class AgreementTables(NamedTuple):
    """The tables of the agreement page; only ``suspects`` if the form has no choices to compare."""

    aspects: Table | None
    suspects: Table
    classes: Table | None
    raters: Sequence[Table]
    advice: Sequence[str] = ()


def compute_agreement(store: Store, resamples: int = RESAMPLES) -> AgreementTables | None:
    """Compute agreement per aspect, each rater against the rest, and raters to look at; None before the first answer.

    Checks and the exercise do not count for agreement; failed checks are a sign against a rater.
    """
    judgements = read_sorted_judgements(store)
    if not judgements.raters:
        return None
    agreements = [examine_agreement(aspect, resamples=resamples) for aspect in judgements.aspects.values()]
    signs = suspect_table(find_suspect_raters(judgements, agreements))
    if not agreements:
        return AgreementTables(None, signs, None, ())
    return AgreementTables(
        aspect_table(agreements, judgements),
        signs,
        class_table(agreements),
        [rater_table(aspect) for aspect in agreements],
        [agreement_advice(aspect) for aspect in agreements],
    )


_DAY = 24 * 3600.0


def progress_page(visit: PageVisit) -> Response:
    """Show the progress of the project, in total and per rater."""
    return visit.page("owner_progress.html", here="progress", progress=visit.store.progress())


def agreement_page(visit: PageVisit) -> Response:
    """Show how far raters agree, per aspect and per rater, and which raters to look at."""
    return visit.page("owner_agreement.html", here="agreement", agreement=compute_agreement(visit.store))


def raters_page(visit: PageVisit) -> Response:
    """Show who has a link, and forms to create, renew and revoke links."""
    return _render_raters(visit)


def change_raters_page(visit: PageVisit) -> Response:
    """Create, renew or revoke links; new links are shown only once."""
    action, expires = visit.form_value("action"), _link_expiry(visit)
    try:
        if action == "revoke":
            visit.store.revoke(visit.form_value("name"))
            return _render_raters(visit, message=f"The link of {visit.form_value('name')} has been revoked.")
        if action == "renew":
            name = visit.form_value("name")
            return _render_raters(visit, links={name: make_link(visit.site.url, visit.store.renew(name, expires))})
        if action == "add":
            role: Role = "entrance" if visit.form_value("role") == "entrance" else "rater"
            return _render_raters(
                visit, links=make_links(visit.store, visit.site.url, visit.form_value("names"), role, expires)
            )
    except RejoinderError as error:
        return _render_raters(visit, problem=str(error))
    return _render_raters(visit, problem="Nothing was changed")


def exports_page(visit: PageVisit) -> Response:
    """List the export formats."""
    return _render_exports(visit)


def download_page(visit: PageVisit) -> Response:
    """Download the judgements in one format."""
    name = str(visit.request.path_params["name"])
    if name not in list_judgement_formats():
        return not_found_page()
    try:
        file = export_judgements(visit.store, name)
    except RejoinderError as error:
        return _render_exports(visit, str(error))
    return Response(file.content, 200, {"Content-Disposition": f'attachment; filename="{file.name}"'}, file.media)


def _render_exports(visit: PageVisit, problem: str = "") -> Response:
    return visit.page(
        "owner_export.html",
        409 if problem else 200,
        here="export",
        formats=list_judgement_formats(),
        absent=_absent_formats(visit.site.project.form),
        problem=problem,
    )


def _absent_formats(form: FormName) -> dict[str, str]:
    """Say which formats a form has nothing for, and why."""
    if not has_ratings(form):
        return dict.fromkeys(("ratings", "crowdkit"), "This project collects texts, so there are none.")
    return {} if has_texts(form) else {"texts": "This project collects ratings, so there are none."}


def _link_expiry(visit: PageVisit) -> float | None:
    days = visit.form_value("days")
    return visit.site.clock() + int(days) * _DAY if days.isdecimal() and 0 < len(days) < 5 and int(days) else None


def _render_raters(
    visit: PageVisit, links: Mapping[str, str] | None = None, message: str = "", problem: str = ""
) -> Response:
    """Return the page of raters; after a refusal the form keeps what was entered."""
    form_values = {name: visit.form_value(name) if problem else "" for name in ("names", "days", "role")}
    return visit.page(
        "owner_raters.html",
        422 if problem else 200,
        here="raters",
        raters=visit.store.raters(),
        links=links or {},
        message=message,
        problem=problem,
        form_values=form_values,
        now=visit.site.clock(),
    )
