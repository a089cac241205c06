"""The findings of the IDK paper, one sentence each with its figure: confirmed or refuted on the embedded features.

What counts as a difference was set before anything was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rejoinder.papers.idk.masking import KEPT, MaskedAccuracy
from rejoinder.papers.idk.rows import SPEARMAN
from rejoinder.papers.idk.tables import (
    HEAD,
    TABLE_5,
    TABLE_11,
    Correlations,
    RunCorrelations,
    mean_over_runs,
    sensitivity_ratio,
)
from rejoinder.papers.idk.variants import IdkVariant, Runs
from rejoinder.papers.loader import load_notes, load_published
from rejoinder.papers.own.relevance.rows import FIVE

_MATTERS = 0.05  # of Spearman: a third of what L1 gave the paper on HUMOD
_HARDLY = 0.03  # of Spearman: three times the largest difference between the paper's two training sets
_BEATS = 0.02  # of the mean Spearman over the five columns
_LOST = 0.02  # of accuracy
_LARGE = 0.01  # of a weight, as in section 5.1
_NOTES = load_notes("idk")
FLOORS = {"HUMOD": 0.50, "FED-rel": 0.20}


def list_idk_findings(
    test: Correlations,
    head: RunCorrelations,
    masked: Mapping[str, MaskedAccuracy],
    others: Mapping[str, RunCorrelations],
) -> Iterator[str]:
    """The sentences, one per finding."""
    yield _describe_regularisation(test)
    yield _describe_dimensions(masked)
    yield _describe_training_set(test)
    yield _describe_head(test, head)
    yield _describe_sensitivity(test, head, others)
    yield _describe_baselines(test)


def mean_spearmans(runs: Sequence[RunCorrelations]) -> dict[str, float]:
    """The mean Spearman over runs in each column."""
    return {column: mean_over_runs(runs, f"{column} {SPEARMAN}") for column in FIVE}


def _finding_verdict(held: Sequence[bool]) -> str:
    return "confirmed" if all(held) else "confirmed in part" if any(held) else "refuted"


def _describe_regularisation(test: Correlations) -> str:
    parts, held = [], []
    for data in ("H", "TC-S"):
        cell = f"HUMOD {SPEARMAN}"
        with_l1, without = (mean_over_runs(test[IdkVariant(data, "idk", r)], cell) for r in ("l1", "none"))
        printed = [TABLE_5[row][cell].mean for row in (f"{data}, L1, idk", f"{data}, idk")]
        held.append(with_l1 - without >= _MATTERS)
        parts.append(f"{with_l1:.2f} with and {without:.2f} without on {data} (printed {printed[0]}, {printed[1]})")
    return _NOTES.text("regularization", verdict=_finding_verdict(held), values=" and ".join(parts), limit=_MATTERS)


def _describe_dimensions(masked: Mapping[str, MaskedAccuracy]) -> str:
    held = [accuracy.whole - accuracy.kept <= _LOST for accuracy in masked.values()]
    values = ", ".join(
        f"{corpus} {accuracy.whole:.3f} to {accuracy.kept:.3f} (true reply ahead {accuracy.whole_ahead:.3f} to "
        f"{accuracy.kept_ahead:.3f})"
        for corpus, accuracy in masked.items()
    )
    printed = ", ".join(f"{one['whole']} to {one['kept']}" for one in load_published("idk")["Table 7"].values())
    return _NOTES.text(
        "dimensions", kept=KEPT, verdict=_finding_verdict(held), values=values, printed=printed, limit=_LOST
    )


def _describe_training_set(test: Correlations) -> str:
    first, second = (mean_spearmans(test[IdkVariant(data)]) for data in ("H", "TC-S"))
    apart = {column: abs(first[column] - second[column]) for column in FIVE}
    worst = max(apart, key=lambda column: apart[column])
    verdict = _finding_verdict([apart[worst] <= _HARDLY])
    return _NOTES.text(
        "training set", verdict=verdict, column=worst, first=first[worst], second=second[worst], limit=_HARDLY
    )


def _describe_head(test: Correlations, head: RunCorrelations) -> str:
    own, bare = mean_spearmans(test[IdkVariant("H")]), mean_spearmans([head])
    own_mean, bare_mean = (float(np.mean(list(values.values()))) for values in (own, bare))
    ahead = [column for column in FIVE if own[column] > bare[column]]
    printed = [np.mean([TABLE_11[row][f"{c} {SPEARMAN}"].mean for c in FIVE]) for row in ("IDK (H)", HEAD)]
    return _NOTES.text(
        "head",
        verdict=_finding_verdict([own_mean - bare_mean <= _BEATS]),
        own=own_mean,
        head=bare_mean,
        own_printed=printed[0],
        head_printed=printed[1],
        ahead=", ".join(ahead) or "none",
        limit=_BEATS,
    )


def _describe_sensitivity(test: Correlations, head: RunCorrelations, others: Mapping[str, RunCorrelations]) -> str:
    ratios = {HEAD: sensitivity_ratio([head]), **{row: sensitivity_ratio([run]) for row, run in others.items()}}
    own = sensitivity_ratio(test[IdkVariant("H")])
    better = [f"{row} ({ratio:.1f})" for row, ratio in ratios.items() if 0 < ratio < own]
    held = own > 0 and not better
    rivals = f"; lower: {', '.join(better)}" if better else f" among {len(ratios)} others measured here"
    return _NOTES.text("sensitivity", verdict=_finding_verdict([held]), ratio=own, rivals=rivals)


def describe_large_weights(runs: Runs) -> str:
    """Figures 1 and 2: how many weights are large with the fixed negative and with random ones."""
    fixed, random = (
        float(np.mean([np.sum(np.abs(fitted.weights) > _LARGE) for fitted in runs[IdkVariant("H", negative)]]))
        for negative in ("idk", "random")
    )
    n = len(runs[IdkVariant("H")][0].weights)
    return _NOTES.text(
        "large weights", verdict=_finding_verdict([random > fixed]), limit=_LARGE, fixed=fixed, n=n, random=random
    )


def _describe_baselines(test: Correlations) -> str:
    own = mean_spearmans(test[IdkVariant("H")])
    parts = [
        f"{column} {own[column]:.2f} ({'reaches' if own[column] >= floor else 'misses'} {floor:.2f})"
        for column, floor in FLOORS.items()
    ]
    return _NOTES.text("floors", values=", ".join(parts))
