"""What one rater has done so far, as needed to decide what comes next."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from rejoinder.annotation.answers import is_accepted_answer
from rejoinder.annotation.store.base import Rater
from rejoinder.annotation.store.database import DatabaseSession
from rejoinder.annotation.store.unit_cache import UnitCache
from rejoinder.annotation.unit import place_check

# The latest judgement of an assignment is the one that no other supersedes.
LATEST = "NOT EXISTS (SELECT 1 FROM judgements later WHERE later.supersedes = j.id)"


@dataclass(frozen=True, slots=True)
class RaterHistory:
    """Units answered and open, checks answered (correctly or not), and the exercise."""

    done: frozenset[str]
    open: frozenset[str]
    checks: dict[str, bool]
    exercise: dict[int, dict[str, bool]]  # by attempt, by unit: whether it was right

    @property
    def failures(self) -> int:
        """How many checks were failed."""
        return sum(not right for right in self.checks.values())


def read_history(session: DatabaseSession, cache: UnitCache, rater: Rater) -> RaterHistory:
    """Read a rater's history."""
    project = cache.project
    rows = session.rows("SELECT unit, state FROM assignments WHERE rater = ? AND slot IS NOT NULL", rater.id)
    check_rows = session.rows(
        "SELECT a.unit, a.attempt, u.kind, u.hidden, j.answer FROM assignments a "
        "JOIN units u ON u.project = a.project AND u.id = a.unit JOIN judgements j ON j.assignment = a.id "
        f"WHERE a.rater = ? AND a.project = ? AND u.kind <> 'unit' AND u.retired = 0 AND {LATEST}",
        *(rater.id, project.name),
    )
    checks: dict[str, bool] = {}
    exercise: dict[int, dict[str, bool]] = {}
    for unit, attempt, kind, hidden, answer in check_rows:
        right = is_accepted_answer(orjson.loads(hidden).get("answer", {}), orjson.loads(answer))
        if kind == "exercise":
            exercise.setdefault(attempt, {})[unit] = right
        else:
            checks[unit] = right
    done = frozenset(unit for unit, state in rows if state == "done")
    return RaterHistory(done, frozenset(unit for unit, state in rows if state == "open"), checks, exercise)


def is_rater_stopped(cache: UnitCache, history: RaterHistory) -> bool:
    """Whether too many checks were failed."""
    return 0 < cache.project.stop_after <= history.failures


def exercise_attempt(cache: UnitCache, history: RaterHistory) -> tuple[int, bool]:
    """Return a rater's current attempt at the exercise (0 after the last one failed), and whether it was passed."""
    exercise = cache.project.exercise
    questions = cache.of_kind("exercise")
    for attempt in range(1, exercise.attempts + 1):
        answered = history.exercise.get(attempt, {})
        if sum(answered.values()) >= min(exercise.needed, len(questions)) and len(answered) >= len(questions):
            return attempt, True
        if len(answered) < len(questions):
            return attempt, False
    return 0, False


def next_due_check(cache: UnitCache, history: RaterHistory, rater: str) -> str | None:
    """Return the check that is due now, if any."""
    if len(history.checks) >= cache.n_checks:
        return None
    left = [id for id in cache.checks(rater) if id not in history.checks]
    due = place_check(len(history.checks), _check_interval(cache), cache.project.seed, rater)
    return left[0] if len(history.done) >= due else None


def count_checks_within(cache: UnitCache, units: int, rater: str) -> int:
    """Return how many checks a rater gets within a number of units."""
    every, seed = _check_interval(cache), cache.project.seed
    return sum(place_check(n, every, seed, rater) < units for n in range(cache.n_checks))


def _check_interval(cache: UnitCache) -> int:
    """Return the number of units per check, at most the number of units that one rater can get."""
    project = cache.project
    most = len(cache.of_kind("unit"))
    return max(1, min(project.checks_every, most, project.units_per_rater or most))
