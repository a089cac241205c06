"""What one rater has done so far, as far as it decides what comes next."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from rejoinder.annotation.answers import is_right
from rejoinder.annotation.store.base import Rater
from rejoinder.annotation.store.database import Session
from rejoinder.annotation.store.unit_cache import UnitCache
from rejoinder.annotation.unit import check_due

# The latest judgement of an assignment is the one that no other supersedes.
LATEST = "NOT EXISTS (SELECT 1 FROM judgements later WHERE later.supersedes = j.id)"


@dataclass(frozen=True, slots=True)
class History:
    """Units answered and in hand, checks answered (rightly or not), and the exercise."""

    done: frozenset[str]
    open: frozenset[str]
    checks: dict[str, bool]
    exercise: dict[int, dict[str, bool]]  # by attempt, by unit: whether it was right

    @property
    def failures(self) -> int:
        """How many checks were failed."""
        return sum(not right for right in self.checks.values())


def read_history(session: Session, holding: UnitCache, rater: Rater) -> History:
    """A rater's history."""
    project = holding.project
    rows = session.rows("SELECT unit, state FROM assignments WHERE rater = ? AND slot IS NOT NULL", rater.id)
    known = session.rows(
        "SELECT a.unit, a.attempt, u.kind, u.hidden, j.answer FROM assignments a "
        "JOIN units u ON u.project = a.project AND u.id = a.unit JOIN judgements j ON j.assignment = a.id "
        f"WHERE a.rater = ? AND a.project = ? AND u.kind <> 'unit' AND u.retired = 0 AND {LATEST}",
        *(rater.id, project.name),
    )
    checks: dict[str, bool] = {}
    exercise: dict[int, dict[str, bool]] = {}
    for unit, attempt, kind, hidden, answer in known:
        right = is_right(orjson.loads(hidden).get("answer", {}), orjson.loads(answer))
        if kind == "exercise":
            exercise.setdefault(attempt, {})[unit] = right
        else:
            checks[unit] = right
    done = frozenset(unit for unit, state in rows if state == "done")
    return History(done, frozenset(unit for unit, state in rows if state == "open"), checks, exercise)


def is_stopped(holding: UnitCache, history: History) -> bool:
    """Whether too many checks were failed."""
    return 0 < holding.project.stop_after <= history.failures


def exercise_attempt(holding: UnitCache, history: History) -> tuple[int, bool]:
    """The attempt at the exercise that a rater is in (0 after the last was failed), and whether it was passed."""
    exercise = holding.project.exercise
    questions = holding.of_kind("exercise")
    for attempt in range(1, exercise.attempts + 1):
        answered = history.exercise.get(attempt, {})
        if sum(answered.values()) >= min(exercise.needed, len(questions)) and len(answered) >= len(questions):
            return attempt, True
        if len(answered) < len(questions):
            return attempt, False
    return 0, False


def next_check(holding: UnitCache, history: History, rater: str) -> str | None:
    """The check that is due now, if any."""
    if len(history.checks) >= holding.checks_there:
        return None
    left = [id for id in holding.checks(rater) if id not in history.checks]
    due = check_due(len(history.checks), _check_interval(holding), holding.project.seed, rater)
    return left[0] if len(history.done) >= due else None


def count_checks_within(holding: UnitCache, units: int, rater: str) -> int:
    """How many checks a rater meets on the way through so many units."""
    every, seed = _check_interval(holding), holding.project.seed
    return sum(check_due(n, every, seed, rater) < units for n in range(holding.checks_there))


def _check_interval(holding: UnitCache) -> int:
    """The stretch of units that has one check; no longer than what one rater can be given."""
    project = holding.project
    most = len(holding.of_kind("unit"))
    return max(1, min(project.checks_every, most, project.units_per_rater or most))
