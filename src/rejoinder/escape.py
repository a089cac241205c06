"""Texts that others wrote (names, replies, labels), made safe where they could be read as a command: by a terminal, a
spreadsheet, Markdown or HTML."""

from __future__ import annotations

import re

# What must not appear in a page unchanged: control characters (except tab and newline) become visible symbols, and
# characters that would reverse the text direction become a replacement mark.
_REPLACEMENTS = {code: 0x2400 + code for code in range(32) if code not in (9, 10)} | {127: 0x2421}
_REPLACEMENTS |= dict.fromkeys((*range(0x80, 0xA0), 0x202D, 0x202E, 0xFFFE, 0xFFFF), 0xFFFD)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # controls a terminal, or is not a character
# NAME:PASSWORD@ of an address, or, with a single slash, of a path made from one; a port is not a password.
_CREDENTIALS = re.compile(r"(\b[A-Za-z][A-Za-z0-9+.-]*:/{1,2})[^\s/@:]*:(?:\S*|(?![0-9]+[/:\s])[^@]{1,200})@")
# A spreadsheet reads a cell that begins with one of these as a formula; with an apostrophe before it, as a text.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
# Not escaped: what has no meaning in its place, such as an underscore within a word or the brackets of an interval.
_MARKDOWN = re.compile(r"""[\\`*|<~]|&(?=[#\w]+;)|(?<![^\W_])_|_(?![^\W_])|\](?=[(\[:])""")


def escape_terminal(text: str) -> str:
    """Return a text with its control characters written out, except line breaks and tabs."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)  # as in JSON, so that JSON stays JSON


def hide_credentials(text: str) -> str:
    """Return a text without the keys and passwords of its addresses."""
    return _CREDENTIALS.sub(r"\1", text)


def escape_cell(text: str) -> str:
    """Return a cell of a CSV file that no spreadsheet reads as a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def unescape_cell(text: str) -> str:
    """Return the text of a cell that ``escape_cell`` wrote."""
    return text[1:] if text.startswith("'") and text[1:].startswith(_FORMULA) else text


def escape_markdown(text: str) -> str:
    """Return a text on one line that Markdown shows unchanged, also in a cell of a table."""
    return _MARKDOWN.sub(r"\\\g<0>", " ".join(text.splitlines()))


def replace_control_characters(text: str) -> str:
    """The text with control characters made visible and harmless."""
    return text.translate(_REPLACEMENTS)


def escape_html(text: str) -> str:
    """The text escaped for an element or a quoted attribute."""
    import html

    return html.escape(replace_control_characters(text))
