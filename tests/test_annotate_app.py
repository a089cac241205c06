"""The pages of ``rejoinder annotate``: every form, every page, undo, errors, and the owner's side."""

from __future__ import annotations

import csv
import html
import json
import os
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

import rejoinder
from rejoinder.annotation.unit import AnswerOption
from rejoinder.cli import program
from rejoinder.errors import InputError, MissingExtraError
from rejoinder.server.limits import RecentDigests, RequestRate, ServerLimits, TokenBuckets
from rejoinder.server.limits import client_key as key_of
from rejoinder.server.login import parse_new_names
from rejoinder.server.owner_pages import compute_agreement
from rejoinder.server.rater_pages import option_keys
from rejoinder.server.server import HEAD_SECONDS, is_loopback, open_listening_socket, socket_url
from rejoinder.server.templates import column_head, format_moment, format_seconds, format_share, split_blocks
from rejoinder.stats.agreement import krippendorff_alpha
from tests.annotate_gallery import ATTENTION, Clock, judge, project_at
from tests.annotate_site import (
    EXERCISE,
    FORMS,
    SYSTEMS,
    answered,
    client_of,
    entered,
    finish,
    form_of,
    options_of,
    store_of,
    stores_are_closed,  # noqa: F401
    write_project,
)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_can_be_answered_to_the_end(form: str, tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path, form, items=2, extra="units_per_rater = 2\nraters_per_unit = 1"))
    client = entered(store)
    assert "Read all of it." in client.get("/").text
    for done in range(2):
        page = client.get("/work")
        assert page.status_code == 200
        assert f"Unit {done + 1} of 2" in page.text
        sent = client.post("/work", data=answered(page.text), follow_redirects=False)
        assert (sent.status_code, sent.headers["location"]) == (303, "/work")
    assert "Done. Thank you!" in client.get("/work").text
    assert len(store.judgements()) == 2


@pytest.mark.parametrize("form", FORMS)
def test_no_page_of_a_rater_names_a_system_an_id_or_another_rater(form: str, tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path, form, extra="comments = true"))
    other = entered(store, "bea-the-other")
    other.post("/work", data=answered(other.get("/work").text, "what the other one wrote"))
    client = entered(store)
    seen = finish(client) + client.get("/").text
    for secret in (*SYSTEMS, "bea-the-other", "what the other one wrote", "retrieved", "i0-", "q0/"):
        assert secret not in seen


def test_an_exercise_says_what_was_expected_and_then_work_begins(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path, tables=EXERCISE))
    client = entered(store)
    assert "An exercise first" in client.get("/").text
    page = client.get("/work").text
    assert "Exercise 1 of 2" in page
    right = client.post("/work", data={**answered(page), "appropriate.r1": "5"})
    assert "As expected" in right.text
    assert "It answers the question." in right.text
    page = client.get("/work").text
    wrong = client.post("/work", data={**answered(page), "appropriate.r1": "5"})
    assert "Not as expected" in wrong.text
    assert "nothing to do with the question" in wrong.text
    assert "You have passed the exercise" in wrong.text
    assert "Unit 1 of" in client.get("/work").text


def test_an_exercise_that_is_failed_twice_ends_it(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path, tables=EXERCISE.replace("needed = 1", "needed = 2")))
    client = entered(store)
    for number_ in range(4):
        page = client.get("/work").text
        feedback = client.post("/work", data={**answered(page), "appropriate.r1": "5"}).text
        if number_ == 1:
            assert "this is attempt 2 of 2" in feedback
    assert "That was your last attempt" in feedback
    assert "You did not pass the exercise" in client.get("/work").text


