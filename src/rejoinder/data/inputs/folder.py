"""A folder, or a pattern, of tables and logs: which of its files are read, each as an input of its own."""

from __future__ import annotations

import glob
import shlex
from pathlib import Path
from typing import NamedTuple

from rejoinder.data.importers import ImportOptions
from rejoinder.data.inputs.formats import is_own, reads_any_table
from rejoinder.data.remote import is_remote
from rejoinder.data.tables.detection import detect_format, sample_file
from rejoinder.errors import InputError
from rejoinder.paths import printable

_TABLE_ENDINGS = (".csv", ".tsv", ".tab", ".xlsx")
_JSON_ENDINGS = (".json", ".ndjson")
_SHARD_ENDINGS = (".jsonl", ".parquet")  # of tables, or of shards that are scored one by one
_PATTERN = frozenset("*?[")
_MOST_NAMES = 6
CATALOGUE = "catalogue.json"  # of shards, which are scored one by one
# Files that tell whose folder it is, and the importer that reads it whole.
_WHOLE_FOLDERS = (("state.json", "huggingface"), ("dataset_dict.json", "huggingface"), ("utterances.jsonl", "convokit"))


class InputFolder(NamedTuple):
    """The files of a folder that are read, each with its name below it, and the names of the others."""

    name: str
    files: dict[str, Path]
    others: list[str]

    def describe(self) -> str:
        """Return what is read and what is not, in one line."""
        number = "1 file" if len(self.files) == 1 else f"{len(self.files):,} files"
        line = f"{self.name}: {number}, each a system of that name unless its rows name one: {_list_names(self.files)}"
        return f"{line}; left out: {_list_names(self.others)}" if self.others else line


def find_input_folder(name: str) -> InputFolder | None:
    """Return the files of a folder or pattern of tables and logs; None for anything else, and for shards.

    Files of our own schema and logs in JSONL or Parquet are shards; so is whatever has a catalogue beside it.
    """
    root = Path(name)
    if is_remote(name) or root.is_file() or not (root.is_dir() or _PATTERN & set(name)):
        return None
    paths = _list_files(root, name)
    names = {path.name for path in paths}
    if CATALOGUE in names or (root / "run.json").is_file():
        return None
    endings = _SHARD_ENDINGS if not any(_has_ending(p, _TABLE_ENDINGS + _JSON_ENDINGS) for p in paths) else ()
    if endings and not any(_is_general(path) for path in [p for p in paths if _has_ending(p, endings)][:1]):
        return None
    for mark, importer in _WHOLE_FOLDERS:
        if mark in names:
            raise InputError(
                f"{printable(name)}: is a folder for the importer {importer}; convert it with: rejoinder import "
                f"{importer} {shlex.quote(name)} -o {shlex.quote(f'{root.name}.jsonl')}"
            )
    files = {_name_below(path, root): path for path in paths if _is_read(path)}
    others = [_name_below(path, root) for path in paths if _name_below(path, root) not in files]
    return InputFolder(printable(name), files, others) if files else None


def _list_files(root: Path, name: str) -> list[Path]:
    paths = root.rglob("*") if root.is_dir() else map(Path, glob.glob(name, recursive=True))
    return sorted(
        path
        for path in paths
        if path.is_file()
        and not any(part.startswith((".", "__MACOSX", "~$")) for part in Path(_name_below(path, root)).parts)
    )


def _name_below(path: Path, root: Path) -> str:
    return printable(path.relative_to(root).as_posix() if root.is_dir() else path.name)


def _has_ending(path: Path, endings: tuple[str, ...]) -> bool:
    return path.name.lower().removesuffix(".gz").endswith(endings)


def _is_read(path: Path) -> bool:
    """Whether a file is a table by its ending, or JSON or Parquet that is a table, a log or records by its content."""
    if _has_ending(path, _TABLE_ENDINGS):
        return True
    if not _has_ending(path, _JSON_ENDINGS + _SHARD_ENDINGS):
        return False
    from rejoinder.data.tables.json_rows import read_row_list

    sample = sample_file(path, path.name)
    if is_own(sample) or detect_format(sample) is not None:
        return True
    try:
        return read_row_list(path, printable(path), sample, ImportOptions()) is not None
    except InputError:  # several lists: reading it says so
        return True


def _is_general(path: Path) -> bool:
    """Whether a file is a table with columns of replies, and not a log or in our schema."""
    sample = sample_file(path, path.name)
    chosen = None if is_own(sample) else detect_format(sample)
    return chosen is not None and reads_any_table(chosen)


def _list_names(names: dict[str, Path] | list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(list(names)[:_MOST_NAMES]) + more
