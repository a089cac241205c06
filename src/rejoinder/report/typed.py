"""A command as one would type it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

_MEANT = frozenset('"$`\\!')  # what a shell reads within double quotes


def typed(words: Sequence[str]) -> str:
    """The words of a command, quoted where they must be; one with quotes in it stands in double quotes, to be read."""
    return " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    if "'" in word and not _MEANT & set(word):
        return f'"{word}"'
    return shlex.quote(word)
