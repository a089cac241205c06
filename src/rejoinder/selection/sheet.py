"""The sheet on which people score pools: a CSV with one row per candidate, which any spreadsheet can edit.

The true reply is among the candidates, and nothing in a row says which it is. People write 0 to 5 in the empty columns
``score 1`` to ``score 5``; everything else must not be changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rejoinder.data.schema import Place
from rejoinder.data.tables.spreadsheet import BOM, encode_spreadsheet, read_sheet
from rejoinder.errors import InputError, brief
from rejoinder.escape import unescape_cell
from rejoinder.files import atomic_write
from rejoinder.scoring.texts import format_context
from rejoinder.selection.acceptability_rules import SCALE, HumanScores
from rejoinder.types import Question

RATERS = 5
_FIXED = ("question", "candidate", "context", "text")
_SCORE = "score"


def write_scoring_sheet(pools: Sequence[Question], path: str | Path, raters: int = RATERS) -> int:
    """Write a sheet for so many raters, and return its number of rows."""
    rows = [
        (pool.id, str(candidate.id), format_context(pool.context), candidate.text, *[""] * raters)
        for pool in pools
        for candidate in pool.candidates
    ]
    columns = [*_FIXED, *(f"{_SCORE} {n}" for n in range(1, raters + 1))]
    with atomic_write(path) as file:
        file.write(BOM + encode_spreadsheet(columns, rows))
    return len(rows)


def read_scoring_sheet(path: str | Path, pools: Sequence[Question]) -> HumanScores:
    """Read people's scores from a sheet for these pools; an empty cell means no score."""
    texts = {(pool.id, str(candidate.id)): candidate.text for pool in pools for candidate in pool.candidates}
    by_candidate: dict[tuple[str, str], tuple[int, ...]] = {}
    for place, cells in read_sheet(path, ("question", "candidate", "text"), "sheet", _SCORE):
        row, scores = dict(cells), [cell for name, cell in cells if name.startswith(_SCORE)]
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
