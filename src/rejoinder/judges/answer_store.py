"""The answers of judges, each under the digest of its request: an answered request is never sent, or paid for, again.

One file per judge (model, rubric and wording), one line per answer, appended as it arrives. A line that a crash cut off
is dropped when the file is opened next. One process at a time appends to a file, so that two runs neither pay twice nor
together exceed the number of requests in flight.
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
    """One answer: the raw body of the HTTP response, and the outcome."""

    key: str
    outcome: AnswerOutcome
    status: int
    body: str
    seconds: float


class AnswerStore:
    """A file of answers, by request."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._answers: dict[str, list[Answer]] = {}
        self._read_to = 0
        self._file: BinaryIO | None = None

    def answers_to(self, key: str) -> list[Answer]:
        """The answers to a request, in order of arrival."""
        return self._answers.get(key, [])

    @property
    def has_answers(self) -> bool:
        """Whether any request was answered."""
        return any(a.outcome != "refused" for answers in self._answers.values() for a in answers)

    def refresh(self) -> None:
        """Read what was appended since the last call, by this process or another."""
        try:
            with self.path.open("rb") as file:
                if os.fstat(file.fileno()).st_size < self._read_to:  # it was deleted and started again
                    self._answers, self._read_to = {}, 0
                file.seek(self._read_to)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._read_to += len(line)
                    self._add_line(line)
        except FileNotFoundError:
            self._answers, self._read_to = {}, 0
        except OSError as error:
            raise RunError(
                f"{self.path}: the judges' answers cannot be read ({error.strerror}); check its permissions"
            ) from None

    def _add_line(self, line: bytes) -> None:
        try:
            answer = Answer(**orjson.loads(line))
        except (orjson.JSONDecodeError, TypeError):
            return  # damaged: the request will be sent again
        self._answers.setdefault(answer.key, []).append(answer)

    @contextlib.contextmanager
    def claim(self) -> Iterator[None]:
        """Hold the right to append answers, for one process at a time."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as self._file:
                _lock(self._file)
                self.refresh()
                self._file.truncate(self._read_to)  # the rest is half a line that a crash left
                yield
        except OSError as error:
            raise RunError(
                f"{self.path}: the judges' answers cannot be stored there ({error.strerror}); free some space, or move "
                "the cache with REJOINDER_CACHE"
            ) from None
        finally:
            self._file = None

    def add(self, answer: Answer) -> None:
        """Append an answer, so that it is on disk before it is used."""
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
    except ImportError:  # no such locks on this system: two runs at once may then send the same request twice
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    file.seek(0, os.SEEK_END)
