"""What every test has: a cache of its own, and the published sets where they are; what was skipped, told at the end."""

from __future__ import annotations

import gc
import importlib.util
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.skips import pytest_configure, pytest_sessionfinish, pytest_terminal_summary  # noqa: F401

_MEMORY = Path("/dev/shm")
_ENOUGH = 4 * 2**30  # bytes


def _fits_in_memory() -> bool:
    """Whether this system has a file system in memory with room for what tests write, from which programs can run."""
    if not hasattr(os, "statvfs") or not _MEMORY.is_dir():
        return False
    about = os.statvfs(_MEMORY)
    return about.f_bavail * about.f_frsize >= _ENOUGH and not about.f_flag & getattr(os, "ST_NOEXEC", 0)


if _fits_in_memory():  # a disk would be waited for at each of the thousands of files that must survive a power failure
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))


if "PYTEST_XDIST_WORKER" in os.environ:  # as many processes as cores: threads of each would wait for each other
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "REJOINDER_THREADS"):
        os.environ.setdefault(name, "1")


HAS_LAB = importlib.util.find_spec("rejoinder_lab") is not None
# What is about both distributions: the docs, lists of everything, what users of both can type.
_OF_BOTH = re.compile(
    r"test_(docs|docs_shown|golden|fuzz)\.py|test_contract\.py::.*\[(grade|dynaeval|fed|bert_ruber|usl_h|usr|adem|moverscore|ubleu)\b"
    r"|test_languages\.py::test_the_languages_page|test_help\.py::test_(what_a_help_text|the_specs_that)"
    r"|test_planted_runs\.py::test_every_command|test_cli\.py::.*\[reproduc"
)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Modules and tests live to the end: looking for garbage among them took a fifth of the time to collect them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


# Files that take the most processor time, the longest first: begun last, one of them would keep a process busy alone.
LONGEST = (
    *("ray_cluster", "docs_shown", "contract", "annotate_browser", "scoring", "annotate_accessible"),
    *("serve_accessible", "docs_browser", "fuzz", "reproduce_chosen", "faults", "docs_site", "serve_explore_browser"),
    *("datasets", "sharded_index", "serve_browser", "ranker_training", "schema", "annotation_store", "wheel", "cli"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the lab where only the core is installed, and put the longest files first."""
    for item in items if not HAS_LAB else ():
        if _OF_BOTH.search(item.nodeid):
            item.add_marker(pytest.mark.skip(reason="rejoinder-lab is not installed"))
    order = {f"test_{name}": place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all caches of a run."""
    return tmp_path_factory.mktemp("caches")


@pytest.fixture(autouse=True)
def own_cache(caches: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the user's cache."""
    folder = Path(tempfile.mkdtemp(dir=caches))  # mktemp would list the folders of all earlier tests, each time
    monkeypatch.setenv("REJOINDER_CACHE", str(folder))
    monkeypatch.setenv("REJOINDER_CONFIG", str(folder / "config"))
    monkeypatch.delenv("REJOINDER_WEIGHTS", raising=False)
    return folder


@pytest.fixture
def installed_set(weights: str) -> str:
    """A set of weights by its name; the test is skipped where it comes with the lab and the lab is not installed."""
    from rejoinder.models import weight_sets

    if weight_sets.find_set(weights) is None:
        pytest.skip("rejoinder-lab is not installed")
    return weights


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
