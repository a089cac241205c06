"""The built site in headless Chromium: it fits every screen, can be searched by keyboard, and axe-core finds nothing.

With REJOINDER_SHOTS a folder gets a picture of some pages.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api")
pytest.importorskip("markdown_it", reason="the site needs rejoinder[docs]")

from tests.annotate_chromium import AXE, needs_axe, needs_chromium, opened
from tools.docsite.build import build

SHOTS = os.environ.get("REJOINDER_SHOTS")
SOME = ["index", "start", "guide", "metrics", "papers/scarce", "commands/train", "api/rejoinder.scoring", "results/idk"]
RUN = "axe.run(document, {resultTypes: ['violations'], preload: false, rules: {'target-size': {enabled: true}}})"
pytestmark = needs_chromium


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "site"
    build(folder)
    return folder


def test_every_page_fits_a_phone(browser: Any, site: Path) -> None:
    page = opened(browser, (site / "index.html").as_uri(), 390)
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    assert page.wrong == []


def test_a_reader_finds_a_page_by_keyboard(browser: Any, site: Path) -> None:
    page = opened(browser, (site / "papers" / "idk.html").as_uri())
    page.keyboard.press("/")
    page.keyboard.type("choosing a metric")
    page.wait_for_selector("#site-found a")
    assert "found" in page.inner_text("#site-count")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url("**/guide.html")
    assert page.inner_text("h1") == "Choosing a metric, and reading it"
    assert page.wrong == []


@pytest.mark.parametrize(
    ("typed", "first"),
    [
        ("how do I compare two systems", "questions.html#how-do-i-compare-two-systems"),
        ("how do i comapre two sytems", "questions.html#how-do-i-compare-two-systems"),
        ("which metric should I use", "questions.html#which-metric-should-i-use"),
        ("prompt worse", "questions.html#did-my-new-prompt-or-model-make-it-worse"),
        ("meteor", "meteor.html"),
        ("compering system", "questions.html#how-do-i-compare-two-systems"),
        ("instal", "questions.html#how-do-i-install-it"),
        ("continous integration", "start.html#in-continuous-integration"),
        ("another language", "questions.html#can-i-score-replies-in-another-language-than-english"),
    ],
)
def test_a_question_is_answered_even_with_a_typo(browser: Any, site: Path, typed: str, first: str) -> None:
    page = opened(browser, (site / "index.html").as_uri())
    page.fill("#site-search", typed)
    page.wait_for_selector("#site-found a")
    assert page.get_attribute("#site-found a", "href") == first
    assert page.wrong == []


def test_guides_come_before_what_code_says_of_itself(browser: Any, site: Path) -> None:
    page = opened(browser, (site / "index.html").as_uri())
    page.fill("#site-search", "agreement")
    page.wait_for_selector("#site-found a")
    found = page.eval_on_selector_all("#site-found a", "links => links.map(link => link.getAttribute('href'))")
    modules = [at for at, link in enumerate(found) if link.startswith("api/")]
    assert found[0].startswith(("agreement.html", "questions.html", "commands/"))
    assert not modules or min(modules) > 2


@pytest.mark.parametrize(("width", "is_open"), [(390, False), (1280, False), (1440, True)])
def test_every_width_has_the_contents_of_the_page(browser: Any, site: Path, width: int, is_open: bool) -> None:
    page = opened(browser, (site / "verdicts.html").as_uri(), width)
    link = ".contents a >> text=rejoinder compare OLD NEW"
    assert page.is_visible(link) == is_open
    if not is_open:
        page.click(".contents summary")
    page.click(link)
    assert page.url.endswith("#rejoinder-compare-old-new")


def test_a_search_without_hits_says_so(browser: Any, site: Path) -> None:
    page = opened(browser, (site / "index.html").as_uri())
    page.fill("#site-search", "qqzzxxvv")
    page.wait_for_selector("#site-found .none")
    page.keyboard.press("Escape")
    assert page.is_hidden("#site-found")


def test_the_menu_of_a_phone_opens(browser: Any, site: Path) -> None:
    page = opened(browser, (site / "start.html").as_uri(), 390)
    assert not page.is_visible(".tree a[aria-current]")
    page.click(".menu > summary")
    assert page.inner_text(".tree a[aria-current]") == "Five minutes"


def test_without_scripts_the_navigation_is_there(browser: Any, site: Path) -> None:
    page = opened(browser, (site / "start.html").as_uri(), java_script_enabled=False)
    page.click(".tree >> text=Choosing a metric")
    assert page.inner_text("h1") == "Choosing a metric, and reading it"


@needs_axe
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1440])
def test_axe_finds_nothing_wrong(browser: Any, site: Path, scheme: str, width: int) -> None:
    page = opened(browser, (site / "index.html").as_uri(), width, color_scheme=scheme, bypass_csp=True)
    wrong = []
    for name in SOME:
        page.goto((site / f"{name}.html").as_uri())
        page.evaluate(AXE.read_text("utf-8"))
        found = page.evaluate(RUN)["violations"]
        wrong += [f"{name}: {one['id']} ({one['impact']}) {one['nodes'][0]['html'][:150]}" for one in found]
        if SHOTS:
            page.screenshot(path=Path(SHOTS) / f"docs-{name.replace('/', '-')}-{scheme}-{width}.png")
    assert wrong == []
