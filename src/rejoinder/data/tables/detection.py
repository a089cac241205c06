"""The format of a file: a sample of its beginning is shown to every importer that can recognise its own format."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rejoinder.data.importer import Importer, importer, importer_names
from rejoinder.data.parquet import read_first_parquet_rows
from rejoinder.data.tables.excel import read_first_sheet_rows
from rejoinder.data.tables.header import find_header_row
from rejoinder.errors import RejoinderError

BEGINNING = 2**18  # bytes of a file that are looked at
_MOST_VALUES = 20
_MOST_ROWS = 20
_GZIP = b"\x1f\x8b"
_NUL_SAMPLE, _NUL_SHARE = 1024, 0.4  # the bytes that are looked at for NULs; their share in UTF-16
_DELIMITERS = (",", "\t", ";", "|")
_SPACE = re.compile(r"[\s,]*")
_SEPARATOR_LINE = re.compile(r'\A"?sep=([,;|\t])"?\r?\n', re.IGNORECASE)  # as Excel writes it
_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"\s*(:?)', re.DOTALL)
_LIST_OF_OBJECTS = re.compile(r"\s*\[\s*\{")
_MARK = re.compile(r'["{}\[\]]')


@dataclass(frozen=True)
class Sample:
    """The beginning of a file, decoded and parsed as far as possible.

    - ``name``: the file's name, without its folder.
    - ``suffix``: its ending in lower case, such as ``.csv``; that of ``x.csv.gz`` is ``.csv``.
    - ``encoding``: utf-8, utf-8-sig, utf-16 (with a byte order mark), utf-16-le, utf-16-be or cp1252.
    - ``text``: the decoded beginning; ``beginning``: its first bytes.
    - ``is_document``: whether it is one JSON value (a list or an object) and not one value per line.
    - ``values``: the first complete JSON values: lines, or entries of the list.
    - ``keys``: the keys of the first JSON object, also if it is longer than the beginning.
    - ``entries``: of an object that is longer than the beginning, its first key with a list of objects, and the first
      of these.
    - ``delimiter``, ``header``: of a text table; an empty header if it is not one. Parquet and spreadsheets have a
      header, and their first rows as ``values``, if the libraries that read them are installed.
    - ``container``: text, json, parquet or xlsx.
    """

    name: str
    suffix: str
    encoding: str
    text: str
    is_document: bool = False
    values: tuple[Any, ...] = ()
    keys: frozenset[str] = frozenset()
    entries: tuple[str, tuple[Any, ...]] = ("", ())
    delimiter: str = ","
    header: tuple[str, ...] = ()
    container: str = "text"
    beginning: bytes = b""


def detect_format(sample: Sample) -> str | None:
    """Return the name of the importer that recognises a file; None if no importer does."""
    names = list_claims(sample)
    if len(names) > 1:
        raise RuntimeError(f"{sample.name}: several importers claim it: {', '.join(names)}")
    return names[0] if names else None


def list_claims(sample: Sample) -> list[str]:
    """Return the importers that recognise a file; there should be one at most.

    An importer of tables with any columns (``IS_GENERAL``) is only asked where no importer of a certain format claims
    the file; one without ``recognise`` is never asked.
    """
    readers = {name: importer(name) for name in importer_names()}
    for is_general in (False, True):
        names = [
            name
            for name, reader in readers.items()
            if getattr(reader, "IS_GENERAL", False) == is_general and _recognises(reader, sample)
        ]
        if names:
            return names
    return []


def _recognises(reader: Importer, sample: Sample) -> bool:
    recognise = getattr(reader, "recognise", None)
    return recognise is not None and bool(recognise(sample))


def sample_file(path: Path, name: str) -> Sample:
    """Return the sample of a file; the columns of Parquet and of a spreadsheet are read where that is possible."""
    with path.open("rb") as file:
        sample = take_sample(file.read(BEGINNING), name)
    read_first_rows = {"parquet": read_first_parquet_rows, "xlsx": read_first_sheet_rows}.get(sample.container)
    if read_first_rows is None:
        return sample
    try:
        header, rows = read_first_rows(path, _MOST_ROWS)
    except (RejoinderError, ImportError):  # reading it will say what is wrong, or what to install
        return sample
    return replace(sample, header=tuple(header), values=tuple(rows), keys=frozenset(header))


def take_sample(beginning: bytes, name: str) -> Sample:
    """Return the sample of a file from its first bytes, which may be compressed."""
    if beginning.startswith(_GZIP):
        try:
            beginning = zlib.decompressobj(wbits=31).decompress(beginning, BEGINNING)
        except zlib.error:  # reading it will say what is wrong
            beginning = b""
    container = _find_container(beginning)
    encoding = find_encoding(beginning)
    text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(beginning)
    stem = name[:-3] if name.lower().endswith(".gz") else name
    suffix = f".{stem.rpartition('.')[2].lower()}" if "." in stem else ""
    if container != "text":
        return Sample(name, suffix, encoding, text, container=container)
    if text.lstrip()[:1] in ("{", "["):
        is_document, values = _parse_values(text.lstrip())
        if values:
            keys = frozenset(values[0]) if isinstance(values[0], dict) else frozenset(_first_keys(text))
            return Sample(name, suffix, encoding, text, is_document, values, keys, container="json")
        cut = dict(_first_keys_with_ends(text))
        return Sample(
            name, suffix, encoding, text, is_document, (), frozenset(cut), _first_entries(text, cut), container="json"
        )
    delimiter, header = find_header(text)
    return Sample(name, suffix, encoding, text, delimiter=delimiter, header=header, beginning=beginning[:512])


def read_decompressed(path: Path) -> bytes:
    """Return all bytes of a file, decompressed."""
    content = path.read_bytes()
    return gzip.decompress(content) if content.startswith(_GZIP) else content


def _find_container(beginning: bytes) -> str:
    if beginning.startswith(b"PAR1"):
        return "parquet"
    is_sheet = beginning.startswith(b"PK\x03\x04") and (b"[Content_Types].xml" in beginning or b"xl/" in beginning)
    is_document = b"word/" in beginning or b"ppt/" in beginning
    return "xlsx" if is_sheet and not is_document else "text"


def find_encoding(beginning: bytes) -> str:
    """Return the encoding of a text: by its byte order mark, else UTF-8 if it is valid, else cp1252.

    UTF-16 without a mark has a NUL as every first or every second byte of most characters.
    """
    if beginning.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    if beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    start = beginning[:_NUL_SAMPLE]
    if len(start) >= 2 and b"\0" in start:
        zeros = [start[offset::2].count(0) / (len(start) // 2) for offset in (0, 1)]
        if min(zeros) == 0 and max(zeros) > _NUL_SHARE:
            return "utf-16-be" if zeros[0] else "utf-16-le"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(beginning)  # incremental: the last character may be cut
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _parse_values(text: str) -> tuple[bool, tuple[Any, ...]]:
    """Return whether a text is one JSON document, and its first complete values."""
    decoder = json.JSONDecoder()
    values: list[Any] = []
    is_list, first_end = text.startswith("["), len(text)
    position = 1 if is_list else 0
    while len(values) < _MOST_VALUES:
        match = _SPACE.match(text, position)
        position = match.end() if match else position
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        values.append(value)
        first_end = position if len(values) == 1 else first_end
    # An object on one line may be the first of many; one on several lines is alone.
    return is_list or "\n" in text[:first_end].rstrip(), tuple(values)


def _first_entries(text: str, keys: Mapping[str, int]) -> tuple[str, tuple[Any, ...]]:
    """Return the first of the keys whose value is a list of objects, and the first of these objects."""
    for key, end in keys.items():
        if match := _LIST_OF_OBJECTS.match(text, end):
            return key, _parse_values(text[match.start() :].lstrip())[1]
    return "", ()


def _first_keys(text: str) -> Iterator[str]:
    """Yield the keys of the first object of a JSON text that may be cut."""
    return (key for key, _ in _first_keys_with_ends(text))


def _first_keys_with_ends(text: str) -> Iterator[tuple[str, int]]:
    """Yield the keys of the first object of a JSON text that may be cut, each with where its value begins."""
    depth, position = 0, text.find("{")
    while position >= 0 and (mark := _MARK.search(text, position)):
        position = mark.end()
        if mark[0] == '"':
            match = _STRING.match(text, mark.start())
            if match is None:
                return
            if match[2] and depth == 1:
                yield match[1], match.end()
            position = match.end()
            continue
        depth += 1 if mark[0] in "{[" else -1
        if depth == 0:
            return


def find_header(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the delimiter under which most rows have as many cells as the first, and the first row."""
    csv.field_size_limit(max(csv.field_size_limit(), BEGINNING))
    named = _SEPARATOR_LINE.match(text)
    text = text[named.end() :] if named else text
    complete = text[: text.rfind("\n") + 1] or text
    best: tuple[float, str, tuple[str, ...]] = (0.0, named[1] if named else ",", ())
    for delimiter in named[1] if named else _DELIMITERS:
        try:
            rows = list(
                itertools.islice(csv.reader(io.StringIO(complete, newline=""), delimiter=delimiter), _MOST_ROWS)
            )
        except csv.Error:
            continue
        rows = [row for row in rows if any(cell.strip() for cell in row)]
        rows = rows[find_header_row(rows) :]
        if not rows or len(rows[0]) < 2:
            continue
        share = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        if share > best[0]:
            best = (share, delimiter, tuple(cell.strip() for cell in rows[0]))
    return best[1], best[2]
