"""The answers that judges gave, each under the digest of the request: what was answered is never asked, or paid, again.

One file a judge (model, rubric and wording), one line an answer, added as it comes. A line that was torn by a crash is
dropped at the next opening. One process at a time adds to a file, so that two runs neither pay twice nor together
exceed the number of requests in flight.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

import orjson

from rejoinder.errors import RunError

AnswerOutcome = Literal["answered", "unreadable", "refused"]


class Answer(NamedTuple):
    """One answer as it came: the raw body of the HTTP answer, and what it came to."""

    key: str
    outcome: AnswerOutcome
    status: int
    body: str
    seconds: float


class AnswerStore:
    """A file of answers by request."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._answers: dict[str, list[Answer]] = {}
        self._read_to = 0
        self._file: BinaryIO | None = None

    def of(self, key: str) -> list[Answer]:
        """The answers to a request, in the order in which they came."""
        return self._answers.get(key, [])

    @property
    def has_answers(self) -> bool:
        """Whether any request was answered."""
        return any(a.outcome != "refused" for answers in self._answers.values() for a in answers)

    def refresh(self) -> None:
        """Take in what was added since the last look, by this process or another."""
        try:
            with self.path.open("rb") as file:
                if os.fstat(file.fileno()).st_size < self._read_to:  # it was deleted, and begun anew
                    self._answers, self._read_to = {}, 0
                file.seek(self._read_to)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._read_to += len(line)
                    self._take(line)
        except FileNotFoundError:
            self._answers, self._read_to = {}, 0
        except OSError as error:
            raise RunError(f"{self.path}: the answers of judges cannot be read ({error.strerror})") from None

    def _take(self, line: bytes) -> None:
        try:
            answer = Answer(**orjson.loads(line))
        except (orjson.JSONDecodeError, TypeError):
            return  # damaged: the request is sent again
        self._answers.setdefault(answer.key, []).append(answer)

    @contextlib.contextmanager
    def claimed(self) -> Iterator[None]:
        """The right to add answers, for one process at a time."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as self._file:
                _lock(self._file)
                self.refresh()
                self._file.truncate(self._read_to)  # what follows is half a line that a crash left
                yield
        except OSError as error:
            raise RunError(
                f"{self.path}: the answers of judges cannot be kept there ({error.strerror}); free some space, or move "
                "the cache with REJOINDER_CACHE"
            ) from None
        finally:
            self._file = None

    def add(self, answer: Answer) -> None:
        """Keep an answer, on disk before anything is made of it."""
        if self._file is None:
            raise RuntimeError("an answer was added to a store that is not claimed")
        line = orjson.dumps(answer._asdict(), option=orjson.OPT_APPEND_NEWLINE)
        self._file.write(line)
        self._file.flush()
        self._read_to += len(line)
        self._answers.setdefault(answer.key, []).append(answer)


def _lock(file: BinaryIO) -> None:
    try:
        import fcntl
    except ImportError:  # no such locks on this system: two runs at once may then ask the same twice
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    file.seek(0, os.SEEK_END)
