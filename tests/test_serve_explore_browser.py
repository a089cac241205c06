"""The pages of runs in headless Chromium: the table of replies with its keys, charts, items, comparisons, questions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api")

import rejoinder
from rejoinder.scoring.run import Plan, run
from tests.annotate_chromium import needs_chromium, opened, press
from tests.serve_site import FIRST_LOOKS, first_look, library_at, records, serving, write_lines

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    folder = library_at(tmp_path_factory.mktemp("site") / "runs")
    with serving(str(folder)) as found:
        for path in FIRST_LOOKS:
            first_look(found[0] + path)
        yield found


@pytest.fixture
def page(browser: Any, site: tuple[str, str]) -> Iterator[Any]:
    found = opened(browser, site[1])
    found.site = site[0]
    yield found
    assert found.wrong == []
    found.context.close()


def test_a_run_is_browsed_from_the_leaderboard_to_a_conversation(page: Any) -> None:
    page.click("nav >> text=Runs")
    page.wait_for_url("**/runs")
    page.click("tbody th a:text-is('chats')")
    page.wait_for_url("**/runs/chats")
    assert page.locator("svg.bar").count() == 6
    page.click("nav >> text=People")
    page.select_option("#f-metric", "length")
    page.click("button:text-is('Show')")
    page.wait_for_url("**metric=length*")
    dots = page.locator("svg.scatter a")
    assert dots.count() == 16
    assert page.locator("svg.scatter circle.series-1").count() == 8
    assert page.locator("svg.reliability circle").count() > 1
    dots.nth(3).click(force=True)
    page.wait_for_url("**/replies/*")
    assert page.inner_text("h1") == "Conversation"
    assert page.locator("article.here").count() == 1
    page.click("article.here >> text=Edit and try it")
    page.wait_for_url("**/try?*")
    assert page.inner_text("main p").startswith("From the run chats")


def test_replies_are_searched_filtered_and_sorted(page: Any) -> None:
    page.goto(page.site + "/runs/chats/replies")
    assert page.inner_text("[role=status]").startswith("16 replies")
    page.fill("#f-q", "bananas")
    page.select_option("select[name=of]", "length")
    page.fill("input[name=from]", "11")
    page.click("summary:has-text('Columns')")
    for column in ("system", "length"):
        page.check(f"input[name=column][value={column}]")
    page.click("button:text-is('Show')")
    page.wait_for_url("**/replies?q=bananas&range=length%3A11..&column=system&column=length")
    assert page.locator("thead th").count() == 3
    page.click("thead a:text-is('length')")
    page.wait_for_url("**sort=-length*")
    values = [float(text) for text in page.locator("tbody td.number").all_inner_texts()]
    assert values == sorted(values, reverse=True)
    page.click(".chips a:has-text('bananas')")
    page.wait_for_url(lambda address: "bananas" not in address)
    with page.expect_download() as started:
        page.click(".downloads a:text-is('CSV')")
    assert started.value.suggested_filename == "chats.csv"


def test_keys_walk_through_a_list_and_keep_its_filter(page: Any) -> None:
    page.goto(page.site + "/runs/chats/replies?system=bad&sort=-length")
    links = page.locator("table[data-rows] tbody th a")
    third = links.nth(2).get_attribute("href")
    press(page, "j", "j", "j", "j", "k", "Enter")
    page.wait_for_url("**" + third)
    assert "3 of 8" in page.inner_text("nav.pages")
    press(page, "j")
    page.wait_for_selector("nav.pages:has-text('4 of 8')")
    press(page, "k")
    page.wait_for_selector("nav.pages:has-text('3 of 8')")
    assert page.url.endswith("?system=bad&sort=-length")
    press(page, "u")
    page.wait_for_selector("table[data-rows]")
    assert page.url.endswith("/replies?system=bad&sort=-length")
    press(page, "/")
    assert page.evaluate("document.activeElement.id") == "f-q"


def test_a_range_that_is_dragged_over_a_histogram_filters(page: Any) -> None:
    page.goto(page.site + "/runs/chats/replies?sort=length")
    box = page.locator("svg.histogram").bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + 30)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 3, box["y"] + 32, steps=4)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 34, steps=4)
    page.mouse.up()
    page.wait_for_url("**range=length*")
    n = page.locator("tbody tr").count()
    assert 0 < n < 16
    page.goto(page.site + "/runs/chats/distributions")
    page.locator("svg.histogram a").first.click()
    page.wait_for_url("**/replies?system=*range=*")
    assert 0 < page.locator("tbody tr").count() < 16


def test_items_and_systems_are_compared(page: Any) -> None:
    page.goto(page.site + "/runs/chats/items?metric=rating:apt")
    page.click("tbody a >> nth=0")
    page.wait_for_selector(".side article")
    assert page.locator(".side article").count() == 2
    page.select_option("#f-first", "bad")
    page.select_option("#f-second", "good")
    page.click("button:text-is('Compare')")
    page.wait_for_url("**first=bad&second=good")
    assert page.locator(".outcome.better").count() > 0
    assert "Bananas" in page.inner_text(".diff del")
    page.goto(page.site + "/runs/chats/compare")
    assert page.inner_text("h1") == "good and bad"
    assert page.locator("article.pair").count() == 8


def test_keys_walk_through_items_and_keep_their_filter(page: Any) -> None:
    page.goto(page.site + "/runs/chats/items?metric=rating:apt&winner=good&sort=lowest")
    third = page.locator("table[data-rows] tbody th a").nth(2).get_attribute("href")
    press(page, "j", "j", "j", "Enter")
    page.wait_for_url("**" + third)
    assert "3 of 8" in page.inner_text("nav.pages")
    page.select_option("#f-first", "bad")
    page.click("button:text-is('Compare')")
    page.wait_for_url("**first=bad*")
    assert "3 of 8" in page.inner_text("nav.pages")
    press(page, "j")
    page.wait_for_selector("nav.pages:has-text('4 of 8')")
    assert page.input_value("#f-first") == "bad"
    press(page, "u")
    page.wait_for_selector("table[data-rows]")
    assert page.inner_text("[role=status]") == "8 items."
    assert "winner=good" in page.url


def test_one_system_is_not_offered_a_comparison_and_long_turns_unfold_and_print(browser: Any, tmp_path: Path) -> None:
    lines = [line for line in records(2) if line["kind"] != "rating" and line.get("system") != "bad"]
    lines[0]["context"] = [{"text": "The beginning. " + "word " * 600 + "the very end."}, {"text": "Hello?"}]
    data = write_lines(tmp_path / "alone.jsonl", lines)
    run([data], Plan.of(["length"]), tmp_path / "runs" / "alone", cache=False)
    with serving(str(tmp_path / "runs")) as (url, link):
        first_look(url + "/runs/alone")
        found = opened(browser, link, java_script_enabled=False)
        found.goto(url + "/runs/alone/items/0")
        end = found.get_by_text("the very end.")
        assert not end.is_visible()
        found.emulate_media(media="print")
        assert end.is_visible()
        assert not found.get_by_text("Show the other").is_visible()
        found.emulate_media(media="screen")
        found.click("summary:has-text('Show the other')")
        assert end.is_visible()
        found.goto(url + "/runs/alone")
        assert "Two systems" not in found.inner_text("nav.tabs")
        found.goto(url + "/runs/alone/compare")
        assert "only one system" in found.inner_text("main")
        found.click("text=Compare it with another run")
        found.wait_for_url("**/compare?new=alone")
        found.context.close()


def test_two_runs_are_chosen_and_compared(page: Any) -> None:
    page.goto(page.site + "/runs")
    page.select_option("#f-old", "chats")
    page.select_option("#f-new", "later")
    page.click("button:text-is('Compare two runs')")
    page.wait_for_url("**/compare?old=chats&new=later")
    page.select_option("#f-only", "worse")
    page.click("button:text-is('Compare')")
    page.wait_for_url("**only=worse*")
    assert set(page.locator(".pair .outcome").all_inner_texts()) == {"worse"}
    page.goto(page.site + "/compare?old=chats&new=later&system=good&metric=length")
    page.click("article.pair summary >> nth=0")
    assert "bananas" in page.inner_text("article.pair ins >> nth=0")


def test_the_questions_of_a_selection_are_filtered(page: Any) -> None:
    page.goto(page.site + "/runs/chosen")
    page.click("text=Who chose what on each question")
    page.wait_for_selector("table[data-rows]")
    page.select_option("#f-outcome", "right")
    page.click("button:text-is('Show')")
    page.wait_for_url("**outcome=right*")
    assert set(page.locator("td .outcome").all_inner_texts()) == {"right"}
    press(page, "j", "Enter")
    page.wait_for_selector("ol.candidates")
    assert "Chosen by tfidf" in page.inner_text("ol.candidates")


def test_every_page_shows_its_content_without_scripts(browser: Any, site: tuple[str, str]) -> None:
    found = opened(browser, site[1], java_script_enabled=False)
    for path, selector in {
        "/runs": "tbody tr >> nth=3",
        "/runs/chats": "svg.bar >> nth=5",
        "/runs/chats/replies": "tbody tr >> nth=15",
        "/runs/chats/replies/3": "article.here",
        "/runs/chats/items/1": ".side article >> nth=1",
        "/runs/chats/distributions": "svg.histogram a >> nth=3",
        "/runs/chats/people": "svg.scatter circle >> nth=15",
        "/runs/chats/compare": "article.pair >> nth=7",
        "/compare?old=chats&new=later": "article.pair >> nth=15",
        "/runs/chosen/questions": "tbody tr >> nth=2",
        "/models/aptness": ".prose p >> nth=0",
    }.items():
        found.goto(site[0] + path)
        assert found.locator(selector).is_visible(), path
    found.goto(site[0] + "/try")
    assert [found.locator(part).is_visible() for part in ("#reply", "#results", "#preview-box")] == [True, False, False]
    found.goto(site[0] + "/runs/chats/replies?sort=length")
    found.locator("svg.histogram a").first.click()
    found.wait_for_url("**range=length*")
    found.context.close()


def test_long_names_and_words_fit_a_phone(browser: Any, tmp_path: Path) -> None:
    long = {"good": "a-model-of-2026-with-retrieval-over-the-handbook-and-a-very-long-name", "bad": "x" * 90}
    lines = [line for line in records(3) if line["kind"] != "rating"]
    for line in lines:
        if line["kind"] == "response":
            line["system"] = long[line["system"]]
            line["text"] += " " + "http://example.org/" + "path" * 40
    plan = Plan.of(["context_overlap", "length", "bleu"], matched=True)
    run([write_lines(tmp_path / "long.jsonl", lines)], plan, tmp_path / "runs" / "long", cache=False)
    rejoinder.report(tmp_path / "runs" / "long", tmp_path / "long.html")
    with serving(str(tmp_path / "runs")) as (url, link):
        first_look(url + "/runs/long")
        found = opened(browser, link, width=390)
        pages = ("", "/replies", "/replies/1", "/items", "/items/1", "/distributions", "/compare")
        for address in (*(f"{url}/runs/long{page}" for page in pages), (tmp_path / "long.html").as_uri()):
            found.goto(address)
            assert found.evaluate("document.documentElement.scrollWidth") <= 390, address
        found.goto(url + "/runs/long/replies")
        assert found.locator("td[data-head=system] bdi").first.bounding_box()["width"] > 150
        assert found.wrong == []
        found.context.close()
