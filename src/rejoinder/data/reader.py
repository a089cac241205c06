"""Reading records as a stream: files, gzip, standard input; every error names the file and the line."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import shlex
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

import orjson

from rejoinder.data.objects import LONGEST_LINE
from rejoinder.data.parquet import is_parquet, read_parquet_objects
from rejoinder.data.schema import Place, from_object
from rejoinder.data.spool import copy_pipe, is_device, is_pipe, standard_input
from rejoinder.errors import EmptyError, InputError, brief
from rejoinder.paths import printable
from rejoinder.types import Record

MOST_BLANK_LINES = 1_000_000  # in a row
_BOM = b"\xef\xbb\xbf"


class InputLine(NamedTuple):
    """A line that is not blank, its place, and whether the file ended without a newline after it."""

    place: Place
    text: bytes
    cut: bool


class InputFile:
    """One input file ("-" is standard input); errors call it ``name``, or else by its path.

    ``sha256`` covers the bytes read so far (before decompression).
    """

    def __init__(self, path: str | Path, name: str | None = None, place: type[Place] = Place) -> None:
        self._path = str(path)
        self._place = place
        self.name = name or ("<stdin>" if self._path == "-" else printable(path))
        self._hash = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """The digest of the bytes read so far."""
        return self._hash.hexdigest()

    def measure(self) -> tuple[str, int]:
        """The digest and the size of the whole file, whatever it holds."""
        if is_pipe(self._path):
            raise InputError(
                f"{self.name}: is a pipe, but the input is read more than once; save it as a file and name that"
            )
        size = 0
        digest = hashlib.sha256()
        with self.open() as raw:
            while block := raw.read(2**20):
                digest.update(block)
                size += len(block)
        return digest.hexdigest(), size

    def lines(self) -> Iterator[InputLine]:
        """Yield the lines, decompressed; blank ones are skipped. Each row of a Parquet file counts as a line."""
        if self._path != "-" and is_parquet(self._path):
            yield from self._rows()
            return
        with self.open() as raw:
            yield from self._lines(raw)

    def _rows(self) -> Iterator[InputLine]:
        with self.open() as raw:
            while block := raw.read(2**20):
                self._hash.update(block)
        for row, place in read_parquet_objects(self._path, self.name):
            yield InputLine(place, orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE), False)

    def open(self) -> contextlib.AbstractContextManager[IO[bytes]]:
        """Open the file as it is stored, compressed or not."""
        if self._path == "-":
            return contextlib.nullcontext(standard_input())
        if is_pipe(self._path):
            return copy_pipe(self._path)
        if is_device(self._path):
            raise InputError(f"{self.name}: is a device, not a file; name a file, or - for standard input")
        path = Path(self._path)
        if path.is_dir():
            raise InputError(
                f"{self.name}: is a folder, not a file; name a file of it, or score its tables with: rejoinder score "
                f"{shlex.quote(self.name)}"
            )
        try:
            return path.open("rb")
        except FileNotFoundError:
            raise InputError(f"{self.name}: no such file") from None
        except (OSError, ValueError) as error:
            raise InputError(f"{self.name}: cannot be opened ({error})") from None

    def _lines(self, raw: IO[bytes]) -> Iterator[InputLine]:
        hashing = io.BufferedReader(_HashingStream(raw, self._hash), buffer_size=2**20)
        is_gzip = hashing.peek(2)[:2] == b"\x1f\x8b"
        stream = gzip.GzipFile(fileobj=hashing) if is_gzip else hashing
        number, empty = 0, True
        blank = BlankLineCounter(self.name)
        while line := self._next_line(stream.readline, number):
            number += 1
            if len(line) > LONGEST_LINE:
                raise InputError(f"{self.name} line {number}: longer than 64 MiB; write one record per line")
            blank.add(line)
            if number == 1 and line.startswith(_BOM):
                line = line[len(_BOM) :]
            if line.strip():
                empty = False
                yield InputLine(self._place(self.name, number), line, not line.endswith(b"\n"))
        if empty:
            raise EmptyError(f"{self.name}: is empty; it must hold a table, a log, or one JSON record per line")

    def _next_line(self, read: Callable[[int], bytes], number: int) -> bytes:
        try:
            return read(LONGEST_LINE + 1)
        except EOFError:
            what = "the gzip file ends too early"
        except (gzip.BadGzipFile, zlib.error) as error:
            what = f"damaged gzip file ({error})"
        except OSError as error:
            what = f"cannot be read ({error.strerror})"
        raise InputError(f"{self.name}: {what} after line {number}; get it again")


class BlankLineCounter:
    """Counts consecutive blank lines: a small gzip file may hold billions."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines = self._bytes = 0

    def add(self, line: bytes | str) -> None:
        """Count the next line; raise after too many blank lines in a row."""
        if not line.isspace():
            self._lines = self._bytes = 0
            return
        self._lines += 1
        self._bytes += len(line)
        if self._lines > MOST_BLANK_LINES or self._bytes > LONGEST_LINE:
            raise InputError(f"{self._name}: has {self._lines:,} blank lines in a row; is it the right file?")


