"""Which importer reads a file, and what to do about a file that no importer recognises."""

from __future__ import annotations

import contextlib
import re
import shlex
import sqlite3
from pathlib import PurePath
from urllib.parse import quote

from rejoinder.data.importers import ImportOptions, importer
from rejoinder.data.parquet import arrow_schema
from rejoinder.data.schema import is_record
from rejoinder.data.tables.detection import Sample, detect_format
from rejoinder.errors import InputError, brief

_TEXT_ENDINGS = (".txt", ".text", ".md", ".log")
_TABLE_ENDINGS = (".csv", ".tsv", ".tab", ".psv")
_JSON_ENDINGS = ("", ".json", ".jsonl", ".ndjson")
_ROW = '{"prompt": "...", "response": "..."}'
_OWN_KEYS = frozenset({"kind", "turns", "candidates", "item", "choice", "rater"})
_COLUMN_NAME = re.compile(r"[^.?!:]{0,60}")
_LIST = "see what can be read with: rejoinder list importers"
_IMAGE, _SOUND = "is an image", "is a sound or a video"
# How files of other kinds begin, what they are, and what to do with one.
_OTHER_KINDS: tuple[tuple[bytes, str, str], ...] = (
    (b"PK\x03\x04", "is a ZIP archive", "unpack it with: python3 -m zipfile -e {file} {folder}"),
    (b"PK\x05\x06", "is an empty ZIP archive", _LIST),
    (b"%PDF", "is a PDF", f"copy its dialogues into a table with the columns prompt and response, or {_LIST}"),
    (
        b"\xd0\xcf\x11\xe0",
        "is a file of Office 97, such as .xls",
        f"save it as .xlsx or .csv, or {_LIST}",
    ),
    (b"<!DOCTYPE", "is a web page", _LIST),
    (b"<!doctype", "is a web page", _LIST),
    (b"<html", "is a web page", _LIST),
    (b"<?xml", "is XML", _LIST),
    (
        b"ARROW1",
        "is an Arrow file",
        'save it as Parquet with: python3 -c "import pyarrow.feather as f, pyarrow.parquet as p; '
        "p.write_table(f.read_table('{raw}'), '{folder}.parquet')\"",
    ),
    (b"\x89PNG", _IMAGE, _LIST),
    (b"\xff\xd8\xff", _IMAGE, _LIST),
    (b"GIF8", _IMAGE, _LIST),
    (b"RIFF", _SOUND, _LIST),
    (b"ID3", _SOUND, _LIST),
    (b"OggS", _SOUND, _LIST),
    (b"7z\xbc\xaf", "is a 7z archive", f"unpack it, and {_LIST}"),
    (b"Rar!", "is a RAR archive", f"unpack it, and {_LIST}"),
    (b"BZh", "is compressed with bzip2", "unpack it with: bunzip2 --keep {file}"),
    (b"\xfd7zXZ", "is compressed with xz", "unpack it with: unxz --keep {file}"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "unpack it with: unzstd {file}"),
    (b"\x93NUMPY", "is an array of numpy", _LIST),
    (b"\x7fELF", "is a program", _LIST),
)
_SQLITE, _PICKLE, _TAR = b"SQLite format 3", re.compile(rb"\x80[\x02-\x05]"), b"ustar"


def choose_format(sample: Sample, name: str, options: ImportOptions) -> str | None:
    """Return the importer that reads a file; None if it is in our schema, or if reading it so gives the best error."""
    other = _explain_other_kind(sample, name) if sample.container == "text" else None
    if other is not None:
        raise InputError(f"{name}: {other}")
    has_fields = bool(options.fields or options.separator)
    if not has_fields and is_own(sample):
        return None
    chosen = detect_format(sample)
    if has_fields and (chosen is None or "fields" not in importer(chosen).TAKES):
        return _general_format(sample)
    if chosen is not None:
        return chosen
    problem = _explain_unknown(sample, name)
    if problem is not None:
        raise InputError(problem)
    return _general_format(sample) if _is_unknown_table(sample) else None


def reads_any_table(name: str) -> bool:
    """Whether an importer reads Parquet files and spreadsheets, and not only JSON."""
    return getattr(importer(name), "IS_GENERAL", False) or name in ("preferences", "messages")


