"""The docs say what is true: every example of the format is read, every metric and command has its place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pytest

import rejoinder
from rejoinder.cli import program
from rejoinder.data.objects import to_object
from rejoinder.data.schema import KEYS, Place, from_object
from rejoinder.reports.listing import metric_table
from rejoinder.table import to_markdown

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def test_the_format_page_has_a_true_example_of_every_kind() -> None:
    page = (ROOT / "docs" / "formats.md").read_text()
    examples = re.findall(r"```json\n(.*?)\n```", page, re.DOTALL)
    kinds = []
    for example in examples:
        found = orjson.loads(example)
        record = from_object(found, Place("formats.md", 1))
        assert from_object(to_object(record), Place("formats.md", 1)) == record
        kinds.append(found["kind"])
    assert kinds == list(KEYS)


def test_the_metrics_page_is_what_the_registry_says() -> None:
    page = (ROOT / "docs" / "metrics.md").read_text()
    assert to_markdown(metric_table()) in page, "run: make docs"


def test_the_metric_of_the_metrics_page_works(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "metrics.md").read_text()
    (tmp_path / "polite.py").write_text(re.findall(r"```python polite.py\n(.*?)\n```", page, re.DOTALL)[0])
    scores = rejoinder.score(["Yes, please!", "No."], metrics=[str(tmp_path / "polite.py")])
    assert next(iter(scores.values.values())).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} points to {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_command_that_is_shown_exists(page: Path) -> None:
    text = page.read_text()
    blocks = "\n".join(re.findall(r"^```(?:sh|bash|console)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    shown = re.findall(r"^(?:\$ )?rejoinder ([a-z-]+)", blocks, re.MULTILINE) + re.findall(
        r"`rejoinder ([a-z-]+)", text
    )
    for name in shown:
        assert program.get_command(None, name) is not None, f"{page.name} shows: rejoinder {name}"  # type: ignore[arg-type]


def test_the_python_of_the_readme_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "README.md").read_text()
    for block in re.findall(r"```python\n(.*?)\n```", page, re.DOTALL):
        exec(block, {})


def test_the_pytest_example_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "verdicts.md").read_text()
    names: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)\n```", page, re.DOTALL)[0], names)
    names["test_the_bot_still_answers_well"]()


def test_the_version_is_the_same_everywhere() -> None:
    assert f'version = "{rejoinder.__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert f"version: {rejoinder.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {rejoinder.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_no_page_names_a_place_of_somebodys_machine() -> None:
    for path in [*PAGES, *ROOT.glob("src/**/*.py"), *ROOT.glob("benchmarks/*.py"), *ROOT.glob("tests/*.py")]:
        if path != Path(__file__):
            assert not re.search(r"/(home|root|work|Users)/\w", path.read_text()), path
