"""The store, on SQLite always and on PostgreSQL where a server can be had: nothing lost, nothing doubled, nothing seen
that should not be."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from rejoinder.annotation.errors import (
    AnnotationError,
    AnsweredError,
    AnswerError,
    LeaseLostError,
    NotYoursError,
    TooFastError,
)
from rejoinder.annotation.fields import list_fields
from rejoinder.annotation.project import Project, ProjectCheck, RaterExercise
from rejoinder.annotation.store import open_database, open_store
from rejoinder.annotation.store.base import Assignment, Judgement, Rater, Store
from rejoinder.annotation.store.sql_store import migrate_database, read_migrations
from rejoinder.annotation.unit import Unit, arrange_replies, order_units
from rejoinder.errors import InputError, RejoinderError, RunError
from tests import postgres_server
from tests.annotation_projects import NAMES, answer_to, project_of, units_for


class Clock:
    """A time that only moves when told."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    reason = postgres_server.why_not()
    if reason:
        pytest.skip(f"PostgreSQL: {reason}")
    url, stop = postgres_server.start()
    yield url
    stop()


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "store.sqlite")
    found: str = request.getfixturevalue("server")
    import psycopg

    with psycopg.connect(found, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS rejoinder CASCADE")
    return found


Opened = Callable[..., Store]


@pytest.fixture
def opened(url: str) -> Iterator[Opened]:
    """Open stores at the same database; they are closed at the end."""
    stores: list[Store] = []

    def open_one(project: Project | None = None, clock: Callable[[], float] = time.time, items: int = 4) -> Store:
        project = project or project_of()
        store = open_store(project, url, clock)
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


def answer(store: Store, me: Rater, given: Assignment, seed: object = 0) -> Judgement:
    return store.submit(me, given.id, answer_to(store.project, given.unit, seed), 5.0)


def taken(store: Store, me: Rater) -> Assignment:
    found = store.next_unit(me)
    assert found is not None
    return found


# Who comes in


def test_a_token_lets_in_one_person_and_only_its_digest_is_kept(opened: Opened, url: str) -> None:
    store = opened()
    token = store.add_rater("ann")
    found = store.who(token)
    assert found is not None
    assert (found.name, found.role) == ("ann", "rater")
    assert len(token) >= 32
    assert store.who(token[:-1]) is None
    assert store.who("") is None
    assert store.who("\ud800") is None
    database = open_database(url)
    kept = database.read(lambda session: session.rows("SELECT * FROM raters"))
    database.close()
    assert token not in repr(kept)
    if "://" not in url:
        assert token.encode() not in b"".join(p.read_bytes() for p in Path(url).parent.glob("store.sqlite*"))


def test_tokens_expire_are_renewed_and_revoked(opened: Opened) -> None:
    clock = Clock()
    store = opened(clock=clock)
    token = store.add_rater("ann", expires=clock.now + 10)
    assert store.who(token) is not None
    clock.now += 10
    assert store.who(token) is None
    second = store.renew("ann")
    assert store.who(token) is None
    me = store.who(second)
    assert me is not None
    assert store.rater(me.id) == me
    given = taken(store, me)
    store.revoke("ann")
    assert store.who(second) is None
    assert store.rater(me.id) is None
    with pytest.raises(NotYoursError):
        answer(store, me, given)
    with pytest.raises(AnnotationError, match="there is nobody called"):
        store.revoke("bob")


def test_a_token_is_worth_nothing_in_another_project(opened: Opened) -> None:
    token = opened().add_rater("ann")
    other = opened(project_of("compare", name="other"))
    assert other.who(token) is None
    assert other.raters() == []


@pytest.mark.parametrize("name", ["", " ann", "=cmd()", "a\nb", "x" * 65, "<b>", "'; DROP TABLE raters; --"])
def test_a_name_that_could_do_harm_is_refused(opened: Opened, name: str) -> None:
    with pytest.raises(AnnotationError, match="cannot be a rater's name"):
        opened().add_rater(name)


def test_a_name_is_given_once(opened: Opened) -> None:
    store = opened()
    store.add_rater("ann")
    with pytest.raises(AnnotationError, match="there is already somebody called 'ann'"):
        store.add_rater("ann")
    with pytest.raises(AnnotationError, match="there is no role"):
        store.add_rater("bob", "king")  # type: ignore[arg-type]


def test_an_entrance_lets_people_in_under_names_of_their_own(opened: Opened) -> None:
    store = opened()
    invited = rater(store, "invited")
    entrance = store.who(store.add_rater("prolific", "entrance"))
    assert entrance is not None
    first = store.admit(entrance, "5f0000000000000000000001")
    assert store.admit(entrance, "5f0000000000000000000001") == first
    assert first.by == entrance.id
    token = store.first_token(first.name)
    assert token is not None
    assert store.who(token) == first
    assert store.first_token(first.name) is None
    assert store.next_unit(first) is not None
    assert store.next_unit(entrance) is None
    token = store.renew(first.name)
    assert store.who(token) == first
    with pytest.raises(AnnotationError, match="has no access here"):
        store.admit(entrance, invited.name)
    with pytest.raises(AnnotationError, match="personal"):
        store.admit(invited, "somebody")
    store.revoke("prolific")
    assert store.rater(first.id) is None
    assert store.who(token) is None


def test_an_owner_is_given_nothing_to_judge(opened: Opened) -> None:
    store = opened()
    owner = store.who(store.add_rater("owner", "owner"))
    assert owner is not None
    assert store.next_unit(owner) is None


# What is handed out


def test_a_rater_gets_the_same_unit_until_it_is_answered_even_after_a_restart(opened: Opened) -> None:
    store = opened()
    me = rater(store)
    first = taken(store, me)
    assert taken(store, me) == first
    store.close()
    again = opened()
    assert taken(again, me) == first
    assert again.find_assignment(me, first.id) == first
    answer(again, me, first)
    assert taken(again, me).id != first.id
    assert again.find_assignment(me, first.id) is None


def test_units_come_in_the_raters_own_order_with_replies_as_that_rater_sees_them(opened: Opened) -> None:
    project = project_of("compare", raters_per_unit=5)
    store = opened(project)
    known = {unit.id: unit for unit in store.units()}
    for name in ("ann", "bob"):
        me, seen = rater(store, name), []
        while (given := store.next_unit(me)) is not None:
            seen.append(given.unit.id)
            assert given.unit.payload == arrange_replies(known[given.unit.id], project.seed, name).payload
            answer(store, me, given, name)
        assert seen == order_units(sorted(known), project.seed, name)


@pytest.mark.parametrize("form", NAMES)
def test_what_is_handed_out_hides_what_is_hidden(opened: Opened, form: Any) -> None:
    check = ProjectCheck({"appropriate": 1} if form == "rate" else {}, context_of(form), None)
    project = project_of(form, gold=(check,) if form == "rate" else (), checks_every=1)
    store = opened(project)
    me = rater(store)
    while (given := store.next_unit(me)) is not None:
        assert given.unit.hidden == {}
        assert given.unit.kind == "unit"
        assert "secret" not in repr(given)
        judgement = answer(store, me, given)
        assert (judgement.kind, judgement.right, judgement.explanation) == ("unit", None, "")


def context_of(form: str) -> str | None:
    return "item-0/secret-alpha" if form == "rate" else None


def test_every_unit_gets_its_raters_and_no_more(opened: Opened) -> None:
    store = opened(project_of(raters_per_unit=2))
    people = [rater(store, name) for name in ("ann", "bob", "cem")]
    stuck: set[str] = set()
    while len(stuck) < 3:
        for me in people:
            given = store.next_unit(me)
            if given is None:
                stuck.add(me.id)
            else:
                answer(store, me, given)
    counts = Counter(judgement.unit for judgement in store.judgements())
    assert set(counts.values()) == {2}
    assert len(counts) == 12
    assert all(store.standing(me).stage == "finished" for me in people)
    progress = store.progress()
    assert (progress.units, progress.complete, progress.wanted, progress.done, progress.held) == (12, 12, 24, 24, 0)


def test_an_expired_lease_goes_to_another_and_the_first_is_told(opened: Opened) -> None:
    clock = Clock()
    store = opened(project_of(raters_per_unit=1, replies_per_unit=0, lease_minutes=10), clock, items=1)
    ann, bob = rater(store, "ann"), rater(store, "bob")
    hers = taken(store, ann)
    assert store.next_unit(bob) is None
    assert store.standing(bob).stage == "waiting"
    clock.now += 599
    assert store.next_unit(bob) is None
    clock.now += 1
    his = taken(store, bob)
    assert his.unit.id == hers.unit.id
    with pytest.raises(LeaseLostError):
        answer(store, ann, hers)
    assert store.next_unit(ann) is None
    answer(store, bob, his)
    with pytest.raises(LeaseLostError):
        answer(store, ann, hers)
    assert [judgement.rater for judgement in store.judgements()] == ["bob"]


def test_a_late_answer_counts_where_nobody_took_the_place(opened: Opened) -> None:
    clock = Clock()
    store = opened(project_of(raters_per_unit=1, lease_minutes=10), clock)
    ann = rater(store)
    hers = taken(store, ann)
    clock.now += 6000
    assert answer(store, ann, hers).unit == hers.unit.id


def test_a_lost_place_that_came_free_again_takes_the_late_answer(opened: Opened) -> None:
    clock = Clock()
    store = opened(project_of(raters_per_unit=1, replies_per_unit=0, lease_minutes=10), clock, items=1)
    ann, bob, cem = (rater(store, name) for name in ("ann", "bob", "cem"))
    hers = taken(store, ann)
    clock.now += 600
    his = taken(store, bob)
    clock.now += 600
    theirs = taken(store, cem)
    assert hers.unit.id == his.unit.id == theirs.unit.id
    clock.now += 600
    mine = taken(store, ann)  # hers again, under the same id: a page that still shows it can be sent
    assert mine.id == hers.id
    assert answer(store, ann, mine).unit == hers.unit.id
    with pytest.raises(LeaseLostError):
        answer(store, cem, theirs)


def test_a_free_place_is_taken_before_one_whose_lease_is_over(opened: Opened) -> None:
    clock = Clock()
    store = opened(project_of(raters_per_unit=2, replies_per_unit=0, lease_minutes=10), clock, items=1)
    ann, bob, cem = (rater(store, name) for name in ("ann", "bob", "cem"))
    hers = taken(store, ann)
    clock.now += 6000
    taken(store, bob)
    answer(store, ann, hers)
    assert store.next_unit(cem) is None


def test_a_place_whose_holder_answers_in_the_last_moment_is_not_taken(url: str) -> None:
    """What is found in one moment may be gone in the next: between looking and taking, the holder sends the answer."""
    from rejoinder.annotation.store import assign, unit_cache

    clock = Clock()
    project = project_of(raters_per_unit=1, replies_per_unit=0, lease_minutes=10)
    store = open_store(project, url, clock)
    store.load(units_for(project, 1))
    ann, bob = rater(store, "ann"), rater(store, "bob")
    hers = taken(store, ann)
    clock.now += 600
    database = open_database(url)
    held = database.read(lambda session: unit_cache.load_unit_cache(session, project))
    found = database.read(lambda session: assign.find_slot(session, held, bob, clock.now))
    place = found.place
    assert place is not None
    assert place.evict == hers.id
    answer(store, ann, hers)
    assert database.write(lambda session: assign.claim_slot(session, held, bob, place, clock.now)) is None
    free = place._replace(evict=None)
    assert database.write(lambda session: assign.claim_slot(session, held, bob, free, clock.now)) is None
    assert [judgement.rater for judgement in store.judgements()] == ["ann"]
    database.close()
    store.close()


def test_a_rater_who_comes_back_late_gets_the_lease_renewed(opened: Opened) -> None:
    clock = Clock()
    store = opened(project_of(raters_per_unit=1, lease_minutes=10), clock)
    ann, bob = rater(store, "ann"), rater(store, "bob")
    hers = taken(store, ann)
    clock.now += 6000
    again = taken(store, ann)
    assert (again.id, again.until) == (hers.id, clock.now + 600)
    while (his := store.next_unit(bob)) is not None:
        assert his.unit.id != hers.unit.id
        answer(store, bob, his)


def test_two_pages_of_one_rater_show_one_unit(opened: Opened) -> None:
    store = opened(items=10)
    me = rater(store)
    found: list[Assignment | None] = []
    threads = [threading.Thread(target=lambda: found.append(store.next_unit(me))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({given.id for given in found if given}) == 1


def test_a_rater_stops_at_the_projects_number_of_units(opened: Opened) -> None:
    store = opened(project_of(units_per_rater=3))
    me = rater(store)
    for number in range(3):
        standing = store.standing(me)
        assert (standing.stage, standing.done, standing.total) == ("work", number, 3)
        answer(store, me, taken(store, me))
    assert store.next_unit(me) is None
    assert store.standing(me)[:3] == ("finished", 3, 3)


def test_nobody_validates_what_they_wrote(opened: Opened) -> None:
    store = opened(project_of("validate"))
    me = rater(store, "secret-alpha")
    mine = {unit.id for unit in store.units() if "secret-alpha" in unit.hidden["not_for"]}
    seen = set()
    while (given := store.next_unit(me)) is not None:
        seen.add(given.unit.id)
        answer(store, me, given)
    assert len(mine) == 4
    assert len(seen) == 8
    assert not seen & mine


# Answers


def test_a_wrong_answer_is_refused_and_the_unit_stays_in_hand(opened: Opened) -> None:
    store = opened()
    me = rater(store)
    given = taken(store, me)
    with pytest.raises(AnswerError) as error:
        store.submit(me, given.id, {"appropriate.r1": 9}, 3)
    assert set(error.value.problems) == {"appropriate.r1", "on-topic.r1"}
    assert store.judgements() == []
    assert taken(store, me) == given


def test_the_same_answer_sent_twice_is_one_judgement_and_another_is_refused(opened: Opened) -> None:
    store = opened()
    me = rater(store)
    given = taken(store, me)
    first = answer(store, me, given)
    assert answer(store, me, given) == first
    other = {name: 1 + value % 5 for name, value in first.answer.items() if isinstance(value, int)}
    with pytest.raises(AnsweredError):
        store.submit(me, given.id, other, 3)
    assert [judgement.id for judgement in store.judgements(superseded=True)] == [first.id]


def test_nobody_answers_for_another(opened: Opened) -> None:
    store = opened()
    ann, bob = rater(store, "ann"), rater(store, "bob")
    hers = taken(store, ann)
    for id in (hers.id, "nothing", "' OR 1=1 --", ""):
        with pytest.raises(NotYoursError):
            store.submit(bob, id, answer_to(store.project, hers.unit), 3)
        assert store.find_assignment(bob, id) is None


def test_an_answer_in_no_time_is_refused(opened: Opened) -> None:
    clock = Clock()
    store = opened(project_of(minimum_seconds=3), clock)
    me = rater(store)
    given = taken(store, me)
    clock.now += 2
    with pytest.raises(TooFastError, match=r"after 2\.0 seconds.*at least 3"):
        store.submit(me, given.id, answer_to(store.project, given.unit), 60)  # what a page claims is not believed
    clock.now += 2
    with pytest.raises(TooFastError):
        store.submit(me, given.id, answer_to(store.project, given.unit), 1)  # four since taken, one on the page
    judgement = store.submit(me, given.id, answer_to(store.project, given.unit), 3.5)
    assert judgement.seconds == 3.5
    again = store.undo(me)
    assert again is not None
    assert (
        store.submit(me, again.id, answer_to(store.project, again.unit, 1), 0.5).seconds == 0
    )  # a slip is mended fast


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0, 1e300])
def test_odd_times_become_the_time_since_it_was_taken(opened: Opened, seconds: float) -> None:
    clock = Clock()
    store = opened(clock=clock)
    me = rater(store)
    given = taken(store, me)
    clock.now += 7
    assert store.submit(me, given.id, answer_to(store.project, given.unit), seconds).seconds == 7


HOSTILE = [
    "'; DROP TABLE judgements; --",
    '"><script>alert(1)</script>',
    "%s ? :x $1",
    "\\x00 \\u0000",
    "🙂\u202e",
    "{}",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_come_out_as_they_went_in(opened: Opened, text: str) -> None:
    store = opened(project_of("write", comments=True))
    me = rater(store)
    given = taken(store, me)
    said = {field.name: text for field in list_fields(store.project, given.unit)}
    store.submit(me, given.id, said, 3)
    assert store.judgements()[0].answer == said


# Taking back


def test_undo_brings_the_last_answer_back_and_a_new_one_supersedes_it(opened: Opened) -> None:
    store = opened()
    me = rater(store)
    assert store.undo(me) is None
    assert not store.standing(me).can_undo
    answer(store, me, taken(store, me))
    last = answer(store, me, taken(store, me))
    third = taken(store, me)
    assert store.standing(me).can_undo
    again = store.undo(me)
    assert again is not None
    assert (again.id, again.previous) == (last.assignment, last.answer)
    assert again.unit.id == last.unit
    assert taken(store, me) == again
    assert last in store.judgements()  # until another is sent, what was said stays
    new = store.submit(me, again.id, answer_to(store.project, again.unit, "changed"), 2)
    assert new.supersedes == last.id
    assert taken(store, me) == third
    ids = [judgement.id for judgement in store.judgements()]
    assert new.id in ids
    assert last.id not in ids
    assert last.id in [judgement.id for judgement in store.judgements(superseded=True)]
    assert store.standing(me).done == 2


def test_undo_twice_goes_back_twice_and_returns_in_order(opened: Opened) -> None:
    store = opened(clock=Clock())
    me = rater(store)
    first = answer(store, me, taken(store, me))
    second = answer(store, me, taken(store, me))
    one, two = store.undo(me), store.undo(me)
    assert one is not None
    assert two is not None
    assert {one.id, two.id} == {first.assignment, second.assignment}
    assert one.id != two.id
    assert store.undo(me) is None
    given = taken(store, me)
    answer(store, me, given, "changed")
    assert taken(store, me).id != given.id
    answer(store, me, taken(store, me), "changed")
    assert len(store.judgements()) == 2
    assert len(store.judgements(superseded=True)) == 4


def test_an_undo_that_nothing_came_of_runs_out(opened: Opened) -> None:
    clock = Clock()
    store = opened(project_of(lease_minutes=10), clock)
    me = rater(store)
    last = answer(store, me, taken(store, me))
    again = store.undo(me)
    assert again is not None
    clock.now += 600
    assert taken(store, me).id != again.id
    with pytest.raises(AnsweredError):
        answer(store, me, again, "changed")
    assert [judgement.id for judgement in store.judgements()] == [last.id]
    assert store.undo(me) is not None


def test_an_answer_can_be_changed_again_and_again(opened: Opened) -> None:
    store = opened()
    me = rater(store)
    answer(store, me, taken(store, me))
    for seed in range(5):
        again = store.undo(me)
        assert again is not None
        answer(store, me, again, seed)
    chain = store.judgements(superseded=True)
    assert [j.supersedes for j in chain] == [None, *(j.id for j in chain[:-1])]
    assert [j.id for j in store.judgements()] == [chain[-1].id]


@pytest.mark.parametrize("statement", ["UPDATE judgements SET answer = '{}'", "DELETE FROM judgements"])
def test_the_database_itself_refuses_to_change_a_judgement(opened: Opened, url: str, statement: str) -> None:
    store = opened()
    me = rater(store)
    answer(store, me, taken(store, me))
    database = open_database(url)
    with pytest.raises((RunError, sqlite3.Error), match="never"):
        database.write(lambda session: session.run(statement))
    database.close()
    assert len(store.judgements()) == 1


# Exercises and checks


def exercise(needed: int = 2, attempts: int = 2) -> RaterExercise:
    questions = tuple(
        ProjectCheck(
            {"appropriate": right}, None, {"context": [f"Question {right}"], "reply": "Yes."}, f"It is {right}."
        )
        for right in (1, 5)
    )
    return RaterExercise(questions, needed, attempts)


def attempt(store: Store, me: Rater, *values: int) -> list[Judgement]:
    said = []
    for value in values:
        given = taken(store, me)
        assert given.unit.kind == "exercise"
        said.append(store.submit(me, given.id, {f.name: value for f in list_fields(store.project, given.unit)}, 2))
    return said


def test_the_exercise_comes_first_and_says_what_was_right(opened: Opened) -> None:
    store = opened(project_of(exercise=exercise()))
    me = rater(store)
    assert store.standing(me)[0::3] == ("exercise", 0, False)
    first, second = attempt(store, me, 1, 5)
    assert (first.right, first.explanation, second.right) == (True, "It is 1.", True)
    assert store.standing(me).stage == "work"
    given = taken(store, me)
    assert given.unit.kind == "unit"
    assert store.undo(me) is None  # an exercise is not done over
    assert store.progress().raters[0].exercise_right == 2
    assert store.progress().done == 0


def test_a_failed_exercise_is_tried_again_and_then_no_more(opened: Opened) -> None:
    store = opened(project_of(exercise=exercise()))
    me = rater(store)
    wrong = attempt(store, me, 1, 1)
    assert [judgement.right for judgement in wrong] == [True, False]
    assert store.standing(me).attempt == 2
    assert taken(store, me).attempt == 2
    attempt(store, me, 5, 5)
    assert store.next_unit(me) is None
    assert store.standing(me).stage == "unqualified"


def test_a_second_attempt_qualifies_and_fewer_right_answers_may_do(opened: Opened) -> None:
    store = opened(project_of(exercise=exercise()))
    ann = rater(store, "ann")
    attempt(store, ann, 5, 5, 1, 5)
    assert taken(store, ann).unit.kind == "unit"
    lenient = opened(project_of(name="lenient", exercise=exercise(needed=1)))
    bob = rater(lenient, "bob")
    attempt(lenient, bob, 1, 1)
    assert taken(lenient, bob).unit.kind == "unit"


def with_checks(**changes: Any) -> Project:
    gold = ProjectCheck({"appropriate": 4}, "item-1/secret-beta")
    attention = ProjectCheck({"appropriate": 2}, None, {"context": ["Read"], "reply": "Choose 2."})
    return project_of(gold=(gold,), attention=(attention,), **changes)


def test_checks_are_woven_in_without_showing(opened: Opened) -> None:
    store = opened(with_checks(checks_every=4))
    checks = {unit.id: unit.kind for unit in store.units() if unit.kind != "unit"}
    me, kinds = rater(store), []
    totals = set()
    while (given := store.next_unit(me)) is not None:
        kinds.append(checks.get(given.unit.id, "unit"))
        totals.add(store.standing(me).total)
        answer(store, me, given)
    assert Counter(kinds) == {"unit": 11, "gold": 1, "attention": 1}
    assert next(n for n, kind in enumerate(kinds) if kind != "unit") < 4  # one in the first stretch
    assert totals == {13}
    progress = store.progress()
    assert (progress.units, progress.done) == (11, 11)
    assert progress.raters[0].checks == 2
    right = [judgement.right for judgement in store.judgements() if judgement.kind != "unit"]
    assert progress.raters[0].checks_right == sum(map(bool, right))
    assert None not in right


def test_every_rater_meets_the_checks_in_other_places(opened: Opened) -> None:
    store = opened(with_checks(checks_every=5, raters_per_unit=10), items=10)
    checks = {unit.id for unit in store.units() if unit.kind != "unit"}
    places = set()
    for n in range(5):
        me, seen = rater(store, f"rater-{n}"), []
        while (given := store.next_unit(me)) is not None:
            seen.append(given.unit.id in checks)
            answer(store, me, given)
        places.add(tuple(i for i, is_check in enumerate(seen) if is_check))
    assert len(places) > 1
    assert all(len(found) == 2 for found in places)


def test_who_fails_too_many_checks_is_stopped(opened: Opened) -> None:
    store = opened(with_checks(checks_every=1, stop_after=1))
    me = rater(store)
    for _ in range(4):
        given = store.next_unit(me)
        if given is None:
            break
        store.submit(me, given.id, {field.name: 5 for field in list_fields(store.project, given.unit)}, 2)
    assert store.next_unit(me) is None
    assert store.standing(me).stage == "stopped"
    assert not store.standing(me).can_undo
    assert store.undo(me) is None


# Loading


def test_loading_again_keeps_adds_changes_and_retires(opened: Opened, url: str) -> None:
    project = project_of()
    store = open_store(project, url)
    units = units_for(project)
    assert store.load(units) == (12, 0, 0, 0)
    assert store.load(units) == (0, 12, 0, 0)
    changed = replace(units[0], payload={**units[0].payload, "goal": "new"})
    assert store.load([changed, *units[1:6]]) == (0, 5, 1, 6)
    assert store.progress().units == 6
    assert len(store.units()) == 12
    assert store.load(units) == (0, 11, 1, 0)
    store.close()


def test_what_was_judged_cannot_change(opened: Opened) -> None:
    store = opened()
    me = rater(store)
    judged = answer(store, me, taken(store, me)).unit
    units = units_for(store.project)
    changed = [replace(u, payload={**u.payload, "goal": "x"}) if u.id == judged else u for u in units]
    with pytest.raises(AnnotationError, match="has been judged"):
        store.load(changed)
    assert store.load([unit for unit in units if unit.id != judged]).retired == 1
    assert [judgement.unit for judgement in store.judgements()] == [judged]


def test_a_projects_form_cannot_change(opened: Opened, url: str) -> None:
    opened()
    other = project_of("compare")
    store = open_store(other, url)
    with pytest.raises(AnnotationError, match="rename this one"):
        store.load(units_for(other))
    store.close()


def test_projects_in_one_database_do_not_meet(opened: Opened) -> None:
    one, two = opened(), opened(project_of(name="two", raters_per_unit=1))
    ann = rater(one, "ann")
    also_ann = rater(two, "ann")
    answer(one, ann, taken(one, ann))
    assert two.judgements() == []
    assert two.next_unit(also_ann) is not None
    assert one.progress().raters[0].done == 1


# Judged elsewhere


def test_what_was_judged_elsewhere_is_taken_in_once(opened: Opened) -> None:
    store = opened()
    unit = store.units()[0]
    said = answer_to(store.project, unit)
    judgement = store.record("far-away", unit.id, said, 4, 123.0)
    assert judgement is not None
    assert store.record("far-away", unit.id, said, 4) is None
    with pytest.raises(AnsweredError):
        store.record("far-away", unit.id, answer_to(store.project, unit, "other"), 4)
    with pytest.raises(NotYoursError):
        store.record("far-away", "nothing", said, 4)
    with pytest.raises(AnswerError):
        store.record("far-away", store.units()[1].id, {}, 4)
    assert [(j.rater, j.unit, j.at) for j in store.judgements()] == [("far-away", unit.id, 123.0)]
    me = rater(store)
    while (given := store.next_unit(me)) is not None:
        answer(store, me, given)
    assert Counter(j.unit for j in store.judgements())[unit.id] == 2


# Many at once


def test_fifty_raters_at_once_lose_nothing_and_double_nothing(opened: Opened, url: str) -> None:
    project = project_of(raters_per_unit=3, checks_every=5, block=10)
    store = opened(project, items=40)
    people = [rater(store, f"rater-{n}") for n in range(50)]
    acknowledged: list[Judgement] = []
    wrong: list[BaseException] = []

    def work(me: Rater) -> None:
        try:
            drawn = random.Random(me.name)
            for _ in range(20):
                given = store.next_unit(me)
                if given is None:
                    return
                acknowledged.append(answer(store, me, given, me.name))
                if drawn.random() < 0.2 and (again := store.undo(me)) is not None:
                    acknowledged.append(answer(store, me, again, f"{me.name} again"))
                store.standing(me)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(me,)) for me in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    everything = store.judgements(superseded=True)
    assert sorted(j.id for j in everything) == sorted(j.id for j in acknowledged)
    counts = Counter(j.unit for j in store.judgements())
    assert len(counts) == 120
    assert set(counts.values()) == {3}  # 360 wanted, 1,000 offered
    assert max(Counter((j.unit, j.rater) for j in store.judgements()).values()) == 1
    database = open_database(url)
    held = database.read(lambda session: session.rows("SELECT unit, slot FROM assignments WHERE slot IS NOT NULL"))
    database.close()
    assert len(held) == len(set(map(tuple, held))) == 360


def test_leases_that_run_out_under_many_raters_never_give_a_place_twice(opened: Opened) -> None:
    project = project_of(raters_per_unit=2, lease_minutes=0.0005, replies_per_unit=0)  # 30 milliseconds
    store = opened(project, items=10)
    people = [rater(store, f"rater-{n}") for n in range(12)]
    wrong: list[BaseException] = []
    lost = []

    def work(me: Rater) -> None:
        drawn = random.Random(me.name)
        try:
            for _ in range(30):
                given = store.next_unit(me)
                if given is None:
                    time.sleep(0.01)
                    continue
                time.sleep(drawn.random() * 0.06)
                try:
                    answer(store, me, given, me.name)
                except LeaseLostError:
                    lost.append(given.id)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(me,)) for me in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    counts = Counter(j.unit for j in store.judgements())
    assert max(counts.values()) <= 2
    assert max(Counter((j.unit, j.rater) for j in store.judgements()).values()) == 1


