"""The judgements of a project so far, as agreement is computed on them: ratings, times, and checks."""

from __future__ import annotations

from dataclasses import replace

from rejoinder.annotation.exports.ratings import to_ratings
from rejoinder.annotation.results import Results, read_results
from rejoinder.annotation.store.base import Store
from rejoinder.comparison.judgements import CheckTally, Judgements, sort_judgements
from rejoinder.types import Preference, Rating


def read_ratings_and_checks(store: Store) -> tuple[list[Rating | Preference], dict[str, CheckTally]]:
    """Return the ratings and preferences of units (without checks and exercise), and each rater's results on checks."""
    return list(to_ratings(read_results(store))), count_checks(store)


def count_checks(store: Store) -> dict[str, CheckTally]:
    """Count how many checks each rater answered, and how many correctly; raters without checks are left out."""
    return {
        rater.name: CheckTally(rater.checks_right, rater.checks) for rater in store.progress().raters if rater.checks
    }


def read_judgements(store: Store) -> Judgements:
    """Return the judgements sorted by aspect and rater; times include those of written texts."""
    results = read_results(store)
    judgements = sort_judgements(to_ratings(results), count_checks(store))
    return replace(judgements, seconds=_collect_times(results))


def _collect_times(results: Results) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {}
    for _, judgement in results.ordinary():
        if seconds := round(judgement.seconds, 3):  # 0: imported without a time
            times.setdefault(judgement.rater, []).append(seconds)
    return times
