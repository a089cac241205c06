"""The real pages in headless Chromium: a rater works by keyboard alone, an owner watches, and ``trust`` runs on it."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api")
pytest.importorskip("httpx2")

import httpx2 as httpx

from rejoinder.cli import program
from tests.annotate_chromium import needs_chromium, opened, press, title
from tests.annotate_site import EXERCISE, FORMS, answered, hosting, serving, stores_are_closed, write_project  # noqa: F401

pytestmark = needs_chromium
WIDTHS = (1280, 360)


def send(page: Any, *keys: str) -> None:
    """Press keys, then Enter, and wait for the page that follows."""
    press(page, *keys)
    with page.expect_navigation():
        press(page, "Enter")


def test_a_rater_works_by_keyboard_the_owner_watches_and_trust_runs(browser: Any, tmp_path: Path) -> None:
    path = write_project(tmp_path, items=12, extra="units_per_rater = 20\nraters_per_unit = 2", tables=EXERCISE)
    with serving(path, "--raters", "ann,bea") as (url, links, _):
        page = opened(browser, links["ann"])
        assert page.url == url + "/"
        send(page)
        assert title(page) == "Exercise 1 of 2"
        send(page, "5", "4")
        assert title(page) == "As expected"
        send(page)
        send(page, "5", "4")
        assert title(page) == "Not as expected"
        send(page)
        for unit in range(1, 10):
            assert title(page) == f"Unit {unit} of 20"
            send(page, str(unit % 5 + 1), str(unit % 3 + 1))
        _looks_around(page)
        assert page.wrong == []
        page.context.close()

        page = opened(browser, links["ann"])  # another day, another browser
        assert "9 of 20 done" in page.inner_text(".go")
        send(page)
        for unit in range(10, 21):
            assert title(page) == f"Unit {unit} of 20"
            send(page, *("15" if "I do not know" in page.inner_text(".reply") else "54"))
        assert title(page) == "Done. Thank you!"
        assert page.wrong == []
        page.context.close()

        _works_through_forms(links["bea"])
        _owner_watches(browser, links["owner"], tmp_path / "ratings.jsonl")
    _trusts(tmp_path)


def _looks_around(page: Any) -> None:
    """Help, a draft that survives a reload, an answer taken back, and one that is not complete."""
    press(page, "?")
    assert page.is_visible("dialog#keys")
    press(page, "Escape")
    assert not page.is_visible("dialog#keys")
    press(page, "4")
    page.reload()
    assert page.is_checked('input[name="appropriate.r1"][value="4"]')
    press(page, "Enter")
    assert page.inner_text("fieldset[data-current] .problem") == "Please answer this."
    assert title(page) == "Unit 10 of 20"
    with page.expect_navigation():
        press(page, "u")
    assert title(page).startswith("Again: ")
    assert page.is_checked('input[name="appropriate.r1"][value="5"]')
    send(page, "2")
    assert title(page) == "Unit 10 of 20"
    assert not page.is_checked('input[name="appropriate.r1"][value="4"]')


def _works_through_forms(link: str) -> None:
    """Another rater, without a script."""
    chance = random.Random(0)
    with httpx.Client(follow_redirects=True) as client:
        page = client.get(link).text
        base = link.partition("/r/")[0]
        while "Done" not in (page := client.get(base + "/work").text):
            client.post(base + "/work", data=answered(page, pick=chance.randrange(5)))


def _owner_watches(browser: Any, link: str, target: Path) -> None:
    page = opened(browser, link)
    assert "40 of 48" in page.inner_text("main")
    page.click("text=Agreement")
    assert page.inner_text("tbody th >> nth=0") == "appropriate"
    alpha = page.inner_text('tbody td[data-head^="Krippendorff"] >> nth=0')
    value, low, high = (float(number) for number in re.findall(r"-?\d\.\d+", alpha))
    assert low <= value <= high
    assert page.is_visible("text=Raters to look at")
    page.click("text=Export")
    with page.expect_download() as download:
        page.click("text=ratings")
    download.value.save_as(target)
    assert page.wrong == []
    page.context.close()


def _trusts(folder: Path) -> None:
    run = CliRunner()
    files = [str(folder / "data.jsonl"), str(folder / "ratings.jsonl")]
    options = ["--metric", "length", "--processes", "1", "--output", str(folder / "run")]
    scored = run.invoke(program, ["score", *files, *options])
    assert scored.exit_code == 0, scored.output
    trusted = run.invoke(program, ["trust", str(folder / "run"), "--aspect", "appropriate", "--resamples", "100"])
    assert trusted.exit_code == 0, trusted.output
    assert "length" in trusted.output


@pytest.mark.parametrize("form", FORMS)
def test_every_form_can_be_answered_by_keyboard_on_a_phone(browser: Any, form: str, tmp_path: Path) -> None:
    path = write_project(tmp_path, form, extra="units_per_rater = 1\nraters_per_unit = 1\ncomments = true")
    with hosting(path, "ann") as (url, links):
        page = opened(browser, links["ann"])
        page.goto(url + "/work")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 800})
                for where in ("/", "/work"):
                    page.goto(url + where)
                    assert page.evaluate("document.documentElement.scrollWidth") <= width
        _answer_by_keyboard(page)  # as it is now: dark, on a phone
        assert title(page) == "Done. Thank you!"
        assert page.wrong == []
        page.context.close()


def _answer_by_keyboard(page: Any) -> None:
    """Digits, where there is something to choose; letters, where there is something to write."""
    for _ in range(page.locator(".ask:visible").count()):
        kind = page.evaluate("document.querySelector('.ask[data-current]').dataset.kind")
        if kind in ("text", "lines"):
            if page.evaluate("document.activeElement.tagName") != "TEXTAREA":
                press(page, "n")
            page.keyboard.type("Written 1 2 3 u ? by hand")
            assert "Written 1 2 3 u ? by hand" in page.input_value(".ask[data-current] textarea")
            press(page, "Escape", "n")
        elif kind == "labels":
            taken_back = page.locator(".ask[data-current] input:checked").count()  # the same key would take it away
            press(page, *("3" if taken_back else "2"), "n")
        else:
            press(page, "2")
    press(page, "Escape")
    with page.expect_navigation():
        press(page, "Enter")


# What the key 2 chooses in each form, and something else: a question of the exercise that is answered rightly with it,
# and one that is not.
SECOND = {
    "rate": ("appropriate", "2", "5"),
    "candidates": ("appropriate", "2", "5"),
    "grade": ("grade", "1", "2"),
    "references": ("appropriate", "1", "2"),
    "review": ("verdict", '"edit"', '"accept"'),
    "validate": ("new", "1", "0"),
    "errors": ("errors", '["ignores the question"]', '["off topic"]'),
    "compare": ("overall", '"tie"', '"r1"'),
}


def exercise_for(form: str) -> str:
    """An exercise of two questions, of which one right answer is enough."""
    replies = {"compare": 'replies = ["At three.", "Bananas."]', "write": "", "situation": ""}
    lines = ["[exercise]", "needed = 1"]
    for question in (1, 2):
        lines += ["[[exercise.questions]]", f'context = ["When does it open? ({question})"]']
        lines.append(replies.get(form, 'reply = "At three."'))
        if form in SECOND:
            lines.append(f"answer = {{ {SECOND[form][0]} = {SECOND[form][question]} }}")
    return "\n".join(lines)


# A long queue is the same for every form: one is worked through to the end of 20 units, the others to that of 6.
@pytest.mark.parametrize(("form", "units"), [("rate", 20), *((form, 6) for form in FORMS if form != "rate")])
def test_the_exercise_and_all_units_of_every_form_are_done_by_keyboard(
    browser: Any, form: str, units: int, tmp_path: Path
) -> None:
    extra = f"units_per_rater = {units}\nraters_per_unit = 1"
    path = write_project(tmp_path, form, units, extra, exercise_for(form))
    with hosting(path, "ann") as (_, links):
        page = opened(browser, links["ann"])
        send(page)
        seen = []
        for expected in ("As expected", "Not as expected"):
            assert title(page) == f"Exercise {len(seen) + 1} of 2"
            _answer_by_keyboard(page)
            seen.append(title(page))
            assert title(page) == (expected if form in SECOND else "As expected")
            send(page)
        for unit in range(1, units + 1):
            assert title(page) == f"Unit {unit} of {units}"
            if unit == units // 2:  # the browser is closed in the middle of it
                assert page.wrong == []
                page.context.close()
                page = opened(browser, links["ann"])
                send(page)
                assert title(page) == f"Unit {unit} of {units}"
            _answer_by_keyboard(page)
            if unit == units - 1:
                with page.expect_navigation():
                    press(page, "u")
                assert title(page).startswith("Again: ")
                _answer_by_keyboard(page)
        assert title(page) == "Done. Thank you!"
        assert page.wrong == []
        page.context.close()


def test_an_edit_is_written_right_after_it_was_chosen(browser: Any, tmp_path: Path) -> None:
    path = write_project(tmp_path, "review", extra="units_per_rater = 1")
    with hosting(path, "ann") as (url, links):
        page = opened(browser, links["ann"])
        page.goto(url + "/work")
        assert not page.is_visible('textarea[name="text.r1"]')
        press(page, "2")
        assert page.is_visible('textarea[name="text.r1"]')
        page.keyboard.type("Better. ")
        page.reload()
        assert page.input_value('textarea[name="text.r1"]').startswith("Better. ")
        with page.expect_navigation():
            press(page, "Control+Enter")
        assert title(page) == "Done. Thank you!"


def test_nothing_wrong_stands_beside_the_other_labels(browser: Any, tmp_path: Path) -> None:
    path = write_project(tmp_path, "errors", extra="units_per_rater = 1")
    with hosting(path, "ann") as (url, links):
        page = opened(browser, links["ann"])
        page.goto(url + "/work")
        press(page, "1", "3", "1")
        chosen = "[...document.querySelectorAll('#answer input:checked')].map((one) => one.dataset.key).join()"
        assert page.evaluate(chosen) == "3"
        press(page, "8")
        assert page.evaluate(chosen) == "8"
        press(page, "2")
        assert page.evaluate(chosen) == "2"


def test_single_keys_can_be_turned_off_and_on_again(browser: Any, tmp_path: Path) -> None:
    path = write_project(tmp_path, extra="units_per_rater = 1")
    with hosting(path, "ann") as (url, links):
        page = opened(browser, links["ann"])
        page.goto(url + "/work")
        for chosen in (0, 1):
            page.click("#show-keys")
            assert page.evaluate("document.activeElement.innerText").startswith("Close")
            press(page, "Shift+Tab", "Space", "Escape")
            page.reload()
            press(page, "3")
            assert page.locator("#answer input:checked").count() == chosen
            if not chosen:  # the keys that every form has still work
                page.focus("#f0-0")
                press(page, "ArrowRight")
                assert page.is_checked("#f0-1")
                page.evaluate("sessionStorage.clear()")
                page.evaluate("document.getElementById('answer').reset()")
        assert page.wrong == []


def test_a_page_works_without_its_script(browser: Any, tmp_path: Path) -> None:
    path = write_project(tmp_path, extra="units_per_rater = 1")
    with hosting(path, "ann") as (url, links):
        page = opened(browser, links["ann"], java_script_enabled=False)
        page.goto(url + "/work")
        for name in ("appropriate.r1", "on-topic.r1"):
            page.check(f'input[name="{name}"][value="3"]', force=True)
        page.click("#send")
        assert title(page) == "Done. Thank you!"


def test_the_owner_goes_through_the_units_of_a_filter_and_decides(browser: Any, tmp_path: Path) -> None:
    path = write_project(tmp_path, items=3, extra="comments = true")
    with hosting(path, "ann") as (url, links):
        with httpx.Client(follow_redirects=True, timeout=60) as client:
            client.get(links["ann"])
            for _number in range(3):
                form = answered(client.get(url + "/work").text)
                client.post(url + "/work", data={**form, "comment": "a long remark " * 60})
        page = opened(browser, links["owner"])
        page.goto(url + "/owner/judgements?only=comments")
        fits = "[...document.querySelectorAll('.box')].every((box) => box.scrollWidth <= box.clientWidth)"
        assert page.evaluate(fits)  # long comments are wrapped
        page.click("article h2 a >> nth=0")
        page.wait_for_selector("nav.steps:has-text('1 of 3')")
        page.click("a[rel=next]")
        page.wait_for_selector("nav.steps:has-text('2 of 3')")
        for choices in page.query_selector_all('fieldset[data-kind="choice"]'):
            choices.query_selector_all("input")[0].check(force=True)
        page.click("button:text-is('Decide')")
        page.wait_for_selector("h1:text-is('A decided unit')")
        assert "2 of 3" in page.inner_text("nav.steps")
        page.click("text=Back to the list")
        page.wait_for_url("**/owner/judgements?only=comments")
        assert page.locator("article h2 small:text-is('decided')").count() == 1
        assert page.wrong == []
        page.context.close()


def test_a_link_from_another_site_lets_a_rater_in(browser: Any, tmp_path: Path) -> None:
    path = write_project(tmp_path)
    with hosting(path, "ann") as (url, links):
        elsewhere = tmp_path / "mail.html"
        elsewhere.write_text(f'<a id="mail" href="{links["ann"]}">Your link</a>')
        page = opened(browser, elsewhere.as_uri())
        page.click("#mail")
        page.wait_for_url(url + "/")
        assert "Read all of it." in page.inner_text("main")
