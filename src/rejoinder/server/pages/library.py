"""What can be looked at: runs, selections and test sets in the folders of a server.

Names are looked up among what is in the folders; a path is never built from what a client sent.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import orjson

from rejoinder.data.collection import read_files
from rejoinder.data.datasets import list_datasets, read_dataset
from rejoinder.errors import InputError, RunError, SpecError, nearest
from rejoinder.paths import data_home
from rejoinder.scoring.run_parts import find_about_file
from rejoinder.selection.folder import ABOUT, QUESTIONS, is_selection_run
from rejoinder.selection.ranking import rank
from rejoinder.types import Question

Kind: TypeAlias = Literal["scores", "selection", "ranking"]
_MAX_FILES = 5_000  # entries that are examined in one folder
_FIRST_LINE = 4 * 2**20
_PLAIN = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class RunEntry:
    """A run: its folder, its kind, and when it last changed."""

    name: str
    path: Path
    kind: Kind
    changed: int


@dataclass(frozen=True)
class TestSet:
    """A set of questions, in a file or published under a name; ``card`` is the file that says how they were made."""

    __test__ = False  # pytest would take it for a test by its name
    name: str
    path: Path | None
    about: str
    licence: str = ""
    citation: str = ""
    card: Path | None = None
    summary: str = ""  # of a published one

    @property
    def changed(self) -> int:
        """When it last changed."""
        return 0 if self.path is None else self.path.stat().st_mtime_ns

    def read(self) -> list[Question]:
        """Read all its questions."""
        if self.path is not None:
            return list(read_files([self.path]).questions.values())
        return [record for record in read_dataset(self.about) if isinstance(record, Question)]


class RunLibrary:
    """The folders of a server, searched each time: new runs appear without a restart."""

    def __init__(self, folders: Sequence[str] = ()) -> None:
        self.folders = [Path(folder) for folder in folders] or [Path("runs")]
        for folder in folders:
            if not Path(folder).exists():
                raise InputError(f"{folder}: no such file or folder; name run folders, folders of them, or test sets")

    def runs(self) -> dict[str, RunEntry]:
        """Return all runs by name."""
        entries: dict[str, RunEntry] = {}
        for path in self._entries():
            kind = _run_kind(path)
            if kind is not None:
                name = _unused_name(_plain_name(path), entries)
                entries[name] = RunEntry(name, path, kind, _last_change(path, kind))
        return entries

    def run(self, name: str) -> RunEntry:
        """Return one run."""
        runs = self.runs()
        if name not in runs:
            raise SpecError(f"there is no run {name!r} here; {nearest(name, runs)}")
        return runs[name]

    def sets(self) -> dict[str, TestSet]:
        """Return all test sets by name: files, the questions of selections, and published sets that were fetched."""
        test_sets: dict[str, TestSet] = {}
        for path in self._entries():
            if is_selection_run(path):
                card = path / "card.json"
                _add_test_set(test_sets, path, path / QUESTIONS, f"the questions of the selection {path.name}", card)
            elif path.is_file() and _holds_questions(path):
                base = path.name.removesuffix(".gz").removesuffix(".jsonl")
                _add_test_set(test_sets, path, path, path.name, path.with_name(f"{base}.card.json"))
        for dataset in list_datasets():
            is_available = "questions" in dataset.counts and all(
                (data_home() / file.path).is_file() for file in dataset.files
            )
            if is_available:
                name = _unused_name(_PLAIN.sub("-", dataset.name), test_sets)
                test_sets[name] = TestSet(
                    name, None, dataset.name, dataset.licence, dataset.citation, summary=dataset.summary
                )
        return test_sets

    def set(self, name: str) -> TestSet:
        """Return one test set."""
        sets = self.sets()
        if name not in sets:
            raise SpecError(f"there is no test set {name!r} here; {nearest(name, sets)}")
        return sets[name]

    def _entries(self) -> Iterator[Path]:
        """Yield the folders and what is in them; the files inside a run are not entries."""
        for folder in self.folders:
            yield folder
            if folder.is_dir() and _run_kind(folder) is None:
                for n, entry in enumerate(sorted(folder.iterdir())):
                    if n == _MAX_FILES:
                        break
                    if not entry.name.startswith("."):
                        yield entry


def _run_kind(path: Path) -> Kind | None:
    if is_selection_run(path):
        return "selection"
    if rank.is_ranking_run(path):
        return "ranking"
    try:
        return None if find_about_file(path) is None else "scores"
    except RunError:  # its row on the page says why it cannot be read
        return "scores"


def _last_change(path: Path, kind: Kind) -> int:
    try:
        files = {"selection": path / ABOUT, "ranking": path / rank.ABOUT}
        about = files.get(kind) or find_about_file(path)
        return about.stat().st_mtime_ns if about is not None else 0
    except (OSError, RunError):
        return 0


def _add_test_set(sets: dict[str, TestSet], path: Path, questions: Path, about: str, card: Path) -> None:
    name = _unused_name(_plain_name(path), sets)
    sets[name] = TestSet(name, questions, about, card=card if card.is_file() else None)


def _plain_name(path: Path) -> str:
    base = path.resolve().name.removesuffix(".gz").removesuffix(".jsonl")
    return _PLAIN.sub("-", base).strip(".-") or "unnamed"


def _unused_name(name: str, names: object) -> str:
    existing = names if isinstance(names, dict) else {}
    number, candidate = 1, name
    while candidate in existing:
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def _holds_questions(path: Path) -> bool:
    """Whether the first line of a file is a question."""
    if not path.name.endswith((".jsonl", ".jsonl.gz")):
        return False
    try:
        with gzip.open(path, "rb") if path.name.endswith(".gz") else path.open("rb") as file:
            first = orjson.loads(file.readline(_FIRST_LINE))
    except (OSError, EOFError, zlib.error, orjson.JSONDecodeError):
        return False
    return isinstance(first, dict) and (first.get("kind") == "question" or "candidates" in first)
