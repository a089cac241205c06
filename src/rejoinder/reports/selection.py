"""A selection in tables: accuracy and ranks, differences, breakdowns, places, disputed questions, error labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rejoinder.reports.summary import many
from rejoinder.selection.accuracy import ALPHA, accuracy_over_all, format_rank_range, summarise_differences
from rejoinder.selection.breakdown import CandidateGroup
from rejoinder.selection.evaluate import SUGGESTED_LABEL, DisputedQuestion, SelectionEvaluation
from rejoinder.selection.label_rules import measure_suggestions
from rejoinder.selection.labels import LABELS, MEANINGS, find_false_places
from rejoinder.table import Cell, Probability, Table
from rejoinder.types import Question

_MAX_TEXT = 80  # characters of a text in a table


def selection_tables(found: SelectionEvaluation) -> list[Table]:
    """All tables that there is something to put into."""
    made = [accuracy_table(found)]
    if found.differences:
        made.append(difference_table(found))
    made += [group_table(name, groups) for name, groups in found.groups.items()]
    made.append(position_table(found))
    if found.disputed:
        made.append(disputed_table(found))
    return made


def accuracy_table(found: SelectionEvaluation) -> Table:
    """A line a system, the most accurate first."""
    rows: list[list[Cell]] = [
        [one.system, one.n, one.unanswered, one.ties, one.accuracy, format_rank_range(one) if one.n else None]
        for one in found.standings
    ]
    heads = ["system", "answered", "unanswered", "ties", "accuracy", "ranks"]
    return Table(
        "Accuracy of selection", heads, rows, [summarise_differences(found.order, found.differences), *_notes(found)]
    )


def _notes(found: SelectionEvaluation) -> list[str]:
    selected = found.selected
    n, clusters = len(selected.questions), selected.n_clusters
    unit = "questions" if clusters == n else f"the {clusters:,} dialogues or contexts of the {n:,} questions"
    told = [
        f"Chance gives {selected.chance:.3f}. [low, high]: 95%, {unit} taken as the unit that varies; ranks: where 95% "
        "of resampled sets put the system."
    ]
    if any(one.ties for one in found.standings):
        told.append("ties: questions on which several candidates share the highest score, and with it the point.")
    for one in found.standings:
        if one.unanswered:
            has = "has" if one.unanswered == 1 else "have"
            told.append(
                f"{one.system}: {many(one.unanswered, 'question', 'questions')} {has} a candidate without a score and "
                f"{'is' if one.unanswered == 1 else 'are'} left out; taken as wrong, the accuracy would be "
                f"{accuracy_over_all(one):.3f}."
            )
    agreed = found.agreement
    if len(selected.systems) > 1 and agreed.n:
        told.append(f"All systems are right on {agreed.all_right:,} questions, none on {len(agreed.none):,}.")
    return told


def difference_table(found: SelectionEvaluation) -> Table:
    """A line a pair of systems."""
    rows: list[list[Cell]] = []
    for one in found.differences:
        p: list[Cell] = [Probability(one.p), Probability(one.corrected), Probability(one.by_cluster)]
        counts: list[Cell] = [one.n, one.only_first, one.only_second, one.difference]
        rows.append([one.first, one.second, *counts, *p, "yes" if one.survives else "no"])
    heads = ["system", "less", "questions", "only it right", "only the other", "difference"]
    heads += ["p (McNemar)", "p (Holm)", "p by dialogue (Holm)", "differ?"]
    notes = [
        "p (McNemar): mid-p, on the questions that both answered without a tie; p by dialogue: systems swapped "
        "dialogue by dialogue, ties included. Both are corrected for "
        f"{many(len(rows), 'comparison', 'comparisons')}; differ? where both are below {ALPHA:g}.",
    ]
    return Table("Differences in accuracy", heads, rows, notes)


def group_table(name: str, groups: Sequence[CandidateGroup]) -> Table:
    """A line a group and system: the accuracy where such a candidate is offered, and how often it is selected."""
    rows: list[list[Cell]] = [
        [one.name, one.system, one.n, one.unanswered, one.accuracy, one.selected, one.blind] for one in groups
    ]
    heads = [name, "system", "questions", "unanswered", "accuracy", "selected", "blindly"]
    notes = [
        "questions: those that offer such a candidate, so one question may count in several groups; selected: how "
        "often it was; blindly: how often chance would select it."
    ]
    if name == SUGGESTED_LABEL:
        notes.append("Suggested by rules and accepted by nobody; rejoinder label --measure says how far to trust them.")
    return Table(f"By {name}", heads, rows, notes)


def position_table(found: SelectionEvaluation) -> Table:
    """A line a system: where its selections stand, and what happened when candidates were turned round."""
    width = max(len(question.candidates) for question in found.selected.questions)
    rows: list[list[Cell]] = []
    for one in found.places:
        turned = found.selected.turned.get(one.system)
        told: list[Cell] = [turned.changed, turned.asked] if turned else [None, None]
        rows.append([one.system, *one.shares, Probability(one.p) if found.shuffled else None, *told])
    notes = [
        "The share of selections at each place. p: how likely such shares are by chance."
        if found.shuffled
        else "The right candidates of this set do not stand at any place equally often, so these shares say nothing of "
        "a system.",
        "turned: questions asked again with their candidates turned round; changed: those where the selection was "
        "another. A system that goes by place changes its mind.",
    ]
    heads = ["system", *(str(place) for place in range(1, width + 1)), "p", "changed", "turned"]
    return Table("Selections by place", heads, rows, notes, decimals=3 if width <= 6 else 2)


def disputed_table(found: SelectionEvaluation) -> Table:
    """The questions on which systems disagree most."""
    rows = [_disputed_row(found, one) for one in found.disputed]
    notes = ["The questions whose share of right systems is nearest to a half; the whole text is in questions.jsonl."]
    return Table(
        "Questions on which systems disagree", ["question", "last turn", "candidate", "selected by"], rows, notes
    )


def _disputed_row(found: SelectionEvaluation, one: DisputedQuestion) -> list[Cell]:
    question = found.selected.questions[one.place]
    good = found.selected.right[one.place]
    told, by = [], []
    for place, candidate in enumerate(question.candidates):
        if one.convinced[place]:
            told.append(f"{'+' if place in good else '-'} {_shorten_text(candidate.text)}")
            by.append(f"{'+' if place in good else '-'} {', '.join(one.convinced[place])}")
    last = _shorten_text(question.context[-1].text) if question.context else None
    return [question.id, last, " | ".join(told), " | ".join(by)]


def _shorten_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_TEXT else line[: _MAX_TEXT - 1] + "…"


UNLABELLED_NOTE = "A candidate without labels counts as one that people looked at and gave none."
OWN_EXAMPLES_NOTE = (
    "Our own examples are few, by one author, and much cleaner than what is retrieved: of 66 suggestions for what was "
    "retrieved from DailyDialog, 10 were right (docs/selecting.md). Look at every one, and measure on your own labels: "
    "rejoinder label TESTSET --measure."
)


def label_accuracy_table(questions: Sequence[Question], name: str, note: str = UNLABELLED_NOTE) -> Table:
    """Precision and recall of the rules on labelled questions, a line a label."""
    found = measure_suggestions(questions)
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


def describe_label_counts(questions: Sequence[Question]) -> str:
    """How many false candidates have labels, and suggestions."""
    candidates = [question.candidates[place] for question in questions for place in find_false_places(question)]
    given = Counter(label for one in candidates for label in one.labels)
    suggested = Counter(str(label) for one in candidates for label in one.meta.get("suggested_labels", ()))
    told = [f"{len(candidates):,} false candidates"]
    for what, tally in (("labels", given), ("suggestions", suggested)):
        if tally:
            told.append(f"{what}: " + ", ".join(f"{label} {tally[label]:,}" for label in LABELS if tally[label]))
    return "; ".join(told)
