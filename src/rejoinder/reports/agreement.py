"""How well people agree, as tables: aspects, classes, raters, and raters to look at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rejoinder.comparison.agreement import AspectAgreement, SuspectRater
from rejoinder.comparison.judgements import Judgements
from rejoinder.stats.agreement_interval import MIN_SHARED
from rejoinder.stats.interval import interval_estimate
from rejoinder.stats.rater_quality import DEFAULT
from rejoinder.table import Cell, Table, format_cell, format_count

MAX_CLASSES = 20
_RELIABLE, _TENTATIVE = 0.8, 0.667  # of alpha


def aspect_table(aspects: Sequence[AspectAgreement], judgements: Judgements) -> Table:
    """One line per aspect: counts and the three coefficients."""
    rows: list[list[Cell]] = []
    for aspect in aspects:
        matrix = aspect.judged.matrix
        n = int((~np.isnan(matrix.values)).sum())
        named = len(aspect.judged.named_columns)
        raters: Cell = named if named == len(matrix.raters) else f"{named} and others" if named else "without names"
        counts: list[Cell] = [aspect.judged.name, len(matrix.units), raters, n / len(matrix.units)]
        rows.append(
            [
                *counts,
                interval_estimate(aspect.alpha),
                interval_estimate(aspect.fleiss),
                interval_estimate(aspect.cohen),
            ]
        )
    heads = ["aspect", "units", "raters", "ratings per unit", "Krippendorff's alpha", "Fleiss' kappa", "Cohen's kappa"]
    return Table("Agreement", heads, rows, _agreement_notes(aspects, judgements))


def _agreement_notes(aspects: Sequence[AspectAgreement], judgements: Judgements) -> list[str]:
    unit = "whole dialogues" if any(aspect.judged.dialogues for aspect in aspects) else "units"
    notes = [f"[low, high]: 95% bootstrap over {unit}. 1 is perfect, 0 is chance level."]
    for scale in dict.fromkeys(aspect.scale for aspect in aspects):
        of_scale = [aspect for aspect in aspects if aspect.scale == scale]
        weights = {"none": "no weights"}.get(of_scale[0].weights, f"{of_scale[0].weights} weights")
        names = (
            "" if len(of_scale) == len(aspects) else " (" + ", ".join(aspect.judged.name for aspect in of_scale) + ")"
        )
        notes.append(
            f"Alpha on the {scale} scale; Fleiss' kappa treats ratings as classes without an order; Cohen's kappa with "
            f"{weights}, mean over pairs of raters who share {MIN_SHARED} or more units, weighted by how many{names}."
        )
    for aspect in aspects:
        for name, interval in (
            ("alpha", aspect.alpha),
            ("Fleiss' kappa", aspect.fleiss),
            ("Cohen's kappa", aspect.cohen),
        ):
            if interval.reason:
                notes.append(f"{aspect.judged.name}: {name}: {interval.reason}.")
    if any(len(aspect.judged.named_columns) < len(aspect.judged.matrix.raters) for aspect in aspects):
        notes.append(
            "Some ratings have no rater's name. Alpha and Fleiss' kappa count them; Cohen's kappa and the tables of "
            "raters cannot, for nobody knows which of them one person gave."
        )
    if judgements.by_judges:
        notes.append(
            f"Left out: {format_count(judgements.by_judges, 'preference')} of judges (judge:MODEL), not people."
        )
    if judgements.aggregated:
        notes.append(f"Left out: {format_count(judgements.aggregated, 'aggregated rating')}, which no person gave.")
    return notes


def agreement_advice(aspect: AspectAgreement) -> str:
    """What the agreement in one aspect means, and what to do about it (limits: Krippendorff 2004, p. 241)."""
    alpha, name = aspect.alpha, aspect.judged.name
    if alpha.reason or np.isnan(alpha.value):
        return f"{name}: nothing can be said yet, for too few units have two ratings or more; let raters overlap."
    figures = f"alpha {format_cell(interval_estimate(alpha))}"
    if alpha.low >= _RELIABLE:
        return f"{name}: raters agree well ({figures}). The ratings can be used as they are."
    if alpha.low >= _TENTATIVE:
        return f"{name}: raters agree fairly well ({figures}). Use means over raters, and draw tentative conclusions."
    if alpha.high < _TENTATIVE:
        return (
            f"{name}: raters do not agree well ({figures}). Read the disputed units, make the question or its anchors "
            "clearer, and ask again; until then, do not decide by single ratings."
        )
    return (
        f"{name}: whether raters agree well enough is not clear yet ({figures}). Collect more units with two ratings."
    )


def class_table(aspects: Sequence[AspectAgreement]) -> Table:
    """How often each rating was given."""
    rows: list[list[Cell]] = []
    notes = []
    for aspect in aspects:
        if len(aspect.classes) > MAX_CLASSES:
            values = [value for value, _ in aspect.classes]
            low, high = min(values), max(values)
            notes.append(
                f"{aspect.judged.name}: {len(values)} different values between {low:g} and {high:g}, not shown."
            )
            continue
        total = sum(count for _, count in aspect.classes)
        rows += [[aspect.judged.name, f"{value:g}", count, 100 * count / total] for value, count in aspect.classes]
    if any(aspect.judged.is_preference for aspect in aspects):
        notes.append("preference: 1 for the response whose id sorts first, -1 for the other, 0 for a tie.")
    return Table("Ratings given", ["aspect", "rating", "n", "%"], rows, notes, decimals=1)


def rater_table(agreement: AspectAgreement) -> Table:
    """One line per rater, those who agree least with the others first."""
    ordered = sorted(agreement.raters, key=lambda row: (np.isnan(row.kappa.value), row.kappa.value, row.rater))
    rows: list[list[Cell]] = [
        [
            row.rater,
            row.n,
            row.shared,
            row.mean,
            f"{row.most_given:g} ({row.share:.0%})",
            row.correlation,
            interval_estimate(row.kappa),
            row.alpha_without,
        ]
        for row in ordered
    ]
    heads = ["rater", "ratings", "shared units", "mean", "most frequent"]
    heads += ["correlation with the rest", "kappa with the others", "alpha without them"]
    notes = [
        "correlation with the rest: Spearman's, with the mean of the others; kappa with the others: Cohen's, over all "
        "other raters of the same units; alpha without them: of all other raters. A dash: too few shared units.",
    ]
    return Table(f"Raters: {agreement.judged.name}", heads, rows, notes)


_SIGNS = {
    "checks": ("share of checks right", "below {:.2f}"),
    "speed": ("median seconds", "below {:.1f}, a third of the others' median"),
    "alike": ("share of one answer", "{:.2f} or more, and less often by the others"),
    "alone": ("kappa with the others", "below {:.2f}, while the others agree"),
}


def suspect_table(suspects: Sequence[SuspectRater]) -> Table:
    """One line per sign: whose ratings to check, and why."""
    rows: list[list[Cell]] = []
    for rater, aspect, sign in suspects:
        what, limit = _SIGNS[sign.sign]
        rows.append([rater, aspect or "all", what, sign.value, limit.format(sign.threshold), sign.n])
    notes = [
        f"Signs: fewer than {DEFAULT.right:.0%} of checks right; a median time below a third of the others'; the same "
        f"answer in {DEFAULT.same:.0%} or more; kappa with the others below {DEFAULT.kappa:g} while they agree "
        "(docs/agreement.md). A sign is a reason to look, not a verdict; to leave a rater out: rejoinder agreement "
        "--without RATER.",
    ]
    if not rows:
        notes.insert(0, "None.")
    heads = ["rater", "aspect", "sign", "value", "suspect if", "n"]
    return Table("Raters to look at", heads, rows, notes, decimals=2)
