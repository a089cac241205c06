"""The files of an import: one, or all matching files of a folder; their lines as text, their values as JSON."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import json
import re
import shlex
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import orjson

from rejoinder.data.importer import EntryPlace, File, ImportOptions, ImportTally
from rejoinder.data.objects import LONGEST_LINE
from rejoinder.data.reader import BlankLineCounter, InputFile, decode_json_line, suggest_utf8
from rejoinder.data.schema import Place
from rejoinder.data.spool import standard_input
from rejoinder.data.tables.detection import find_encoding
from rejoinder.errors import InputError
from rejoinder.paths import printable

_LAST_COMMA = re.compile(rb",\s*\]\s*\Z")  # of a list that was written entry by entry
_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def files(path: Path, endings: tuple[str, ...], tally: ImportTally) -> list[File]:
    """Return the file itself, whatever its ending, or all files below a folder that have one of the endings."""
    if not path.is_dir():
        if str(path) == "-":
            return [File(path, "<stdin>", "stdin")]
        return [File(path, printable(path), stem_of(printable(path.name)))]
    endings = (*endings, *(f"{ending}.gz" for ending in endings))
    paths = sorted(p for p in path.rglob("*") if p.is_file() and not _is_hidden(p.relative_to(path)))
    matching = [p for p in paths if p.name.lower().endswith(endings)]
    if not matching:
        raise InputError(
            f"{path}: no file in this folder ends with {' or '.join(endings)}; see what is in it with: ls "
            f"{shlex.quote(str(path))}"
        )
    if len(paths) > len(matching):
        tally.left_out[f"files that do not end with {' or '.join(endings)}"] += len(paths) - len(matching)
    return [File(p, printable(p), stem_of(printable(p.relative_to(path).as_posix()))) for p in matching]


def _is_hidden(path: Path) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in path.parts)


def stem_of(name: str) -> str:
    """Return a file's name without its endings."""
    folder, slash, last = name.rpartition("/")
    last = last[: -len(".gz")] if last.lower().endswith(".gz") else last
    return folder + slash + (last.rpartition(".")[0] or last)


def read_text_lines(file: File) -> Iterator[tuple[Place, str]]:
    """Yield all lines as text, blank ones too; UTF-8 with or without a byte order mark, decompressed."""
    number = 0
    for number, line in enumerate(_read_raw_lines(file), start=1):
        place = Place(file.name, number)
        if number == 1:
            if line.startswith(_UTF16):
                raise InputError(f"{place}: the file is UTF-16; {suggest_utf8(file.name, 'UTF-16')}")
            line = line.removeprefix(_BOM)
        if b"\0" in line:
            raise InputError(f"{place}: has a NUL byte, so the file is damaged or not text; save it as UTF-8 text")
        try:
            yield place, line.decode("utf-8")
        except UnicodeDecodeError as bad:
            byte = f"0x{line[bad.start]:02x}"
            raise InputError(
                f"{place}: not UTF-8 at byte {bad.start + 1} (found {byte}); {suggest_utf8(file.name)}"
            ) from None
    if number == 0:
        raise InputError(f"{file.name}: is empty")


def read_decoded_lines(file: File) -> Iterator[str]:
    """Yield all lines of a text, blank ones too, with their ends; its encoding is found from all of its bytes."""
    number, blank = 0, BlankLineCounter(file.name)
    with _explain_errors(file, lambda: number), _open(file) as raw:
        stream = _decompress(raw)
        text = io.TextIOWrapper(cast(Any, stream), _find_encoding(stream), newline="")
        while line := text.readline(LONGEST_LINE + 1):
            number += 1
            blank.add(line)
            if len(line) > LONGEST_LINE:
                raise InputError(f"{file.name} line {number}: longer than 64 MiB; is it text?")
            if "\0" in line:
                raise InputError(
                    f"{file.name} line {number}: has a NUL byte, so the file is damaged or not text; "
                    "save it as UTF-8 text"
                )
            yield line
    if number == 0:
        raise InputError(f"{file.name}: is empty")


def read_beginning(file: File, size: int) -> bytes:
    """Return the first bytes of a file, decompressed."""
    with _explain_errors(file, lambda: 0), InputFile(file.path, file.name).open() as raw:
        return _decompress(cast(io.BufferedReader, raw)).read(size)


def _find_encoding(stream: io.BufferedIOBase) -> str:
    """Return the encoding of a whole stream, which is then at its beginning again."""
    beginning = stream.read(2**10)
    encoding = find_encoding(beginning)
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        block = beginning
        while not encoding.startswith("utf-16") and block:
            decoder.decode(block)
            block = stream.read(2**20)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        encoding = "cp1252"
    stream.seek(0)
    return encoding


