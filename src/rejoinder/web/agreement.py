"""How well raters agree and whom to look at, from what is in the store now: what ``rejoinder agreement`` shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rejoinder.annotation.judged import judgements_of
from rejoinder.annotation.store.contract import Store
from rejoinder.report.agreement import aspect_table, class_table, rater_table, suspect_table
from rejoinder.report.table import Table
from rejoinder.verdict.agreement import examine, suspects

RESAMPLES = 1000  # as the command has it, so that both show the same numbers


class Agreement(NamedTuple):
    """The tables of the owner's page; ``suspects`` alone where nothing was chosen that could be compared."""

    aspects: Table | None
    suspects: Table
    classes: Table | None
    raters: Sequence[Table]


def agreement_of(store: Store, resamples: int = RESAMPLES) -> Agreement | None:
    """Agreement in every aspect, each rater against the rest, and signs against raters; None before the first answer.

    Checks and the exercise are no part of agreement; checks count as signs.
    """
    given = judgements_of(store)
    if not given.raters:
        return None
    found = [examine(judged, resamples=resamples) for judged in given.aspects.values()]
    signs = suspect_table(suspects(given, found))
    if not found:
        return Agreement(None, signs, None, ())
    return Agreement(aspect_table(found, given), signs, class_table(found), [rater_table(one) for one in found])
