"""How the inputs that a command names are to be read, for all that opens them while it runs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from rejoinder.data.importers import ImportOptions
from rejoinder.data.importers.text import is_text_input
from rejoinder.errors import SpecError

_CURRENT: ContextVar[tuple[ImportOptions, frozenset[str]] | None] = ContextVar("input_options", default=None)


@contextlib.contextmanager
def use_input_options(options: ImportOptions, sources: Sequence[str]) -> Iterator[None]:
    """Have the named inputs read with these options, wherever they are opened; other inputs are read as usual."""
    files = frozenset(source for source in sources if _is_file(source))
    if not files:
        raise SpecError(
            "--system, --field, --repeats and the like say how to read a file in another format, and none is "
            "named; leave them out"
        )
    token = _CURRENT.set((options, files))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def input_options(source: Any) -> ImportOptions:
    """Return the options for an input: those of the command that named it, or the default ones."""
    current = _CURRENT.get()
    return current[0] if current is not None and str(source) in current[1] else ImportOptions()


def _is_file(source: str) -> bool:
    name = source.partition("=")[2] or source
    return name == "-" or is_text_input(name) or os.path.isfile(source) or os.path.isfile(name)