def _read_raw_lines(file: File) -> Iterator[bytes]:
    number, blank = 0, BlankLineCounter(file.name)
    with _explain_errors(file, lambda: number), _open(file) as raw:
        stream = _decompress(raw)
        while line := stream.readline(LONGEST_LINE + 1):
            number += 1
            blank.add(line)
            if len(line) > LONGEST_LINE:
                raise InputError(f"{file.name} line {number}: longer than 64 MiB; is it text?")
            yield line


def _decompress(raw: io.BufferedReader) -> io.BufferedIOBase:
    return gzip.GzipFile(fileobj=raw) if raw.peek(2)[:2] == b"\x1f\x8b" else raw


@contextlib.contextmanager
def _explain_errors(file: File, line: Callable[[], int]) -> Iterator[None]:
    """Raise what goes wrong while a file is read as one sentence."""
    try:
        yield
    except EOFError:
        raise InputError(f"{file.name}: the gzip file ends too early (after line {line()}); get it again") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{file.name}: damaged gzip file after line {line()} ({error}); get it again") from None
    except UnicodeDecodeError as bad:
        raise InputError(
            f"{file.name}: is neither UTF-8 nor UTF-16 nor cp1252 after line {line()} (found "
            f"0x{bad.object[bad.start]:02x}); save the file as UTF-8"
        ) from None
    except OSError as error:
        raise InputError(f"{file.name}: cannot be read after line {line()} ({error.strerror})") from None


def _open(file: File) -> io.BufferedReader:
    if str(file.path) == "-":
        # Standard input is not ours to close.
        return io.BufferedReader(io.BytesIO(standard_input().read()))
    return cast(io.BufferedReader, InputFile(file.path, file.name).open())


def read_json_values(file: File) -> Iterator[tuple[Place, Any]]:
    """Yield the values of a JSON file: one per line, the entries of one list, or a single value."""
    lines = InputFile(file.path, file.name, file.place).lines()
    first = next(lines)
    try:
        value = _parse_line(first.text)
    except ValueError:
        rest = b"".join(line.text for line in lines)
        yield from _list_entries(file, _parse_document(file, first.text + rest))
        return
    if isinstance(value, list):
        if next(lines, None) is not None:
            raise InputError(f"{file.name}: a JSON list ends in line {first.place.line} but more lines follow")
        yield from _list_entries(file, value)
        return
    yield first.place, value
    for line in lines:
        try:
            yield line.place, _parse_line(line.text)
        except ValueError:
            yield line.place, decode_json_line(line)  # says what is wrong


def _parse_line(text: bytes) -> Any:
    """Return the JSON value of a line, which may end in a comma and may have NaN, as Python's json writes it."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        text = text.strip().removesuffix(b",")
        if text[:1] not in (b"{", b"["):
            raise
        return _parse_with_constants(text)


def _parse_with_constants(text: bytes) -> Any:
    """Return a JSON value in which NaN and Infinity are empty."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        if b"NaN" not in text and b"Infinity" not in text:
            raise
    try:
        return json.loads(text, parse_constant=lambda _: None)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _list_entries(file: File, value: Any) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, list):
        if not value:
            raise InputError(f"{file.name}: is an empty list")
        for number, entry in enumerate(value, start=1):
            yield EntryPlace(file.name, number), entry
    else:
        yield EntryPlace(file.name, 1), value


def _parse_document(file: File, text: bytes) -> Any:
    try:
        return _parse_with_constants(_LAST_COMMA.sub(b"]", text))
    except ValueError:
        pass
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            is_utf16 = text.startswith(_UTF16)
            what, encoding = ("UTF-16", "UTF-16") if is_utf16 else ("not UTF-8", "WINDOWS-1252")
            raise InputError(f"{file.name}: the file is {what}; {suggest_utf8(file.name, encoding)}") from None
        raise InputError(
            f"{file.name}: not valid JSON ({error.msg} at line {error.lineno} column {error.colno}); "
            "it must be one JSON value, or one per line"
        ) from None


def companion_file(options: ImportOptions) -> list[File]:
    """Return the file that is named with --with, if any."""
    if options.companion is None:
        return []
    path = Path(options.companion)
    if not path.is_file():
        raise InputError(f"{printable(path)}: no such file; --with names the file that belongs to the imported one")
    return [File(path, printable(path), stem_of(printable(path.name)))]
