"""The answers that judges gave, each under the digest of the request: what was answered is never asked, or paid, again.

One file a judge (model, rubric and wording), one line an answer, added as it comes. A line that was torn by a crash is
dropped at the next opening. One process at a time adds to a file, so that two runs neither pay twice nor together
exceed the number of requests in flight.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

from rejoinder.keyed_store import LineStore

AnswerOutcome = Literal["answered", "unreadable", "refused"]


class Answer(NamedTuple):
    """One answer as it came: the raw body of the HTTP answer, and what it came to."""

    key: str
    outcome: AnswerOutcome
    status: int
    body: str
    seconds: float


class AnswerStore(LineStore[Answer]):
    """A file of answers by request."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "the answers of judges")

    def parse(self, key: str, fields: dict[str, Any]) -> Answer:
        """Return the answer of a line."""
        return Answer(key, **fields)

    @property
    def has_answers(self) -> bool:
        """Whether any request was answered."""
        return any(a.outcome != "refused" for answers in self._values.values() for a in answers)

    def add(self, answer: Answer) -> None:
        """Keep an answer, on disk before anything is made of it."""
        if self._claimed_file is None:
            raise RuntimeError("an answer was added to a store that is not claimed")
        self.append({answer.key: answer})
