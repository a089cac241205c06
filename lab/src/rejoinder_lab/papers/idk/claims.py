"""The findings of the IDK paper: verdicts by what its authors released, and what our own network does, without one.

That a mean within .02 counts as no difference was set before anything was measured; the rules about large weights,
about the runs of the ablations and about what stays undecided were set when the authors' files had been seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rejoinder_lab.papers.base import OURS, Figure
from rejoinder_lab.papers.idk.ablations import (
    FIXED_OR_RANDOM,
    H_OR_TC,
    L1_OR_L2,
    L1_OR_NONE,
    L1_OR_NONE_RANDOM,
    OF_FED,
    OUTSIDE_FED,
    Comparison,
    Difference,
    compare_runs,
    compare_with_head,
    smallest_difference,
    spearman_cells,
)
from rejoinder_lab.papers.idk.authors import BASELINES, DIMENSIONS, AuthorsResults, count_large_weights
from rejoinder_lab.papers.idk.correlations import (
    AUTHORS_IDK,
    HEAD,
    OWN_HEAD,
    Measured,
    ScoredRows,
    mean_over_runs,
    sensitivity_ratio,
)
from rejoinder_lab.papers.idk.masking import KEPT, MaskedAccuracy, find_largest_weights
from rejoinder_lab.papers.idk.rows import SPEARMAN, Values
from rejoinder_lab.papers.idk.tables import DEVIATION, LARGE, TABLE_5, TABLE_11
from rejoinder_lab.papers.idk.variants import IdkVariant, Runs
from rejoinder_lab.papers.loader import load_notes, load_published
from rejoinder_lab.papers.own.relevance.rows import FIVE

_BEATS = 0.02  # of the mean Spearman over the five columns
_FEW = 0.01  # of all weights: "over 99% of the dimensions can be discarded"
_SURE = 0.975  # of the resamples
_HALF_DIGIT = 0.005 + 1e-9  # of what is printed with two decimals
_RECOMPUTED = ("Table 2", "Table 5", "Table 8", "Table 9", "Table 10", "Table 11")
_NOTES = load_notes("idk")
Correlations = Mapping[IdkVariant, Sequence[Mapping[str, float]]]
FLOORS = {"HUMOD": 0.50, "FED-rel": 0.20}


def list_paper_findings(authors: Runs | None, results: AuthorsResults | None, test: Measured) -> Iterator[str]:
    """A verdict on each finding that the authors' weights, results and scores can decide."""
    if authors is not None:
        yield _judge_few_weights(authors)
        yield _judge_random_negatives(authors)
    if results is not None:
        yield _judge_l1(results)
        yield _judge_l2(results)
        yield _judge_fixed_negative(results)
        yield _judge_training_data(results)
    prior = test.prior
    rivals = [row for row in BASELINES if row in prior.names]
    if AUTHORS_IDK in prior.names and rivals and all(prior.scores(row).intervals for row in rivals):
        if HEAD in rivals:
            yield _judge_head(test)
            yield _judge_head_on_fed(test)
            if results is not None:
                alike = compare_with_head(test, FIVE)
                yield _NOTES.text("power", alone=smallest_difference(test), alike=(alike.high - alike.low) / 2)
        yield _judge_sensitivity(prior, rivals)


def list_disagreements(figures: Sequence[Figure]) -> Iterator[str]:
    """How many printed cells the authors' files give again, by table, and every cell that they do not."""
    cells = [
        figure
        for figure in figures
        if figure.table.startswith(_RECOMPUTED) and figure.row != AUTHORS_IDK and not figure.column.endswith(OURS)
        if figure.published is not None and not math.isnan(figure.measured)
    ]
    if not cells:
        return
    counts, wrong = [], []
    for table in dict.fromkeys(figure.table for figure in cells):
        name = table.partition(":")[0] + (", deviations" if table.endswith(DEVIATION) else "")
        both = [figure for figure in cells if figure.table == table]
        apart = [f for f in both if abs(f.measured - (f.published or 0.0)) > _HALF_DIGIT]
        counts.append(f"{name} {len(both) - len(apart)} of {len(both)}")
        wrong += [f"{name}, {f.row}, {f.column}: printed {f.published:.2f}, files {f.measured:.3f}" for f in apart]
    yield _NOTES.text("printed cells", counts=", ".join(counts), wrong="; ".join(wrong) or "none")


def list_own_results(own: ScoredRows, masked: Mapping[str, MaskedAccuracy], runs: Runs) -> Iterator[str]:
    """What the regressions on our own vectors do, beside the printed figures."""
    test = {variant: own.runs(variant.short) for variant in runs}
    yield _describe_regularisation(test)
    yield _describe_dimensions(masked)
    yield _describe_training_set(test)
    yield _describe_head(test, own.runs(OWN_HEAD)[0])
    yield _describe_large_weights(runs)
    yield _describe_floors(test)


