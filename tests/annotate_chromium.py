"""A headless Chromium and axe-core for the tests of pages; where either is missing, these tests are skipped."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def _axe() -> Path:
    """axe-core (MPL-2.0) as the package axe-playwright-python carries it, unless REJOINDER_AXE names another file."""
    package = importlib.util.find_spec("axe_playwright_python")
    folder = package.submodule_search_locations[0] if package and package.submodule_search_locations else "."
    return Path(os.environ.get("REJOINDER_AXE") or Path(folder) / "axe.min.js")


AXE = _axe()
# Of axe-playwright-python 0.1.8, which constraints.txt names: axe-core 4.12.1.
AXE_SHA256 = "84494fec757e4710dc751c8d7a636e457f4532f08f85c86dc9070133fbff53bc"
CHROMIUM = Path("/usr/bin/chromium")
needs_chromium = pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no /usr/bin/chromium")
needs_axe = pytest.mark.skipif(not AXE.is_file(), reason="axe-core is not installed")
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
