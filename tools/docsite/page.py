"""Pages of the site and the order in which a reader meets them (docs/site.toml)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


class SiteError(Exception):
    """Something in the docs that would mislead a reader; the build ends."""


@dataclass(frozen=True)
class Page:
    """Markdown with a place in the repository, against which its links are read, and a place on the site."""

    source: str
    output: str
    text: str
    label: str = ""
    # Texts of docstrings and help may hold "<" anywhere; pages of docs/ may hold comments, which are left out.
    made: bool = False

    @property
    def title(self) -> str:
        """The page's first heading, without marks."""
        found = re.search(r"^# (.+)$", self.text, re.MULTILINE)
        if not found:
            raise SiteError(f"{self.source} has no heading of the first level")
        return found[1].replace("`", "")

    @property
    def name(self) -> str:
        """What the navigation calls it."""
        return self.label or self.title


@dataclass(frozen=True)
class Section:
    """Pages under one heading of the navigation; a folded one opens where its reader is."""

    title: str
    pages: Sequence[Page]
    folded: bool = False


def page_of(path: Path, label: str = "") -> Page:
    """A page from a file of docs/."""
    inside = path.relative_to(DOCS)
    return Page(f"docs/{inside.as_posix()}", inside.with_suffix(".html").as_posix(), path.read_text("utf-8"), label)


def outline(made: dict[str, list[Page]]) -> list[Section]:
    """The sections of docs/site.toml in their order; ``made`` are the pages that code writes, by kind."""
    found: dict[str, Any] = tomllib.loads((DOCS / "site.toml").read_text("utf-8"))
    sections = []
    for entry in found["section"]:
        pages = [page_of(DOCS / name, label) for name, label in entry.get("pages", {}).items()]
        pages += [page for kind in entry.get("made", []) for page in made[kind]]
        sections.append(Section(entry["title"], pages, bool(entry.get("folded", False))))
    _check_whole(sections)
    return sections


def _check_whole(sections: Sequence[Section]) -> None:
    placed = [page.source for section in sections for page in section.pages]
    for source in placed:
        if placed.count(source) > 1:
            raise SiteError(f"docs/site.toml has {source} twice")
    for path in sorted(DOCS.rglob("*.md")):
        if path.relative_to(ROOT).as_posix() not in placed:
            raise SiteError(
                f"docs/site.toml does not have {path.relative_to(DOCS)}; name it in the section it belongs to"
            )
