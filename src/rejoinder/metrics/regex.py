"""Regex: whether a regular expression matches a reply; a rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from rejoinder.errors import SpecError
from rejoinder.metric import Metric
from rejoinder.text.pattern import compile_pattern, search_pattern
from rejoinder.types import Pair


@dataclass(frozen=True)
class Regex(Metric):
    r"""1 where the regular expression 'pattern' matches anywhere in a reply, else 0.

    The syntax is that of Python's ``re``; write the pattern as a raw string, ``regex(pattern=r'\d{4}')``, with ``^``
    and ``$`` where it should match the whole reply. A search that takes more than five seconds is an error.
    """

    pattern: str
    ignore_case: bool = False

    citation = "a rule"
    is_rule = True
    thread_safe = True

    def __post_init__(self) -> None:
        if not self.pattern:
            raise SpecError(r"regex: pattern is empty; name one, e.g. regex(pattern=r'\d{4}')")
        if "\b" in self.pattern:  # '\b' is a backspace in Python, and surely a word boundary was meant
            raise SpecError(r"regex: pattern has a backspace in it; write a raw string, e.g. regex(pattern=r'\bno\b')")
        compile_pattern(self.pattern, self.ignore_case)

    def details(self) -> dict[str, str]:
        """Return the version of the library that matches."""
        return {"regex": version("regex")}

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return whether the pattern matches each response."""
        return [float(search_pattern(self.pattern, pair.response.text, self.ignore_case)) for pair in pairs]
