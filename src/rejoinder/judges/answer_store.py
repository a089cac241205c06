"""The answers of judges, each under the digest of its request: an answered request is never sent, or paid for, again.

One file per judge (model, rubric and wording), one line per answer, appended as it arrives. A line that a crash cut off
is dropped when the file is opened next. One process at a time appends to a file, so that two runs neither pay twice nor
together exceed the number of requests in flight.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

from rejoinder.keyed_store import LineStore

AnswerOutcome = Literal["answered", "unreadable", "refused"]


class StoredAnswer(NamedTuple):
    """One answer: the raw body of the HTTP response, the outcome, and how it was asked for ("openai: schema")."""

    key: str
    outcome: AnswerOutcome
    status: int
    body: str
    seconds: float
    style: str = ""


class AnswerStore(LineStore[StoredAnswer]):
    """A file of answers, by request."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "the answers of judges")

    def parse(self, key: str, fields: dict[str, Any]) -> StoredAnswer:
        """Return the answer of a line."""
        return StoredAnswer(key, **fields)

    @property
    def has_answers(self) -> bool:
        """Whether any request was answered."""
        return any(a.outcome != "refused" for answers in self._values.values() for a in answers)

    @property
    def last_style(self) -> str:
        """How the last answer that was not a refusal was asked for; empty where there is none."""
        given = (a for answers in reversed(self._values.values()) for a in reversed(answers))
        return next((a.style for a in given if a.style and a.outcome != "refused"), "")

    def add(self, answer: StoredAnswer) -> None:
        """Append an answer, so that it is on disk before it is used."""
        if self._claimed_file is None:
            raise RuntimeError("an answer was added to a store that is not claimed")
        self.append({answer.key: answer})
