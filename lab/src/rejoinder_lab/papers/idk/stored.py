"""Scores of models that do not come with the package, on every rated row: the tables are rebuilt without the models.

``stored_scores.json.gz`` has, for each printed row and run, the signature of what computed it and, for each set, a
digest of the rows and one score per row. It holds no texts. ``jobs`` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from rejoinder.errors import InputError
from rejoinder.files import sha256_of_bytes
from rejoinder.metric import NAN
from rejoinder_lab.papers.own.relevance.rows import RelevanceRows
from rejoinder_lab.papers.stored_answers import read_stored, write_stored

FILE = Path(__file__).with_name("stored_scores.json.gz")
_DIGITS = 6  # significant ones


@dataclass(frozen=True)
class StoredColumn:
    """The scores of a set's rows in their order, and the digest of the rows."""

    asked: str
    scores: Sequence[float | None]


@dataclass(frozen=True)
class StoredRun:
    """The scores of one metric or trained network, by the name of the set."""

    signature: str
    columns: Mapping[str, StoredColumn]

    def scores_of(self, rows: RelevanceRows) -> dict[str, float] | None:
        """Return the score of each response; None if these rows were not scored."""
        column = self.columns.get(rows.column.dataset)
        if column is None:
            return None
        names = [pair.response.id for pair in rows.data.pairs()]
        if column.asked != digest_rows(rows) or len(column.scores) != len(names):
            raise InputError(
                f"{FILE.name}: the scores of {rows.column.dataset} are of other rows; compute them again with: "
                "python -m rejoinder_lab.papers.idk.jobs"
            )
        return {name: NAN if score is None else score for name, score in zip(names, column.scores, strict=True)}


StoredRuns = dict[str, dict[int, StoredRun]]  # printed row -> run -> scores


def digest_rows(rows: RelevanceRows) -> str:
    """Return the digest of what is scored: the id, the context and the reply of every row."""
    asked = [[p.response.id, [turn.text for turn in p.item.context], p.response.text] for p in rows.data.pairs()]
    return sha256_of_bytes(orjson.dumps(asked))


def read_stored_runs(path: Path = FILE) -> StoredRuns:
    """Return all runs of all printed rows; none if there is no file."""
    if not path.is_file():
        return {}
    content = read_stored(path, "compute the scores again with: python -m rejoinder_lab.papers.idk.jobs")
    return {
        row: {
            int(number): StoredRun(
                run["signature"], {name: StoredColumn(**column) for name, column in run["columns"].items()}
            )
            for number, run in runs.items()
        }
        for row, runs in content.items()
    }


def store_scores(
    row: str, signature: str, rows: RelevanceRows, scores: Mapping[str, float], run: int = 0, path: Path = FILE
) -> None:
    """Put the scores of one set into the file; those of another signature are dropped."""
    stored = read_stored_runs(path)
    runs = stored.setdefault(row, {})
    known = runs[run].columns if run in runs and runs[run].signature == signature else {}
    values = [scores[pair.response.id] for pair in rows.data.pairs()]
    column = StoredColumn(digest_rows(rows), [None if v != v else float(f"{v:.{_DIGITS}g}") for v in values])
    runs[run] = StoredRun(signature, {**known, rows.column.dataset: column})
    _write_runs(stored, path)


def add_stored_runs(source: Path, path: Path = FILE) -> list[str]:
    """Put the runs of another file, from another machine, into the file, and return the names of their rows.

    A run of the same signature keeps the sets that the other file lacks; one of another signature is replaced.
    """
    stored, added = read_stored_runs(path), read_stored_runs(source)
    for row, runs in added.items():
        known = stored.setdefault(row, {})
        for number, run in runs.items():
            same = number in known and known[number].signature == run.signature
            known[number] = StoredRun(run.signature, {**(known[number].columns if same else {}), **run.columns})
    _write_runs(stored, path)
    return list(added)


def _write_runs(stored: StoredRuns, path: Path) -> None:
    content = {
        name: {str(number): asdict(one) for number, one in sorted(of_row.items())}
        for name, of_row in sorted(stored.items())
    }
    write_stored(path, content)
