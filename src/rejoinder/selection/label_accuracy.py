"""How often suggested error labels are right: precision and recall against labels that people gave."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rejoinder.selection.accuracy import proportion
from rejoinder.selection.label_rules import suggest
from rejoinder.selection.labels import LABELS, false_places
from rejoinder.table import Estimate
from rejoinder.types import Question


class Measured(NamedTuple):
    """One label: of those suggested, the share that people gave too (precision), and of those given, the share found.

    ``suggested`` and ``given`` are how many there are of each, ``n`` the false candidates that were looked at.
    """

    label: str
    precision: Estimate
    recall: Estimate
    suggested: int
    given: int
    n: int


def measure(questions: Sequence[Question]) -> list[Measured]:
    """The rules against the labels of all false candidates, label by label; no label counts as having been looked at.

    Intervals take questions as the unit that varies.
    """
    rows = []
    for number, question in enumerate(questions):
        told = suggest(question)
        for place in false_places(question):
            found = told.candidates[place].meta.get("suggested_labels", ())
            rows.append((number, frozenset(question.candidates[place].labels), frozenset(found)))
    return [_measured(label, rows) for label in LABELS]


def _measured(label: str, rows: Sequence[tuple[int, frozenset[str], frozenset[str]]]) -> Measured:
    suggested = [(number, label in given) for number, given, found in rows if label in found]
    given = [(number, label in found) for number, given, found in rows if label in given]
    shares = [proportion([hit for _, hit in some], [number for number, _ in some]) for some in (suggested, given)]
    return Measured(label, shares[0], shares[1], len(suggested), len(given), len(rows))
