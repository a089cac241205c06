"""Errors that are not bugs of rejoinder.

RejoinderError            one sentence for the user: what is wrong, what was found, what to do; exit status 2
├── InputError            a file or a record that cannot be read
├── SpecError             the name of a metric, importer, dataset or command that is not known
├── MissingExtraError     an optional dependency that is not installed
├── FetchError            a published file that could not be fetched (data/download.py)
├── RunError              a run folder that cannot be used as asked
└── JudgeError            a judge that cannot be asked
    └── BudgetError       a budget that the next request might pass

Any other exception is a bug of rejoinder. ``InputWarning`` says what of a file was not used, or left out.
"""

from __future__ import annotations

from collections.abc import Iterable

_MAX_NAMES = 16  # in one error sentence


class RejoinderError(Exception):
    """A user's error, in one sentence."""


class InputError(RejoinderError):
    """A file or a record that cannot be read."""


class EmptyError(InputError):
    """A file that holds nothing."""


class InputWarning(UserWarning):
    """Something in a file was not used, left out, or read in a way that its owner should know."""


class SpecError(RejoinderError):
    """A name or a spec that is not known."""


class MissingExtraError(RejoinderError):
    """An optional dependency that is not installed."""

    def __init__(self, module: str, extra: str, purpose: str, distribution: str = "rejoinder") -> None:
        super().__init__(f'{purpose} needs {module}; install it with: pip install "{distribution}[{extra}]"')
        self._given = (module, extra, purpose, distribution)

    def __reduce__(self) -> tuple[type, tuple[str, str, str, str]]:
        """Make it picklable, so that a worker can send it back."""
        return MissingExtraError, self._given


class RunError(RejoinderError):
    """A run folder that cannot be used as asked."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the end of an error sentence: the nearest known names, or all of them."""
    import difflib

    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(repr(c) for c in close)}?"
    listed = ", ".join(names[:_MAX_NAMES]) + (f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else "")
    return f"known: {listed or 'none'}"


def brief(text: object, limit: int = 60) -> str:
    """Return a value for an error sentence: on one line, cut to a length."""
    text_repr = repr(text) if not isinstance(text, str) else repr(text[: limit + 1])
    return text_repr if len(text_repr) <= limit else text_repr[: limit - 1] + "…"


def shorten_path(name: object, limit: int = 120) -> str:
    """Return the name of a file for an error sentence: a very long one is cut."""
    text = name.decode(errors="backslashreplace") if isinstance(name, bytes) else str(name)
    return text if len(text) <= limit else f"{text[:limit]}…"


class JudgeError(RejoinderError):
    """A judge that cannot be asked; all earlier answers are kept."""


class BudgetError(JudgeError):
    """A budget that the next request might pass; all earlier answers are kept."""
