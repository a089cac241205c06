"""The owner's pages of judgements: units with everybody's answers, filtered, and the decision about a unit."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from starlette.responses import Response

from rejoinder.annotation.answers import parse_answer_form
from rejoinder.annotation.errors import AnnotationError, AnswerError
from rejoinder.annotation.fields import list_fields
from rejoinder.annotation.store.base import ADJUDICATOR
from rejoinder.annotation.store.results import read_results
from rejoinder.annotation.store.review import UnitReview, review_units
from rejoinder.server.rater_pages import make_unit_page
from rejoinder.server.site import PageVisit, redirect_to
from rejoinder.server.templates import not_found_page

PER_PAGE = 25
ONLY = {"": "all units", "disputed": "disputed units", "comments": "units with comments", "decided": "decided units"}


@dataclass(frozen=True, slots=True)
class ReviewFilter:
    """Which units are listed, as the address says."""

    only: str = ""
    rater: str = ""
    search: str = ""
    page: int = 1

    @classmethod
    def of(cls, visit: PageVisit) -> ReviewFilter:
        """Read the filter from the address; what makes no sense is ignored."""
        query = visit.request.query_params
        only, page = query.get("only", ""), query.get("page", "1")
        number = int(page) if page.isdecimal() and 0 < len(page) < 7 else 1
        return cls(
            only if only in ONLY else "", query.get("rater", "")[:100], query.get("search", "")[:200], max(1, number)
        )

    def accepts(self, review: UnitReview) -> bool:
        """Whether a unit is to be listed."""
        by_kind = {
            "": True,
            "disputed": review.is_disputed,
            "comments": bool(review.comments),
            "decided": review.decision is not None,
        }
        return (
            by_kind[self.only]
            and (not self.rater or any(answer.rater == self.rater for answer in review.answers))
            and self.search.casefold() in review.text.casefold()
        )

    def link(self, page: int = 0, unit: str = "") -> str:
        """The address of another page, or of a unit, under the same filter."""
        values = {"only": self.only, "rater": self.rater, "search": self.search, "page": page}
        query = urlencode({name: value for name, value in values.items() if value})
        return "/owner/judgements" + (f"/{unit}" if unit else "") + (f"?{query}" if query else "")


def judgements_page(visit: PageVisit) -> Response:
    """List the units that somebody judged, the largest differences first."""
    reviews = review_units(read_results(visit.store))
    chosen = ReviewFilter.of(visit)
    listed = [review for review in reviews if chosen.accepts(review)]
    last = max(1, -(-len(listed) // PER_PAGE))
    page = min(chosen.page, last)
    return visit.page(
        "owner_judgements.html",
        here="judgements",
        reviews=listed[(page - 1) * PER_PAGE : page * PER_PAGE],
        total=len(listed),
        judged=len(reviews),
        disputed=sum(review.is_disputed for review in reviews),
        raters=sorted({answer.rater for review in reviews for answer in review.answers}),
        kinds=ONLY,
        chosen=chosen,
        page=page,
        last=last,
    )


def unit_page(visit: PageVisit) -> Response:
    """Show one unit with all answers, and the form for a decision."""
    return _unit_response(visit)


def decide_page(visit: PageVisit) -> Response:
    """Store the owner's decision about a unit."""
    unit = next((unit for unit in visit.store.units() if unit.id == visit.request.path_params["unit"]), None)
    if unit is None or unit.kind != "unit":
        return not_found_page()
    answer = parse_answer_form(list_fields(visit.site.project, unit), visit.pairs)
    try:
        visit.store.decide(unit.id, answer)
    except AnswerError as error:
        return _unit_response(visit, error.problems)
    except AnnotationError as error:
        return _unit_response(visit, {"": str(error)})
    return redirect_to(ReviewFilter.of(visit).link(unit=unit.id))


def _unit_response(visit: PageVisit, problems: dict[str, str] | None = None) -> Response:
    results = read_results(visit.store)
    unit_id = str(visit.request.path_params["unit"])
    reviews, chosen = review_units(results), ReviewFilter.of(visit)
    review = next((review for review in reviews if review.unit.id == unit_id), None)
    if review is None:
        return not_found_page()
    place, listed = _find_place(reviews, chosen, unit_id)
    decided = next((j for j in results.judgements if j.unit == unit_id and j.rater == ADJUDICATOR), None)
    fields = list_fields(visit.site.project, review.unit)
    return visit.page(
        "owner_unit.html",
        422 if problems else 200,
        here="judgements",
        review=review,
        chosen=chosen,
        place=place,
        total=len(listed),
        before=listed[place - 2] if place is not None and place > 1 else None,
        after=next(iter(listed[place or 0 :]), None),
        unit_page=make_unit_page(review.unit, fields, decided.answer if decided else None, problems),
    )


def _find_place(reviews: list[UnitReview], chosen: ReviewFilter, unit_id: str) -> tuple[int | None, list[str]]:
    """The place of a unit in its list, from 1, and the ids of the list; a unit that was decided may have left it."""
    listed = [review.unit.id for review in reviews if chosen.accepts(review)]
    return (listed.index(unit_id) + 1 if unit_id in listed else None), listed
