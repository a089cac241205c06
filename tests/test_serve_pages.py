"""The pages of ``rejoinder serve``: what each shows, that it is also JSON, and what is told where nothing can be."""

from __future__ import annotations

import html
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("starlette")
pytest.importorskip("httpx2")

from rejoinder.cli import program
from rejoinder.data.datasets import dataset
from rejoinder.models.download import fetch
from rejoinder.reports.findings import compute_findings
from rejoinder.server.pages.app import PAGES
from rejoinder.server.pages.context import PageContext
from rejoinder.server.pages.library import RunLibrary
from tests.serve_site import client_of, house_of, library_at, questions, write_lines

PAGE = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library_at(tmp_path_factory.mktemp("library") / "runs")


@pytest.fixture(scope="module")
def house(folder: Path) -> PageContext:
    return house_of(folder)


@pytest.fixture(scope="module")
def client(house: PageContext) -> Iterator[Any]:
    with client_of(house) as found:
        yield found


ADDRESSES = {
    "/try": "/try",
    "/runs": "/runs",
    "/compare": "/compare?old=chats&new=later",
    "/runs/{run}": "/runs/chats",
    "/runs/{run}/people": "/runs/chats/people",
    "/runs/{run}/replies": "/runs/chats/replies",
    "/runs/{run}/replies/{reply}": "/runs/chats/replies/1",
    "/runs/{run}/distributions": "/runs/chats/distributions",
    "/runs/{run}/items": "/runs/chats/items",
    "/runs/{run}/items/{item}": "/runs/chats/items/1",
    "/runs/{run}/questions": "/runs/chosen/questions",
    "/runs/{run}/questions/{question}": "/runs/ranked/questions/1",
    "/runs/{run}/compare": "/runs/chats/compare",
    "/sets": "/sets",
    "/sets/{set}": "/sets/kitchen",
    "/sets/{set}/{question}": "/sets/kitchen/1",
    "/models": "/models",
    "/models/{model}": "/models/aptness",
}


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_also_json(client: Any, path: str) -> None:
    address = ADDRESSES[path]
    place, mark, query = address.partition("?")
    asked = client.get(address)  # a program waits for the first look, and a browser would get the progress
    while path == "/runs" and asked.json()["waiting"]:  # headlines that are still being computed
        time.sleep(0.05)
        asked = client.get(address)
    page, named = client.get(address, headers=PAGE), client.get(f"{place}.json{mark}{query}", headers=PAGE)
    assert page.status_code == asked.status_code == named.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "<h1" in page.text
    assert asked.json() == named.json()
    assert set(PAGES[path].properties) <= set(asked.json())


def test_the_leaderboards_are_those_of_the_report(client: Any, folder: Path) -> None:
    told = client.get("/runs/chats").json()
    found = compute_findings(folder / "chats")
    assert [table["title"] for table in told["tables"]] == [table.title for table in found.tables()]
    assert told["systems"] == ["good", "bad"]
    assert told["aspects"] == ["apt"]


def test_a_selection_shows_the_accuracy_of_its_systems(client: Any) -> None:
    told = client.get("/runs/chosen").json()
    assert told["kind"] == "selection"
    assert told["tables"][0]["rows"][0]["system"] == "tfidf"
    assert "Accuracy of selection" in client.get("/runs/chosen", headers=PAGE).text


def test_a_dot_of_the_drawing_leads_to_its_conversation(client: Any) -> None:
    told = client.get("/runs/chats/people?metric=length").json()
    assert len(told["points"]) == 16
    assert len(told["reliability"]) > 1
    page = client.get("/runs/chats/people?metric=length", headers=PAGE).text
    assert 'href="/runs/chats/replies/0" tabindex="-1"' in page
    said = client.get(f"/runs/chats/replies/{told['points'][0]['reply']}").json()
    assert said["replies"][0]["system"] == told["points"][0]["system"]


def test_replies_can_be_filtered_to_where_metric_and_people_disagree(client: Any) -> None:
    everything = client.get("/runs/chats/replies?metric=length").json()
    apart = client.get("/runs/chats/replies?metric=length&only=apart").json()
    assert everything["n"] == 16
    assert 0 < apart["n"] < 16
    gaps = [abs(one["ahead_by_score"] - one["ahead_by_rating"]) for one in apart["replies"]]
    assert gaps == sorted(gaps, reverse=True)
    assert min(gaps) >= 0.3
    of_one = client.get("/runs/chats/replies?system=bad").json()["replies"]
    assert {one["system"] for one in of_one} == {"bad"}


def test_two_systems_are_compared_reply_by_reply(client: Any) -> None:
    told = client.get("/runs/chats/compare?first=bad&second=good&metric=length").json()
    assert (told["first"], told["second"], told["n"]) == ("bad", "good", 8)
    for one in told["items"]:
        assert one["difference"] == one["first"]["score"] - one["second"]["score"]
    mean = sum(one["difference"] for one in told["items"]) / 8
    assert told["difference"]["value"] == pytest.approx(mean)
    turned = client.get("/runs/chats/compare?first=good&second=bad&metric=length").json()
    assert turned["difference"]["value"] == pytest.approx(-mean)


