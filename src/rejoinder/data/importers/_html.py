"""Texts in HTML, as help desks store them: without tags, with paragraphs as lines."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from rejoinder.data.tables.rating_columns import fold_name

# Columns in which Zendesk, Intercom and the like store HTML; any other column may hold code that a user typed.
_COLUMNS = frozenset(fold_name(name) for name in ("body", "html_body", "comment_body", "message_body", "description"))
_BLOCKS = frozenset("address blockquote br div dd dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre section table tr ul".split())
_INLINE = frozenset("a abbr b code em font i img s small span strike strong sub sup td th u".split())
_HIDDEN = frozenset("script style head title".split())
_TAG = re.compile(r"</?([a-zA-Z][a-zA-Z0-9]*)(?:\s[^<>]*)?/?>")


def holds_html(column: str) -> bool:
    """Whether the texts of a column are usually HTML."""
    return fold_name(column.rpartition(".")[2]) in _COLUMNS


def strip_html(text: str) -> str | None:
    """Return the text of HTML; None if it is plain text: no tag of HTML that is closed, or that needs no end.

    >>> strip_html("<p>It left &amp; is on its way.</p><p>Bye!</p>")
    'It left & is on its way.\\nBye!'
    >>> strip_html("1 < 2 and <name> is missing")
    """
    tags = {match[1].lower() for match in _TAG.finditer(text)}
    closed = {name for name in tags if f"</{name}" in text.lower()}
    if not closed & (_BLOCKS | _INLINE) and not tags & {"br", "img", "hr"}:
        return None
    parser = _TextParser()
    parser.feed(text)
    parser.close()
    return parser.text()


class _TextParser(HTMLParser):
    """Collects the text between tags; a block begins and ends a line."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a line with a block; text in a script or style is not shown."""
        self._hidden += tag in _HIDDEN
        if tag in _BLOCKS:
            self._parts.append("\n")
        elif tag not in _INLINE and tag not in _HIDDEN:
            self._parts.append(self.get_starttag_text() or "")  # no tag that we know: part of the text

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Treat ``<br/>`` as ``<br>``."""
        if tag not in _HIDDEN:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """End the line of a block."""
        self._hidden -= tag in _HIDDEN and self._hidden > 0
        if tag in _BLOCKS:
            self._parts.append("\n")

    def handle_data(self, data: str) -> None:
        """Keep the text, in which a line break of the source is a space."""
        if not self._hidden:
            self._parts.append(re.sub(r"\s+", " ", data))

    def text(self) -> str:
        """Return the lines that are not blank."""
        lines = ("".join(self._parts)).replace("\xa0", " ").split("\n")
        return "\n".join(line.strip() for line in lines if line.strip())