class _HashingStream(io.RawIOBase):
    """A raw stream that hashes what is read through it."""

    def __init__(self, raw: IO[bytes], digest: hashlib._Hash) -> None:
        self._raw = raw
        self._digest = digest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        block = self._raw.read(len(buffer))
        self._digest.update(block)
        buffer[: len(block)] = block
        return len(block)


def suggest_utf8(name: str, encoding: str = "WINDOWS-1252") -> str:
    """Return what to do about a text in another encoding."""
    source, target = shlex.quote(name), shlex.quote(f"{Path(name).stem}-utf8{Path(name).suffix}")
    return f"save it as UTF-8: iconv -f {encoding} -t UTF-8 {source} > {target}"


def decode_json_line(line: InputLine) -> object:
    """Return the JSON value of a line."""
    try:
        return orjson.loads(line.text)
    except orjson.JSONDecodeError as error:
        raise _explain_line_error(line, error) from None


def _explain_line_error(line: InputLine, error: orjson.JSONDecodeError) -> InputError:
    try:
        line.text.decode("utf-8")
    except UnicodeDecodeError as bad:
        is_utf16 = line.text[:2] in (b"\xff\xfe", b"\xfe\xff")
        hint, encoding = ("; the file may be UTF-16", "UTF-16") if is_utf16 else ("", "WINDOWS-1252")
        return InputError(
            f"{line.place}: not UTF-8 at byte {bad.start + 1} (found 0x{line.text[bad.start]:02x}){hint}; "
            f"{suggest_utf8(line.place.file, encoding)}"
        )
    if line.text.lstrip()[:1] == b"[":
        return InputError(
            f"{line.place}: this is a JSON list, not one record per line; convert it with: rejoinder import jsonl "
            f"{shlex.quote(line.place.file)}"
        )
    if line.cut:
        return InputError(f"{line.place}: the last line is cut off ({error.msg}); remove it or get the file again")
    beginning = brief(line.text[:80].decode("utf-8", "replace").strip())
    ending = line.place.file.removesuffix(".gz").rpartition(".")[2].lower()
    is_table, file = ending in ("csv", "tsv", "parquet"), shlex.quote(line.place.file)
    hint = f"; convert it with: rejoinder import {ending} {file}" if is_table else ""
    return InputError(f"{line.place}: not valid JSON ({error.msg} at column {error.colno}), found {beginning}{hint}")


def stream(path: str | Path, allow_empty: bool = False, name: str | None = None) -> Iterator[Record]:
    """Yield the records of one file, one at a time; ids are not checked (``rejoinder.read`` does that).

    - ``path``: the file.
    - ``allow_empty``: whether an empty reply is allowed.
    - ``name``: what errors call the file.

    >>> import rejoinder
    >>> type(next(rejoinder.stream("chats.jsonl"))).__name__
    'Item'
    """
    for line in InputFile(path, name).lines():
        yield from_object(decode_json_line(line), line.place, allow_empty)