def test_a_question_says_where_each_candidate_came_from(client: Any) -> None:
    told = client.get("/sets/kitchen").json()
    assert told["sources"] == {"human": 3, "bm25": 3}
    assert told["labels"] == {"off-topic": 3}
    assert client.get("/sets/kitchen?source=nowhere").json()["n"] == 0
    one = client.get("/sets/kitchen/2").json()
    assert [candidate["right"] for candidate in one["candidates"]] == [True, False]
    assert one["candidates"][1]["meta"] == {"rank": 2}
    assert one["position"] == {"place": 3, "n": 3, "before": 1, "after": None}
    assert client.get("/sets/kitchen/1?label=off-topic").json()["position"]["place"] == 2
    assert client.get("/sets/kitchen/1?source=nowhere").json()["position"]["n"] == 0
    page = client.get("/sets/kitchen?source=bm25", headers=PAGE).text
    assert 'href="/sets/kitchen/1?source=bm25"' in page
    page = client.get("/sets/kitchen/1?source=bm25", headers=PAGE).text
    assert 'rel="next" href="/sets/kitchen/2?source=bm25"' in page
    assert 'data-back href="/sets/kitchen?source=bm25"' in page


def test_a_statement_of_the_situation_has_its_category_wherever_it_is_shown(client: Any) -> None:
    for address in ("/sets/kitchen/1", "/runs/ranked/questions/1", "/runs/chosen/questions/1"):
        assert client.get(address).json()["situation"] == [
            {"text": "It is late.", "category": "time", "relevant": None}
        ]
        page = client.get(address, headers=PAGE).text
        assert re.search(r"<bdi>time</bdi>:</small> <span[^>]*>It is late\.</span>", page)


def test_published_sets_say_what_they_are(client: Any, published: Path) -> None:
    told = {one["about"]: one for one in client.get("/sets").json()["sets"]}
    assert told["sugar/0/dev"]["summary"] == dataset("sugar/0/dev").summary
    page = client.get("/sets", headers=PAGE).text
    assert "published as <bdi>sugar/0/dev</bdi>" in page
    assert dataset("sugar/0/dev").summary in html.unescape(page)


def test_references_say_that_their_source_is_one(client: Any) -> None:
    page = client.get("/runs/chats/items/1", headers=PAGE).text
    assert "Source: <bdi>human</bdi>" in page


def test_a_reply_of_a_run_can_be_tried(client: Any) -> None:
    told = client.get("/try?run=chats&reply=1").json()
    assert told["from"] == {"run": "chats", "reply": 1, "system": "bad"}
    assert told["reply"].startswith("Bananas")
    assert told["references"] == ["Yes, until 0."]


@pytest.mark.parametrize(
    ("address", "status", "sentence"),
    [
        ("/runs/nobody", 404, "there is no run 'nobody' here"),
        ("/runs/chats/replies?metric=blue", 404, "no metric 'blue'"),
        ("/runs/chats/replies?page=2", 404, "there is no page 2"),
        ("/runs/chats/replies?page=0", 422, "page is 0"),
        ("/runs/chats/replies?page=x", 422, "page is a string"),
        ("/runs/chats/replies?sort=mood", 404, "no column to sort by called 'mood'"),
        ("/runs/chats/replies?column=mood", 404, "no column 'mood'"),
        ("/runs/chats/replies?system=nobody", 404, "no system 'nobody'"),
        ("/runs/chats/replies?flag=red", 404, "no reply with the flag 'red'"),
        ("/runs/chats/replies?slice=meta.mood=good", 404, "no slice by 'meta.mood'"),
        ("/runs/chats/replies?range=length:a..b", 404, "write NAME:LOW..HIGH"),
        ("/runs/chats/replies?range=mood:1..2", 404, "no column of numbers 'mood'"),
        ("/runs/chats/replies?of=length&from=x", 422, "from is a string"),
        ("/runs/later/replies?only=apart", 404, "nobody rated replies"),
        ("/runs/chats/items/99", 404, "no item 99"),
        ("/runs/chats/items?winner=nobody-else", 404, "no system"),
        ("/runs/chats/items/1?first=nobody", 404, "no system 'nobody'"),
        ("/runs/chats/questions", 409, "has no questions"),
        ("/runs/chosen/questions/9", 404, "no question '9'"),
        ("/runs/ranked/questions?input=u%2BS9", 404, "no input 'u+S9'"),
        ("/compare?old=chats&new=nobody", 404, "no run of scores called 'nobody'"),
        ("/compare?old=chats&new=chats", 404, "both are the same run"),
        ("/runs/chats/replies/99", 404, "no reply 99"),
        ("/runs/chats/replies/-1", 404, "no reply"),
        ("/runs/chats/compare?first=bad&second=bad", 404, "both systems are 'bad'"),
        ("/runs/chosen/replies", 409, "is a selection"),
        ("/sets/nobody", 404, "there is no test set 'nobody' here"),
        ("/sets/kitchen/7", 404, "no question '7'"),
        ("/models/nobody", 404, "no model is called 'nobody'"),
    ],
)
def test_what_cannot_be_shown_is_told_in_one_sentence(client: Any, address: str, status: int, sentence: str) -> None:
    asked, page = client.get(address), client.get(address, headers=PAGE)
    assert asked.status_code == page.status_code == status
    assert sentence in asked.json()["error"]
    assert 'role="alert"' in page.text


