"""The store at its edges: the moment a lease or a link ends, what progress counts, commits that must reach the disk."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rejoinder.annotation.errors import AnnotationError, AnsweredError, NotYoursError, TooFastError
from rejoinder.annotation.project import Project
from rejoinder.annotation.store import open_store
from rejoinder.annotation.store.base import Assignment, Judgement, Rater, Store
from rejoinder.annotation.store.people import admit_if_valid, check_person_name
from rejoinder.annotation.store.postgresql import FairSemaphore
from rejoinder.annotation.store.sqlite import SqliteDatabase
from tests.annotation_projects import answer_to, project_of, units_for


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def opened(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., Store]]:
    stores: list[Store] = []

    def open_one(project: Project, items: int = 4) -> Store:
        store = open_store(project, str(tmp_path / "store.sqlite"), clock)
        store.load(units_for(project, items))
        stores.append(store)
        return store

    yield open_one
    for store in stores:
        store.close()


def rater(store: Store, name: str = "ann") -> Rater:
    found = store.who(store.add_rater(name))
    assert found is not None
    return found


def taken(store: Store, me: Rater) -> Assignment:
    found = store.next_unit(me)
    assert found is not None
    return found


def answer(store: Store, me: Rater, given: Assignment, seconds: float = 5.0, seed: object = 0) -> Judgement:
    return store.submit(me, given.id, answer_to(store.project, given.unit, seed), seconds)


# ---- moments


def test_a_link_ends_at_its_moment(opened: Callable[..., Store], clock: Clock) -> None:
    store = opened(project_of())
    token = store.add_rater("ann", expires=clock.now + 10)
    clock.now += 9.999
    assert store.who(token) is not None
    clock.now += 0.001
    assert store.who(token) is None
    assert admit_if_valid(None, 0.0) is None
    me = Rater("1", "ann", "rater", 0.0, 5.0, False, None)
    assert (admit_if_valid(me, 4.999), admit_if_valid(me, 5.0)) == (me, None)
    assert admit_if_valid(replace(me, revoked=True), 0.0) is None


def test_who_has_been_shut_out_cannot_answer_what_is_in_hand(opened: Callable[..., Store], clock: Clock) -> None:
    store = opened(project_of())
    store.add_rater("ann", expires=clock.now + 10)
    (me,) = store.raters()
    given = taken(store, me)
    clock.now += 10
    with pytest.raises(NotYoursError):
        answer(store, me, given)


def test_a_lease_ends_at_its_moment(opened: Callable[..., Store], clock: Clock) -> None:
    project = replace(project_of(), raters_per_unit=1, lease_minutes=2)
    store = opened(project, 1)
    ann, bob = rater(store), rater(store, "bob")
    given = [taken(store, ann)]
    assert given[0].until == clock.now + 120
    assert store.find_assignment(ann, given[0].id) is not None
    while (found := store.next_unit(bob)) is not None:  # what else there is
        given.append(found)
        answer(store, bob, found)
    assert store.standing(bob).stage == "waiting"
    clock.now += 119.999
    assert store.next_unit(bob) is None
    assert store.progress().held == 1
    clock.now += 0.001
    assert store.progress().held == 0
    assert store.standing(bob).stage == "work"
    assert taken(store, bob).unit.id == given[0].unit.id
    assert store.next_unit(ann) is None


def test_an_answer_taken_back_can_be_changed_until_the_lease_is_over(
    opened: Callable[..., Store], clock: Clock
) -> None:
    store = opened(replace(project_of(), lease_minutes=2))
    me = rater(store)
    first = taken(store, me)
    said = answer(store, me, first)
    again = store.undo(me)
    assert again is not None
    assert again.previous == said.answer
    held = store.find_assignment(me, again.id)
    assert held is not None
    assert (held.taken, held.until) == (clock.now, clock.now + 120)
    clock.now += 119.999
    changed = answer(store, me, again, seed=1)
    assert changed.supersedes == said.id
    assert [one.id for one in store.judgements()] == [changed.id]
    assert [one.id for one in store.judgements(superseded=True)] == [said.id, changed.id]
    late = store.undo(me)
    assert late is not None
    clock.now += 120
    with pytest.raises(AnsweredError):
        answer(store, me, late, seed=2)


def test_the_least_time_is_enough_and_less_is_not(opened: Callable[..., Store], clock: Clock) -> None:
    store = opened(replace(project_of(), minimum_seconds=3))
    me = rater(store)
    given = taken(store, me)
    clock.now += 60
    with pytest.raises(TooFastError):
        answer(store, me, given, 2.999)
    assert answer(store, me, given, 3.0).seconds == 3.0
    given = taken(store, me)
    clock.now += 4
    assert answer(store, me, given, 1000.0).seconds == pytest.approx(4.0)  # no longer than it was in hand


# ---- what is counted


def test_progress_by_hand(opened: Callable[..., Store], clock: Clock) -> None:
    project = replace(project_of(), raters_per_unit=2, units_per_rater=0)
    store = opened(project, 3)
    units = len([unit for unit in store.units() if unit.kind == "unit"])
    ann, bob = rater(store), rater(store, "bob")
    store.add_rater("boss", "owner")
    for seconds in (2.0, 4.0, 9.0):
        given = taken(store, ann)
        clock.now += 60
        answer(store, ann, given, seconds)
    last = clock.now
    shared = taken(store, bob)
    clock.now += 60
    answer(store, bob, shared, 0.0)
    found = store.progress()
    assert (found.units, found.wanted, found.done, found.held) == (units, 2 * units, 4, 0)
    judged = [one.unit for one in store.judgements()]
    assert found.complete == sum(judged.count(unit) == 2 for unit in set(judged))
    assert [one.name for one in found.raters] == ["ann", "bob"]
    of_ann, of_bob = found.raters
    assert (of_ann.done, of_ann.median_seconds, of_ann.last, of_ann.stage) == (3, 4.0, last, "work")
    assert of_bob.done == 1
    assert math.isnan(of_bob.median_seconds)  # 0 seconds: not measured
    taken(store, bob)
    assert store.progress().held == 1


def test_standing_by_hand(opened: Callable[..., Store], clock: Clock) -> None:
    store = opened(replace(project_of(), units_per_rater=2), 4)
    me = rater(store)
    assert store.standing(me)[:3] == ("work", 0, 2)
    assert not store.standing(me).can_undo
    answer(store, me, taken(store, me))
    assert store.standing(me)[:3] == ("work", 1, 2)
    assert store.standing(me).can_undo
    answer(store, me, taken(store, me))
    assert store.standing(me)[:3] == ("finished", 2, 2)
    assert store.next_unit(me) is None


def test_what_was_judged_elsewhere_counts_once_and_needs_its_unit(opened: Callable[..., Store], clock: Clock) -> None:
    store = opened(project_of())
    unit = next(unit for unit in store.units() if unit.kind == "unit")
    said = answer_to(store.project, unit, 0)
    found = store.record("ann", unit.id, said, -5.0, 77.0)
    assert found is not None
    assert (found.seconds, found.at, found.rater) == (0.0, 77.0, "ann")
    assert store.record("ann", unit.id, said, 1.0) is None
    with pytest.raises(NotYoursError):
        store.record("ann", "no such unit", said, 1.0)
    assert store.progress().done == 1
    assert [one.name for one in store.raters()] == ["ann"]


def test_nobody_is_renewed_or_revoked_who_is_not_there(opened: Callable[..., Store]) -> None:
    store = opened(project_of())
    for change in (store.renew, store.revoke):
        with pytest.raises(AnnotationError, match="there is nobody called 'bob' in this project"):
            change("bob")
    with pytest.raises(AnnotationError, match="there is no role 'king'"):
        store.add_rater("bob", "king")  # type: ignore[arg-type]
    with pytest.raises(AnnotationError, match="this is a personal link"):
        store.admit(rater(store), "cyd")


def test_names_have_at_most_64_letters() -> None:
    check_person_name("a")
    check_person_name("a" * 64)
    for wrong in ("", "a" * 65, "-a", "a ", "_a"):
        with pytest.raises(AnnotationError, match="cannot be a rater's name; use at most 64 letters"):
            check_person_name(wrong)


# ---- the database


def test_a_commit_waits_for_the_disk_where_one_of_its_jobs_must(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "x.sqlite")
    database.write(lambda session: session.run("CREATE TABLE t (n)"))

    def synchronous(session: Any) -> int:
        return int(session.rows("PRAGMA synchronous")[0][0])

    assert database.write(synchronous, durable=True) == 2  # FULL
    assert database.write(synchronous, durable=False) == 1  # NORMAL
    inside, go, found = threading.Event(), threading.Event(), []

    def first(session: Any) -> None:
        inside.set()
        assert go.wait(20)

    jobs = [threading.Thread(target=database.write, args=(first,))]
    jobs[0].start()
    assert inside.wait(20)
    # These two wait together and so share one commit, which must be the safe one.
    for durable in (True, False):
        jobs.append(
            threading.Thread(
                target=lambda durable=durable: found.append(database.write(synchronous, durable=durable)),
            )
        )
        jobs[-1].start()
    deadline = time.monotonic() + 20
    while len(database._queue) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    go.set()
    for job in jobs:
        job.join(20)
    database.close()
    assert found == [2, 2]


def test_a_closed_database_is_let_go(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "x.sqlite")
    database.read(lambda session: session.rows("SELECT 1"))
    connections = list(database._all)
    assert len(connections) == 2
    database.close()
    for connection in connections:
        with pytest.raises(Exception, match="closed"):
            connection.execute("SELECT 1")


def test_those_who_wait_at_a_turnstile_get_in_in_their_order() -> None:
    turnstile, order, threads = FairSemaphore(1), [], []

    def pass_through(number: int) -> None:
        with turnstile:
            order.append(number)

    with turnstile:
        for number in range(5):
            threads.append(threading.Thread(target=pass_through, args=(number,)))
            threads[-1].start()
            deadline = time.monotonic() + 20
            while len(turnstile._waiting) <= number and time.monotonic() < deadline:
                time.sleep(0.005)
        assert order == []
    for thread in threads:
        thread.join(20)
    assert order == [0, 1, 2, 3, 4]
    with turnstile:  # the place is free again
        pass
