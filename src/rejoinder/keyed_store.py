"""Stores of what was computed before, by key: one file per value, or one line per value in a file that grows.

Both survive a killed process and several processes at once. A file or line that was torn or damaged counts as missing,
so that its value is computed again. (Vectors have a store of their own in SQLite: ``models/encoder/cache.py``.)
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Generic, Protocol, TypeVar

import orjson

from rejoinder.errors import RunError
from rejoinder.files import put_in_place

CHECKSUM_SIZE = 16
MOVE_CACHE = "free some space, or move the cache with REJOINDER_CACHE"


class FileStore:
    """A folder with one file per key: a checksum and the payload, written once and whole.

    ``what`` names the payloads in errors, ``remedy`` says what to do where they cannot be written.
    """

    def __init__(self, folder: Path, what: str, remedy: str = MOVE_CACHE) -> None:
        self._folder, self._what, self._remedy = folder, what, remedy

    def get(self, key: str) -> bytes | None:
        """Return the payload of a key, a path below the folder; None where there is none, or it is not whole."""
        try:
            raw = (self._folder / key).read_bytes()
        except OSError:
            return None
        payload = raw[CHECKSUM_SIZE:]
        return payload if _checksum(payload) == raw[:CHECKSUM_SIZE] else None

    def put(self, key: str, payload: bytes) -> None:
        """Write a payload; its file appears whole or not at all."""
        target = self._folder / key
        part = target.with_name(f".{uuid.uuid4().hex}")  # process ids repeat on other nodes
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(_checksum(payload) + payload)
            put_in_place(part, target)
        except OSError as error:
            with contextlib.suppress(OSError):
                part.unlink()
            raise RunError(
                f"{self._folder}: {self._what} cannot be stored there ({error.strerror}); {self._remedy}"
            ) from None


def _checksum(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=CHECKSUM_SIZE).digest()


class LineStoreValue(Protocol):
    """A value with named fields, as a NamedTuple has them."""

    def _asdict(self) -> dict[str, Any]: ...


Value = TypeVar("Value", bound=LineStoreValue)


class LineStore(Generic[Value]):
    """A file that grows, with one line of JSON per value; several values may have the same key.

    Within ``claimed``, one process at a time adds lines. Otherwise several may, each batch on lines of its own.
    ``what`` names the values in errors.
    """

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        self._what = what
        self._values: dict[str, list[Value]] = {}
        self._position = 0  # in the file: the end of the lines that were read
        self._claimed_file: BinaryIO | None = None

    def parse(self, key: str, fields: dict[str, Any]) -> Value:
        """Return the value that a line's fields stand for; raise a TypeError or ValueError where they do not fit."""
        raise NotImplementedError

    def get_all(self, key: str) -> list[Value]:
        """Return the values of a key, oldest first."""
        return self._values.get(key, [])

    def include(self, path: Path) -> None:
        """Read every line of a file, this store's or another one."""
        try:
            lines = path.read_bytes().splitlines()
        except OSError as error:
            raise self._read_error(path, error) from None
        for line in lines:
            self._parse_line(line)

    def refresh(self) -> None:
        """Read the lines that were added since the last refresh, by this process or another."""
        try:
            with self.path.open("rb") as file:
                if os.fstat(file.fileno()).st_size < self._position:  # it was deleted, and begun again
                    self._values, self._position = {}, 0
                file.seek(self._position)
                for line in file:
                    if not line.endswith(b"\n"):
                        break
                    self._position += len(line)
                    self._parse_line(line)
        except FileNotFoundError:
            self._values, self._position = {}, 0
        except OSError as error:
            raise self._read_error(self.path, error) from None

    @contextlib.contextmanager
    def claim(self) -> Iterator[None]:
        """The right to add lines, for one process at a time."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as self._claimed_file:
                lock_file(self._claimed_file)
                self.refresh()
                self._claimed_file.truncate(self._position)  # what follows is half a line that a crash left
                yield
        except OSError as error:
            raise self._write_error(error) from None
        finally:
            self._claimed_file = None

    def append(self, values: Mapping[str, Value]) -> None:
        """Add one value for each of some keys, on disk at once."""
        lines = b"".join(
            orjson.dumps({"key": key, **value._asdict()}, default=list, option=orjson.OPT_APPEND_NEWLINE)
            for key, value in values.items()
        )
        if self._claimed_file is not None:
            self._claimed_file.write(lines)
            self._claimed_file.flush()
            self._position += len(lines)
        else:
            self._append_unclaimed(lines)
        for key, value in values.items():
            self._values.setdefault(key, []).append(value)

    def _append_unclaimed(self, lines: bytes) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                # What a crash tore off gets a line of its own, and is skipped.
                file.write(b"\n" * (file.tell() > 0) + (lines or b"\n"))
        except OSError as error:
            raise self._write_error(error) from None

    def _parse_line(self, line: bytes) -> None:
        try:
            fields = orjson.loads(line)
            key = str(fields.pop("key"))
            value = self.parse(key, fields)
        except (TypeError, ValueError, AttributeError, KeyError):  # damaged: the value is computed again
            return
        self._values.setdefault(key, []).append(value)

    def _read_error(self, path: Path, error: OSError) -> RunError:
        return RunError(f"{path}: {self._what} cannot be read ({error.strerror})")

    def _write_error(self, error: OSError) -> RunError:
        return RunError(f"{self.path}: {self._what} cannot be stored there ({error.strerror}); {MOVE_CACHE}")


def lock_file(file: BinaryIO) -> None:
    """Wait until no other process has locked a file, and lock it until it is closed; move to its end."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system: two runs at once may then compute, or pay, the same twice
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    file.seek(0, os.SEEK_END)
