"""How judgements leave, and how those made elsewhere come in: one file a format."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from rejoinder.annotation.exports._external import ImportSummary as ImportSummary
from rejoinder.annotation.results import Results, read_results
from rejoinder.annotation.store.base import Store
from rejoinder.errors import SpecError, nearest


class ExportFile(NamedTuple):
    """A file that was made: its name, its media type, its bytes."""

    name: str
    media: str
    content: bytes


class _Format(NamedTuple):
    about: str
    module: str
    ending: str
    media: str
    write: str = "write"
    readable: bool = False


_FORMATS = {
    "ratings": _Format(
        "Ratings and preferences, one JSON record a line, as every command of rejoinder reads them.",
        "ratings",
        "ratings.jsonl",
        "application/x-ndjson",
        readable=True,
    ),
    "csv": _Format("A table with one line for each thing that a rater said.", "csv", "csv", "text/csv", readable=True),
    "texts": _Format(
        "What was written, reviewed or validated, as items and responses, one JSON record a line.",
        "texts",
        "texts.jsonl",
        "application/x-ndjson",
    ),
    "crowdkit": _Format(
        "Crowd-Kit's columns task, worker and label.", "crowdkit", "crowdkit.csv", "text/csv", readable=True
    ),
    "labelstudio": _Format(
        "Label Studio's tasks, with the annotations that there are.",
        "labelstudio",
        "labelstudio.json",
        "application/json",
        readable=True,
    ),
    "labelstudio-config": _Format(
        "Label Studio's labeling configuration for these tasks.",
        "_labelstudio_config",
        "labelstudio.xml",
        "application/xml",
    ),
    "mturk": _Format(
        "Mechanical Turk's input, one line a unit; its batch results are read back.",
        "mturk",
        "mturk.csv",
        "text/csv",
        readable=True,
    ),
    "mturk-layout": _Format(
        "Mechanical Turk's HTML layout for that input.", "mturk", "mturk.html", "text/html", "write_layout"
    ),
}


def list_formats(readable: bool = False) -> dict[str, str]:
    """The formats by name, each in a sentence; only those that can be read back where asked."""
    return {name: found.about for name, found in _FORMATS.items() if found.readable or not readable}


def export(store: Store, name: str) -> ExportFile:
    """A project's results in a format."""
    return export_results(read_results(store), name)


def export_results(results: Results, name: str) -> ExportFile:
    """Results in a format."""
    found = _find_format(name, list_formats())
    write: Callable[[Results], bytes] = getattr(_load_module(found), found.write)
    return ExportFile(f"{results.project.name}.{found.ending}", found.media, write(results))


def import_judgements(store: Store, name: str, content: bytes) -> ImportSummary:
    """Put judgements that were made elsewhere into the store; what is there already is passed over."""
    found = _find_format(name, list_formats(readable=True))
    read: Callable[[Store, bytes], ImportSummary] = _load_module(found).read
    return read(store, content)


def _find_format(name: str, known: dict[str, str]) -> _Format:
    if name not in known:
        raise SpecError(f"no format is called {name!r} here; {nearest(name, known)}")
    return _FORMATS[name]


def _load_module(found: _Format) -> Any:
    return importlib.import_module(f"rejoinder.annotation.exports.{found.module}")
