"""Regular expressions of users: Python's syntax, and an end to a search that would take forever."""

from __future__ import annotations

import functools
from typing import Any

from rejoinder.errors import RejoinderError, SpecError, brief

SECONDS = 5.0  # per text; a usual pattern takes microseconds


def search_pattern(pattern: str, text: str, ignore_case: bool = False) -> bool:
    """Return whether a pattern matches anywhere in a text; an error where that takes more than ``SECONDS``.

    A pattern with one repetition inside another can take longer than anybody waits. That is an error and not a missing
    score, since which texts have one must not depend on the speed of the machine.
    """
    try:
        return compile_pattern(pattern, ignore_case).search(text, timeout=SECONDS) is not None
    except (TimeoutError, MemoryError):
        raise RejoinderError(
            f"the pattern {brief(pattern)} takes more than {SECONDS:g} seconds on the text {brief(text)}; write it "
            "without one repetition inside another, such as (a+)+"
        ) from None


@functools.lru_cache(maxsize=256)
def compile_pattern(pattern: str, ignore_case: bool = False) -> Any:
    """Return the compiled pattern; an error where it is not a regular expression."""
    import regex

    try:
        return regex.compile(pattern, regex.IGNORECASE if ignore_case else 0)
    except regex.error as error:
        raise SpecError(f"{brief(pattern)} is not a regular expression ({error})") from None
    except (OverflowError, RecursionError, ValueError, TypeError) as error:
        raise SpecError(f"{brief(pattern)} cannot be used as a pattern ({type(error).__name__}: {error})") from None
