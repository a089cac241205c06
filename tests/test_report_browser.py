"""The report in headless Chromium: replies are searched, filtered, sorted; it prints whole; axe-core finds nothing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api")

import rejoinder
from tests.annotate_chromium import AXE, needs_axe, needs_chromium, opened

CHATS = Path(__file__).parent.parent / "examples" / "chats.jsonl"
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    rejoinder.run([CHATS], rejoinder.Plan.of(["length", "rouge_l"]), folder / "run", cache=False)
    rejoinder.report(folder / "run", folder / "run.html")
    return (folder / "run.html").as_uri()


def column(page: Any, place: int) -> list[str]:
    found: list[str] = page.locator(f"#reply-table tbody td:nth-child({place})").all_inner_texts()
    return found


def test_replies_are_searched_filtered_and_sorted_without_a_server(browser: Any, report: str) -> None:
    page = opened(browser, report)
    caption = page.locator("#reply-table-c")
    assert caption.inner_text() == "192 replies"
    assert len(column(page, 1)) == 50
    page.locator("#filters").get_by_label("System").select_option("parrot")
    assert caption.inner_text() == "48 of 192 replies"
    assert set(column(page, 1)) == {"parrot"}
    page.locator("#reply-table").get_by_role("button", name="rouge_l").click()
    scores = [float(text) for text in column(page, 5)]
    assert scores == sorted(scores)
    page.locator("#reply-table").get_by_role("button", name="rouge_l").click()
    assert [float(text) for text in column(page, 5)] == sorted(scores, reverse=True)
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("rouge_l")
    page.locator("#filters").get_by_label("Score or rating").select_option("rouge_l")
    page.locator("#filters").get_by_label("from").fill("0.2")
    assert all(float(text) >= 0.2 for text in column(page, 5))
    page.locator("#filters").get_by_label("from").fill("")
    page.locator("#filters").get_by_label("Search").fill("no such words at all")
    assert column(page, 1) == []
    assert page.inner_text("#said") == "0 of 192 replies shown."
    page.locator("#filters").get_by_label("Search").fill("")
    page.locator("#filters").get_by_label("System").select_option("all")
    page.locator("#pages").get_by_role("button", name="Next").click()
    assert page.inner_text("#pages span") == "Page 2 of 4"
    assert page.wrong == []


def test_without_scripts_all_replies_are_there(browser: Any, report: str) -> None:
    page = opened(browser, report, java_script_enabled=False)
    assert page.locator("#reply-table tbody tr").count() == 192
    assert not page.locator("#filters").is_visible()


@pytest.mark.parametrize("scripts", [True, False])
def test_every_detail_is_open_in_print(browser: Any, report: str, scripts: bool) -> None:
    page = opened(browser, report, java_script_enabled=scripts)
    hidden = page.locator("#people details").first.locator("table")
    assert not hidden.is_visible()
    page.emulate_media(media="print")
    assert hidden.is_visible()
    assert not page.locator("nav").first.is_visible()
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf())) > 3


def test_the_contents_stay_in_sight_and_nothing_scrolls_sideways(browser: Any, report: str) -> None:
    page = opened(browser, report)
    page.locator("nav a", has_text="Provenance").click()
    assert page.evaluate("document.querySelector('nav').getBoundingClientRect().top") == 0
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    digest, size = (page.locator(f"#origin td{kind}").first.bounding_box() for kind in (".digest", ".number"))
    assert digest["x"] + digest["width"] <= size["x"] + 1


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_wrong(browser: Any, report: str, scheme: str, width: int) -> None:
    page = opened(browser, report, width, bypass_csp=True, color_scheme=scheme)
    page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    page.add_script_tag(path=str(AXE))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations'], preload: false})")
    assert [(one["id"], [node["html"][:120] for node in one["nodes"][:2]]) for one in found["violations"]] == []
