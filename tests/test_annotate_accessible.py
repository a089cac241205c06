"""Every page of ``rejoinder annotate`` under axe-core, light and dark, on a phone and on a desk.

With REJOINDER_SHOTS a folder gets a picture of every page.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api")

from tests.annotate_chromium import AXE, AXE_SHA256, needs_axe, needs_chromium
from tests.annotate_gallery import PAGES, Shown
from tests.annotate_site import stores_are_closed  # noqa: F401

SHOTS = os.environ.get("REJOINDER_SHOTS")
WIDTHS = {"phone": 390, "desk": 1280}
PLAIN = ("too-many-requests",)  # a text without markup has no language, no title and no parts
# Of the rules that are off by default, the one of WCAG 2.2: whether fingers can hit what they should.
RUN = "axe.run(document, {resultTypes: ['violations'], preload: false, rules: {'target-size': {enabled: true}}})"
pytestmark = [needs_chromium, needs_axe]


@pytest.mark.parametrize("pages", PAGES)
def test_axe_finds_nothing_wrong_with_any_page(browser: Any, pages: str, tmp_path: Path) -> None:
    wrong: list[str] = []
    for shown in PAGES[pages](browser, tmp_path):
        for scheme in ("light", "dark"):
            shown.page.emulate_media(color_scheme=scheme)
            for name, width in WIDTHS.items():
                shown.page.set_viewport_size({"width": width, "height": 800})
                place = f"{shown.name}-{scheme}-{name}"
                picture(shown, place)
                if shown.page.evaluate("document.documentElement.scrollWidth") > width:
                    wrong.append(f"{place}: wider than the screen")
                wrong += [f"{place}: {found}" for found in violations(shown)]
        shown.page.set_viewport_size({"width": WIDTHS["desk"], "height": 800})
    assert wrong == []


def violations(shown: Shown) -> list[str]:
    """What axe-core finds, each with its weight and the first place where it is."""
    if shown.name in PLAIN:
        return []
    if not shown.page.evaluate("typeof axe !== 'undefined'"):
        shown.page.evaluate(AXE.read_text(encoding="utf-8"))
    found = shown.page.evaluate(RUN)["violations"]
    return [f"{one['impact']}: {one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}" for one in found]


def picture(shown: Shown, place: str) -> None:
    """A picture of the whole page, where wanted; the window is made as high as it, for what sticks to its end."""
    if SHOTS:
        size = shown.page.viewport_size
        height = max(size["height"], min(6000, shown.page.evaluate("document.documentElement.scrollHeight")))
        shown.page.set_viewport_size({**size, "height": height})
        shown.page.screenshot(path=str(Path(SHOTS) / f"{place}.png"))
        shown.page.set_viewport_size(size)


def test_axe_is_the_pinned_one_unless_another_is_named() -> None:
    assert os.environ.get("REJOINDER_AXE") or hashlib.sha256(AXE.read_bytes()).hexdigest() == AXE_SHA256


def test_axe_is_awake(browser: Any) -> None:
    page = browser.new_page()
    page.set_content('<p style="color: #999; background: #fff">faint</p><img src="x.png"><input>')
    found = " ".join(violations(Shown("faulty", page)))
    for rule in ("color-contrast", "document-title", "html-has-lang", "image-alt", "label"):
        assert f": {rule}: " in found
    page.close()
