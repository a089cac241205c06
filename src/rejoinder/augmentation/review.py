"""People's review of references that were retrieved or generated: they accept, edit or reject each."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias

from rejoinder.augmentation.sources import is_generated_reference
from rejoinder.data.schema import Place
from rejoinder.data.tables.spreadsheet import BOM, read_sheet
from rejoinder.errors import InputError, brief, nearest
from rejoinder.escape import escape_cell, unescape_cell
from rejoinder.files import atomic_write
from rejoinder.scoring.texts import format_context
from rejoinder.types import Item, Record, Reference

DECISIONS = ("accept", "edit", "reject")
COLUMNS = ("item", "reference", "context", "text", "source", "score", "origin", "decision", "edited")
_REQUIRED_COLUMNS = ("item", "reference", "text", "decision", "edited")
_MAX_TURNS = 6  # turns of the context


class ReviewDecision(NamedTuple):
    """A person's decision on one reference."""

    place: Place
    text: str
    decision: str
    edited: str


ReviewDecisions: TypeAlias = dict[
    tuple[str, int], ReviewDecision
]  # by item and number of the reference, counted from 1


class ReviewWriter:
    """Writes rows to an open file."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        file.write(BOM)
        self._write(COLUMNS)

    def add(self, item: Item, number: int, reference: Reference) -> None:
        """Write the row of an item's reference."""
        score = "" if reference.score is None else f"{reference.score:g}"
        context, text, source, origin = map(
            escape_cell,
            (format_context(item.context[-_MAX_TURNS:]), reference.text, reference.source, reference.origin or ""),
        )
        self._write([escape_cell(item.id), str(number), context, text, source, score, origin, "", ""])

    def _write(self, cells: Iterable[str]) -> None:
        line = io.StringIO()
        csv.writer(line).writerow(cells)
        self._file.write(line.getvalue().encode())


def read_review(path: str | Path) -> ReviewDecisions:
    """Read people's decisions from a file."""
    decisions: ReviewDecisions = {}
    for place, cells in read_sheet(path, _REQUIRED_COLUMNS, "review file"):
        row = dict(cells)
        number = row["reference"].strip()
        if not number.isdecimal():
            raise InputError(f"{place}: has {brief(number)} instead of the number of a reference; restore that column")
        key = unescape_cell(row["item"]), int(number)
        if key in decisions:
            raise InputError(
                f"{place}: reference {number} of item {brief(key[0])} already has a decision in "
                f"{decisions[key].place}; keep one of the two"
            )
        decisions[key] = _parse_decision(row, place)
    return decisions


def _parse_decision(row: Mapping[str, str], place: Place) -> ReviewDecision:
    decision, edited = row["decision"].strip().lower(), unescape_cell(row["edited"]).strip()
    if not decision:
        raise InputError(f"{place}: has no decision; write accept, edit or reject")
    if decision not in DECISIONS:
        raise InputError(f"{place}: has the decision {brief(decision)}; {nearest(decision, DECISIONS)}")
    if decision == "edit" and not edited:
        raise InputError(f"{place}: has the decision edit but no text under 'edited'; write it there, or reject")
    if decision != "edit" and edited:
        raise InputError(
            f"{place}: has the decision {decision} but also a text under 'edited' ({brief(edited)}); "
            "write edit, or clear the cell"
        )
    return ReviewDecision(place, unescape_cell(row["text"]), decision, edited)


EDITED_SOURCE = "human-edited"


def write_review(records: Iterable[Record], path: str | Path) -> Iterator[Record]:
    """Pass the records through, and write a row for every reference that no person wrote to a file."""
    with atomic_write(path) as file:
        rows = ReviewWriter(file)
        for record in records:
            if isinstance(record, Item):
                for number, reference in enumerate(record.references, 1):
                    if is_generated_reference(reference):
                        rows.add(record, number, reference)
            yield record


def apply_review(
    records: Iterable[Record], path: str | Path, decisions: Counter[str] | None = None
) -> Iterator[Record]:
    """Apply people's decisions to the records: drop what they rejected, and replace what they edited.

    An edited reference has the source "human-edited" and its old text as its origin. Every reference that no person
    wrote must have a row, and every row a reference. ``decisions`` counts how often each decision was made.
    """
    decisions = Counter() if decisions is None else decisions
    verdicts = read_review(path)
    for record in records:
        yield _apply_decisions(record, verdicts, decisions, Path(path).name) if isinstance(record, Item) else record
    if verdicts:
        (item, number), one = next(iter(verdicts.items()))
        more = f"; {len(verdicts):,} such rows in all" if len(verdicts) > 1 else ""
        raise InputError(
            f"{one.place}: the input has no generated reference {number} of item {brief(item)}{more}; "
            "use the items that the review was written for"
        )


def _apply_decisions(item: Item, verdicts: ReviewDecisions, decisions: Counter[str], file: str) -> Item:
    references = []
    for number, reference in enumerate(item.references, 1):
        if not is_generated_reference(reference):
            references.append(reference)
            continue
        verdict = verdicts.pop((item.id, number), None)
        if verdict is None:
            raise InputError(
                f"{file}: has no row for reference {number} of item {brief(item.id)} ({brief(reference.text)}); "
                "restore the row (write reject to drop the reference), or write a new review file"
            )
        if verdict.text.split() != reference.text.split():
            raise InputError(
                f"{verdict.place}: reference {number} of item {brief(item.id)} is {brief(reference.text)}, not "
                f"{brief(verdict.text)}; restore 'text' and write the new text under 'edited'"
            )
        decisions[verdict.decision] += 1
        if verdict.decision == "accept":
            references.append(reference)
        elif verdict.decision == "edit":
            references.append(Reference(verdict.edited, EDITED_SOURCE, origin=reference.text))
    return dataclasses.replace(item, references=tuple(references))
