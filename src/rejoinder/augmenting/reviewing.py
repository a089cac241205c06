"""What people decide of references that were found or made: to accept, to edit or to reject each."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from rejoinder.augmenting.review_file import ReviewFile, Verdicts, read_review
from rejoinder.augmenting.sources import is_made
from rejoinder.errors import InputError, brief
from rejoinder.files import whole_file
from rejoinder.types import Item, Record, Reference

EDITED = "human-edited"


def write_review(records: Iterable[Record], path: str | Path) -> Iterator[Record]:
    """The records as they come, while a row for every reference that no person wrote goes into a file."""
    with whole_file(path) as file:
        rows = ReviewFile(file)
        for record in records:
            if isinstance(record, Item):
                for number, reference in enumerate(record.references, 1):
                    if is_made(reference):
                        rows.add(record, number, reference)
            yield record


def apply_review(
    records: Iterable[Record], path: str | Path, decisions: Counter[str] | None = None
) -> Iterator[Record]:
    """The records as people decided: without what they rejected, and with what they edited in its place.

    An edited reference has the source "human-edited" and the text before as its origin. Every reference that no person
    wrote must have its row, and every row its reference. What was decided how often is counted in ``decisions``.
    """
    decisions = Counter() if decisions is None else decisions
    verdicts = read_review(path)
    for record in records:
        yield _reviewed(record, verdicts, decisions, Path(path).name) if isinstance(record, Item) else record
    if verdicts:
        (item, number), one = next(iter(verdicts.items()))
        more = f" (and {len(verdicts) - 1:,} more such rows)" if len(verdicts) > 1 else ""
        raise InputError(
            f"{one.place}: there is no reference {number} of an item {brief(item)} to decide on{more}; "
            "give the items that the review was written with"
        )


def _reviewed(item: Item, verdicts: Verdicts, decisions: Counter[str], file: str) -> Item:
    references = []
    for number, reference in enumerate(item.references, 1):
        if not is_made(reference):
            references.append(reference)
            continue
        verdict = verdicts.pop((item.id, number), None)
        if verdict is None:
            raise InputError(
                f"{file}: has no row for reference {number} of the item {brief(item.id)} ({brief(reference.text)}); "
                "write a new file with --review, or put the row back (reject is a decision too)"
            )
        if verdict.text.split() != reference.text.split():
            raise InputError(
                f"{verdict.place}: reference {number} of the item {brief(item.id)} is {brief(reference.text)}, not "
                f"{brief(verdict.text)}; leave 'text' as it was and write the new one under 'edited'"
            )
        decisions[verdict.decision] += 1
        if verdict.decision == "accept":
            references.append(reference)
        elif verdict.decision == "edit":
            references.append(Reference(verdict.edited, EDITED, origin=reference.text))
    return dataclasses.replace(item, references=tuple(references))
