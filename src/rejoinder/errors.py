"""What can go wrong through no fault of ours.

RejoinderError            one sentence for the user: what is wrong, what was found, what to do; exit status 2
├── InputError            a file or a record that cannot be read as it stands
├── SpecError             a metric, importer, dataset or command that was named wrongly
├── MissingExtraError     an optional dependency that is not installed
├── FetchError            a published file that could not be fetched (data/download.py)
└── RunError              a run folder that cannot be used as asked

Anything else that escapes is a bug of rejoinder's.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_MAX_NAMES = 16  # in one error sentence


class RejoinderError(Exception):
    """A user's error, told in one sentence."""


class InputError(RejoinderError):
    """A file or a record that cannot be read as it stands."""


class SpecError(RejoinderError):
    """A name or a spec that means nothing here."""


class MissingExtraError(RejoinderError):
    """An optional dependency that is not installed."""

    def __init__(self, module: str, extra: str, purpose: str) -> None:
        super().__init__(f'{purpose} needs {module}; install it with: pip install "rejoinder[{extra}]"')
        self._given = (module, extra, purpose)

    def __reduce__(self) -> tuple[type, tuple[str, str, str]]:
        """So that a worker can send it to who asked."""
        return MissingExtraError, self._given


class RunError(RejoinderError):
    """A run folder that cannot be used as asked."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The end of an error sentence: the nearest known names, or all of them."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(repr(c) for c in close)}?"
    shown = ", ".join(names[:_MAX_NAMES]) + (f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else "")
    return f"known: {shown or 'none'}"


def brief(text: object, limit: int = 60) -> str:
    """A value as it may stand in an error sentence: on one line, cut to a length."""
    shown = repr(text) if not isinstance(text, str) else repr(text[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def shorten_path(name: object, limit: int = 120) -> str:
    """The name of a file as it may stand in an error sentence: a very long one is cut."""
    text = name.decode(errors="backslashreplace") if isinstance(name, bytes) else str(name)
    return text if len(text) <= limit else f"{text[:limit]}…"


class JudgeError(RejoinderError):
    """A judge that cannot be asked; every answer that came before is kept."""
