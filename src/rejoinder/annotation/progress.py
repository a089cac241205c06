"""What the raters of a project have said so far, as agreement is counted on it: ratings, times, and checks."""

from __future__ import annotations

from dataclasses import replace

from rejoinder.annotation.exports.ratings import records_of
from rejoinder.annotation.results import Results, results_of
from rejoinder.annotation.store.base import Store
from rejoinder.comparison.judgements import Checked, Judgements, judgements
from rejoinder.types import Preference, Rating


def said_so_far(store: Store) -> tuple[list[Rating | Preference], dict[str, Checked]]:
    """Ratings and preferences of units (of no check and no exercise), and how each rater did on checks."""
    return list(records_of(results_of(store))), checks_of(store)


def checks_of(store: Store) -> dict[str, Checked]:
    """How many checks each rater answered, and how many rightly; raters who met none are left out."""
    return {one.name: Checked(one.checks_right, one.checks) for one in store.progress().raters if one.checks}


def judgements_of(store: Store) -> Judgements:
    """The same, sorted for looking at the people; times are there for written texts too."""
    results = results_of(store)
    found = judgements(records_of(results), checks_of(store))
    return replace(found, seconds=_times(results))


def _times(results: Results) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    for _, judgement in results.ordinary():
        if spent := round(judgement.seconds, 3):  # 0 is what was taken in from elsewhere without a time
            times.setdefault(judgement.rater, []).append(spent)
    return times
