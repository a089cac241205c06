"""Which importer reads a file, and what to do about a file that no importer recognises."""

from __future__ import annotations

import re
import shlex

from rejoinder.data.detection import Sample, detect_format
from rejoinder.data.importers import ImportOptions, importer
from rejoinder.data.parquet import arrow_schema
from rejoinder.data.schema import is_record
from rejoinder.errors import InputError

_TEXT_ENDINGS = (".txt", ".text", ".md", ".log")
_TABLE_ENDINGS = (".csv", ".tsv", ".tab", ".psv")
_OWN_KEYS = frozenset({"kind", "turns", "candidates", "item", "choice", "rater"})
_COLUMN_NAME = re.compile(r"[^.?!:]{0,60}")
_EXPORT = "export the data as CSV or JSON and name that"
# How files of other kinds begin (decoded as cp1252), what they are, and what to do with one.
_OTHER_KINDS = (
    ("PK\x03\x04", "is a ZIP archive", "unpack it with: unzip {file}"),
    ("%PDF", "is a PDF", "copy its dialogues into a table with the columns prompt and response, and name that"),
    ("ÐÏ\x11à", "is a spreadsheet of Excel 97", "save it as .xlsx or .csv and name that"),
    ("SQLite format 3", "is a SQLite database", "list its tables with: sqlite3 {file} .tables"),
    ("<!DOCTYPE", "is a web page", _EXPORT),
    ("<!doctype", "is a web page", _EXPORT),
    ("<html", "is a web page", _EXPORT),
    ("<?xml", "is XML", _EXPORT),
    ("ARROW1", "is an Arrow file", "save it as Parquet and name that"),
)


def choose_format(sample: Sample, name: str, options: ImportOptions) -> str | None:
    """Return the importer that reads a file; None if it is in our schema, or if reading it so gives the best error."""
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
    for beginning, what, advice in _OTHER_KINDS:
        if sample.text.startswith(beginning) and sample.container == "text":
            return f"{name}: {what}, not a table or a log; {advice.format(file=file)}"
    if sample.suffix in _TEXT_ENDINGS and sample.text.strip() and not _is_table_text(sample):
        return (
            f"{name}: is plain text; if each line is a reply, name the file with their contexts before it: "
            f"rejoinder score text:CONTEXTS,{file}"
        )
    return None
