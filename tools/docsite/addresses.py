"""Links as they stand in the sources, turned into addresses on the site; a link to nothing ends the build."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tools.docsite.page import ROOT, Page, SiteError


@dataclass
class Addresses:
    """Where every page and every linked file of the repository lies on the site."""

    pages: dict[str, str]
    files: dict[str, Path] = field(default_factory=dict)

    @classmethod
    def of(cls, pages: Iterable[Page]) -> Addresses:
        """The addresses of pages by their sources."""
        return cls({page.source.rstrip("/"): page.output for page in pages})

    def link(self, page: Page, target: str) -> str:
        """The address of what a page links to, seen from that page."""
        if target.startswith(("https://", "http://", "mailto:", "#")):
            return target
        path, mark, anchor = target.partition("#")
        if page.made:
            return target
        found = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), path))
        if page.source.endswith("/"):
            found = posixpath.normpath(posixpath.join(page.source, path))
        return relative(page, self.pages.get(found) or self._file(page, found, target)) + mark + anchor

    def _file(self, page: Page, found: str, target: str) -> str:
        path = ROOT / found
        if not path.is_file():
            raise SiteError(f"{page.source} links to {target}, which is neither a page nor a file")
        output = found.removeprefix("docs/") if found.startswith("docs/") else f"files/{found}"
        # A file without an ending would be offered for download instead of shown.
        output = output if path.suffix else f"{output}.txt"
        self.files[output] = path
        return output


def relative(page: Page, output: str) -> str:
    """The way from a page to a place on the site."""
    return _relative(posixpath.dirname(page.output) or ".", output)


@cache
def _relative(folder: str, output: str) -> str:
    return posixpath.relpath(output, folder)
