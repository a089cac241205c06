"""Every page of ``rejoinder serve`` under axe-core, light and dark, on a phone and on a desk.

As in ``test_annotate_accessible``, REJOINDER_SHOTS names a folder for pictures.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("playwright.sync_api")

from tests.annotate_chromium import needs_axe, needs_chromium, opened
from tests.annotate_gallery import Shown
from tests.serve_site import FIRST_LOOKS, first_look, library_at, serving
from tests.test_annotate_accessible import WIDTHS, picture, violations

pytestmark = [needs_chromium, needs_axe]
ADDRESSES = {
    "serve-try": "/try",
    "serve-runs": "/runs",
    "serve-run": "/runs/chats",
    "serve-people": "/runs/chats/people",
    "serve-replies": "/runs/chats/replies",
    "serve-apart": "/runs/chats/replies?only=apart&metric=length",
    "serve-filtered": "/runs/chats/replies?q=open&system=bad&range=length:3..&sort=-length&slice=meta.topic=food",
    "serve-items": "/runs/chats/items",
    "serve-item": "/runs/chats/items/1",
    "serve-distributions": "/runs/chats/distributions",
    "serve-run-pair": "/compare?old=chats&new=later",
    "serve-run-pair-dead": "/compare?old=chats&new=nobody",
    "serve-questions": "/runs/chosen/questions",
    "serve-run-question": "/runs/ranked/questions/1",
    "serve-ranking": "/runs/ranked",
    "serve-reply": "/runs/chats/replies/1",
    "serve-compare": "/runs/chats/compare",
    "serve-selection": "/runs/chosen",
    "serve-sets": "/sets",
    "serve-set": "/sets/kitchen",
    "serve-question": "/sets/kitchen/1",
    "serve-models": "/models",
    "serve-model": "/models/aptness",
    "serve-model-absent": "/models/gpt2",
    "serve-model-included": "/models/comet-included",
    "serve-nothing": "/runs/nobody",
    "serve-nowhere": "/nowhere",
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, browser: Any) -> Iterator[Any]:
    folder = library_at(tmp_path_factory.mktemp("accessible") / "runs")
    with serving(str(folder)) as (url, link):
        for path in FIRST_LOOKS:
            first_look(url + path)
        found = opened(browser, link)
        found.site = url
        yield found


@pytest.mark.parametrize("name", ADDRESSES)
def test_axe_finds_nothing_wrong_with_any_page(page: Any, name: str, tmp_path: Path) -> None:
    wrong: list[str] = []
    page.goto(page.site + ADDRESSES[name])
    if name == "serve-try":
        page.wait_for_selector("#attacks:not([hidden])", timeout=60_000)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    shown = Shown(name, page)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for kind, width in WIDTHS.items():
            page.set_viewport_size({"width": width, "height": 800})
            place = f"{name}-{scheme}-{kind}"
            picture(shown, place)
            if page.evaluate("document.documentElement.scrollWidth") > width:
                wrong.append(f"{place}: wider than the screen")
            wrong += [f"{place}: {found}" for found in violations(shown)]
    assert wrong == []
