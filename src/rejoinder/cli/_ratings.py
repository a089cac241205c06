"""What people said, from wherever a command finds it: a file, a published set, a run folder, an annotation project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rejoinder.comparison.judgements import Checked
    from rejoinder.types import Record

source = click.argument("source", metavar="FILE")
without = click.option("--without", multiple=True, metavar="RATER", help="Leave this rater out; may be repeated.")


def said(source: str, without: Sequence[str] = ()) -> tuple[list[Record], dict[str, Checked]]:
    """The records of a source, and how its raters did on checks where the source knows of any."""
    from rejoinder.errors import InputError, nearest
    from rejoinder.types import Preference, Rating

    records, checks = _project(Path(source)) if source.endswith(".toml") else (list(_records(source)), {})
    raters = {record.rater for record in records if isinstance(record, Rating | Preference)}
    for name in without:
        if name not in raters:
            raise InputError(f"nobody is called {name!r} among the raters; {nearest(name, raters)}")
    left_out = frozenset(without)
    kept = [r for r in records if not (isinstance(r, Rating | Preference) and r.rater in left_out)]
    return kept, {rater: found for rater, found in checks.items() if rater not in left_out}


def _records(source: str) -> Iterator[Record]:
    """Every record as it stands: ratings need not come with what they rate."""
    from rejoinder.data.inputs import Input
    from rejoinder.scoring.folder import DATA, check_files
    from rejoinder.scoring.sharded.reader import parts

    folder = Path(source)
    if folder.is_dir():
        check_files(folder, {DATA})
    for one in [part / DATA for part in parts(folder)] if folder.is_dir() else [source]:
        opened = Input(one)
        try:
            for record, _ in opened.records(allow_empty=True):
                yield record
        finally:
            opened.close()


def _project(path: Path) -> tuple[list[Record], dict[str, Checked]]:
    """What the raters of an annotation project have said so far."""
    from rejoinder.annotation.progress import said_so_far
    from rejoinder.annotation.project_file import read_project
    from rejoinder.annotation.store import open_store
    from rejoinder.errors import InputError

    project = read_project(path)
    file = project.database.removeprefix("sqlite:///")
    if "://" not in file and not Path(file).exists():  # opening it would make one
        raise InputError(
            f"{path}: nobody has judged anything yet (no {file}); serve it with: rejoinder annotate {path}"
        )
    store = open_store(project)
    try:
        records, checks = said_so_far(store)
        return list(records), checks
    finally:
        store.close()
