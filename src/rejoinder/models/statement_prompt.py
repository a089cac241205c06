"""What a model reads when it writes a statement (SUGAR, Figure 3): ``[u]… [g]… [r]…``, then ``[category]``.

The marks stand for the request, the goal and the reply; the category is given as the first thing of what is written.
"""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.data.situations import CATEGORIES
from rejoinder.errors import InputError, nearest

MOST_WORDS = 100  # of each text that is read: what is beyond does not matter to a statement


@dataclass(frozen=True)
class Asked:
    """What a statement is wanted for."""

    request: str
    goal: str
    reply: str
    category: str

    def __post_init__(self) -> None:
        if self.category not in CATEGORIES:
            raise InputError(f"no category is called {self.category!r}; {nearest(self.category, CATEGORIES)}")

    @property
    def given(self) -> str:
        """Request, goal and reply with their marks, each on the same line and cut to so many words."""
        parts = (("u", self.request), ("g", self.goal), ("r", self.reply))
        return " ".join(f"[{mark}]{' '.join(text.split()[:MOST_WORDS])}" for mark, text in parts)

    @property
    def mark(self) -> str:
        """The beginning of what is written."""
        return f"[{self.category}]"

    @property
    def prompt(self) -> str:
        """All that stands before the statement, for a model that continues a text."""
        return f"{self.given} {self.mark}"
