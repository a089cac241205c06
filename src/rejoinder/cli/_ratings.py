"""People's judgements, from a file, a published set, a run folder or an annotation project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rejoinder.comparison.judgements import CheckTally
    from rejoinder.types import Record

source_argument = click.argument("source", metavar="FILE")
without_option = click.option(
    "--without", multiple=True, metavar="RATER", help="Leave out this rater; may be repeated."
)


def read_judgements(source: str, without: Sequence[str] = ()) -> tuple[list[Record], dict[str, CheckTally]]:
    """The records of a source, and how its raters did on attention checks where the source has any."""
    from rejoinder.errors import InputError, nearest
    from rejoinder.types import Preference, Rating

    records, checks = _read_project(Path(source)) if source.endswith(".toml") else (list(_read_records(source)), {})
    raters = {record.rater for record in records if isinstance(record, Rating | Preference)}
    for name in without:
        if name not in raters:
            raise InputError(f"no rater is called {name!r}; {nearest(name, raters)}")
    excluded = frozenset(without)
    remaining = [r for r in records if not (isinstance(r, Rating | Preference) and r.rater in excluded)]
    return remaining, {rater: tally for rater, tally in checks.items() if rater not in excluded}


def _read_records(source: str) -> Iterator[Record]:
    """Every record as it is: ratings need not come with what they rate."""
    from rejoinder.data.inputs import Input
    from rejoinder.scoring.folder import DATA, check_files
    from rejoinder.scoring.sharded.reader import list_run_parts

    folder = Path(source)
    if folder.is_dir():
        check_files(folder, {DATA})
    for file in [part / DATA for part in list_run_parts(folder)] if folder.is_dir() else [source]:
        data = Input(file)
        try:
            for record, _ in data.records(allow_empty=True):
                yield record
        finally:
            data.close()


def _read_project(path: Path) -> tuple[list[Record], dict[str, CheckTally]]:
    """The judgements of an annotation project so far."""
    from rejoinder.annotation.progress import read_ratings_and_checks
    from rejoinder.annotation.project_file import read_project
    from rejoinder.annotation.store import open_store
    from rejoinder.errors import InputError

    project = read_project(path)
    file = project.database.removeprefix("sqlite:///")
    if "://" not in file and not Path(file).exists():  # opening it would create one
        raise InputError(
            f"{path}: nobody has judged anything yet (no {file}); serve it with: rejoinder annotate {path}"
        )
    store = open_store(project)
    try:
        records, checks = read_ratings_and_checks(store)
        return list(records), checks
    finally:
        store.close()