def mean_spearmans(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
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


def _compare_sets(results: AuthorsResults, comparisons: Mapping[str, Comparison]) -> dict[str, Difference]:
    """The differences in the mean of five on the test rows."""
    cells = spearman_cells(FIVE)
    return {key: compare_runs(results.test, one, cells) for key, one in comparisons.items()}


def _list_columns(results: AuthorsResults, comparison: Comparison) -> str:
    """The difference in each of the five columns."""
    return ", ".join(f"{column} {compare_runs(results.test, comparison, spearman_cells([column]))}" for column in FIVE)


def _judge_l1(results: AuthorsResults) -> str:
    by_set = _compare_sets(results, L1_OR_NONE)
    ahead, behind = (all(one.low > 0 for one in by_set.values()), all(one.high < 0 for one in by_set.values()))
    return _NOTES.text(
        "L1",
        verdict="confirmed" if ahead else "refuted" if behind else "undecided",
        h=by_set["H"],
        tc=by_set["TC-S"],
        h_columns=_list_columns(results, L1_OR_NONE["H"]),
        tc_columns=_list_columns(results, L1_OR_NONE["TC-S"]),
        random=" and ".join(f"{one} on {data}" for data, one in _compare_sets(results, L1_OR_NONE_RANDOM).items()),
    )


def _judge_l2(results: AuthorsResults) -> str:
    """The paper says it of the validation rows."""
    cells = spearman_cells(["HUMOD", "USR-TC"])
    valid = {data: compare_runs(results.valid, one, cells) for data, one in L1_OR_L2.items()}
    test = _compare_sets(results, L1_OR_L2)
    alike = all(one.is_within(_BEATS) for one in valid.values())
    apart = any(one.low > _BEATS or one.high < -_BEATS for one in valid.values())
    return _NOTES.text(
        "L2",
        verdict="confirmed" if alike else "refuted" if apart else "undecided",
        limit=_BEATS,
        valid=" and ".join(f"{one} on {data}" for data, one in valid.items()),
        test=" and ".join(f"{one} on {data}" for data, one in test.items()),
    )


def _judge_fixed_negative(results: AuthorsResults) -> str:
    """By H alone: what the authors' program draws as random negatives of TC-S are true replies."""
    by_set = _compare_sets(results, FIXED_OR_RANDOM)
    h = by_set["H"]
    verdict = "confirmed" if h.low > -_BEATS else "refuted" if h.high < -_BEATS else "undecided"
    columns = _list_columns(results, FIXED_OR_RANDOM["H"])
    return _NOTES.text("fixed negative", verdict=verdict, limit=_BEATS, h=h, tc=by_set["TC-S"], columns=columns)


def _judge_training_data(results: AuthorsResults) -> str:
    differences = _compare_sets(results, H_OR_TC)
    one = differences["idk"]
    apart = one.low > _BEATS or one.high < -_BEATS
    return _NOTES.text(
        "training data",
        verdict="confirmed" if one.is_within(_BEATS) else "refuted" if apart else "undecided",
        limit=_BEATS,
        value=one,
        columns=_list_columns(results, H_OR_TC["idk"]),
        ics=_list_columns(results, H_OR_TC["ics"]),
        ok=_list_columns(results, H_OR_TC["ok"]),
    )


def _judge_head(test: Measured) -> str:
    """The paper excepts FED."""
    one = compare_with_head(test, OUTSIDE_FED)
    verdict = "confirmed" if one.high <= _BEATS else "refuted" if one.low > _BEATS else "undecided"
    columns = ", ".join(f"{column} {compare_with_head(test, [column])}" for column in OUTSIDE_FED)
    return _NOTES.text("paper's head", verdict=verdict, value=one, columns=columns, limit=_BEATS)


def _judge_head_on_fed(test: Measured) -> str:
    one = compare_with_head(test, OF_FED)
    verdict = "confirmed" if one.low > 0 else "refuted" if one.high < 0 else "undecided"
    columns = ", ".join(f"{column} {compare_with_head(test, [column])}" for column in OF_FED)
    return _NOTES.text("head on FED", verdict=verdict, value=one, columns=columns, half=(one.high - one.low) / 2)


def _judge_sensitivity(prior: ScoredRows, rivals: Sequence[str]) -> str:
    own = _ratio_samples(prior, AUTHORS_IDK)
    lower = {row: float(np.mean(own < _ratio_samples(prior, row))) for row in rivals}
    sure = min(lower.values())
    verdict = "confirmed" if sure >= _SURE else "refuted" if sure <= 1 - _SURE else "undecided"
    ratios = {row: sensitivity_ratio(prior.runs(row)) for row in (AUTHORS_IDK, *rivals)}
    values = ", ".join(f"{row} {ratios[row]:.1f} (IDK is lower in {share:.0%})" for row, share in lower.items())
    return _NOTES.text("paper's sensitivity", verdict=verdict, ratio=ratios[AUTHORS_IDK], values=values, sure=_SURE)


def _ratio_samples(prior: ScoredRows, row: str) -> Values:
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


def _describe_head(test: Correlations, head: Mapping[str, float]) -> str:
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
