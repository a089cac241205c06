"""Standard output and standard error of every command, with control characters in users' data escaped."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from rejoinder.escape import escape_terminal


class EscapedStream:
    """A text stream that escapes control characters; bytes (``buffer``) pass unchanged."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.unescaped: TextIO = getattr(stream, "unescaped", stream)  # for colours and a progress bar

    def write(self, text: str) -> int:
        """Write a text, escaped."""
        self._stream.write(escape_terminal(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts, escaped."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def escaped_streams() -> Iterator[None]:
    """Escape everything that is printed inside the block."""
    originals = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, stream and EscapedStream(stream)) for stream in originals)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = originals
