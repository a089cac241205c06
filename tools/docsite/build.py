"""The whole site: pages in, a folder of HTML out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from rejoinder import __version__
from tools.docsite.addresses import Addresses, relative
from tools.docsite.api import api_pages
from tools.docsite.cards import card_pages, result_pages
from tools.docsite.commands import command_pages
from tools.docsite.links import problems
from tools.docsite.markdown import Heading, Rendered, render
from tools.docsite.page import Page, Section, SiteError, outline

HERE = Path(__file__).parent


def sections() -> list[Section]:
    """The site in its order, with the pages that code writes."""
    return outline({"results": result_pages(), "cards": card_pages(), "commands": command_pages(), "api": api_pages()})


def build(site: Path) -> int:
    """Write the site into a folder, which is emptied first; gives back how many pages. Any problem is an error."""
    found = sections()
    pages = [page for section in found for page in section.pages]
    addresses = Addresses.of(pages)
    commands = {
        page.source.rpartition("/")[2]: page.output for page in pages if page.source.startswith("site/commands/")
    }
    _emptied(site)
    template = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template("page.html")
    index = []
    for at, page in enumerate(pages):
        rendered = render(
            page,
            lambda target, page=page: addresses.link(page, target),  # type: ignore[misc]
            lambda name, page=page: relative(page, commands[name]) if name in commands else None,  # type: ignore[misc]
        )
        index += _entries(page, rendered)
        around = (pages[at - 1] if at else None, pages[at + 1] if at + 1 < len(pages) else None)
        _write(site / page.output, template.render(_context(page, rendered, found, around)))
    _write(
        site / "search-index.js",
        f"window.searchIndex = {json.dumps(index, ensure_ascii=False, separators=(',', ':'))};\n",
    )
    for output, path in addresses.files.items():
        (site / output).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, site / output)
    wrong = problems(site)
    if wrong:
        raise SiteError("\n".join(wrong))
    return len(pages)


def _context(
    page: Page, rendered: Rendered, found: Sequence[Section], around: tuple[Page | None, Page | None]
) -> dict[str, object]:
    contents = [heading for heading in rendered.headings if heading.level in (2, 3)]
    return {
        "page": page,
        "body": Markup(rendered.html),  # made by our own renderer, which escapes what it was given
        "contents": contents if len(contents) > 1 else [],
        "sections": found,
        "before": around[0],
        "after": around[1],
        "to": lambda output: relative(page, output),
        "version": __version__,
        "section": next(section.title for section in found if page in section.pages),
    }


def _entries(page: Page, rendered: Rendered) -> list[list[str]]:
    """What can be searched for: headings with the beginning of what is under them."""

    def entry(heading: Heading) -> list[str]:
        address = page.output if heading.level == 1 else f"{page.output}#{heading.anchor}"
        return [heading.text, "" if heading.level == 1 else page.title, address, heading.said]

    return [entry(heading) for heading in rendered.headings if heading.level <= 3]


def _emptied(site: Path) -> None:
    if site.exists() and any(site.iterdir()) and not (site / "search-index.js").is_file():
        raise SiteError(f"{site} holds something else than a site; name another folder")
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(HERE / "static", site)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
