"""Markdown as the site's HTML: headings with anchors, tables that scroll, code in colour, links that are checked."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tools.docsite.needs import is_shell, notes
from tools.docsite.page import Page, SiteError

# Characters under a heading that can be searched, on pages of docs/ and on those that code writes.
SAID = {False: 600, True: 160}


@dataclass(frozen=True)
class Heading:
    """A heading of a page: its level, anchor and text, and what is said under it, for searching."""

    level: int
    anchor: str
    text: str
    said: str = ""


@dataclass(frozen=True)
class Rendered:
    """A page's HTML and its headings."""

    html: str
    headings: tuple[Heading, ...]


def render(page: Page, link: Callable[[str], str], command: Callable[[str], str | None]) -> Rendered:
    """The HTML of a page; ``link`` turns a target, ``command`` the name of a command into an address."""
    parser = MarkdownIt("commonmark", {"html": not page.made}).enable("table")
    tokens = parser.parse(page.text)
    headings = _with_anchors(tokens, page)
    _empty_heads(tokens)
    for before, token in zip([None, *tokens], tokens, strict=False):
        in_heading = before is not None and before.type == "heading_open"
        _finish(token, page, link, (lambda _: None) if in_heading else command)
    parser.add_render_rule("fence", lambda _, found, at, *__: code(found[at].info, found[at].content))
    parser.add_render_rule("code_block", lambda _, found, at, *__: code("text", found[at].content))
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return Rendered(parser.renderer.render(tokens, parser.options, {}), headings)


def slug(text: str, taken: dict[str, int]) -> str:
    """The anchor of a heading, as code hosts make it: lower case, punctuation out, hyphens for spaces."""
    plain = re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
    count = taken.get(plain, 0)
    taken[plain] = count + 1
    return f"{plain}-{count}" if count else plain


def plain(token: Token) -> str:
    """The words of an inline token."""
    said = {"text", "code_inline"}
    return "".join(c.content if c.type in said else " " for c in token.children or [] if c.type in {*said, "softbreak"})


def _with_anchors(tokens: list[Token], page: Page) -> tuple[Heading, ...]:
    taken: dict[str, int] = {}
    headings: list[Heading] = []
    sections = False
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            sections = sections or token.tag == "h2"
            if token.tag == "h3" and not sections:  # a level that is left out puzzles who reads by headings
                token.tag = tokens[at + 2].tag = "h2"
            text = plain(tokens[at + 1])
            anchor = slug(text, taken)
            token.attrSet("id", anchor)
            mark = Token(
                "html_inline",
                "",
                0,
                content=f' <a class="anchor" href="#{anchor}" aria-hidden="true" tabindex="-1">#</a>',
            )
            tokens[at + 1].children = [*(tokens[at + 1].children or []), *([mark] if token.tag != "h1" else [])]
            headings.append(Heading(int(token.tag[1]), anchor, text))
        elif token.type == "inline" and headings and tokens[at - 1].type != "heading_open":
            last = headings[-1]
            if len(last.said) < SAID[page.made]:
                said = f"{last.said} {plain(token)}".strip()[: SAID[page.made]]
                headings[-1] = Heading(last.level, last.anchor, last.text, said)
    if not headings or headings[0].level != 1:
        raise SiteError(f"{page.source} does not begin with a heading of the first level")
    return tuple(headings)


def _empty_heads(tokens: list[Token]) -> None:
    """A head without words is a cell like any other: nothing is announced for it."""
    for at, token in enumerate(tokens):
        if token.type == "th_open" and not plain(tokens[at + 1]):
            token.type, token.tag, tokens[at + 2].tag = "td_open", "td", "td"


def _finish(token: Token, page: Page, link: Callable[[str], str], command: Callable[[str], str | None]) -> None:
    if token.type == "html_block":
        token.content = _without_comments(token.content, page)
    if token.type in {"th_open", "td_open"}:
        style = str(token.attrs.pop("style", ""))
        if "right" in style:
            token.attrSet("class", "right")
        if token.type == "th_open":
            token.attrSet("scope", "col")
    linked = False
    for child in token.children or []:
        if child.type == "link_open":
            child.attrSet("href", link(str(child.attrs["href"])))
        elif child.type == "image":
            child.attrSet("src", link(str(child.attrs["src"])))
            child.attrSet("loading", "lazy")
        elif child.type == "html_inline" and "anchor" not in child.content:
            child.content = _without_comments(child.content, page)
        linked = {"link_open": True, "link_close": False}.get(child.type, linked)
        found = re.match(r"rejoinder ([a-z-]+)", child.content) if child.type == "code_inline" and not linked else None
        target = command(found[1]) if found else None
        if target:
            child.type, shown = "html_inline", f"<code>{html.escape(child.content)}</code>"
            child.content = f'<a href="{target}">{shown}</a>'


def _without_comments(content: str, page: Page) -> str:
    left = re.sub(r"<!--.*?-->", "", content, flags=re.DOTALL).strip()
    if left:
        raise SiteError(f"{page.source} has HTML of its own ({left[:40]}); write Markdown")
    return ""


def _table_open(renderer: object, tokens: list[Token], at: int, *_: object) -> str:
    end = next(i for i in range(at, len(tokens)) if tokens[i].type == "table_close")
    before = [plain(tokens[i + 1]) for i in range(at) if tokens[i].type == "heading_open"]
    kind = "" if any(token.type == "th_open" for token in tokens[at:end]) else ' class="headless"'
    label = html.escape(f"Table: {before[-1]}" if before else "Table", quote=True)
    return f'<div class="scroll" role="group" aria-label="{label}" tabindex="0"><table{kind}>\n'


@cache
def _lexer(name: str) -> Any:
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(name, stripnl=False)


@cache
def _formatter() -> Any:
    from pygments.formatters import HtmlFormatter

    return HtmlFormatter(nowrap=True)


def code(info: str, content: str) -> str:
    """A block of code in colour, with its file's name above and what it needs under it."""
    from pygments import highlight
    from pygments.util import ClassNotFound

    language, _, name = info.strip().partition(" ")
    shell = is_shell(language, content)
    lexer = "console" if content.startswith("$ ") and shell else "bash" if shell else language or "text"
    try:
        shown = highlight(content, _lexer(lexer), _formatter())
    except ClassNotFound:
        shown = html.escape(content)
    title = f"<figcaption><code>{html.escape(name)}</code></figcaption>" if name else ""
    said = "".join(f'<p class="needs">{html.escape(note)}</p>' for note in notes(language, content))
    return f'<figure class="code">{title}<pre tabindex="0"><code>{shown}</code></pre>{said}</figure>\n'
