"""Values that were computed before, a line each under a digest of all that decided them.

A file grows batch by batch, so that a killed command loses one batch. A line that was torn or damaged is passed over,
and its value computed anew. Files that were made elsewhere (on a machine with a GPU) can be read as well.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import orjson

from rejoinder.errors import RunError


class Fields(Protocol):
    """A value with named fields, as a NamedTuple has them."""

    def _asdict(self) -> dict[str, Any]: ...


Value = TypeVar("Value", bound=Fields)


def digest_of(parts: Sequence[object]) -> str:
    """The key of what decides a value."""
    try:
        text = orjson.dumps(parts).decode()
    except TypeError:  # half characters are no JSON
        text = repr(parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class LineStore(Generic[Value]):
    """Values by key: a file that grows, and files that are only read.

    ``of`` makes a value of the fields of a line; ``what`` names the values in errors.
    """

    def __init__(self, of: Callable[[dict[str, Any]], Value], what: str, path: Path, *others: Path) -> None:
        self.path = path
        self._of, self._what = of, what
        self._known: dict[str, Value] = {}
        for file in (*others, path):
            if file.exists() or file is not path:
                self._read(file)

    def get(self, key: str) -> Value | None:
        """What is kept under a key."""
        return self._known.get(key)

    def put(self, found: Iterable[tuple[str, Value]]) -> None:
        """Keep some values, on disk at once."""
        rows = dict(found)
        self._known.update(rows)
        lines = [
            orjson.dumps({"key": key, **one._asdict()}, default=list, option=orjson.OPT_APPEND_NEWLINE)
            for key, one in rows.items()
        ]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                # What a crash tore off stands on a line of its own, and is passed over.
                file.write(b"\n" * (file.tell() > 0) + b"".join(lines).rstrip(b"\n") + b"\n")
        except OSError as error:
            raise RunError(
                f"{self.path}: {self._what} cannot be kept there ({error.strerror}); free some space, or move the "
                "cache with REJOINDER_CACHE"
            ) from None

    def _read(self, file: Path) -> None:
        try:
            lines = file.read_bytes().splitlines()
        except OSError as error:
            raise RunError(f"{file}: {self._what} cannot be read there ({error.strerror})") from None
        for line in lines:
            try:
                record = orjson.loads(line)
                key = str(record.pop("key"))
                self._known[key] = self._of(record)
            except (TypeError, ValueError, AttributeError, KeyError):
                continue
