"""What the IDK paper found, each in a sentence with its figure: confirmed or refuted on the embedded features.

What counts as a difference was set before anything was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rejoinder.papers.idk.masking import MaskedAccuracy
from rejoinder.papers.idk.published import KEPT, SPEARMAN, TABLE_5, TABLE_7, TABLE_11
from rejoinder.papers.idk.tables import HEAD, Correlations, RunCorrelations, mean_over_runs, sensitivity_ratio
from rejoinder.papers.idk.variants import Runs, Variant
from rejoinder.papers.own.relevance_published import FIVE

_MATTERS = 0.05  # of Spearman: a third of what L1 gave the paper on HUMOD
_HARDLY = 0.03  # of Spearman: three times the largest difference between the paper's two training sets
_BEATS = 0.02  # of the mean Spearman over the five columns
_LOST = 0.02  # of accuracy
_LARGE = 0.01  # of a weight, as in section 5.1
FLOORS = {"HUMOD": 0.50, "FED-rel": 0.20}


def list_findings(
    test: Correlations,
    head: RunCorrelations,
    masked: Mapping[str, MaskedAccuracy],
    others: Mapping[str, RunCorrelations],
) -> Iterator[str]:
    """The sentences."""
    yield _regularization(test)
    yield _dimensions(masked)
    yield _training_set(test)
    yield _head(test, head)
    yield _sensitivity(test, head, others)
    yield _floors(test)


def mean_spearmans(runs: Sequence[RunCorrelations]) -> dict[str, float]:
    """The mean Spearman over runs in each column."""
    return {column: mean_over_runs(runs, f"{column} {SPEARMAN}") for column in FIVE}


def _judge(held: Sequence[bool]) -> str:
    return "confirmed" if all(held) else "confirmed in part" if any(held) else "refuted"


def _regularization(test: Correlations) -> str:
    parts, held = [], []
    for data in ("H", "TC-S"):
        cell = f"HUMOD {SPEARMAN}"
        with_l1, without = (mean_over_runs(test[Variant(data, "idk", r)], cell) for r in ("l1", "none"))
        printed = [TABLE_5[row][cell].mean for row in (f"{data}, L1, idk", f"{data}, idk")]
        held.append(with_l1 - without >= _MATTERS)
        parts.append(f"{with_l1:.2f} with and {without:.2f} without on {data} (printed {printed[0]}, {printed[1]})")
    return (
        f"L1 matters with a fixed negative: {_judge(held)}; Spearman on HUMOD is {' and '.join(parts)}; a gain of "
        f"{_MATTERS} counts."
    )


def _dimensions(masked: Mapping[str, MaskedAccuracy]) -> str:
    held = [found.whole - found.kept <= _LOST for found in masked.values()]
    shown = ", ".join(
        f"{corpus} {found.whole:.3f} to {found.kept:.3f} (true reply ahead {found.whole_ahead:.3f} to "
        f"{found.kept_ahead:.3f})"
        for corpus, found in masked.items()
    )
    printed = ", ".join(f"{whole} to {kept}" for whole, kept in TABLE_7.values())
    return (
        f"{KEPT} dimensions suffice: {_judge(held)}; next-turn accuracy from the whole vector to the {KEPT} with the "
        f"largest weights goes from {shown} (printed, other corpora and BERT: {printed}); a loss of {_LOST} counts."
    )


def _training_set(test: Correlations) -> str:
    first, second = (mean_spearmans(test[Variant(data)]) for data in ("H", "TC-S"))
    apart = {column: abs(first[column] - second[column]) for column in FIVE}
    worst = max(apart, key=lambda column: apart[column])
    return (
        f"The training set hardly matters: {_judge([apart[worst] <= _HARDLY])}; Spearman differs most on {worst}, "
        f"{first[worst]:.2f} trained on H and {second[worst]:.2f} on TC-S (printed: 0.01 at most); {_HARDLY} counts."
    )


def _head(test: Correlations, head: RunCorrelations) -> str:
    own, bare = mean_spearmans(test[Variant("H")]), mean_spearmans([head])
    mine, theirs = (float(np.mean(list(values.values()))) for values in (own, bare))
    ahead = [column for column in FIVE if own[column] > bare[column]]
    printed = [np.mean([TABLE_11[row][f"{c} {SPEARMAN}"].mean for c in FIVE]) for row in ("IDK (H)", HEAD)]
    return (
        f"IDK does not beat the raw next-sentence head on Spearman: {_judge([mine - theirs <= _BEATS])}; the mean over "
        f"five columns is {mine:.3f} against {theirs:.3f} (printed {printed[0]:.3f} against {printed[1]:.3f}), and IDK "
        f"is ahead on {', '.join(ahead) or 'none'}; {_BEATS} counts."
    )


def _sensitivity(test: Correlations, head: RunCorrelations, others: Mapping[str, RunCorrelations]) -> str:
    found = {HEAD: sensitivity_ratio([head]), **{row: sensitivity_ratio([run]) for row, run in others.items()}}
    own = sensitivity_ratio(test[Variant("H")])
    better = [f"{row} ({ratio:.1f})" for row, ratio in found.items() if 0 < ratio < own]
    held = own > 0 and not better
    rivals = f"; lower: {', '.join(better)}" if better else f" among {len(found)} others measured here"
    return (
        f"IDK depends least on the test set: {_judge([held])}; its best Spearman is {own:.1f} times its worst (printed "
        f"3.9){rivals}."
    )


def describe_large_weights(runs: Runs) -> str:
    """Figures 1 and 2: how many weights are large with the fixed negative and with random ones."""
    fixed, random = (
        float(np.mean([np.sum(np.abs(fitted.weights) > _LARGE) for fitted in runs[Variant("H", negative)]]))
        for negative in ("idk", "random")
    )
    held = random > fixed
    return (
        f"Random negatives make more weights large: {_judge([held])}; above {_LARGE} are {fixed:.0f} of "
        f"{len(runs[Variant('H')][0].weights)} weights with the fixed negative and {random:.0f} with random ones "
        "(H, L1, mean of three runs; Figure 2)."
    )


def _floors(test: Correlations) -> str:
    own = mean_spearmans(test[Variant("H")])
    parts = [
        f"{column} {own[column]:.2f} ({'reaches' if own[column] >= floor else 'misses'} {floor:.2f})"
        for column, floor in FLOORS.items()
    ]
    return f"Asked of IDK on the embedded features before it was measured: {', '.join(parts)}."
