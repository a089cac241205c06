"""Export of judgements, and import of those made elsewhere: one file per format."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

from rejoinder.annotation.exports._external import ImportSummary as ImportSummary
from rejoinder.annotation.store.base import Store
from rejoinder.annotation.store.results import ProjectResults, read_results
from rejoinder.errors import SpecError, nearest


class ExportFile(NamedTuple):
    """An exported file: its name, its media type, its bytes."""

    name: str
    media: str
    content: bytes


class _ExportFormat(NamedTuple):
    about: str
    module: str
    ending: str
    media: str
    write: str = "write"
    readable: bool = False


_FORMATS = {
    "ratings": _ExportFormat(
        "Ratings and preferences, one JSON record per line, as all rejoinder commands read them.",
        "ratings",
        "ratings.jsonl",
        "application/x-ndjson",
        readable=True,
    ),
    "csv": _ExportFormat("A table with one row per answered field.", "csv", "csv", "text/csv", readable=True),
    "texts": _ExportFormat(
        "What people wrote, validated or reviewed, as items and responses, one JSON record per line; for the forms "
        "write, situation, validate and review.",
        "texts",
        "texts.jsonl",
        "application/x-ndjson",
    ),
    "crowdkit": _ExportFormat(
        "A table with Crowd-Kit's columns task, worker and label.",
        "crowdkit",
        "crowdkit.csv",
        "text/csv",
        readable=True,
    ),
    "labelstudio": _ExportFormat(
        "Label Studio's tasks, with their annotations so far.",
        "labelstudio",
        "labelstudio.json",
        "application/json",
        readable=True,
    ),
    "labelstudio-config": _ExportFormat(
        "Label Studio's labeling configuration for these tasks.",
        "_labelstudio_config",
        "labelstudio.xml",
        "application/xml",
    ),
    "mturk": _ExportFormat(
        "Mechanical Turk's input, one row per unit; its batch results can be imported.",
        "mturk",
        "mturk.csv",
        "text/csv",
        readable=True,
    ),
    "mturk-layout": _ExportFormat(
        "Mechanical Turk's HTML layout for that input.", "mturk", "mturk.html", "text/html", "write_layout"
    ),
}


def list_judgement_formats(readable: bool = False) -> dict[str, str]:
    """Return the formats by name, each with a sentence; on request only those that can be imported."""
    return {name: format_.about for name, format_ in _FORMATS.items() if format_.readable or not readable}


def export_judgements(store: Store, name: str) -> ExportFile:
    """Export a project's results in a format."""
    return export_results(read_results(store), name)


def export_results(results: ProjectResults, name: str) -> ExportFile:
    """Export results in a format."""
    format_ = _find_format(name, list_judgement_formats())
    write: Callable[[ProjectResults], bytes] = getattr(_load_module(format_), format_.write)
    return ExportFile(f"{results.project.name}.{format_.ending}", format_.media, write(results))


def import_judgements(store: Store, name: str, content: bytes) -> ImportSummary:
    """Add judgements that were made elsewhere to the store; those already in it are skipped."""
    format_ = _find_format(name, list_judgement_formats(readable=True))
    read: Callable[[Store, bytes], ImportSummary] = _load_module(format_).read
    return read(store, content)


def _find_format(name: str, known: dict[str, str]) -> _ExportFormat:
    if name not in known:
        raise SpecError(f"there is no format {name!r} here; {nearest(name, known)}")
    return _FORMATS[name]


def _load_module(format_: _ExportFormat) -> Any:
    return importlib.import_module(f"rejoinder.annotation.exports.{format_.module}")
