"""The findings of the IDK paper: verdicts by what its authors released, and what our own network does, without one.

That a mean within .02 counts as no difference was set before anything was measured; the rules about large weights and
about what stays undecided were set when the authors' weights had been seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rejoinder_lab.papers.idk.authors import BASELINES, DIMENSIONS, count_large_weights
from rejoinder_lab.papers.idk.masking import KEPT, MaskedAccuracy, find_largest_weights
from rejoinder_lab.papers.idk.rows import SPEARMAN, Values
from rejoinder_lab.papers.idk.tables import (
    AUTHORS_IDK,
    HEAD,
    LARGE,
    TABLE_5,
    TABLE_11,
    Correlations,
    PriorScores,
    RunCorrelations,
    mean_over_runs,
    sensitivity_ratio,
)
from rejoinder_lab.papers.idk.variants import IdkVariant, Runs
from rejoinder_lab.papers.loader import load_notes, load_published
from rejoinder_lab.papers.own.relevance.rows import FIVE

_BEATS = 0.02  # of the mean Spearman over the five columns
_FEW = 0.01  # of all weights: "over 99% of the dimensions can be discarded"
_SURE = 0.975  # of the resamples
_NOTES = load_notes("idk")
FLOORS = {"HUMOD": 0.50, "FED-rel": 0.20}


def list_paper_findings(authors: Runs | None, prior: PriorScores) -> Iterator[str]:
    """A verdict on each finding that the authors' weights and scores can decide."""
    if authors is not None:
        yield _judge_few_weights(authors)
        yield _judge_random_negatives(authors)
    if all(prior.interval(row, f"{FIVE[0]} {SPEARMAN}") for row in (AUTHORS_IDK, *BASELINES) if row in prior.names):
        if HEAD in prior.names and AUTHORS_IDK in prior.names:
            yield _judge_head(prior)
        rivals = [row for row in BASELINES if row in prior.names]
        if rivals and AUTHORS_IDK in prior.names:
            yield _judge_sensitivity(prior, rivals)


def list_own_results(
    test: Correlations, head: RunCorrelations, masked: Mapping[str, MaskedAccuracy], runs: Runs
) -> Iterator[str]:
    """What the regressions on our own vectors do, beside the printed figures."""
    yield _describe_regularisation(test)
    yield _describe_dimensions(masked)
    yield _describe_training_set(test)
    yield _describe_head(test, head)
    yield _describe_large_weights(runs)
    yield _describe_floors(test)


def mean_spearmans(runs: Sequence[RunCorrelations]) -> dict[str, float]:
    """The mean Spearman over runs in each column."""
    return {column: mean_over_runs(runs, f"{column} {SPEARMAN}") for column in FIVE}


def _judge_few_weights(authors: Runs) -> str:
    runs = authors[IdkVariant("H")]
    counts = count_large_weights(runs, LARGE)
    always = set.intersection(*(set(find_largest_weights(fitted, KEPT)) for fitted in runs))
    return _NOTES.text(
        "few weights",
        verdict="confirmed" if max(counts) <= _FEW * DIMENSIONS else "refuted",
        limit=LARGE,
        counts=_join_counts(counts),
        n=DIMENSIONS,
        kept=KEPT,
        shared=len(always),
    )


def _judge_random_negatives(authors: Runs) -> str:
    fixed, random = (count_large_weights(authors[IdkVariant("H", negative)], LARGE) for negative in ("idk", "random"))
    verdict = "confirmed" if min(random) > max(fixed) else "refuted" if max(random) <= min(fixed) else "undecided"
    return _NOTES.text(
        "more large weights", verdict=verdict, limit=LARGE, fixed=_join_counts(fixed), random=_join_counts(random)
    )


def _join_counts(counts: Sequence[int]) -> str:
    return f"{', '.join(map(str, counts[:-1]))} and {counts[-1]}"


def _judge_head(prior: PriorScores) -> str:
    own, head = (prior.spearmans(row) for row in (AUTHORS_IDK, HEAD))
    own_mean, head_mean = (float(np.mean([one.interval.value for one in row])) for row in (own, head))
    ahead = [
        column
        for column, a, b in zip(FIVE, own, head, strict=True)
        if round(a.interval.value - b.interval.value, 2) > 0
    ]
    samples = np.mean([a.samples - b.samples for a, b in zip(own, head, strict=True)], axis=0)
    low, high = np.quantile(samples, [1 - _SURE, _SURE])
    return _NOTES.text(
        "paper's head",
        verdict="confirmed" if own_mean - head_mean <= _BEATS else "refuted",
        own=own_mean,
        head=head_mean,
        low=float(low),
        high=float(high),
        ahead=", ".join(ahead) or "none",
        limit=_BEATS,
    )


