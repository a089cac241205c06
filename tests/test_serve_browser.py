"""The real pages of ``rejoinder serve`` in headless Chromium, each as somebody would use it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api")

from playwright.sync_api import expect

from tests.annotate_chromium import needs_chromium, opened
from tests.serve_site import NASTY, library_at, serving

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    folder = library_at(tmp_path_factory.mktemp("site") / "runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REJOINDER_CACHE", str(tmp_path_factory.mktemp("cache")))
        with serving(str(folder)) as found:
            yield found


@pytest.fixture
def page(browser: Any, site: tuple[str, str]) -> Iterator[Any]:
    found = opened(browser, site[1])
    assert found.url == site[0] + "/try"
    found.site = site[0]
    yield found
    assert found.wrong == []
    found.context.close()


def score_of(page: Any, metric: str) -> float:
    """The score that the Try page shows."""
    return float(page.inner_text(f'#scores tr:has(th b:text-is("{metric}")) td.number'))


def test_scores_move_as_a_reply_is_typed(page: Any) -> None:
    page.wait_for_selector("#scores tr")
    page.fill("#context", "guest: Hello.\nguest: Is it open on Sunday?")
    page.fill("#reply", "Yes.")
    page.wait_for_selector('#scores tr:has(th b:text-is("length")) td.number:text-is("1.000")')
    page.locator("#reply").press_sequentially(" It is open on Sunday from ten.", delay=5)
    page.wait_for_selector('#scores tr:has(th b:text-is("length")) td.number:text-is("8.000")')
    assert score_of(page, "context_overlap") > 0
    matched = page.inner_text('#scores tr:has(th b:text-is("context_overlap")) td.why')
    assert matched == "turn 2: Is it open on Sunday?"
    assert "embedding_average" in page.text_content("#absent")


def test_the_words_that_cost_most_and_the_attacks_are_shown(page: Any) -> None:
    page.select_option("#metric", "bleu")
    page.fill("#references", "Yes, from ten to five.")
    page.fill("#reply", "Yes, from ten to five, bananas!")
    page.wait_for_selector("#marked mark.cost:text-is('bananas!')")
    page.wait_for_selector("#attacks:not([hidden])")
    assert "bananas!" in page.inner_text("#costly")
    assert "with its words reversed" in page.inner_text("#trials")
    page.fill("#references", "")
    page.wait_for_selector("#why-problem:has-text('bleu needs known good replies')")


def test_a_chat_log_can_be_pasted_or_loaded(page: Any, tmp_path: Path) -> None:
    log = '{"messages": [{"role": "user", "content": "Is the kitchen open?"}, {"role": "assistant", "content": "No."}]}'
    page.fill("#context", log)
    page.fill("#reply", "The kitchen is closed.")
    row = '#scores tr:has(th b:text-is("context_overlap")) td.why'
    page.wait_for_selector(f'{row}:has-text("turn 1: Is the kitchen open?")')
    page.fill("#context", "{ no json")
    page.wait_for_selector("#context-problem:has-text('could not be read')")
    (tmp_path / "talk.txt").write_text("Is the window open?\nIt is cold.\n")
    page.set_input_files("#file", str(tmp_path / "talk.txt"))
    page.fill("#reply", "Shall I close the window?")
    page.wait_for_selector(f'{row}:has-text("turn 1: Is the window open?")')


def test_the_last_message_of_a_chat_log_becomes_the_reply(page: Any, tmp_path: Path) -> None:
    log = (
        '[{"role": "user", "content": "Is the kitchen\\nopen?"}, {"role": "assistant", "content": "It is open."},'
        ' {"role": "user", "content": "Until when?"}, {"role": "assistant", "content": "Until ten."}]'
    )
    (tmp_path / "log.json").write_text(log)
    page.set_input_files("#file", str(tmp_path / "log.json"))
    page.wait_for_selector("#preview-count:text-is('3 turns')")
    assert page.input_value("#reply") == "Until ten."
    assert page.input_value("#context") == "user: Is the kitchen open?\nassistant: It is open.\nuser: Until when?"
    assert page.locator("#preview li").all_text_contents()[2] == "user: Until when?"
    (tmp_path / "thanks.json").write_text(log[:-1] + ', {"role": "user", "content": "Thanks."}]')
    page.fill("#reply", "")
    page.set_input_files("#file", str(tmp_path / "thanks.json"))
    expect(page.locator("#reply")).to_have_value("Until ten.")
    assert page.locator("#preview li").count() == 3


def test_the_address_holds_the_example(page: Any, browser: Any, site: tuple[str, str]) -> None:
    page.fill("#context", "guest: Is it open on Sunday?")
    page.fill("#reply", "Yes & from ten #1.")
    page.wait_for_url(re.compile("%231"))
    address = page.url
    page.goto(page.site + "/runs")
    page.goto(address)
    page.wait_for_selector("#scores tr")
    assert page.input_value("#reply") == "Yes & from ten #1."
    assert page.input_value("#context") == "guest: Is it open on Sunday?"


def test_metrics_are_in_groups_with_their_direction(page: Any) -> None:
    page.wait_for_selector("#scores tr.group")
    groups = page.locator("#scores tr.group th").all_text_contents()
    assert groups == list(dict.fromkeys(groups))
    assert "Does it fit the conversation?" in groups
    row = '#scores tr:has(th b:text-is("length"))'
    page.wait_for_selector(f"{row} small:text-is('describes only')")
    assert "number of words" in page.inner_text(f"{row} th small")


def test_an_attack_beats_a_reply_only_where_the_metric_has_a_direction(page: Any) -> None:
    page.select_option("#metric", "length")
    page.fill("#reply", "No.")
    page.wait_for_selector("#trials tr:nth-child(3)")
    assert "beats the reply" not in page.inner_text("#trials")


def test_a_server_that_is_gone_is_told_in_words_and_old_scores_are_cleared(page: Any) -> None:
    page.wait_for_selector("#scores tr")
    page.route("**/try", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    page.fill("#reply", "Something else.")
    page.wait_for_selector("#status:has-text('The server does not answer')")
    assert page.locator("#scores tr").count() == 0
    page.wrong = [text for text in page.wrong if "ERR_FAILED" not in text]


def test_texts_that_look_like_markup_stay_texts(page: Any) -> None:
    page.fill("#context", NASTY)
    page.fill("#reply", NASTY)
    page.wait_for_selector("#attacks:not([hidden])", timeout=60_000)
    assert page.locator("main img").count() == 0
    assert "<script>" in page.inner_text("#marked")


def test_a_test_set_is_read_by_keyboard(page: Any) -> None:
    page.goto(page.site + "/sets/kitchen")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    page.focus("tbody a")
    page.keyboard.press("Enter")
    page.wait_for_selector("ol.candidates >> text=Source")
    assert "bm25" in page.inner_text("ol.candidates")
    assert "off-topic" in page.inner_text("ol.candidates")
    page.click("a[rel=next]")
    assert page.inner_text("h1") == "Question q1"


def test_models_show_their_cards_and_licences(page: Any) -> None:
    page.click("nav >> text=Models")
    assert page.locator("button[aria-label^='Fetch gpt2 under the licence MIT']").count() == 1
    page.click("tbody >> text=aptness")
    assert "CC-BY-SA-4.0" in page.inner_text("main")
    assert page.locator(".prose p").count() > 1
    assert page.locator(".prose td.number").count() > 1  # aligned without a style, which the page's policy forbids


def test_a_stranger_sees_nothing(browser: Any, site: tuple[str, str]) -> None:
    stranger = browser.new_context().new_page()
    for path in ("/", "/try", "/runs", "/static/try.js", "/r/wrong-token-wrong-token"):
        assert stranger.goto(site[0] + path).status == 404
        assert stranger.inner_text("h1") == "There is nothing here"
    stranger.context.close()