def test_any_course_of_events_keeps_the_rules(opened: Opened, url: str) -> None:
    clock = Clock()
    project = with_checks(raters_per_unit=2, lease_minutes=1, checks_every=3, exercise=exercise(needed=0))
    store = opened(project, clock)
    people = [rater(store, f"rater-{n}") for n in range(4)]
    drawn = random.Random(11)
    said: dict[str, Judgement] = {}
    for _ in range(400):
        me = drawn.choice(people)
        clock.now += drawn.choice([0.5, 1, 30, 61])
        event = drawn.random()
        if event < 0.15:
            store.undo(me)
        elif event < 0.9:
            given = store.next_unit(me)
            if given is not None and drawn.random() < 0.8:
                judgement = answer(store, me, given, drawn.random())
                said[judgement.id] = judgement
        else:
            store.close()
            store = opened(project, clock)
    everything = store.judgements(superseded=True)
    assert {j.id for j in everything} == set(said)
    assert all(said[j.id].answer == j.answer for j in everything)
    latest = store.judgements()
    assert {j.id for j in everything} - {j.id for j in latest} == {j.supersedes for j in everything if j.supersedes}
    counts = Counter(j.unit for j in latest if j.kind == "unit")
    assert set(counts.values()) == {2}
    assert len(counts) == 11


_WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from rejoinder.annotation.store import open_store
from tests.annotation_projects import answer_to, project_of
project = project_of(raters_per_unit=1000)
store = open_store(project, sys.argv[2])
me = store.who(sys.argv[3])
print("ready", flush=True)
while (given := store.next_unit(me)) is not None:
    print(store.submit(me, given.id, answer_to(project, given.unit), 1.0).id, flush=True)
"""


def test_killing_writers_loses_nothing_that_was_acknowledged(opened: Opened, url: str) -> None:
    """Twenty processes killed on SQLite, four on PostgreSQL, four at a time; each says what was acknowledged."""
    store = opened(project_of(raters_per_unit=1000), items=150)
    drawn = random.Random(3)
    acknowledged: set[str] = set()
    root = str(Path(__file__).parent.parent)
    killed = 0
    for turn in range(5 if "://" not in url else 1):
        writers = []
        for n in range(4):
            token = store.add_rater(f"rater-{turn}-{n}")
            command = [sys.executable, "-c", _WRITER, root, url, token]
            writers.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        for writer in writers:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "ready\n"
        time.sleep(0.05 + drawn.random() * 0.2)
        for writer in writers:
            killed += writer.poll() is None
            os.kill(writer.pid, signal.SIGKILL)
        for writer in writers:
            out, _ = writer.communicate()
            # A line that was cut short was acknowledged to nobody.
            acknowledged |= {line[:-1] for line in out.splitlines(keepends=True) if line.endswith("\n")}
    found = store.judgements(superseded=True)
    assert acknowledged
    assert acknowledged <= {judgement.id for judgement in found}
    assert max(Counter((j.unit, j.rater) for j in found).values()) == 1
    assert killed == (20 if "://" not in url else 4)
    again = opened(project_of(raters_per_unit=1000), items=150)
    me = rater(again, "afterwards")
    assert answer(again, me, taken(again, me)).rater == "afterwards"


# Databases


def test_migrations_are_numbered_without_gaps_in_both_dialects() -> None:
    for dialect in ("sqlite", "postgresql"):
        assert sorted(read_migrations(dialect)) == list(range(1, len(read_migrations(dialect)) + 1))
        assert all(statements for _, statements in read_migrations(dialect).values())


def test_migrating_twice_does_nothing_and_a_newer_database_is_refused(url: str) -> None:
    database = open_database(url)
    assert migrate_database(database) == len(read_migrations(database.dialect))
    assert migrate_database(database) == 0
    database.write(lambda session: session.run("INSERT INTO migrations (number, name, at) VALUES (999, 'later', 0)"))
    with pytest.raises(InputError, match="newer rejoinder"):
        migrate_database(database)
    database.close()


def test_a_failed_write_leaves_nothing_behind(url: str) -> None:
    database = open_database(url)
    migrate_database(database)

    def job(session: Any) -> None:
        session.run("INSERT INTO projects (id, form, created) VALUES ('x', 'rate', 0)")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        database.write(job)
    assert database.read(lambda session: session.rows("SELECT * FROM projects")) == []
    database.close()


def test_a_failed_write_takes_none_of_its_neighbours_with_it(url: str) -> None:
    database = open_database(url)
    migrate_database(database)
    outcomes: list[str] = []

    def write(n: int) -> None:
        def job(session: Any) -> None:
            session.run("INSERT INTO projects (id, form, created) VALUES (?, 'rate', 0)", str(n))
            if n % 3 == 0:
                raise ValueError(str(n))

        try:
            database.write(job)
            outcomes.append(str(n))
        except ValueError:
            pass

    threads = [threading.Thread(target=write, args=(n,)) for n in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = {row[0] for row in database.read(lambda session: session.rows("SELECT id FROM projects"))}
    assert kept == set(outcomes) == {str(n) for n in range(60) if n % 3}
    database.close()


def test_the_sqlite_file_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)  # so that nobody else's caution makes up for ours
    try:
        store = open_store(project_of(), str(tmp_path / "deep" / "store.sqlite"))
        store.load(units_for(project_of()))
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "deep").iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(("store.sqlite", "store.sqlite-shm", "store.sqlite-wal"), 0o600)


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(b"This is a letter to my aunt. " * 100)
    with pytest.raises(RejoinderError, match="cannot be used as a database"):
        open_store(project_of(), str(path))
    with pytest.raises(RejoinderError):
        open_store(project_of(), str(tmp_path))


def test_a_server_that_is_not_there_is_told_without_the_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(InputError, match="could not be reached") as error:
        open_store(project_of(), "postgresql://me:geheim@127.0.0.1:9/nothing")
    assert "geheim" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:zqa zqb@127.0.0.1:9/nothing",
        "postgresql://me:zqa/zqb@127.0.0.1:9/nothing",
        "postgresql://me:12/zqa-zqb@127.0.0.1:9/nothing",
        "postgresql://me:zqa@zqb@127.0.0.1:9/nothing",
        "postgresql://me:zqa%zzzqb@127.0.0.1:9/nothing",
        "postgresql://me@127.0.0.1:9/nothing?password=zqa zqb",
    ],
)
def test_a_password_that_is_not_percent_encoded_is_told_without_it(url: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(InputError, match="percent-encode") as error:
        open_store(project_of(), url)
    assert "zq" not in str(error.value)


@pytest.mark.parametrize("url", ["mysql://me:geheim@host/db", "mssql+pyodbc://me:geheim@host/db", "http://host/db"])
def test_a_database_of_another_kind_is_refused_without_its_password(url: str, tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"^databases of the kind \S+:// are not supported; name a file or postgresql://"
    ) as error:
        open_store(project_of(), url)
    assert "geheim" not in str(error.value)
    assert not list(Path().glob("mysql*"))


def test_answers_are_stored_as_json_in_the_order_of_the_form(opened: Opened, url: str) -> None:
    store = opened()
    me = rater(store)
    answer(store, me, taken(store, me))
    database = open_database(url)
    (row,) = database.read(lambda session: session.rows("SELECT answer FROM judgements"))
    database.close()
    assert list(orjson.loads(row[0])) == ["appropriate.r1", "on-topic.r1"]


def test_units_survive_the_way_into_the_database_and_back(opened: Opened) -> None:
    for form in NAMES:
        project = project_of(form, name=form)
        store = opened(project)
        by_id: dict[str, Unit] = {unit.id: unit for unit in units_for(project)}
        assert {unit.id: unit for unit in store.units()} == by_id