def _judge_sensitivity(prior: PriorScores, rivals: Sequence[str]) -> str:
    own = _ratio_samples(prior, AUTHORS_IDK)
    lower = {row: float(np.mean(own < _ratio_samples(prior, row))) for row in rivals}
    sure = min(lower.values())
    verdict = "confirmed" if sure >= _SURE else "refuted" if sure <= 1 - _SURE else "undecided"
    ratios = {row: sensitivity_ratio(prior.runs(row)) for row in (AUTHORS_IDK, *rivals)}
    values = ", ".join(f"{row} {ratios[row]:.1f} (IDK is lower in {share:.0%})" for row, share in lower.items())
    return _NOTES.text("paper's sensitivity", verdict=verdict, ratio=ratios[AUTHORS_IDK], values=values, sure=_SURE)


def _ratio_samples(prior: PriorScores, row: str) -> Values:
    """The ratio of best to worst on each resample, infinite where the worst is not positive."""
    samples = np.stack([one.samples for one in prior.spearmans(row)])
    low = samples.min(axis=0)
    ratios: Values = np.divide(samples.max(axis=0), low, out=np.full_like(low, np.inf), where=low > 0)
    return ratios


def _describe_regularisation(test: Correlations) -> str:
    parts = []
    for data in ("H", "TC-S"):
        cell = f"HUMOD {SPEARMAN}"
        with_l1, without = (mean_over_runs(test[IdkVariant(data, "idk", r)], cell) for r in ("l1", "none"))
        printed = [TABLE_5[row][cell].mean for row in (f"{data}, L1, idk", f"{data}, idk")]
        parts.append(f"{with_l1:.2f} with L1 and {without:.2f} without on {data} (printed {printed[0]}, {printed[1]})")
    return _NOTES.text("regularization", values=" and ".join(parts))


def _describe_dimensions(masked: Mapping[str, MaskedAccuracy]) -> str:
    values = ", ".join(
        f"{corpus} {accuracy.whole:.3f} to {accuracy.kept:.3f} (true reply ahead {accuracy.whole_ahead:.3f} to "
        f"{accuracy.kept_ahead:.3f})"
        for corpus, accuracy in masked.items()
    )
    printed = ", ".join(f"{one['whole']} to {one['kept']}" for one in load_published("idk")["Table 7"].values())
    return _NOTES.text("dimensions", kept=KEPT, values=values, printed=printed)


def _describe_training_set(test: Correlations) -> str:
    first, second = (mean_spearmans(test[IdkVariant(data)]) for data in ("H", "TC-S"))
    worst = max(FIVE, key=lambda column: abs(first[column] - second[column]))
    return _NOTES.text("training set", column=worst, first=first[worst], second=second[worst])


def _describe_head(test: Correlations, head: RunCorrelations) -> str:
    own, bare = mean_spearmans(test[IdkVariant("H")]), mean_spearmans([head])
    own_mean, bare_mean = (float(np.mean(list(values.values()))) for values in (own, bare))
    printed = [np.mean([TABLE_11[row][f"{c} {SPEARMAN}"].mean for c in FIVE]) for row in ("IDK (H)", HEAD)]
    ratios = [sensitivity_ratio(test[IdkVariant("H")]), sensitivity_ratio([head])]
    return _NOTES.text(
        "head", own=own_mean, head=bare_mean, own_printed=printed[0], head_printed=printed[1], ratios=ratios
    )


def _describe_large_weights(runs: Runs) -> str:
    fixed, random = (count_large_weights(runs[IdkVariant("H", negative)], LARGE) for negative in ("idk", "random"))
    n = len(runs[IdkVariant("H")][0].weights)
    return _NOTES.text("large weights", limit=LARGE, fixed=_join_counts(fixed), n=n, random=_join_counts(random))


def _describe_floors(test: Correlations) -> str:
    own = mean_spearmans(test[IdkVariant("H")])
    parts = [
        f"{column} {own[column]:.2f} ({'reaches' if own[column] >= floor else 'misses'} {floor:.2f})"
        for column, floor in FLOORS.items()
    ]
    return _NOTES.text("floors", values=", ".join(parts))
