"""Texts that others wrote (names, replies, labels) where something could take them for a command: a terminal, a
spreadsheet, a page of Markdown."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # what steers a terminal, or is no character
# NAME:PASSWORD@ of an address, be it one or, with a single slash, a path that was made of one; a port is no password.
_CREDENTIALS = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]*:/{1,2})[^\s/@:]*:(?:\S*|(?![0-9]+[/:\s])[^@]{1,200})@")
# A spreadsheet takes a cell that begins so for a formula; an apostrophe before it keeps it a text.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
# Not escaped: what means nothing where it stands, such as an underscore within a word or the brackets of an interval.
_MARKDOWN = re.compile(r"""[\\`*|<~]|&(?=[#\w]+;)|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])""")


def escape_terminal(text: str) -> str:
    """A text whose control characters are shown and do nothing, lines and tabs apart."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)  # as JSON does, which stays JSON so


def hide_credentials(text: str) -> str:
    """A text whose addresses show no key or password."""
    return _CREDENTIALS.sub(r"\1", text)


def escape_cell(text: str) -> str:
    """A cell of a CSV file that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def unescape_cell(text: str) -> str:
    """The text of a cell that ``escape_cell`` wrote."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text


def escape_markdown(text: str) -> str:
    """A text on one line that Markdown shows as it is, in a cell of a table too."""
    return _MARKDOWN.sub(r"\\\g<0>", " ".join(text.splitlines()))
