"""A look at the built pages: every link and anchor leads somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

import posixpath
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

LOADED = {
    "script": "src",
    "img": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
}


class Seen(HTMLParser):
    """The ids, links and loaded addresses of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take what one tag says."""
        found = dict(attrs)
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        if tag in LOADED and found.get(LOADED[tag]):
            self.loaded.append(str(found[LOADED[tag]]))


def look(site: Path) -> dict[str, Seen]:
    """What every page of a built site holds, by its path."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        seen = Seen()
        seen.feed(path.read_text("utf-8"))
        pages[path.relative_to(site).as_posix()] = seen
    return pages


def problems(site: Path) -> list[str]:
    """What is wrong with the links of a built site, a sentence each."""
    pages = look(site)
    found = []
    for name, seen in pages.items():
        found += [f"{name}: the id {i} stands twice" for i in sorted({i for i in seen.ids if seen.ids.count(i) > 1})]
        found += [
            f"{name}: {a} is loaded from elsewhere" for a in seen.loaded if a.startswith(("http:", "https:", "//"))
        ]
        for address in [*seen.links, *seen.loaded]:
            found += _problem(site, pages, name, address)
    return found


def _problem(site: Path, pages: dict[str, Seen], name: str, address: str) -> list[str]:
    if address.startswith(("http:", "https:", "mailto:", "data:", "//")):
        return []
    path, _, anchor = address.partition("#")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(path))) if path else name
    if not (site / target).is_file():
        return [f"{name}: {address} leads nowhere"]
    if anchor and target in pages and unquote(anchor) not in pages[target].ids:
        return [f"{name}: {address} has no such place"]
    return []