def is_own(sample: Sample) -> bool:
    """Whether a file is in our schema, or is meant to be."""
    if sample.container == "parquet":
        if sample.values:
            return is_record(sample.values[0])
        # One that cannot be read counts as ours: reading it says what is wrong.
        return not sample.header or set(sample.header) <= set(arrow_schema().names)
    if sample.container != "json" or sample.is_document:
        return False
    first = sample.values[0] if sample.values else dict.fromkeys(sample.keys)
    return is_record(first) or (not sample.values and "kind" in sample.keys)


def _general_format(sample: Sample) -> str:
    """Return the importer of tables with any columns that reads a file."""
    if sample.container == "text":
        return "tsv" if sample.delimiter == "\t" and sample.header else "csv"
    return {"json": "jsonl"}.get(sample.container, sample.container)


def _is_unknown_table(sample: Sample) -> bool:
    """Whether a file that no importer recognises is a table all the same: its error will show the columns."""
    if sample.container == "json":
        first = sample.values[0] if sample.values else None
        return isinstance(first, dict) and (sample.is_document or not first.keys() & _OWN_KEYS)
    return _is_table_text(sample)


def _is_table_text(sample: Sample) -> bool:
    """Whether a text is a table, by its ending or because its first line reads like the names of columns."""
    if sample.container != "text" or not sample.header:
        return False
    is_named = all(_COLUMN_NAME.fullmatch(name) for name in sample.header)
    return sample.suffix in _TABLE_ENDINGS or (is_named and sample.suffix in ("", *_TEXT_ENDINGS))


def _explain_unknown(sample: Sample, name: str) -> str | None:
    """Return the sentence for a file that cannot be read at all; None if reading it gives a better one."""
    file = shlex.quote(name)
    if sample.suffix in _TEXT_ENDINGS and sample.text.strip() and not _is_table_text(sample):
        return (
            f"{name}: is plain text; if each line is a reply, name the file with their contexts before it: "
            f"rejoinder score text:CONTEXTS,{file}"
        )
    first = sample.text.strip().partition("\n")[0].strip()
    if sample.container == "json" and sample.values and not isinstance(sample.values[0], dict):
        return f"{name}: its entries are not objects such as {_ROW} (found {brief(sample.values[0])}); {_LIST}"
    if sample.container == "text" and first and not sample.header and sample.suffix in _TABLE_ENDINGS:
        return (
            f"{name}: has a single column ({brief(first)}), and a reply needs what it answers beside it; if each line "
            f"is a reply, name the file with their contexts before it: rejoinder score text:CONTEXTS,{file}"
        )
    if sample.container == "text" and first and not sample.header and sample.suffix not in _JSON_ENDINGS:
        return f"{name}: is neither a table nor JSON (found {brief(first)}); {_LIST}"
    return None


def _explain_other_kind(sample: Sample, name: str) -> str | None:
    """Return what a file is that is neither a table nor a log, and what to do with it; None if it may be one."""
    names = {"file": shlex.quote(name), "raw": name, "folder": shlex.quote(PurePath(name).stem or "unpacked")}
    for beginning, what, advice in _OTHER_KINDS:
        if sample.beginning.startswith(beginning):
            return f"{what}, not a table or a log; {advice.format(**names)}"
    if sample.beginning.startswith(_SQLITE):
        return f"is a SQLite database, not a table or a log; {_advise_database(name, names['file'])}"
    if _PICKLE.match(sample.beginning):
        return (
            "is a pickle of Python, not a table or a log; if you made it from a DataFrame, save that with: python3 -c "
            f"\"import pandas; pandas.read_pickle('{name}').to_csv('{PurePath(name).stem}.csv', index=False)\""
        )
    if sample.beginning[257:262] == _TAR:
        return f"is a TAR archive, not a table or a log; unpack it with: tar -xf {names['file']}"
    if b"\0" in sample.beginning and not sample.encoding.startswith("utf-16"):
        return f"is not text but something binary; {_LIST}"
    return None


def _advise_database(name: str, file: str) -> str:
    """Return how to export a table of a SQLite database: the one that looks most like replies or messages."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{quote(name)}?mode=ro", uri=True)) as database:
            tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    except (sqlite3.Error, OSError):
        tables = []
    if not tables:
        return f"it has no tables that can be read; {_LIST}"
    likely = max(tables, key=lambda table: bool(re.search("repl|response|message|chat|conversation", table, re.I)))
    query = shlex.quote(f'SELECT * FROM "{likely}"')
    return (
        f"export one of its tables ({brief(', '.join(tables), 120)}) with: sqlite3 -header -csv {file} {query} > "
        f"{shlex.quote(f'{likely}.csv')}"
    )
