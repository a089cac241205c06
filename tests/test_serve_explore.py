"""The table of replies, its downloads, items, distributions, two runs, questions, progress and errors of the pages."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import csv
import hashlib
import io
import re
import threading
import urllib.parse
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import markupsafe
import orjson
import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

import rejoinder
from rejoinder.annotation.project_file import read_project
from rejoinder.annotation.units import make_units
from rejoinder.scoring.run import Plan, run
from rejoinder.server.limits import RecentDigests, ServerLimits
from rejoinder.server.middleware import RequestGuard
from rejoinder.server.pages import replies, runs
from rejoinder.server.pages.cache import PAGE_SECONDS
from rejoinder.server.pages.models import render_card
from rejoinder.server.pages.reply_filter import _RANGE, ReplyFilter, ValueRange, search_terms
from rejoinder.server.pages.word_diff import diff_words
from rejoinder.server.templates import fold_text
from rejoinder.table import Estimate
from tests.serve_site import client_of, house_of, library_at, records, write_lines

PAGE = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library_at(tmp_path_factory.mktemp("explore") / "runs")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Any]:
    with client_of(house_of(folder)) as found:
        found.get("/runs/chats")  # the first look
        yield found


def listed(client: Any, query: str) -> list[dict[str, Any]]:
    """The replies of an address, all on one page."""
    told = client.get(f"/runs/chats/replies?{query}").json()
    assert told["n"] == len(told["replies"])
    return list(told["replies"])


@pytest.mark.parametrize(
    ("query", "condition"),
    [
        ("", lambda row: True),
        ("q=bananas", lambda row: "Bananas" in row["reply"]),
        ("q=bananas+%285%29", lambda row: "Bananas" in row["reply"] and "(5)" in row["context"] + row["reply"]),
        ("q=%22until+nine%22", lambda row: "until nine" in row["reply"]),
        ("system=bad", lambda row: row["system"] == "bad"),
        ("system=bad&system=good", lambda row: True),
        ("range=length:11..12", lambda row: 11 <= row["length"] <= 12),
        ("of=length&from=12", lambda row: row["length"] >= 12),
        ("range=rating:apt:..2", lambda row: row["rating:apt"] <= 2),
        ("slice=meta.topic=rooms", lambda row: int(row["item"][1:]) % 2 == 1),
        ("slice=meta.tags=late&system=good", lambda row: int(row["item"][1:]) % 2 == 1 and row["system"] == "good"),
        ("q=nothing+like+this", lambda row: False),
    ],
)
def test_a_filter_lists_what_meets_it(client: Any, folder: Path, query: str, condition: Any) -> None:
    expected = [row["response"] for row in rejoinder.show(folder / "chats").rows() if condition(row)]
    assert [row["response"] for row in listed(client, query)] == expected


def test_any_column_sorts_in_both_directions(client: Any) -> None:
    for column in ("length", "rating:apt"):
        up, down = ([row["values"][column] for row in listed(client, f"sort={sign}{column}")] for sign in ("", "-"))
        assert up == sorted(up)
        assert down == sorted(down, reverse=True)
    assert [row["system"] for row in listed(client, "sort=system")] == ["bad"] * 8 + ["good"] * 8
    topics = [row["values"]["meta.topic"] for row in listed(client, "sort=-meta.topic")]
    assert topics == ["rooms"] * 8 + ["food"] * 8


def test_the_columns_are_those_that_were_chosen(client: Any) -> None:
    told = client.get("/runs/chats/replies?column=bleu&column=meta.topic").json()
    assert told["columns"] == ["bleu", "meta.topic"]
    assert set(told["replies"][0]["values"]) == {"bleu", "meta.topic"}
    page = client.get("/runs/chats/replies?column=bleu&column=meta.topic", headers=PAGE).text
    assert page.count('<th scope="col"') == 3


def test_a_form_leads_to_the_shortest_address(client: Any) -> None:
    sent = "/runs/chats/replies?q=&of=length&from=3&to=&slice=&sort=-bleu&range=bleu%3A..0.5"
    moved = client.get(sent, headers=PAGE, follow_redirects=False)
    assert moved.status_code == 303
    assert moved.headers["location"] == "/runs/chats/replies?range=bleu%3A..0.5&range=length%3A3..&sort=-bleu"
    assert client.get(moved.headers["location"], headers=PAGE, follow_redirects=False).status_code == 200


def test_the_neighbours_of_a_reply_are_those_of_its_list(client: Any) -> None:
    query = "system=bad&sort=-length"
    order = [row["reply"] for row in listed(client, query)]
    told = client.get(f"/runs/chats/replies/{order[2]}?{query}").json()
    assert told["position"] == {"place": 3, "n": 8, "before": order[1], "after": order[3]}
    page = client.get(f"/runs/chats/replies/{order[2]}?{query}", headers=PAGE).text
    assert f'rel="next" href="/runs/chats/replies/{order[3]}?system=bad&amp;sort=-length"' in page
    outside = client.get(f"/runs/chats/replies/0?{query}").json()["position"]
    assert outside == {"place": None, "n": 8, "before": None, "after": None}


def test_flagged_replies_can_be_listed(tmp_path: Path) -> None:
    lines = [{**one, "text": "!"} if one.get("id") == "i2/bad" else one for one in records()]
    data = write_lines(tmp_path / "chats.jsonl", lines)
    run([data], Plan.of(["length"]), tmp_path / "runs" / "chats", cache=False)
    with client_of(house_of(tmp_path / "runs")) as client:
        told = client.get("/runs/chats/replies?flag=near_empty").json()
        assert [row["response"] for row in told["replies"]] == ["i2/bad"]
        assert told["replies"][0]["flags"] == ["near_empty"]
        page = client.get("/runs/chats/replies?flag=near_empty", headers=PAGE).text
    assert "near empty" in page
    assert '<option value="near_empty" selected>' in page


@pytest.mark.parametrize("text", ["length:1e-07..2.5", "bleu(n=2):..0.5", "rating:apt:-3..", "a:b:1..2"])
def test_a_range_is_read_as_it_is_written(text: str) -> None:
    match = _RANGE.fullmatch(text)
    assert match
    ends = float(match["low"] or "-inf"), float(match["high"] or "inf")
    assert str(ValueRange(match["name"], *ends)) == text


def test_each_condition_can_be_removed_by_itself(client: Any) -> None:
    page = client.get("/runs/chats/replies?q=open&system=bad&range=length%3A3..", headers=PAGE).text
    assert 'href="/runs/chats/replies?system=bad&amp;range=length%3A3.."' in page
    assert 'href="/runs/chats/replies?q=open&amp;range=length%3A3.."' in page
    assert 'href="/runs/chats/replies?q=open&amp;system=bad"' in page


def test_what_is_listed_can_be_downloaded(client: Any, folder: Path) -> None:
    query = "system=bad&sort=-length"
    expected = [row["response"] for row in listed(client, query)]
    lines = client.get(f"/runs/chats/replies.jsonl?{query}").text.splitlines()
    rows = [orjson.loads(line) for line in lines]
    assert [row["response"] for row in rows] == expected
    shown = {row["response"]: row for row in rejoinder.show(folder / "chats").rows()}
    for row in rows:
        assert {key: row[key] for key in shown[row["response"]]} == shown[row["response"]]
    table = list(csv.DictReader(io.StringIO(client.get(f"/runs/chats/replies.csv?{query}").text)))
    assert [row["response"] for row in table] == expected
    assert [float(row["length"]) for row in table] == [row["length"] for row in rows]
    assert table[0]["meta.topic"] == rows[0]["meta.topic"]
    assert client.get("/runs/chats/replies.csv?sort=mood").status_code == 404
    empty = client.get("/runs/chats/replies.csv?q=nothing+like+this").text
    assert list(csv.reader(io.StringIO(empty))) == [list(rows[0])]


def test_a_long_download_is_not_cut_by_the_limit_on_requests() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(receive(), 0.2)  # as a streaming response does
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Any:
        if asked.pop():
            return {"type": "http.request", "body": b"", "more_body": False}
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    asked, sent = [False, True], []
    guard = RequestGuard(app, ServerLimits(body_seconds=0.05), RecentDigests(1), (), None)
    asyncio.run(guard({"type": "http", "headers": []}, receive, send))
    assert sent[0]["status"] == 200


def test_a_downloaded_cell_is_never_a_formula(tmp_path: Path) -> None:
    folder = library_at(tmp_path / "runs", text="=1+1")
    with client_of(house_of(folder)) as client:
        table = list(csv.DictReader(io.StringIO(client.get("/runs/chats/replies.csv").text)))
    assert not any(cell.startswith(("=", "+", "@")) for row in table for cell in row.values())


def test_what_is_listed_can_be_handed_to_annotators(client: Any, tmp_path: Path) -> None:
    answer = client.get("/runs/chats/replies.zip?system=bad&slice=meta.topic=food")
    assert answer.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
        packed.extractall(tmp_path)
    project = read_project(tmp_path / "chats" / "project.toml")
    assert len(list(make_units(project))) == 4
    assert "nothing to annotate" in client.get("/runs/chats/replies.zip?q=nothing+like+this").json()["error"]


def test_empty_replies_are_not_handed_to_annotators(tmp_path: Path) -> None:
    lines = [{**one, "text": ""} if one.get("id") in ("i0/bad", "i1/bad") else one for one in records(4)]
    data = write_lines(tmp_path / "chats.jsonl", lines)
    run([data], Plan.of(["length"], "nan"), tmp_path / "runs" / "chats", cache=False)
    with client_of(house_of(tmp_path / "runs")) as client:
        content = client.get("/runs/chats/replies.zip?system=bad").content
        nothing = client.get("/runs/chats/replies.zip?flag=empty").json()["error"]
    assert nothing == "every reply that is listed is empty, so there is nothing to annotate"
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        packed.extractall(tmp_path)
    project = tmp_path / "chats" / "project.toml"
    assert "people rate 2 replies of a run. Left out because they are empty: 2." in project.read_text(encoding="utf-8")
    assert len(list(make_units(read_project(project)))) == 2


def test_bars_of_a_histogram_filter_the_table(client: Any) -> None:
    page = client.get("/runs/chats/replies?sort=length&system=bad", headers=PAGE).text
    assert 'class="histogram series-0"' in page
    assert 'data-name="length"' in page
    assert "range=length%3A" in page


def test_the_matrix_holds_the_means_of_systems_and_metrics(client: Any, folder: Path) -> None:
    scores = rejoinder.load(folder / "chats")
    told = client.get("/runs/chats/distributions").json()
    for spec in scores.facts:
        for system in scores.systems:
            assert told["matrix"][spec][system] == pytest.approx(scores.mean(spec, system).value)
    page = client.get("/runs/chats/distributions?slice=meta.topic%3Dfood", headers=PAGE).text
    assert "8 of 16 replies" in " ".join(page.split())
    assert page.count('<svg class="histogram') == 2 * len(told["matrix"])
    assert "shade-9" in page


def test_items_show_who_is_best_and_by_how_much(client: Any) -> None:
    told = client.get("/runs/chats/items?metric=rating:apt").json()
    spreads = [abs(one["scores"]["good"] - one["scores"]["bad"]) for one in told["items"]]
    assert spreads == sorted(spreads, reverse=True)
    assert all(one["best"] == ["good"] for one in told["items"])
    assert client.get("/runs/chats/items?metric=rating:apt&winner=bad").json()["n"] == 0
    assert client.get("/runs/chats/items?metric=rating:apt&winner=good&q=%283%29").json()["n"] == 1


def test_the_replies_to_an_item_stand_side_by_side(client: Any) -> None:
    told = client.get("/runs/chats/items/1?first=bad&second=good").json()
    good = next(one for one in told["replies"] if one["system"] == "good")
    assert good["outcomes"]["rating:apt"] == "better"
    assert sum(good["against_first"].values()) == len(good["outcomes"])
    assert "rating:apt" in good["best"]
    gone = "".join(part["text"] for part in told["diff"] if part["kind"] == "removed")
    assert "Bananas" in gone
    page = client.get("/runs/chats/items/1?first=bad&second=good", headers=PAGE).text
    assert "<del>Bananas" in page
    assert told["position"] == {"place": 2, "n": 8, "before": 0, "after": 2}


@pytest.mark.parametrize(
    "query", ["metric=rating:apt&sort=lowest", "q=%22open%22&winner=good", "metric=length", "sort=item"]
)
def test_the_neighbours_of_an_item_are_those_of_its_list(client: Any, query: str) -> None:
    page = client.get(f"/runs/chats/items?{query}", headers=PAGE).text
    links = [link.replace("&amp;", "&") for link in re.findall(r'<a href="(/runs/chats/items/[0-9]+[^"]*)"', page)]
    order = [one["number"] for one in client.get(f"/runs/chats/items?{query}").json()["items"]]
    assert [int(re.findall(r"items/([0-9]+)", link)[0]) for link in links] == order
    for place, link in enumerate(links):
        around = {"before": order[place - 1] if place else None, "after": (*order, None)[place + 1]}
        assert client.get(link).json()["position"] == {"place": place + 1, "n": len(order), **around}
    second = client.get(links[1], headers=PAGE).text.replace("&amp;", "&")
    for rel, other in (("prev", links[0]), *([("next", links[2])] if len(links) > 2 else [])):
        assert f'rel="{rel}" href="{other}"' in second
    back = re.findall(r'data-back href="([^"]+)"', second)[0]
    assert [one["number"] for one in client.get(back).json()["items"]] == order
    for key, value in urllib.parse.parse_qsl(query):
        assert (
            f'type="hidden" name="{key}" value="{markupsafe.escape(value)}"' in second
        )  # choosing systems keeps the list


def test_an_item_opened_from_two_systems_keeps_their_list(client: Any) -> None:
    address = "/runs/chats/compare?first=bad&second=good&metric=bleu&only=second"
    order = [one["number"] for one in client.get(address).json()["items"]]
    links = re.findall(r'<h2 class="last"><a href="([^"]+)"', client.get(address, headers=PAGE).text)
    told = client.get(links[1].replace("&amp;", "&")).json()
    assert (told["first"], told["second"]) == ("bad", "good")
    assert told["position"] == {"place": 2, "n": len(order), "before": order[0], "after": order[2]}
    page = client.get(links[1].replace("&amp;", "&"), headers=PAGE).text.replace("&amp;", "&")
    back = re.findall(r'data-back href="([^"]+)"', page)[0]
    assert back == "/runs/chats/compare?first=bad&second=good&metric=bleu&only=second"


def test_an_item_without_a_reply_of_the_chosen_system_is_shown_all_the_same(tmp_path: Path) -> None:
    lines = [line for line in records(2) if line["kind"] != "rating" and line.get("id") != "i1/bad"]
    run([write_lines(tmp_path / "gap.jsonl", lines)], Plan.of(["length"]), tmp_path / "runs" / "gap", cache=False)
    with client_of(house_of(tmp_path / "runs")) as client:
        told = client.get("/runs/gap/items/1?first=bad&second=good").json()
        assert (told["first"], told["second"], told["diff"]) == ("good", None, [])
        assert client.get("/runs/gap/items/1?first=nobody").status_code == 404


def test_two_texts_are_compared_word_by_word() -> None:
    parts = diff_words("Yes, it is open until nine.", "Yes, it was open until ten.")
    assert [(part.kind, part.text.strip()) for part in parts] == [
        ("same", "Yes, it"),
        ("removed", "is"),
        ("added", "was"),
        ("same", "open until"),
        ("removed", "nine."),
        ("added", "ten."),
    ]
    assert diff_words("", "Hello.") == [("added", "Hello.")]
    assert [part.kind for part in diff_words("a " * 3000, "b " * 3000)] == ["removed", "added"]


def test_two_systems_are_filtered_by_who_wins(client: Any) -> None:
    everything = client.get("/runs/chats/compare?metric=bleu").json()
    assert sum(everything["wins"].values()) == everything["n"] == 8
    for outcome, n in everything["wins"].items():
        assert client.get(f"/runs/chats/compare?metric=bleu&only={outcome}").json()["n"] == n


def test_a_comparison_that_fails_keeps_its_form(client: Any) -> None:
    for address in ("/runs/chats/compare?first=bad&second=nobody", "/compare?old=chats&new=nobody"):
        page = client.get(address, headers=PAGE)
        assert page.status_code == 404
        assert 'role="alert"' in page.text
        assert "<form" in page.text
        assert "Compare</button>" in page.text
    twice = client.get("/runs/chats/compare?first=bad&second=bad", headers=PAGE).text
    assert "Both systems are &#39;bad&#39;; choose two that differ." in twice


def test_two_runs_show_what_got_worse_and_better(client: Any) -> None:
    told = client.get("/compare?old=chats&new=later&metric=length").json()
    assert told["n"] == 16
    changed = [one for one in told["items"] if one["kind"] != "same"]
    assert {one["system"] for one in changed} == {"good"}
    assert told["counts"] == {"lower": 0, "higher": 8, "same": 8}  # length has no direction
    first = told["items"][0]
    assert first["change"] == first["new"]["score"] - first["old"]["score"] > 0
    assert client.get(f"/runs/later/replies/{first['new']['reply']}").json()["item"] == first["item"]
    assert client.get("/compare?old=chats&new=later&metric=length&only=higher&q=%283%29").json()["n"] == 1
    by_bleu = client.get("/compare?old=chats&new=later&system=good").json()
    assert by_bleu["counts"]["worse"] > by_bleu["counts"]["better"]
    page = client.get("/compare?old=chats&new=later", headers=PAGE).text
    assert "From <bdi>chats</bdi> to <bdi>later</bdi>" in page
    assert "<ins>" in page


def test_the_list_of_runs_says_when_who_and_what_came_out(client: Any) -> None:
    lines = {one["name"]: one for one in client.get("/runs").json()["runs"]}
    assert lines["chats"]["headline"].startswith("good has the best bleu: ")
    assert "; next bad: " in lines["chats"]["headline"]
    assert lines["chosen"]["headline"].startswith("accuracy ")
    assert lines["ranked"]["headline"].startswith("nDCG@3 ")
    assert lines["chats"]["date"].startswith(("today at ", "yesterday at "))
    assert lines["ranked"]["systems"] == ["tfidf"]


def test_a_headline_names_the_best_or_those_that_share_it() -> None:
    means = {"a": Estimate(0.5, 0.4, 0.6), "b": Estimate(0.7, 0.6, 0.8), "c": Estimate(float("nan"), 0, 0)}
    low, high = "0.500 [0.400, 0.600]", "0.700 [0.600, 0.800]"
    assert runs.describe_best("bleu", means, True) == f"b has the best bleu: {high}; next a: {low}"
    assert runs.describe_best("loss", means, False) == f"a has the best loss: {low}; next b: {high}"
    shared = {"a": means["a"], "z": means["a"]}
    assert runs.describe_best("bleu", shared, True) == "a and z share the best bleu: 0.500 [0.400, 0.600]"
    assert runs.describe_best("bleu", {"c": means["c"]}, True) is None


def test_dates_are_said_in_words() -> None:
    noon = 1_773_316_800.0  # 12 March 2026, 12:00 UTC
    assert runs.date_in_words(noon - 3600, noon) == "today at 11:00 UTC"
    assert runs.date_in_words(noon - 24 * 3600, noon) == "yesterday at 12:00 UTC"
    assert runs.date_in_words(noon - 10 * 24 * 3600, noon) == "2 March 2026"


@pytest.mark.parametrize("name", ["chosen", "ranked"])
def test_a_question_says_who_chose_what(client: Any, name: str) -> None:
    told = client.get(f"/runs/{name}/questions").json()
    assert told["n"] == 3
    choice = told["list"][0]["choices"]["tfidf"]
    one = client.get(f"/runs/{name}/questions/0").json()
    chosen = [n for n, candidate in enumerate(one["candidates"]) if candidate["chosen_by"] == ["tfidf"]]
    assert chosen == choice["candidates"]
    outcomes = [line["choices"]["tfidf"]["outcome"] for line in told["list"]]
    for outcome in ("right", "wrong"):
        found = client.get(f"/runs/{name}/questions?system=tfidf&outcome={outcome}").json()
        assert found["n"] == outcomes.count(outcome)
    assert client.get(f"/runs/{name}/questions?q=day+2").json()["n"] == 1
    assert client.get(f"/runs/{name}/questions/1?q=day").json()["position"]["place"] == 2


def test_no_heading_of_a_selection_stands_twice(client: Any) -> None:
    page = client.get("/runs/chosen", headers=PAGE).text
    assert page.count("Accuracy of selection") == 1
    assert "Who chose what on each question" in page


def test_a_ranking_is_shown_for_each_input(client: Any) -> None:
    told = client.get("/runs/ranked").json()
    assert told["inputs"] == ["u", "u+S"]
    assert told["input"] == "u+S"
    assert client.get("/runs/ranked?input=u").json()["tables"][0]["title"] == "Rankers, input u"


def test_an_unknown_address_has_a_way_back(client: Any) -> None:
    page = client.get("/nowhere/at/all", headers=PAGE)
    assert page.status_code == 404
    assert "<h1>Page not found</h1>" in page.text
    assert 'href="/runs"' in page.text
    assert 'aria-label="Pages"' in page.text


def test_an_error_inside_a_run_leads_back_to_the_run(client: Any) -> None:
    page = client.get("/runs/chosen/replies", headers=PAGE).text
    assert "The run chosen is a selection, which has no scores of replies." in page
    assert '<a href="/runs/chosen">The run chosen</a>' in page
    assert '<a href="/runs">Runs</a>' in client.get("/runs/nobody/replies", headers=PAGE).text


def test_long_turns_are_folded_and_complete(tmp_path: Path) -> None:
    long = "Turn the lamp off. " * 100
    lines = [line for line in records(1) if line["kind"] != "rating"]
    lines[0]["context"] = [{"speaker": "guest", "text": f"{n}"} for n in range(29)] + [{"text": long}]
    run([write_lines(tmp_path / "long.jsonl", lines)], Plan.of(["length"]), tmp_path / "runs" / "long", cache=False)
    with client_of(house_of(tmp_path / "runs")) as client:
        page = client.get("/runs/long/items/0", headers=PAGE).text
    assert "Show the first 10 of 30 turns" in page
    assert re.search(r"Show the other [0-9,]+ characters</summary>", page)
    texts = re.findall(r'<p class="text" dir="auto">([^<]*)</p>', page)
    assert texts[:29] == [str(n) for n in range(29)]
    assert texts[29] + texts[30] == long


@pytest.mark.parametrize("text", ["", "short", "word " * 400, "x" * 3000, "line\n" * 40, "a\r\nb" * 500, "é " * 900])
def test_the_start_and_the_rest_of_a_folded_text_are_the_text(text: str) -> None:
    folded = fold_text(text)
    assert folded.start + folded.rest == text
    assert bool(folded.rest) == (len(text) > 1_000 or text.count("\n") > 20)
    if " " in text and folded.rest:
        assert folded.start.endswith(" ")


def test_a_forged_form_is_refused_on_a_page(folder: Path) -> None:
    house = house_of(folder)
    with client_of(house, token=None) as browser:
        browser.cookies.set(house.auth.cookie, house.auth.token)
        page = browser.post("/models/gpt2/get", data={"csrf": "wrong"}, headers=PAGE)
        assert page.status_code == 403
        assert "This was refused" in page.text
        assert 'href="/models"' in page.text


def test_a_stranger_sees_a_styled_page_that_the_policy_allows(folder: Path) -> None:
    with client_of(house_of(folder), token=None) as stranger:
        page = stranger.get("/runs", headers=PAGE)
    assert page.status_code == 404
    style = re.search(r"<style>(.*?)</style>", page.text)
    assert style
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert f"'sha256-{digest}'" in page.headers["content-security-policy"]


def test_a_first_look_that_takes_long_shows_its_progress(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, read = threading.Event(), replies.read_reply_index

    def slow(path: Path, progress: Any) -> Any:
        progress.report("reading the replies", 0.42)
        go_on.wait(20)
        return read(path, progress)

    monkeypatch.setattr(replies, "read_reply_index", slow)
    with client_of(house_of(folder)) as client:
        page = client.get("/runs/chats/replies", headers=PAGE)
        assert page.status_code == 503
        assert page.elapsed.total_seconds() < PAGE_SECONDS + 10
        assert "Now: reading the replies." in page.text
        assert '<progress value="42" max="100"' in page.text
        assert 'http-equiv="refresh"' in page.text
        go_on.set()
        assert client.get("/runs/chats/replies").status_code == 200
        assert client.get("/runs/chats/replies", headers=PAGE).status_code == 200


def test_two_systems_do_not_wait_for_the_test_of_their_difference(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, compute = threading.Event(), runs.compute_findings

    def slow(path: Path, **options: Any) -> Any:
        go_on.wait(20)
        return compute(path, **options)

    monkeypatch.setattr(runs, "compute_findings", slow)
    with client_of(house_of(folder)) as client:
        client.get("/runs/chats/replies")
        page = client.get("/runs/chats/compare", headers=PAGE)
        assert page.status_code == 200
        assert "are being computed" in page.text
        assert page.text.count('<article class="pair"') == 8
        go_on.set()
        assert client.get("/runs/chats/compare").json()["difference"] is not None


def test_the_included_comet_is_not_the_large_one(client: Any) -> None:
    large, small = client.get("/models/comet").json(), client.get("/models/comet-included").json()
    assert large["model"]["bytes"] > 1e9
    assert small["model"] is None
    assert "additions.safetensors" in small["files"]
    assert {"comet-included", "aptness"} <= {one["name"] for one in client.get("/models").json()["shipped"]}


def test_a_card_is_rendered_and_can_run_nothing() -> None:
    html = render_card(
        "---\nlicence: mit\n---\n# Title\n\n**Bold** `code`\n\n| a |\n|---|\n| b |\n\n<script>x</script>"
    )
    assert "<h2>Title</h2>" in html
    assert "<strong>Bold</strong> <code>code</code>" in html
    assert "<td>b</td>" in html
    assert "<script>" not in html
    assert "licence: mit" not in html
    for text in ("[x](javascript:alert(1))", "![x](http://example.org/x.png)", '<img src=x onerror="alert(1)">'):
        assert "<img" not in render_card(text)
        assert 'href="javascript' not in render_card(text)


def test_a_filter_and_its_address_say_the_same() -> None:
    selected = ReplyFilter("a b", ("x",), (ValueRange("bleu(n=2)", 0.5, float("inf")),), sort="-bleu(n=2)")
    assert selected.address() == "?q=a+b&system=x&range=bleu%28n%3D2%29%3A0.5..&sort=-bleu%28n%3D2%29"
    assert [part.words for part in selected.parts()] == ["contains “a b”", "system x", "bleu(n=2) at least 0.5"]
    assert selected.sorted_by("bleu(n=2)").endswith("sort=bleu%28n%3D2%29")
    assert search_terms('one "two three" four') == ("one", "two three", "four")


def _line(name: str, *systems: str, kind: str = "scores") -> dict[str, Any]:
    return {"name": name, "kind": kind, "systems": list(systems), "problem": None}


def test_the_runs_that_are_suggested_for_a_comparison_share_a_system() -> None:
    lines = [_line("d", "x"), _line("chosen", "x", kind="selection"), _line("c", "y"), _line("b", "x"), _line("a", "y")]
    assert runs.suggest_pair(lines) == ("b", "d")
    assert runs.suggest_pair(lines, "c") == ("a", "c")
    assert runs.suggest_pair(lines, "a") == ("a", "c")  # it is the older one of the two that fit
    assert runs.suggest_pair([_line("b", "x"), _line("a", "y")]) == ("a", "b")
    assert runs.suggest_pair([_line("a", "x")], "a") == ("a", None)


def test_a_page_says_which_system_has_no_reply_and_that_one_system_is_not_two(tmp_path: Path) -> None:
    lines = [line for line in records(2) if line.get("id") != "i1/bad" and line.get("response") != "i1/bad"]
    for name, kept in (("gap", lines), ("alone", [line for line in lines if "bad" not in str(line.get("id"))])):
        kept = [line for line in kept if line["kind"] != "rating"]
        run([write_lines(tmp_path / f"{name}.jsonl", kept)], Plan.of(["length"]), tmp_path / "runs" / name, cache=False)
    with client_of(house_of(tmp_path / "runs")) as client:
        assert "No reply from <bdi>bad</bdi>" in client.get("/runs/gap/items/1", headers=PAGE).text
        assert "No reply from" not in client.get("/runs/gap/items/0", headers=PAGE).text
        response = client.get("/runs/alone/compare", headers=PAGE)
        alone = response.text
        assert response.status_code == 200
        for page in ("", "/replies", "/items", "/distributions", "/people", "/compare"):
            offered = "Two systems</a>" in client.get(f"/runs/alone{page}", headers=PAGE).text
            assert not offered, page
        assert "Two systems</a>" in client.get("/runs/gap/items", headers=PAGE).text
        assert "only one system (<bdi>good</bdi>)" in alone
        assert "<form" not in alone
        assert "Every reply has a score under every metric." in client.get("/runs/alone", headers=PAGE).text
        assert "its metrics only describe replies" in client.get("/runs", headers=PAGE).text


def test_two_runs_with_the_same_items_show_no_table_of_items(client: Any) -> None:
    page = client.get("/compare?old=chats&new=later", headers=PAGE).text
    assert "Reply by reply" in page
    assert ">Items<" not in page
