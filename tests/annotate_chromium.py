"""A headless Chromium for the tests of the annotation pages."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """The browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        found = started.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield found
        found.close()


def opened(browser: Any, link: str, width: int = 1280, **options: Any) -> Any:
    """A new browser with nothing in it, on a link; an error on a page fails the test."""
    page = browser.new_context(viewport={"width": width, "height": 800}, **options).new_page()
    page.set_default_timeout(20_000)
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("console", lambda said: page.wrong.append(said.text) if said.type == "error" else None)
    page.goto(link)
    return page


def press(page: Any, *keys: str) -> None:
    """Press keys one after the other."""
    for key in keys:
        page.keyboard.press(key)


def title(page: Any) -> str:
    """What a rater's page calls itself."""
    return str(page.inner_text("#unit"))