def test_an_answer_can_be_taken_back_and_is_superseded(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    client = entered(store)
    first = client.get("/work").text
    client.post("/work", data={**answered(first), "appropriate.r1": "4"})
    second = client.get("/work").text
    undone = client.post("/undo", data=form_of(second, "/undo"))
    assert "Again: " in undone.text
    assert form_of(undone.text)["appropriate.r1"] == "4"
    client.post("/work", data={**form_of(undone.text), "appropriate.r1": "2"})
    assert [j.answer["appropriate.r1"] for j in store.judgements()] == [2]
    assert len(store.judgements(superseded=True)) == 2
    assert form_of(client.get("/work").text)["assignment"] == form_of(second)["assignment"]


def test_undo_with_nothing_to_undo_goes_on_with_the_work(tmp_path: Path) -> None:
    client = entered(store_of(write_project(tmp_path)))
    page = client.get("/work").text
    assert "Unit 1 of" in client.post("/undo", data=form_of(page, "/undo")).text


def test_an_incomplete_answer_comes_back_with_what_was_chosen_and_what_is_missing(tmp_path: Path) -> None:
    client = entered(store_of(write_project(tmp_path)))
    sent = form_of(client.get("/work").text)
    back = client.post("/work", data={**sent, "appropriate.r1": "4"})
    assert back.status_code == 422
    assert "please answer this" in back.text
    assert form_of(back.text)["appropriate.r1"] == "4"
    assert 'aria-invalid="true"' in back.text
    assert "<title>Not saved: " in back.text


def test_an_edit_is_asked_for_only_where_a_reference_is_edited(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path, "review"))
    client = entered(store)
    page = client.get("/work").text
    assert "Is it open? found" in form_of(page)["text.r1"]
    empty = client.post("/work", data={**form_of(page), "verdict.r1": "edit", "text.r1": " "})
    assert empty.status_code == 422
    client.post("/work", data={**form_of(page), "verdict.r1": "edit", "text.r1": "Better."})
    assert store.judgements()[0].answer == {"verdict.r1": "edit", "text.r1": "Better."}
    page = client.get("/work").text
    client.post("/work", data={**form_of(page), "verdict.r1": "accept"})
    assert store.judgements()[1].answer == {"verdict.r1": "accept"}


def test_an_answer_that_comes_too_fast_is_not_kept_and_may_be_sent_again(tmp_path: Path) -> None:
    now = [1000.0]
    store = store_of(write_project(tmp_path, extra="minimum_seconds = 3"), lambda: now[0])
    client = client_of(store, clock=lambda: now[0])
    client.get(f"/r/{store.add_rater('ann')}")
    answer = {**answered(client.get("/work").text), "seconds": "900"}
    now[0] += 1
    back = client.post("/work", data=answer)
    assert back.status_code == 422
    assert "at least 3" in back.text
    now[0] += 5
    assert client.post("/work", data=answer, follow_redirects=False).status_code == 303
    assert store.judgements()[0].seconds == 6.0


