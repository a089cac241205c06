"""The promises of docs/stability.md: format numbers are those of the code, and the changelog has its shape."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import rejoinder

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "stability.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
SECTIONS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def test_the_format_numbers_of_the_page_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| .+ \| `(format|version)` in `[\w.]+` \| `([\w.]+)` (\d+) \|$", PAGE, re.MULTILINE)
    assert len(rows) >= 7
    for key, module, number in rows:
        found = import_module(module)
        name = next(name for name in (key.upper(), f"_{key.upper()}") if hasattr(found, name))
        assert getattr(found, name) == int(number), module


def test_migrations_are_numbered_without_a_gap() -> None:
    folder = Path(str(rejoinder.__file__)).parent / "annotation" / "store" / "migrations"
    numbers = sorted({int(path.name[:4]) for path in folder.glob("*.sql")})
    assert numbers == list(range(1, len(numbers) + 1))


def test_the_changelog_has_the_shape_of_keep_a_changelog() -> None:
    assert CHANGELOG.startswith("# Changelog\n")
    versions = re.findall(r"^## (.+)$", CHANGELOG, re.MULTILINE)
    assert versions[0].startswith(rejoinder.__version__)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - (unreleased|\d{4}-\d\d-\d\d)", version) for version in versions)
    for section in re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.+)$", section, re.MULTILINE)
        assert kinds
        assert kinds == [kind for kind in SECTIONS if kind in kinds]


def test_the_page_names_the_sections_of_the_changelog() -> None:
    assert all(f"*{kind}*" in PAGE for kind in SECTIONS)
