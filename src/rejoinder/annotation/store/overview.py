"""The standing of a rater, the progress of a project, and its judgements."""

from __future__ import annotations

import statistics
from typing import Any

import orjson

from rejoinder.annotation.answers import is_accepted_answer
from rejoinder.annotation.store import people
from rejoinder.annotation.store.assign import find_current_assignment, find_slot
from rejoinder.annotation.store.base import Judgement, ProjectProgress, Rater, RaterProgress, RaterStanding, Stage
from rejoinder.annotation.store.database import DatabaseSession
from rejoinder.annotation.store.history import (
    LATEST,
    RaterHistory,
    count_checks_within,
    exercise_attempt,
    is_rater_stopped,
    read_history,
)
from rejoinder.annotation.store.submit import find_undoable
from rejoinder.annotation.store.unit_cache import UnitCache


def compute_standing(session: DatabaseSession, cache: UnitCache, rater: Rater, now: float) -> RaterStanding:
    """Return how far a rater is; see ``RaterStanding``."""
    history = read_history(session, cache, rater)
    attempt, passed = exercise_attempt(cache, history)
    stage = _find_stage(session, cache, rater, history, now)
    left = cache.count_left(rater.name, history.done | cache.full)
    units = len(history.done) + left
    if quota := cache.project.units_per_rater:
        units = min(units, max(quota, len(history.done)))
    done = len(history.done) + len(history.checks)
    total = units + max(count_checks_within(cache, units, rater.name), len(history.checks))
    if stage in ("finished", "stopped", "unqualified"):
        total = done
    questions = len(cache.of_kind("exercise"))
    answered = questions if passed else len(history.exercise.get(attempt, {}))
    can_undo = stage != "stopped" and find_undoable(session, cache, rater, now) is not None
    return RaterStanding(stage, done, max(total, done + (stage == "work")), answered, questions, attempt, can_undo)


def _find_stage(session: DatabaseSession, cache: UnitCache, rater: Rater, history: RaterHistory, now: float) -> Stage:
    attempt, passed = exercise_attempt(cache, history)
    if cache.of_kind("exercise") and not passed:
        return "exercise" if attempt else "unqualified"
    if is_rater_stopped(cache, history):
        return "stopped"
    if find_current_assignment(session, cache, rater, now) is not None:
        return "work"
    search = find_slot(session, cache, rater, now)
    if search.place is not None:
        return "work"
    return "waiting" if search.held_by_others else "finished"


def compute_progress(session: DatabaseSession, cache: UnitCache, now: float) -> ProjectProgress:
    """Return how far the project is; see ``ProjectProgress``."""
    project = cache.project
    units = set(cache.of_kind("unit"))
    rows = session.rows(
        "SELECT unit, count(*) FROM assignments "
        "WHERE project = ? AND slot IS NOT NULL AND state = 'done' GROUP BY unit",
        project.name,
    )
    counts = {unit: count for unit, count in rows if unit in units}
    open_rows = session.rows(
        "SELECT count(*) FROM assignments WHERE project = ? AND state = 'open' AND leased_until > ?", project.name, now
    )
    by_rater: dict[str, list[Judgement]] = {}
    for judgement in read_stored_judgements(session, cache):
        by_rater.setdefault(judgement.rater, []).append(judgement)
    raters = tuple(
        _rater_progress(rater, by_rater.get(rater.name, []), compute_standing(session, cache, rater, now).stage)
        for rater in people.list_people(session, project.name)
        if rater.role == "rater"
    )
    raters_per_unit = project.raters_per_unit
    return ProjectProgress(
        len(units),
        sum(count >= raters_per_unit for count in counts.values()),
        raters_per_unit * len(units),
        sum(min(count, raters_per_unit) for count in counts.values()),
        open_rows[0][0],
        raters,
    )


def _rater_progress(rater: Rater, judgements: list[Judgement], stage: Stage) -> RaterProgress:
    units = [judgement for judgement in judgements if judgement.kind == "unit"]
    checks = [judgement for judgement in judgements if judgement.kind in ("gold", "attention")]
    exercise = [judgement for judgement in judgements if judgement.kind == "exercise"]
    times = [judgement.seconds for judgement in units if judgement.seconds > 0]  # 0: imported without a time
    return RaterProgress(
        rater.name,
        rater.role,
        stage,
        len(units),
        len(checks),
        sum(bool(judgement.right) for judgement in checks),
        sum(bool(judgement.right) for judgement in exercise),
        len(exercise),
        statistics.median(times) if times else float("nan"),
        max((judgement.at for judgement in judgements), default=None),
    )


def read_stored_judgements(session: DatabaseSession, cache: UnitCache, superseded: bool = False) -> list[Judgement]:
    """Return the judgements in order of time."""
    rows = session.rows(
        "SELECT j.id, j.assignment, a.unit, u.kind, r.name, j.answer, j.seconds, j.at, j.supersedes, u.hidden "
        "FROM judgements j JOIN assignments a ON a.id = j.assignment JOIN raters r ON r.id = a.rater "
        "JOIN units u ON u.project = a.project AND u.id = a.unit "
        f"WHERE a.project = ?{'' if superseded else f' AND {LATEST}'} ORDER BY j.at, j.id",
        cache.project.name,
    )
    return [_judgement_from_row(*row) for row in rows]


def _judgement_from_row(
    id: str,
    assignment: str,
    unit: str,
    kind: Any,
    rater: str,
    answer: str,
    seconds: float,
    at: float,
    supersedes: str | None,
    hidden: str,
) -> Judgement:
    values = orjson.loads(answer)
    right = None if kind == "unit" else is_accepted_answer(orjson.loads(hidden).get("answer", {}), values)
    return Judgement(id, assignment, unit, kind, rater, values, seconds, at, supersedes, right)
