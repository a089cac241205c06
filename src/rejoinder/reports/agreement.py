"""How well people agree, as tables: aspects, classes, raters, and raters to look at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rejoinder.comparison.agreement import AspectAgreement, SuspectRater
from rejoinder.comparison.judgements import Judgements
from rejoinder.stats.agreement_interval import MIN_SHARED
from rejoinder.stats.interval import Interval
from rejoinder.stats.quality import DEFAULT
from rejoinder.table import Cell, Estimate, Table

MAX_CLASSES = 20


def aspect_table(found: Sequence[AspectAgreement], given: Judgements) -> Table:
    """A line an aspect: how much there is, and the three coefficients."""
    rows: list[list[Cell]] = []
    for one in found:
        matrix = one.judged.matrix
        n = int((~np.isnan(matrix.values)).sum())
        counts: list[Cell] = [one.judged.name, len(matrix.units), len(matrix.raters), n / len(matrix.units)]
        rows.append([*counts, _estimate(one.alpha), _estimate(one.fleiss), _estimate(one.cohen)])
    heads = ["aspect", "units", "raters", "ratings a unit", "Krippendorff's alpha", "Fleiss' kappa", "Cohen's kappa"]
    return Table("Agreement", heads, rows, _notes(found, given))


def _notes(found: Sequence[AspectAgreement], given: Judgements) -> list[str]:
    unit = "whole dialogues" if any(one.judged.dialogues for one in found) else "units"
    told = [f"[low, high]: 95% bootstrap over {unit}. 1 is perfect, 0 is what chance gives."]
    for scale in dict.fromkeys(one.scale for one in found):
        of_scale = [one for one in found if one.scale == scale]
        weights = {"none": "no weights"}.get(of_scale[0].weights, f"{of_scale[0].weights} weights")
        names = "" if len(of_scale) == len(found) else " (" + ", ".join(one.judged.name for one in of_scale) + ")"
        told.append(
            f"Alpha on the {scale} scale; Fleiss' kappa takes ratings as classes without an order; Cohen's kappa with "
            f"{weights}, mean over pairs of raters who share {MIN_SHARED} units or more, weighted by how many{names}."
        )
    for one in found:
        for name, interval in (("alpha", one.alpha), ("Fleiss' kappa", one.fleiss), ("Cohen's kappa", one.cohen)):
            if interval.reason:
                told.append(f"{one.judged.name}: {name}: {interval.reason}.")
    if given.aggregated:
        told.append(f"{given.aggregated:,} aggregated ratings are left out: they are nobody's.")
    return told


def class_table(found: Sequence[AspectAgreement]) -> Table:
    """How often each rating was given."""
    rows: list[list[Cell]] = []
    notes = []
    for one in found:
        if len(one.classes) > MAX_CLASSES:
            values = [value for value, _ in one.classes]
            low, high = min(values), max(values)
            notes.append(f"{one.judged.name}: {len(values)} different values between {low:g} and {high:g}, not shown.")
            continue
        total = sum(count for _, count in one.classes)
        rows += [[one.judged.name, f"{value:g}", count, 100 * count / total] for value, count in one.classes]
    if any(one.judged.is_preference for one in found):
        notes.append("preference: 1 for the response whose id comes first, -1 for the other, 0 for a tie.")
    return Table("Ratings given", ["aspect", "rating", "n", "%"], rows, notes, decimals=1)


def rater_table(found: AspectAgreement) -> Table:
    """A line a rater, those who agree least with the others first."""
    ordered = sorted(found.raters, key=lambda row: (np.isnan(row.kappa.value), row.kappa.value, row.rater))
    rows: list[list[Cell]] = [
        [
            row.rater,
            row.n,
            row.shared,
            row.mean,
            f"{row.most_given:g} ({row.share:.0%})",
            row.correlation,
            _estimate(row.kappa),
            row.alpha_without,
        ]
        for row in ordered
    ]
    heads = ["rater", "ratings", "shared units", "mean", "most given"]
    heads += ["correlation with the rest", "kappa with the others", "alpha without them"]
    notes = [
        "correlation with the rest: Spearman's, with the mean of the others; kappa with the others: Cohen's, over each "
        "other rater of the same units; alpha without them: of all others. A dash: too little is shared.",
    ]
    return Table(f"Raters: {found.judged.name}", heads, rows, notes)


_SIGNS = {
    "checks": ("share of checks right", "below {:.2f}"),
    "speed": ("median seconds", "below {:.1f}, a third of the others' median"),
    "alike": ("share of one answer", "{:.2f} or more, and the others gave it less"),
    "alone": ("kappa with the others", "below {:.2f}, while the others agree"),
}


def suspect_table(found: Sequence[SuspectRater]) -> Table:
    """A line a sign: who should be looked at, and why."""
    rows: list[list[Cell]] = []
    for rater, aspect, sign in found:
        what, limit = _SIGNS[sign.sign]
        rows.append([rater, aspect or "all", what, sign.value, limit.format(sign.threshold), sign.n])
    notes = [
        f"Looked for: fewer than {DEFAULT.right:.0%} of checks right; a median time below a third of the others'; one "
        f"answer for {DEFAULT.same:.0%} or more; kappa with the others below {DEFAULT.kappa:g} while they agree "
        "(docs/agreement.md). A reason to look, not a verdict; --without RATER leaves somebody out.",
    ]
    if not rows:
        notes.insert(0, "Nobody.")
    return Table("Raters to look at", ["rater", "aspect", "sign", "found", "suspected", "n"], rows, notes, decimals=2)


def _estimate(found: Interval) -> Estimate:
    return Estimate(found.value, found.low, found.high)
