"""How far a rater is, how far a project is, and what was judged."""

from __future__ import annotations

import statistics
from typing import Any

import orjson

from rejoinder.annotation.answers import is_right
from rejoinder.annotation.store import people
from rejoinder.annotation.store.assign import find_current_assignment, find_slot
from rejoinder.annotation.store.base import Judgement, ProjectProgress, Rater, RaterProgress, RaterStanding, Stage
from rejoinder.annotation.store.database import Session
from rejoinder.annotation.store.history import (
    LATEST,
    History,
    count_checks_within,
    exercise_attempt,
    is_stopped,
    read_history,
)
from rejoinder.annotation.store.submit import find_undoable
from rejoinder.annotation.store.unit_cache import UnitCache


def compute_standing(session: Session, holding: UnitCache, rater: Rater, now: float) -> RaterStanding:
    """How far a rater is; see ``Standing``."""
    history = read_history(session, holding, rater)
    attempt, passed = exercise_attempt(holding, history)
    stage = _find_stage(session, holding, rater, history, now)
    left = holding.left(rater.name, history.done | holding.full)
    units = len(history.done) + left
    if quota := holding.project.units_per_rater:
        units = min(units, max(quota, len(history.done)))
    done = len(history.done) + len(history.checks)
    total = units + max(count_checks_within(holding, units, rater.name), len(history.checks))
    if stage in ("finished", "stopped", "unqualified"):
        total = done
    questions = len(holding.of_kind("exercise"))
    answered = questions if passed else len(history.exercise.get(attempt, {}))
    can_undo = stage != "stopped" and find_undoable(session, holding, rater, now) is not None
    return RaterStanding(stage, done, max(total, done + (stage == "work")), answered, questions, attempt, can_undo)


def _find_stage(session: Session, holding: UnitCache, rater: Rater, history: History, now: float) -> Stage:
    attempt, passed = exercise_attempt(holding, history)
    if holding.of_kind("exercise") and not passed:
        return "exercise" if attempt else "unqualified"
    if is_stopped(holding, history):
        return "stopped"
    if find_current_assignment(session, holding, rater, now) is not None:
        return "work"
    found = find_slot(session, holding, rater, now)
    if found.place is not None:
        return "work"
    return "waiting" if found.held_by_others else "finished"


def compute_progress(session: Session, holding: UnitCache, now: float) -> ProjectProgress:
    """How far the project is; see ``Progress``."""
    project = holding.project
    units = set(holding.of_kind("unit"))
    answered = session.rows(
        "SELECT unit, count(*) FROM assignments "
        "WHERE project = ? AND slot IS NOT NULL AND state = 'done' GROUP BY unit",
        project.name,
    )
    counts = {unit: count for unit, count in answered if unit in units}
    held = session.rows(
        "SELECT count(*) FROM assignments WHERE project = ? AND state = 'open' AND leased_until > ?", project.name, now
    )
    by_rater: dict[str, list[Judgement]] = {}
    for judgement in read_judgements(session, holding):
        by_rater.setdefault(judgement.rater, []).append(judgement)
    raters = tuple(
        _rater_progress(rater, by_rater.get(rater.name, []), compute_standing(session, holding, rater, now).stage)
        for rater in people.list_people(session, project.name)
        if rater.role == "rater"
    )
    wanted = project.raters_per_unit
    return ProjectProgress(
        len(units),
        sum(count >= wanted for count in counts.values()),
        wanted * len(units),
        sum(min(count, wanted) for count in counts.values()),
        held[0][0],
        raters,
    )


def _rater_progress(rater: Rater, said: list[Judgement], stage: Stage) -> RaterProgress:
    units = [one for one in said if one.kind == "unit"]
    checks = [one for one in said if one.kind in ("gold", "attention")]
    exercise = [one for one in said if one.kind == "exercise"]
    times = [one.seconds for one in units if one.seconds > 0]  # 0: taken in from elsewhere without a time
    return RaterProgress(
        rater.name,
        rater.role,
        stage,
        len(units),
        len(checks),
        sum(bool(one.right) for one in checks),
        sum(bool(one.right) for one in exercise),
        len(exercise),
        statistics.median(times) if times else float("nan"),
        max((one.at for one in said), default=None),
    )


def read_judgements(session: Session, holding: UnitCache, superseded: bool = False) -> list[Judgement]:
    """What was judged, in the order of time."""
    rows = session.rows(
        "SELECT j.id, j.assignment, a.unit, u.kind, r.name, j.answer, j.seconds, j.at, j.supersedes, u.hidden "
        "FROM judgements j JOIN assignments a ON a.id = j.assignment JOIN raters r ON r.id = a.rater "
        "JOIN units u ON u.project = a.project AND u.id = a.unit "
        f"WHERE a.project = ?{'' if superseded else f' AND {LATEST}'} ORDER BY j.at, j.id",
        holding.project.name,
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
    said = orjson.loads(answer)
    right = None if kind == "unit" else is_right(orjson.loads(hidden).get("answer", {}), said)
    return Judgement(id, assignment, unit, kind, rater, said, seconds, at, supersedes, right)
