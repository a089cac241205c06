"""A selection as tables: accuracy and ranks, differences, breakdowns, positions, disputed questions, error labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rejoinder.selection.accuracy import ALPHA, accuracy_over_all, format_rank_range, summarise_lead
from rejoinder.selection.breakdown import CandidateGroup
from rejoinder.selection.evaluate import SUGGESTED_LABEL, DisputedQuestion, SelectionEvaluation
from rejoinder.selection.label_rules import measure_suggestions
from rejoinder.selection.labels import LABELS, MEANINGS, find_false_places
from rejoinder.table import Cell, Probability, Table, format_count, shorten_text
from rejoinder.types import Question

_MAX_TEXT = 80  # characters of a text in a table
DISPUTED = "Questions on which systems disagree"  # the title of their table


def selection_tables(evaluation: SelectionEvaluation) -> list[Table]:
    """All non-empty tables."""
    tables = [accuracy_table(evaluation)]
    if evaluation.differences:
        tables.append(selection_difference_table(evaluation))
    tables += [candidate_group_table(name, groups) for name, groups in evaluation.groups.items()]
    tables.append(position_table(evaluation))
    if evaluation.disputed:
        tables.append(disputed_table(evaluation))
    return tables


def accuracy_table(evaluation: SelectionEvaluation) -> Table:
    """One line per system, the most accurate first."""
    rows: list[list[Cell]] = [
        [
            standing.system,
            standing.n,
            standing.unanswered,
            standing.ties,
            standing.accuracy,
            format_rank_range(standing) if standing.n else None,
        ]
        for standing in evaluation.standings
    ]
    heads = ["system", "answered", "unanswered", "ties", "accuracy", "ranks"]
    return Table(
        "Accuracy of selection",
        heads,
        rows,
        [summarise_lead(evaluation.order, evaluation.differences), *_selection_notes(evaluation)],
    )


def _selection_notes(evaluation: SelectionEvaluation) -> list[str]:
    selected = evaluation.selected
    n, clusters = len(selected.questions), selected.n_clusters
    unit = "questions" if clusters == n else f"the {clusters:,} dialogues or contexts of the {n:,} questions"
    notes = [
        f"Chance gives {selected.chance:.3f}. [low, high]: 95% interval over {unit}; ranks: the range that holds the "
        "system's rank in 95% of resampled sets."
    ]
    if any(standing.ties for standing in evaluation.standings):
        notes.append("ties: questions where several candidates share the highest score and split the point.")
    for standing in evaluation.standings:
        if standing.unanswered:
            notes.append(
                f"{standing.system}: left out {format_count(standing.unanswered, 'question')} with a candidate without "
                f"a score; counted as wrong, the accuracy would be {accuracy_over_all(standing):.3f}."
            )
    agreement = evaluation.agreement
    if len(selected.systems) > 1 and agreement.n:
        notes.append(
            f"All systems are right on {format_count(agreement.all_right, 'question')}, none is right on "
            f"{len(agreement.none):,}."
        )
    return notes


def selection_difference_table(evaluation: SelectionEvaluation) -> Table:
    """One line per pair of systems."""
    rows: list[list[Cell]] = []
    for difference in evaluation.differences:
        p: list[Cell] = [
            Probability(difference.p),
            Probability(difference.corrected),
            Probability(difference.by_cluster),
        ]
        counts: list[Cell] = [difference.n, difference.only_first, difference.only_second, difference.difference]
        rows.append([difference.first, difference.second, *counts, *p, "yes" if difference.survives else "no"])
    heads = ["system", "minus", "questions", "only first right", "only second right", "difference"]
    heads += ["p (McNemar)", "p (Holm)", "p by dialogue (Holm)", "differ?"]
    notes = [
        "p (McNemar): mid-p, on the questions that both answered without a tie; p by dialogue: permutation test that "
        "swaps systems by dialogue, with ties. Both (Holm) are corrected for "
        f"{format_count(len(rows), 'comparison')}; differ? where both are below {ALPHA:g}.",
    ]
    return Table("Differences in accuracy", heads, rows, notes)


def candidate_group_table(name: str, groups: Sequence[CandidateGroup]) -> Table:
    """One line per group and system: the accuracy where such a candidate is offered, and how often it is selected."""
    rows: list[list[Cell]] = [
        [group.name, group.system, group.n, group.unanswered, group.accuracy, group.selected, group.blind]
        for group in groups
    ]
    heads = [name, "system", "questions", "unanswered", "accuracy", "selected", "by chance"]
    notes = [
        "questions: those that offer such a candidate, so one question may count in several groups; selected: how "
        "often it was selected; by chance: how often a random choice would select it."
    ]
    if name == SUGGESTED_LABEL:
        notes.append(
            "Suggested by rules and not confirmed by anybody; rejoinder label --measure shows how far to trust them."
        )
    return Table(f"By {name}", heads, rows, notes)


def position_table(evaluation: SelectionEvaluation) -> Table:
    """One line per system: the positions of its selections, and the effect of reversing the candidates."""
    width = max(len(question.candidates) for question in evaluation.selected.questions)
    rows: list[list[Cell]] = []
    for positions in evaluation.places:
        reversal = evaluation.selected.order_checks.get(positions.system)
        counts: list[Cell] = [reversal.changed, reversal.asked] if reversal else [None, None]
        rows.append(
            [positions.system, *positions.shares, Probability(positions.p) if evaluation.shuffled else None, *counts]
        )
    notes = [
        "The share of selections at each position. p: the probability of such shares by chance."
        if evaluation.shuffled
        else "The right candidates of this set are not equally often at every position, so these shares say nothing "
        "about a system.",
        "reversed: questions repeated with their candidates in reverse order; changed: those where the selection "
        "changed, as it does for a system that goes by position.",
    ]
    heads = ["system", *(str(place) for place in range(1, width + 1)), "p", "changed", "reversed"]
    decimals = 3 if width <= 6 else 2
    return Table("Selections by position", heads, rows, notes, decimals)


def disputed_table(evaluation: SelectionEvaluation) -> Table:
    """The questions on which systems disagree most."""
    rows = [_disputed_row(evaluation, disputed) for disputed in evaluation.disputed]
    notes = ["The questions whose share of right systems is closest to one half; questions.jsonl has the full text."]
    return Table(DISPUTED, ["question", "last turn", "candidate", "selected by"], rows, notes)


def _disputed_row(evaluation: SelectionEvaluation, disputed: DisputedQuestion) -> list[Cell]:
    question = evaluation.selected.questions[disputed.place]
    right = evaluation.selected.right[disputed.place]
    texts, by = [], []
    for place, candidate in enumerate(question.candidates):
        if disputed.convinced[place]:
            texts.append(f"{'+' if place in right else '-'} {shorten_text(candidate.text, _MAX_TEXT)}")
            by.append(f"{'+' if place in right else '-'} {', '.join(disputed.convinced[place])}")
    last = shorten_text(question.context[-1].text, _MAX_TEXT) if question.context else None
    return [question.id, last, " | ".join(texts), " | ".join(by)]


UNLABELLED_NOTE = "A candidate without labels counts as one that people checked and gave no label."
OWN_EXAMPLES_NOTE = (
    "Our own examples are few, by one author, and much cleaner than retrieved candidates: of 66 suggestions for "
    "candidates retrieved from DailyDialog, 10 were right (docs/selecting.md). Check every one, and measure on your "
    "own labels: rejoinder label TESTSET --measure."
)


def label_accuracy_table(questions: Sequence[Question], name: str, note: str = UNLABELLED_NOTE) -> Table:
    """Precision and recall of the rules on labelled questions, one line per label."""
    accuracies = measure_suggestions(questions)
    rows: list[list[Cell]] = [
        [
            accuracy.label,
            accuracy.suggested,
            accuracy.given,
            accuracy.precision,
            accuracy.recall,
            MEANINGS[accuracy.label],
        ]
        for accuracy in accuracies
    ]
    heads = ["label", "suggested", "given by people", "precision", "recall", "meaning"]
    notes = [
        f"{format_count(len(questions), 'question')} with {format_count(accuracies[0].n, 'false candidate')}. [low, "
        "high]: 95% interval over questions.",
        note,
    ]
    return Table(f"Suggested error labels: {name}", heads, rows, notes, decimals=2)


def describe_label_counts(questions: Sequence[Question]) -> str:
    """The number of false candidates, and of their labels and suggestions."""
    candidates = [question.candidates[place] for question in questions for place in find_false_places(question)]
    labels = Counter(label for candidate in candidates for label in candidate.labels)
    suggested = Counter(str(label) for candidate in candidates for label in candidate.meta.get("suggested_labels", ()))
    parts = [format_count(len(candidates), "false candidate")]
    for what, tally in (("labels", labels), ("suggestions", suggested)):
        if tally:
            parts.append(f"{what}: " + ", ".join(f"{label} {tally[label]:,}" for label in LABELS if tally[label]))
    return "; ".join(parts)
