"""How well people agree: per aspect with intervals, each rater against the rest, and raters to look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rejoinder.comparison.judgements import AspectJudgements, CheckTally, Judgements
from rejoinder.stats.agreement import Scale, Weights, krippendorff_alpha
from rejoinder.stats.agreement_interval import CohenAgreement, alpha_interval, cohen_intervals, fleiss_interval
from rejoinder.stats.arrays import NAN, Floats, Ints
from rejoinder.stats.ceiling import one_against_rest
from rejoinder.stats.interval import Interval
from rejoinder.stats.rater_quality import (
    Suspicion,
    find_disagreeing,
    find_failed_checks,
    find_straight_liners,
    find_too_fast,
    most_frequent_answer,
)


class RaterRow(NamedTuple):
    """One rater in one aspect, compared with the others.

    ``correlation`` is with the mean of the others, ``kappa`` with every other rater of the same unit; ``alpha_without``
    is the agreement of all other raters.
    """

    rater: str
    n: int
    shared: int
    mean: float
    most_given: float
    share: float
    correlation: float
    kappa: Interval
    alpha_without: float


@dataclass(frozen=True)
class AspectAgreement:
    """How well people agree in one aspect."""

    judged: AspectJudgements
    scale: Scale
    weights: Weights
    alpha: Interval
    fleiss: Interval
    cohen: Interval
    n_pairs: int
    classes: Sequence[tuple[float, int]]
    raters: Sequence[RaterRow]


class SuspectRater(NamedTuple):
    """A sign against a rater, in one aspect or (None) in all their answers."""

    rater: str
    aspect: str | None
    suspicion: Suspicion


def examine_agreement(
    judged: AspectJudgements,
    scale: Scale | None = None,
    weights: Weights | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> AspectAgreement:
    """The agreement in one aspect; by default, ratings are ordinal and preferences nominal.

    By default, Cohen's kappa is unweighted on a nominal scale and has quadratic weights on all others.
    """
    scale = scale or ("nominal" if judged.is_preference else "ordinal")
    weights = weights or ("none" if scale == "nominal" else "quadratic")
    matrix = judged.matrix.values
    dialogues = judged.dialogues
    named = judged.named_columns
    if len(named):
        cohen = cohen_intervals(matrix[:, named], weights, dialogues, n_resamples=resamples, seed=seed)
    else:
        cohen = CohenAgreement(Interval(NAN, NAN, NAN, 0, 0, 0, "the ratings name no raters"), 0, [], named)
    values, counts = np.unique(matrix[~np.isnan(matrix)], return_counts=True)
    return AspectAgreement(
        judged,
        scale,
        weights,
        alpha_interval(matrix, scale, dialogues, n_resamples=resamples, seed=seed),
        fleiss_interval(matrix, dialogues, n_resamples=resamples, seed=seed),
        cohen.mean,
        cohen.n_pairs,
        list(zip((values + 0.0).tolist(), counts.tolist(), strict=True)),  # -0 is 0
        _rater_rows(judged, cohen, scale),
    )


def _rater_rows(judged: AspectJudgements, cohen: CohenAgreement, scale: Scale) -> list[RaterRow]:
    matrix = judged.matrix.values
    unit, rater = np.nonzero(~np.isnan(matrix))
    correlations = one_against_rest(matrix).raters
    rows = []
    for place, column in enumerate(judged.named_columns.tolist()):
        ratings = matrix[~np.isnan(matrix[:, column]), column]
        share, most_given = most_frequent_answer(ratings)
        without = krippendorff_alpha(
            _narrow_matrix(unit, matrix[unit, rater], rater != column, len(matrix)), scale
        ).value
        rows.append(
            RaterRow(
                str(judged.matrix.raters[column]),
                len(ratings),
                int(cohen.shared[place]),
                float(ratings.mean()),
                most_given,
                share,
                float(correlations[column]),
                cohen.raters[place],
                without,
            )
        )
    return rows


def _narrow_matrix(
    unit: Ints, values: Floats, mask: np.ndarray[tuple[int], np.dtype[np.bool_]], n_units: int
) -> Floats:
    """Some of the ratings as a matrix no wider than needed, without the raters' identity. Rows are sorted by unit."""
    unit, values = unit[mask], values[mask]
    sizes = np.bincount(unit, minlength=n_units)
    column = np.arange(len(unit)) - (np.cumsum(sizes) - sizes)[unit]
    matrix = np.full((n_units, int(sizes.max(initial=1))), np.nan)
    matrix[unit, column] = values
    return matrix


def find_suspect_raters(judgements: Judgements, aspects: Sequence[AspectAgreement]) -> list[SuspectRater]:
    """Every sign against every rater: first over all their answers, then by aspect."""
    raters = judgements.raters
    checks = [judgements.checks.get(rater, CheckTally(0, 0)) for rater in raters]
    signs = find_failed_checks([c.right for c in checks], [c.n for c in checks])
    signs += find_too_fast([judgements.seconds.get(rater, []) for rater in raters])
    flagged = [SuspectRater(raters[sign.rater], None, sign) for sign in signs]
    for aspect in aspects:
        rows = aspect.raters
        signs = find_straight_liners(aspect.judged.matrix.values[:, aspect.judged.named_columns])
        signs += find_disagreeing(
            np.array([row.kappa.value for row in rows]),
            [row.shared for row in rows],
            np.array([row.alpha_without for row in rows]),
        )
        flagged += [SuspectRater(rows[sign.rater].rater, aspect.judged.name, sign) for sign in signs]
    return flagged
