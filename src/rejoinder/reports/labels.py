"""Error labels in tables and sentences: how often rules are right, and how many labels a set has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rejoinder.selection.label_accuracy import measure
from rejoinder.selection.labels import LABELS, MEANINGS, false_places
from rejoinder.table import Cell, Table
from rejoinder.types import Question

LOOKED_AT = "A candidate without labels counts as one that people looked at and gave none."
OURS = (
    "Our own examples are few, by one author, and much cleaner than what is retrieved: of 66 suggestions for what was "
    "retrieved from DailyDialog, 10 were right (docs/selecting.md). Look at every one, and measure on your own labels: "
    "rejoinder label TESTSET --measure."
)


def measured_table(questions: Sequence[Question], name: str, note: str = LOOKED_AT) -> Table:
    """Precision and recall of the rules on labelled questions, a line a label."""
    found = measure(questions)
    rows: list[list[Cell]] = [
        [one.label, one.suggested, one.given, one.precision, one.recall, MEANINGS[one.label]] for one in found
    ]
    heads = ["label", "suggested", "given by people", "precision", "recall", "meaning"]
    notes = [
        f"{len(questions):,} questions with {found[0].n:,} false candidates. [low, high]: 95%, questions taken as the "
        "unit that varies.",
        note,
    ]
    return Table(f"Suggested error labels: {name}", heads, rows, notes, decimals=2)


def counts(questions: Sequence[Question]) -> str:
    """How many false candidates have labels, and suggestions."""
    candidates = [question.candidates[place] for question in questions for place in false_places(question)]
    given = Counter(label for one in candidates for label in one.labels)
    suggested = Counter(str(label) for one in candidates for label in one.meta.get("suggested_labels", ()))
    told = [f"{len(candidates):,} false candidates"]
    for what, tally in (("labels", given), ("suggestions", suggested)):
        if tally:
            told.append(f"{what}: " + ", ".join(f"{label} {tally[label]:,}" for label in LABELS if tally[label]))
    return "; ".join(told)
