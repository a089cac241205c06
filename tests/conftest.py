"""What every test has: a cache of its own, and the published sets where they are; what was skipped, told at the end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.skips import pytest_configure, pytest_sessionfinish, pytest_terminal_summary  # noqa: F401


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the user's cache."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("REJOINDER_CACHE", str(folder))
    monkeypatch.setenv("REJOINDER_CONFIG", str(folder / "config"))
    monkeypatch.delenv("REJOINDER_WEIGHTS", raising=False)
    return folder


@pytest.fixture
def published() -> Path:
    """The folder of published sets; the test is skipped where there is none."""
    folder = os.environ.get("REJOINDER_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("REJOINDER_DATA names no folder of published sets")
    return Path(folder)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium, the same for all tests of a module."""
    from tests.annotate_chromium import chromium

    with chromium() as started:
        yield started
