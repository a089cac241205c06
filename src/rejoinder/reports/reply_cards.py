"""Replies for a terminal: scores on the left, the last turns of the context and the reply beside them, wrapped."""

from __future__ import annotations

import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from rejoinder.escape import escape_terminal

WIDTH = 100  # columns, where the output is not a terminal
_MAX_WIDTH, _MIN_TEXT = 140, 40
_CONTEXT_LINES, _REPLY_LINES = 6, 12


def terminal_width() -> int:
    """The width of the terminal; 100 where there is none."""
    return min(_MAX_WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else WIDTH


def render_card(
    number: int,
    head: str,
    context: str,
    reply: str,
    numbers: Mapping[str, str],
    *,
    references: Sequence[str] = (),
    width: int = WIDTH,
    full: bool = False,
) -> str:
    """One reply as lines of text; a long context is cut at its start and a long reply at its end, unless ``full``."""
    scores = _align(numbers)
    left = max([len(line) for line in scores], default=0)
    mark = f"{number:>3}  "
    beside = width - len(mark) - left - 3 >= _MIN_TEXT
    room = width - len(mark) - (left + 3 if beside else 0)
    lines = [head, *_context_lines(context, room, full), *_reply_lines(reply, room, full)]
    lines += [line for reference in references for line in _wrap(reference, room, "  = ")]
    if beside:
        pairs = zip_longest(scores, lines, fillvalue="")
        lines = [f"{score.ljust(left)}   {line}" if left else line for score, line in pairs]
    else:
        lines = [lines[0], *scores, *lines[1:]]
    indent = " " * len(mark)
    text = "\n".join(((mark if i == 0 else indent) + line).rstrip() for i, line in enumerate(lines))
    return escape_terminal(text)


def _align(numbers: Mapping[str, str]) -> list[str]:
    """Names and values in two columns."""
    names, values = max(map(len, numbers), default=0), max(map(len, numbers.values()), default=0)
    return [f"{name.ljust(names)}  {value.rjust(values)}" for name, value in numbers.items()]


def _context_lines(context: str, width: int, full: bool) -> list[str]:
    lines = [line for turn in context.splitlines() if turn.strip() for line in _wrap(turn, width)]
    if full or len(lines) <= _CONTEXT_LINES:
        return lines
    return ["…", *lines[-_CONTEXT_LINES + 1 :]]


def _reply_lines(reply: str, width: int, full: bool) -> list[str]:
    parts = [line for line in reply.splitlines() if line.strip()] or ["(empty)"]
    lines = [line for i, part in enumerate(parts) for line in _wrap(part, width, "> " if i == 0 else "  ")]
    if full or len(lines) <= _REPLY_LINES:
        return lines
    return [*lines[: _REPLY_LINES - 1], f"  … ({len(lines) - _REPLY_LINES + 1} more lines)"]


def _wrap(text: str, width: int, mark: str = "") -> list[str]:
    """A text in lines of at most this many columns; Chinese and Japanese characters take two."""
    columns = width if text.isascii() or not any(map(_is_wide, text)) else max(2, width // 2)
    return textwrap.wrap(text, columns, initial_indent=mark, subsequent_indent="  ", drop_whitespace=True) or [mark]


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"