def test_a_damaged_run_does_not_hide_the_others(tmp_path: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "run.json").write_text('{"format": 1}')
    write_lines(tmp_path / "set.jsonl", questions(1))
    with client_of(house_of(tmp_path)) as client:
        told = {one["name"]: one["problem"] for one in client.get("/runs").json()["runs"]}
        assert "cannot be read" in told["broken"]
        assert "is damaged" in told["odd"]
        assert client.get("/runs/broken").status_code == 409
        assert "set" in {one["name"] for one in client.get("/sets").json()["sets"]}


def test_what_is_new_is_there_without_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_DATA", str(tmp_path / "nothing"))  # or the published sets are there too
    with client_of(house_of(tmp_path)) as client:
        assert client.get("/sets").json()["sets"] == []
        write_lines(tmp_path / "new set.jsonl", questions(2))
        assert client.get("/sets/new-set").json()["questions"] == 2
        write_lines(tmp_path / "new set.jsonl", questions(3))
        assert client.get("/sets/new-set").json()["questions"] == 3


def test_names_that_are_taken_get_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_DATA", str(tmp_path / "nothing"))  # or the published sets are there too
    for part in ("a", "b"):
        (tmp_path / part).mkdir()
        write_lines(tmp_path / part / "set.jsonl", questions(1))
    assert set(RunLibrary([str(tmp_path / "a"), str(tmp_path / "b")]).sets()) == {"set", "set-2"}


def test_one_click_fetches_a_model(house: PageContext, client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")  # in which this model comes
    fetched: list[str] = []
    monkeypatch.setattr(fetch, "fetch_model", lambda name: fetched.append(name))
    page = client.get("/models", headers=PAGE).text
    assert "Fetch glove-6b-50d under the licence" in page
    assert client.post("/models/glove-6b-50d/get").status_code == 202
    form = client.post("/models/glove-6b-50d/get", data={"csrf": house.auth.mark}, headers=PAGE, follow_redirects=False)
    assert (form.status_code, form.headers["location"]) == (303, "/models/glove-6b-50d")
    for _ in range(100):
        if fetched:
            break
        time.sleep(0.02)
    assert fetched[0] == "glove-6b-50d"
    assert client.post("/models/nobody/get").status_code == 404


def test_a_model_that_cannot_be_fetched_says_why(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str) -> None:
        raise OSError("no network")

    monkeypatch.setattr(fetch, "fetch_model", fail)
    client.post("/models/gpt2/get")
    for _ in range(100):
        told = client.get("/models/gpt2").json()["model"]["fetching"]
        if told != "being fetched":
            break
        time.sleep(0.02)
    assert told == "not fetched: OSError: no network"


def test_the_command_says_what_is_wrong_before_it_serves(tmp_path: Path) -> None:
    told = CliRunner().invoke(program, ["serve", str(tmp_path / "nothing")])
    assert "no such file or folder" in str(told.exception)
    told = CliRunner().invoke(program, ["serve", str(tmp_path), "--token", "short"])
    assert "a token needs at least 16" in str(told.exception)


def test_annotation_and_exploration_share_one_server(house: PageContext, tmp_path: Path) -> None:
    from starlette.testclient import TestClient

    from rejoinder.server.pages.app import make_explore_app
    from rejoinder.server.pages.dispatch import AppDispatcher
    from tests.annotate_site import FREE, make_annotation_app, store_of, write_project

    store = store_of(write_project(tmp_path))
    app = AppDispatcher(make_explore_app(house), make_annotation_app(store.project, store, limits=FREE), house.auth)
    rater, owner, explorer = (TestClient(app, base_url=house.auth.url) for _ in range(3))
    assert rater.get(f"/r/{store.add_rater('ann')}").url.path == "/"
    assert "Read all of it." in rater.get("/", headers=PAGE).text
    assert rater.get("/work", headers=PAGE).status_code == 200
    assert rater.get("/static/annotate.css").status_code == 200
    assert rater.get("/runs", headers=PAGE).status_code == 404
    assert owner.get(f"/r/{store.add_rater('chief', 'owner')}").url.path == "/owner"
    assert owner.get("/models", headers=PAGE).status_code == 404
    assert 'href="/runs"' in owner.get("/owner", headers=PAGE).text
    assert explorer.get(f"/r/{house.auth.token}", headers=PAGE).url.path == "/try"
    assert "Try a reply" in explorer.get("/", headers=PAGE).text
    assert 'href="/owner"' in explorer.get("/runs", headers=PAGE).text
    assert explorer.get("/static/icon.svg").status_code == 200
    assert explorer.get("/work", headers=PAGE).status_code == 404
    store.close()
