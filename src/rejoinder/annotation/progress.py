"""What the raters of a project have said so far, as agreement is counted on it: ratings, times, and checks."""

from __future__ import annotations

from dataclasses import replace

from rejoinder.annotation.exports.ratings import to_ratings
from rejoinder.annotation.results import Results, read_results
from rejoinder.annotation.store.base import Store
from rejoinder.comparison.judgements import CheckTally, Judgements, sort_judgements
from rejoinder.types import Preference, Rating


def read_ratings_and_checks(store: Store) -> tuple[list[Rating | Preference], dict[str, CheckTally]]:
    """Ratings and preferences of units (of no check and no exercise), and how each rater did on checks."""
    return list(to_ratings(read_results(store))), count_checks(store)


def count_checks(store: Store) -> dict[str, CheckTally]:
    """How many checks each rater answered, and how many rightly; raters who met none are left out."""
    return {one.name: CheckTally(one.checks_right, one.checks) for one in store.progress().raters if one.checks}


def read_judgements(store: Store) -> Judgements:
    """The same, sorted for looking at the people; times are there for written texts too."""
    results = read_results(store)
    found = sort_judgements(to_ratings(results), count_checks(store))
    return replace(found, seconds=_collect_times(results))


def _collect_times(results: Results) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    for _, judgement in results.ordinary():
        if spent := round(judgement.seconds, 3):  # 0 is what was taken in from elsewhere without a time
            times.setdefault(judgement.rater, []).append(spent)
    return times