def test_sending_a_form_twice_keeps_one_judgement(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    client = entered(store)
    answer = answered(client.get("/work").text)
    for _ in range(3):
        assert client.post("/work", data=answer, follow_redirects=False).status_code == 303
    assert len(store.judgements(superseded=True)) == 1
    other = client.post("/work", data={**answer, "appropriate.r1": "5"})
    assert other.status_code == 409
    assert "already has a different answer" in other.text


def test_an_assignment_that_expired_and_was_given_away_says_so(tmp_path: Path) -> None:
    now = [1000.0]
    path = write_project(tmp_path, items=1, extra="raters_per_unit = 1\nlease_minutes = 10\nreplies_per_unit = 0")
    store = store_of(path, lambda: now[0])
    first, second = (client_of(store, clock=lambda: now[0]) for _ in range(2))
    first.get(f"/r/{store.add_rater('ann')}")
    second.get(f"/r/{store.add_rater('bea')}")
    mine = answered(first.get("/work").text)
    assert "Nothing to do right now" in second.get("/work").text
    now[0] += 601
    assert second.post("/work", data=answered(second.get("/work").text), follow_redirects=False).status_code == 303
    late = first.post("/work", data=mine)
    assert late.status_code == 409
    assert "given to another rater" in late.text
    assert [j.rater for j in store.judgements()] == ["bea"]


def test_the_same_unit_stays_in_hand_until_it_is_answered(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    token = store.add_rater("ann")
    seen = set()
    for _ in range(3):  # a new browser each time
        client = client_of(store)
        client.get(f"/r/{token}")
        seen.add(form_of(client.get("/work").text)["assignment"])
    assert len(seen) == 1


def test_the_end_shows_a_link_only_where_it_is_one(tmp_path: Path) -> None:
    for completion, wanted in (
        ("https://example.org/done?code=1", 'href="https://example.org/done?code=1"'),
        ("CODE-17", '<code class="code">CODE-17</code>'),
        ("javascript:alert(1)", '<code class="code">javascript:alert(1)</code>'),
    ):
        folder = tmp_path / completion[:4]
        extra = f'units_per_rater = 1\ncompletion = "{completion}"'
        client = entered(store_of(write_project(folder, extra=extra)))
        client.post("/work", data=answered(client.get("/work").text))
        assert wanted in client.get("/work").text


def test_leaving_ends_the_session_and_the_link_still_works(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    token = store.add_rater("ann")
    client = client_of(store)
    page = client.get(f"/r/{token}").text
    assert "You have signed out" in client.post("/leave", data=form_of(page, "/leave")).text
    assert client.get("/work").status_code == 404
    assert client.get(f"/r/{token}").status_code == 200


def test_participants_come_through_an_entrance_under_their_own_ids(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    link = f"/r/{store.add_rater('pool', 'entrance')}"
    client = client_of(store)
    assert "participant id" in client.get(link).text
    assert client.get(link, params={"PROLIFIC_PID": "<script>"}).status_code == 422
    client.get(link, params={"PROLIFIC_PID": "5f00aa", "STUDY_ID": "s"})
    client.post("/work", data=answered(client.get("/work").text))
    assert [j.rater for j in store.judgements()] == ["5f00aa"]
    assert "1 of 6 done" in client.get(link, params={"PROLIFIC_PID": "5f00aa"}).text  # in the same browser
    store.revoke("pool")
    assert client.get("/").status_code == 403


def test_the_page_of_an_entrance_has_its_style_for_who_has_the_link(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    token = store.add_rater("pool", "entrance")
    client = client_of(store)
    page = client.get(f"/r/{token}", params={"PROLIFIC_PID": 'no "id"'})
    assert page.status_code == 422
    assert "This is not a valid participant id." in page.text
    assert "no &#34;id&#34;" in page.text
    assert f"/r/{token}/annotate.css" in page.text
    style = client.get(f"/r/{token}/annotate.css")
    assert (style.status_code, style.headers["content-type"].partition(";")[0]) == (200, "text/css")
    store.revoke("pool")
    assert client.get(f"/r/{token}/annotate.css").status_code == 404


def test_an_entrance_lets_nobody_take_a_name_that_was_not_made_through_it(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    store.add_rater("ann")
    store.add_rater("chief", "owner")
    link = f"/r/{store.add_rater('pool', 'entrance')}"
    for name in ("ann", "chief", "pool"):
        client = client_of(store)
        assert client.get(link, params={"PROLIFIC_PID": name}).status_code == 404
        assert client.get("/").status_code == 404
        assert client.get("/owner").status_code == 404


def _judged(page: str, good: str) -> dict[str, Any]:
    return {**answered(page), "appropriate.r1": "1" if "I do not know" in page else good}


def test_the_owner_sees_progress_and_agreement(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path, extra="raters_per_unit = 2", tables=EXERCISE))
    for name, good in (("ann", "5"), ("bea", "4")):
        finish(entered(store, name), partial(_judged, good=good))
    owner = entered(store, "chief", "owner")
    progress = owner.get("/owner").text
    assert "12 of 12" in progress
    assert "6 of 6" in progress
    assert "finished" in progress
    shown = owner.get("/owner/agreement").text
    rows = [[1.0, 1.0]] * 3 + [[5.0, 4.0]] * 3
    assert f"{krippendorff_alpha(rows).value:.3f} [" in shown
    assert "on-topic" in shown


def _answered(page: str, value: str) -> dict[str, str]:
    """The form of a unit with one number everywhere, and a comment."""
    return dict.fromkeys(set(re.findall(r'name="([a-z-]+\.r\d)"', page)), value) | {"comment": f"I gave {value}."}


def _disputed_store(tmp_path: Path) -> Any:
    store = store_of(write_project(tmp_path, items=2, extra="raters_per_unit = 2\ncomments = true"))
    for name, number in (("ann", "1"), ("bea", "5")):
        finish(entered(store, name), lambda page, number=number: form_of(page) | _answered(page, number))
    return store


def test_the_owner_reads_filters_and_decides_disputed_units(tmp_path: Path) -> None:
    store = _disputed_store(tmp_path)
    owner = entered(store, "chief", "owner")
    page = owner.get("/owner/judgements").text
    assert "I gave 1." in page
    assert "secret-alpha" in page  # the owner may know
    assert "disputed" in page
    assert "0 units" in owner.get("/owner/judgements?only=decided").text
    assert "0 units" in owner.get("/owner/judgements?search=no-such-word").text
    assert "0 units" in owner.get("/owner/judgements?rater=nobody").text
    address = re.findall(r'href="(/owner/judgements/[0-9a-f]+)"', page)[0]
    unit = owner.get(address).text
    form = {"csrf": form_of(unit, address)["csrf"]}
    refused = owner.post(address, data=form)
    assert refused.status_code == 422
    done = owner.post(address, data={**form, **_answered(unit, "3")})
    assert "your decision" in done.text
    assert "1 unit" in owner.get("/owner/judgements?only=decided").text
    owner.post(address, data={**form, **_answered(unit, "4")})
    ratings = [json.loads(line) for line in owner.get("/owner/export/ratings").text.splitlines()]
    decided = [one for one in ratings if one["rater"] == "adjudicator"]
    assert {one["value"] for one in decided} == {4}
    responses = {one["response"] for one in decided}
    assert not [one for one in ratings if one["response"] in responses and one["rater"] != "adjudicator"]
    assert "adjudicator" not in owner.get("/owner/agreement").text
    assert owner.get("/owner").text.count("4 of 4") >= 1  # a decision takes nobody's place
    assert owner.get("/owner/judgements/0000").status_code == 404
    assert entered(store, "cyd").get("/owner/judgements").status_code == 404


def test_the_owner_goes_through_the_units_of_a_filter_and_decides_one_after_the_other(tmp_path: Path) -> None:
    store = _disputed_store(tmp_path)
    owner = entered(store, "chief", "owner")
    page = owner.get("/owner/judgements?only=disputed&rater=ann").text
    links = [html.unescape(link) for link in re.findall(r'<h2><a href="([^"]+)"', page)]
    assert len(links) > 2
    assert all(link.endswith("?only=disputed&rater=ann") for link in links)
    second = html.unescape(owner.get(links[1]).text)
    assert f'rel="prev" href="{links[0]}"' in second
    assert f'rel="next" href="{links[2]}"' in second
    assert f"2 of {len(links)}" in second
    assert 'href="/owner/judgements?only=disputed&rater=ann">Back to the list' in second
    first = owner.get(links[0]).text
    done = owner.post(links[0], data={"csrf": form_of(first, links[0])["csrf"], **_answered(first, "3")})
    assert "A decided unit" in done.text
    assert f"{len(links) - 1} left in the list" in done.text
    assert f'rel="next" href="{links[1]}"' in html.unescape(done.text)


def test_a_long_conversation_stands_beside_its_questions_and_text_is_sent_with_control(tmp_path: Path) -> None:
    short = entered(store_of(write_project(tmp_path / "short", "references"))).get("/work").text
    long = entered(store_of(write_project(tmp_path / "long", "references", text="Is it open? " * 60))).get("/work").text
    assert '<body class="work">' in short
    assert '<body class="work long">' in long
    assert 'aria-label="What is judged" tabindex="0"' in long  # it scrolls, so keys must reach it
    assert 'aria-label="What is judged">' in short
    assert 'Send <kbd aria-hidden="true">Enter</kbd>' in short
    write = entered(store_of(write_project(tmp_path / "write", "write"))).get("/work").text
    assert 'Send <kbd aria-hidden="true">Ctrl</kbd>+<kbd aria-hidden="true">Enter</kbd>' in write


def test_the_owner_sees_which_reply_was_preferred_and_where_a_text_was_cut(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path, "compare", items=2, text="Is it open? " * 40))
    finish(entered(store, "ann"))
    page = entered(store, "chief", "owner").get("/owner/judgements").text
    for system in ("secret-alpha", "secret-beta"):
        assert f"<small><bdi>{system}</bdi>:</small>" in page
    assert re.search(r"…</bdi></a>", page)
    assert re.search(r"…</p>", page)


def test_agreement_comes_with_a_conclusion_and_advice(tmp_path: Path) -> None:
    store = _disputed_store(tmp_path)
    shown = entered(store, "chief", "owner").get("/owner/agreement").text
    assert "raters do not agree well" in shown or "is not clear yet" in shown


def test_a_revoked_rater_is_told_whom_to_ask(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    token = store.add_rater("ann")
    client = client_of(store)
    assert client.get(f"/r/{token}").status_code == 200
    store.revoke("ann")
    for path in (f"/r/{token}", "/work"):
        answer = client.get(path)
        assert answer.status_code == 403
        assert "ask owner@example.org for a new one" in answer.text
    assert client_of(store).get("/r/never-a-link").status_code == 404


def test_identical_replies_are_asked_once_and_rated_for_all(tmp_path: Path) -> None:
    path = write_project(tmp_path, items=1)
    lines = [json.loads(line) for line in (tmp_path / "data.jsonl").read_text().splitlines()]
    for line in lines:
        if line["kind"] == "response":
            line["text"] = "The same words."
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    store = store_of(path)
    units = [unit for unit in store.units() if unit.kind == "unit"]
    assert [len(unit.payload["replies"]) for unit in units] == [1]
    finish(entered(store, "ann"), lambda page: form_of(page) | _answered(page, "2"))
    ratings = entered(store, "chief", "owner").get("/owner/export/ratings").text.splitlines()
    rated = {(json.loads(line)["response"], json.loads(line)["aspect"]) for line in ratings}
    assert {response for response, _ in rated} == {"i0-secret-alpha", "i0-secret-beta"}


def _tables(page: str) -> list[list[str]]:
    """The cells of all tables of a page, row by row."""
    rows = re.findall("<tr>(.*?)</tr>", page.partition("<main")[2], re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]
    return [[html.unescape(re.sub("<[^>]+>", "", cell)).strip() for cell in row] for row in cells]


@pytest.mark.parametrize("form", ["rate", "errors", "compare", "review"])
def test_the_owners_page_shows_what_the_command_shows(form: str, tmp_path: Path) -> None:
    clock = Clock()
    path = project_at(tmp_path / form, form, "raters_per_unit = 4", ATTENTION.format(stop=0) if form == "rate" else "")
    store = store_of(path, clock)
    for place, name in enumerate(("ann", "bea", "careless", "dan")):
        judge(store, clock, name, place)
    shown = _tables(entered(store, "chief", "owner").get("/owner/agreement").text)
    command = CliRunner().invoke(program, ["agreement", str(path), "--format", "markdown"])
    assert command.exit_code == 0, command.output
    lines = [line.strip("| ").split(" | ") for line in command.output.splitlines() if line.startswith("| ")]
    wanted = [[cell.replace("\\|", "|") for cell in line] for line in lines]
    heads = [row for row in wanted if row[0] in ("aspect", "rater")]
    assert sorted(row for row in wanted if row not in heads) == sorted(
        row for row in shown if row[0] not in ("Aspect", "Rater")
    )
    signs = {row[2] for row in shown if row[0] == "careless" and len(row) == 6}
    assert "median seconds" in signs
    if form == "rate":
        assert {"share of checks right", "share of one answer", "kappa with the others"} <= signs


def test_agreement_on_preferences_is_nominal_and_a_label_is_an_aspect(tmp_path: Path) -> None:
    for form, aspects, scale in (("errors", 7, "ordinal"), ("compare", 1, "nominal")):
        store = store_of(write_project(tmp_path / form, form, extra="raters_per_unit = 2"))
        for name in ("ann", "bea"):
            finish(entered(store, name), partial(answered, pick=0 if name == "ann" else 1))
        found = compute_agreement(store, resamples=100)
        assert found is not None
        assert found.aspects is not None
        assert len(found.aspects.rows) == len(found.raters) == aspects
        assert {row[2] for row in found.aspects.rows} == {2}
        assert f"Alpha on the {scale} scale" in " ".join(found.aspects.notes)


def test_exercises_are_no_part_of_agreement_and_checks_are_signs(tmp_path: Path) -> None:
    store = store_of(project_at(tmp_path / "a", tables=EXERCISE + ATTENTION.format(stop=0)))
    assert compute_agreement(store) is None
    rater = store.who(store.add_rater("ann"))
    assert rater is not None
    kinds = {unit.id: unit.kind for unit in store.units()}
    for _ in range(2):
        assignment = store.next_unit(rater)
        assert assignment is not None
        assert kinds[assignment.unit.id] == "exercise"
        wanted = 4 if "Half past" in str(assignment.unit.payload) else 1
        store.submit(rater, assignment.id, {"appropriate.r1": wanted, "on-topic.r1": wanted}, 3.0)
    assert compute_agreement(store) is None
    for unit in store.units():
        if unit.kind == "attention":
            store.record("ann", unit.id, {"appropriate.r1": 1, "on-topic.r1": 1}, 3.0)
    found = compute_agreement(store)
    assert found is not None
    assert found.aspects is None
    assert [row[:4] for row in found.suspects.rows] == [["ann", "all", "share of checks right", 0.0]]


def test_who_writes_too_fast_is_told_where_there_is_nothing_to_agree_on(tmp_path: Path) -> None:
    clock = Clock()
    store = store_of(project_at(tmp_path / "w", "write", "raters_per_unit = 4"), clock)
    for place, name in enumerate(("ann", "careless", "dan")):
        judge(store, clock, name, place)
    shown = entered(store, "chief", "owner").get("/owner/agreement").text
    assert "This form collects texts" in shown
    assert [row[:4] for row in _tables(shown)[1:]] == [["careless", "all", "median seconds", "1.50"]]


def test_the_owner_makes_renews_and_revokes_links(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    owner = entered(store, "chief", "owner")
    page = owner.get("/owner/raters").text
    form = {"csrf": form_of(page, "/owner/raters")["csrf"]}
    made = owner.post("/owner/raters", data={**form, "action": "add", "names": "ann\nbea", "days": "7"}).text
    token = made.partition("/r/")[2].split()[0]
    assert store.who(token).name == "ann"  # type: ignore[union-attr]
    assert "until 20" in made
    renewed = owner.post("/owner/raters", data={**form, "action": "renew", "name": "ann"}).text
    assert store.who(token) is None
    token = renewed.partition("/r/")[2].split()[0]
    assert store.who(token).name == "ann"  # type: ignore[union-attr]
    owner.post("/owner/raters", data={**form, "action": "revoke", "name": "ann"})
    assert store.who(token) is None
    for wrong in ({"action": "add", "names": "bea"}, {"action": "add", "names": " "}, {"action": "renew", "name": "x"}):
        assert owner.post("/owner/raters", data={**form, **wrong}).status_code == 422
    assert owner.post("/owner/raters", data={**form, "action": "add", "names": "cyd\nbea"}).status_code == 422
    assert "cyd" not in [rater.name for rater in store.raters()]


def test_what_the_owner_wrote_and_was_refused_is_still_there(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    store.add_rater("ann")
    owner = entered(store, "chief", "owner")
    form = {"csrf": form_of(owner.get("/owner/raters").text, "/owner/raters")["csrf"], "action": "add"}
    refused = owner.post("/owner/raters", data={**form, "names": "bea\nann", "days": "7"}).text
    assert "already a rater called ann" in refused
    assert form_of(refused, "/owner/raters")["names"] == "bea\nann"
    assert 'value="7"' in refused


def test_the_first_page_says_what_can_be_chosen_and_how_long_to_take(tmp_path: Path) -> None:
    for form, choice in (
        ("grade", "Acceptable"),
        ("errors", "off topic"),
        ("review", "Reject"),
        ("rate", "not at all"),
    ):
        store = store_of(write_project(tmp_path / form, form, extra="minimum_seconds = 2.5"))
        page = entered(store).get("/").text
        assert choice in page
        assert "in less than 2.5 seconds" in page


def test_every_export_can_be_downloaded_or_says_why_not(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    client = entered(store)
    client.post("/work", data=answered(client.get("/work").text))
    owner = entered(store, "chief", "owner")
    shown = owner.get("/owner/export").text
    names = [part.partition('"')[0] for part in shown.split("/owner/export/")[1:]]
    assert {"ratings", "csv", "crowdkit", "labelstudio", "mturk"} <= set(names)
    for name in names:
        found = owner.get(f"/owner/export/{name}")
        assert found.status_code == (409 if name == "texts" else 200)
        if found.status_code == 200:
            assert found.headers["content-disposition"].startswith("attachment")
    assert owner.get("/owner/export/nonsense").status_code == 404
    texts = entered(store_of(write_project(tmp_path / "texts", "write")), "chief", "owner").get("/owner/export").text
    assert 'href="/owner/export/texts"' in texts
    assert 'href="/owner/export/ratings"' not in texts
    assert texts.count("This project collects texts, so there are none.") == 2


def test_the_export_is_read_by_the_toolkit(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    finish(entered(store))
    owner = entered(store, "chief", "owner")
    (tmp_path / "ratings.jsonl").write_bytes(owner.get("/owner/export/ratings").content)
    data = rejoinder.read(tmp_path / "data.jsonl", tmp_path / "ratings.jsonl")
    assert len(data.ratings) == 12
    assert {rating.aspect for rating in data.ratings} == {"appropriate", "on-topic"}


def test_an_empty_project_has_owner_pages_too(tmp_path: Path) -> None:
    for form in ("rate", "write"):
        owner = entered(store_of(write_project(tmp_path / form, form)), "chief", "owner")
        for path in ("/owner", "/owner/agreement", "/owner/raters", "/owner/export"):
            assert owner.get(path).status_code == 200


def test_a_link_opened_from_another_site_goes_on_by_itself(tmp_path: Path) -> None:
    store = store_of(write_project(tmp_path))
    token = store.add_rater("ann")
    found = client_of(store).get(f"/r/{token}", headers={"Sec-Fetch-Site": "cross-site"}, follow_redirects=False)
    assert found.status_code == 200
    assert 'http-equiv="refresh" content="0; url=/"' in found.text
    assert token not in found.text


def test_pages_name_their_parts_for_screen_readers(tmp_path: Path) -> None:
    page = entered(store_of(write_project(tmp_path, extra="comments = true"))).get("/work").text
    for part in (
        '<html lang="en">',
        'role="radiogroup"',
        "<legend>",
        'aria-label="Progress"',
        'role="alert"',
        'class="skip" href="#main"',
        '<label for="f2-text">',
    ):
        assert part in page
    assert page.count("<label class") == sum(len(values) for values in options_of(page).values())


def test_digits_stand_for_labels_that_are_digits_and_else_for_places() -> None:
    assert option_keys([AnswerOption(n, str(n)) for n in range(6)]) == ["0", "1", "2", "3", "4", "5"]
    assert option_keys([AnswerOption(0, "Bad"), AnswerOption(1, "Best")]) == ["1", "2"]
    assert option_keys([AnswerOption(n, str(n)) for n in range(-1, 10)])[-3:] == ["9", "", ""]
    assert option_keys([AnswerOption(n, str(n)) for n in range(11)]) == [*"0123456789", ""]
    assert option_keys([AnswerOption(n, str(n)) for n in range(1, 11)]) == [*"1234567890"]


def test_texts_of_pages_are_shown_as_meant() -> None:
    assert [(b.is_list, b.texts) for b in split_blocks("One\ntwo\n \n- a\n- b")] == [
        (False, ["One two"]),
        (True, ["a", "b"]),
    ]
    assert (
        column_head("n"),
        column_head("mean"),
        format_seconds(3.2),
        format_seconds(300),
        format_share(1, 2),
        format_share(0, 0),
    ) == (
        "n",
        "Mean",
        "3.2 s",
        "5 min 00 s",
        "1 of 2",
        "–",
    )
    assert (format_moment(0), format_moment(None)) == ("1970-01-01 00:00 UTC", "–")


def test_names_of_new_raters_are_new() -> None:
    assert parse_new_names("2", ["rater-1"]) == ["rater-2", "rater-3"]
    assert parse_new_names("ann, bea\ncyd", []) == ["ann", "bea", "cyd"]


def test_a_bucket_fills_again_with_time_and_forgets_the_longest_unused() -> None:
    buckets, rate = TokenBuckets(2), RequestRate(2, 0.5)
    assert [buckets.wait("a", rate, 0.0) for _ in range(3)] == [0, 0, 2.0]
    assert buckets.wait("a", rate, 2.0) == 0
    for key in "bc":
        buckets.wait(key, rate, 3.0)
    assert buckets.wait("a", rate, 3.0) == 0
    known = RecentDigests(1)
    known.add("x")
    known.add("y")
    assert ("x" in known, "y" in known) == (False, True)


def test_one_customer_of_ipv6_is_one_client() -> None:
    assert key_of("2001:db8::1") == key_of("2001:db8::ffff") != key_of("2001:db8:0:1::1")
    assert key_of("::ffff:10.0.0.1") == key_of("10.0.0.1") != key_of("10.0.0.2")


def test_the_command_makes_links_exports_and_imports(tmp_path: Path) -> None:
    path = str(write_project(tmp_path))
    run = CliRunner()
    made = run.invoke(program, ["annotate", path, "--raters", "2", "--entrance", "pool", "--no-serve"])
    names = [line.split("\t")[0] for line in made.output.splitlines()]
    assert names == ["rater-1", "rater-2", "pool", "owner"]
    assert "PROLIFIC_PID" in made.output
    store = store_of(Path(path))
    client = client_of(store)
    client.get("/r/" + made.output.partition("/r/")[2].split()[0])
    client.post("/work", data=answered(client.get("/work").text))
    out = tmp_path / "out.jsonl"
    assert run.invoke(program, ["annotate", path, "--export", "ratings", "--file", str(out)]).exit_code == 0
    assert len([json.loads(line) for line in out.read_text().splitlines()]) == 2
    taken = run.invoke(program, ["annotate", path, "--import", "ratings", "--file", str(out)])
    assert "1 already there" in taken.output


def test_raters_links_go_into_a_file_that_is_nobody_elses(tmp_path: Path) -> None:
    path, file = str(write_project(tmp_path)), tmp_path / "links.csv"
    command = ["annotate", path, "--raters", "2", "--no-serve", "--file", str(file)]
    run = CliRunner()
    before = os.umask(0)
    try:
        made = run.invoke(program, command)
    finally:
        os.umask(before)
    assert [line.split("\t")[0] for line in made.output.splitlines()] == ["owner"]
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [row["rater"] for row in rows] == ["rater-1", "rater-2"]
    assert file.stat().st_mode & 0o777 == 0o600
    store = store_of(Path(path))
    assert client_of(store).get("/r/" + rows[0]["link"].partition("/r/")[2]).status_code == 200
    again = run.invoke(program, command)
    assert isinstance(again.exception, InputError)
    assert len([rater for rater in store.raters() if rater.role == "rater"]) == 2  # nobody was entered for nothing
    known = run.invoke(program, [*command[:3], "rater-1", *command[4:-1], str(tmp_path / "more.csv")])
    assert known.exception is not None
    assert not (tmp_path / "more.csv").exists()


def test_the_command_without_its_extra_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(write_project(tmp_path))
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delitem(sys.modules, "rejoinder.server.server", raising=False)
    found = CliRunner().invoke(program, ["annotate", path])
    assert isinstance(found.exception, MissingExtraError)
    assert "rejoinder[web]" in str(found.exception)


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    path = str(write_project(tmp_path))
    with open_listening_socket("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        found = CliRunner().invoke(program, ["annotate", path, "--port", str(port)])
    assert isinstance(found.exception, InputError)
    assert f"port {port}" in str(found.exception)


def test_addresses_are_those_that_a_browser_takes() -> None:
    with open_listening_socket("127.0.0.1", 0) as listening:
        assert is_loopback(listening)
        assert socket_url(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_the_documented_limits_are_the_limits() -> None:
    page = (Path(rejoinder.__file__).parents[2] / "docs" / "annotating_server.md").read_text(encoding="utf-8")
    limits = ServerLimits()
    for rate in (limits.address, limits.session):
        assert f"{rate.burst} at once, then {rate.per_second} per second" in page
    assert f"{limits.body_bytes // 1024} KiB" in page
    for seconds_ in (limits.body_seconds, limits.request_seconds, HEAD_SECONDS):
        assert f"{seconds_:.0f} seconds" in page


def test_an_export_is_nobody_elses_either_and_a_bad_path_is_one_line(tmp_path: Path) -> None:
    path, file = str(write_project(tmp_path)), tmp_path / "new" / "said.csv"
    file.parent.mkdir()
    file.write_text("older")
    file.chmod(0o666)
    run = CliRunner()
    before = os.umask(0)
    try:
        assert run.invoke(program, ["annotate", path, "--export", "csv", "--file", str(file)]).exit_code == 0
    finally:
        os.umask(before)
    assert file.read_text().startswith("unit,kind")
    assert file.stat().st_mode & 0o777 == 0o600
    failed = run.invoke(program, ["annotate", path, "--export", "csv", "--file", str(tmp_path)])
    assert isinstance(failed.exception, InputError)
    assert "is a folder" in str(failed.exception)


def test_a_database_that_nobody_knows_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = str(write_project(tmp_path, extra='database = "mysql://me:geheim@host/db"'))
    for more in ([], ["--database", "mysql://me:geheim@host/db"]):
        failed = CliRunner().invoke(program, ["annotate", path, "--no-serve", *more])
        assert isinstance(failed.exception, InputError)
        assert "geheim" not in str(failed.exception)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["data.jsonl", "rate.toml"]
