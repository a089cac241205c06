"""The sheet on which people score pools: a CSV with one row per candidate, which any spreadsheet can edit.

The true reply is among the candidates, and nothing in a row says which it is. People write 0 to 5 in the empty columns
``score 1`` to ``score 5``; everything else must not be changed.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from rejoinder.data.objects import LONGEST_LINE
from rejoinder.data.reader import InputFile
from rejoinder.data.schema import Place
from rejoinder.errors import InputError, brief
from rejoinder.escape import escape_cell, unescape_cell
from rejoinder.files import atomic_write
from rejoinder.selection.acceptability_rules import SCALE, HumanScores
from rejoinder.types import Question

RATERS = 5
_FIXED = ("question", "candidate", "context", "text")
_SCORE = "score"


def write_scoring_sheet(pools: Sequence[Question], path: str | Path, raters: int = RATERS) -> int:
    """Write a sheet for so many raters, and return its number of rows."""
    out = io.StringIO(newline="")
    rows = csv.writer(out)
    rows.writerow([*_FIXED, *(f"{_SCORE} {n}" for n in range(1, raters + 1))])
    n = 0
    for pool in pools:
        context = "\n".join(f"{turn.speaker}: {turn.text}" if turn.speaker else turn.text for turn in pool.context)
        for candidate in pool.candidates:
            rows.writerow([*map(escape_cell, (pool.id, str(candidate.id), context, candidate.text)), *[""] * raters])
            n += 1
    with atomic_write(path) as file:
        file.write(b"\xef\xbb\xbf" + out.getvalue().encode())  # without this mark, spreadsheets do not read it as UTF-8
    return n


def read_scoring_sheet(path: str | Path, pools: Sequence[Question]) -> HumanScores:
    """Read people's scores from a sheet for these pools; an empty cell means no score."""
    texts = {(pool.id, str(candidate.id)): candidate.text for pool in pools for candidate in pool.candidates}
    by_candidate: dict[tuple[str, str], tuple[int, ...]] = {}
    for place, row, scores in _read_rows(path):
        key = unescape_cell(row["question"]), unescape_cell(row["candidate"])
        if key not in texts:
            raise InputError(
                f"{place}: the pools have no candidate {brief(key[1])} of question {brief(key[0])}; "
                "use the pools that the sheet was written for"
            )
        if texts[key].split() != unescape_cell(row["text"]).split():
            raise InputError(
                f"{place}: candidate {key[1]} of {brief(key[0])} is {brief(texts[key])}, not {brief(row['text'])}; "
                "restore 'text', or use the pools that the sheet was written for"
            )
        if key in by_candidate:
            raise InputError(f"{place}: candidate {key[1]} of {brief(key[0])} has a row already; keep one of the two")
        by_candidate[key] = tuple(_parse_score(cell, place) for cell in scores if cell.strip())
    if not any(by_candidate.values()):
        raise InputError(f"{Path(path).name}: no scores are filled in; write 0 to 5 under '{_SCORE} 1' and so on")
    return {key: scores for key, scores in by_candidate.items() if scores}


def _parse_score(cell: str, place: Place) -> int:
    text = cell.strip().removesuffix(".0")  # some spreadsheets write 3 as 3.0
    if text not in map(str, SCALE):
        raise InputError(
            f"{place}: has the score {brief(cell)}; write a whole number from 0 to 5, or leave the cell empty"
        )
    return int(text)


def _read_rows(path: str | Path) -> Iterator[tuple[Place, dict[str, str], list[str]]]:
    """Yield the rows that are not blank, each with its first line, its cells by column and its scores."""
    source = InputFile(path)
    with source.open() as raw:
        try:
            text = raw.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InputError(f"{source.name}: not UTF-8 at byte {error.start + 1}; save it as CSV UTF-8") from None
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    delimiter = max(",;\t", key=text.partition("\n")[0].count)  # spreadsheets use different separators
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    first = 1
    try:
        for cells in reader:
            place, first = Place(source.name, first), reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = _check_header(cells, place)
            elif len(cells) != len(header):
                raise InputError(
                    f"{place}: has {len(cells)} cells, but the header has {len(header)}; put its texts in quotes"
                )
            else:
                scores = [cell for name, cell in zip(header, cells, strict=True) if name.startswith(_SCORE)]
                yield place, dict(zip(header, cells, strict=True)), scores
    except csv.Error as error:
        raise InputError(f"{source.name} line {first}: cannot be read as a row ({error}); close the quote") from None
    if not header:
        raise InputError(f"{source.name}: is empty; write a new sheet")


def _check_header(cells: list[str], place: Place) -> list[str]:
    header = [cell.strip().lower() for cell in cells]
    missing = [name for name in ("question", "candidate", "text") if header.count(name) != 1]
    if missing or not any(name.startswith(_SCORE) for name in header):
        wanted = missing[0] if missing else f"{_SCORE} 1"
        raise InputError(
            f"{place}: the header must have the column {wanted!r} once (found: {brief(', '.join(header), 120)}); "
            "use a sheet that rejoinder wrote"
        )
    return header
