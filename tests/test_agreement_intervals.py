"""Coefficients with intervals and missing ratings: against krippendorff, statsmodels, and slow direct reckonings."""

from __future__ import annotations

import itertools
import math

import krippendorff
import numpy as np
import pytest
from numpy.typing import NDArray
from statsmodels.stats import inter_rater

from rejoinder.comparison.agreement import examine_agreement
from rejoinder.comparison.judgements import AspectJudgements, sort_judgements
from rejoinder.stats.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha
from rejoinder.stats.agreement_interval import alpha_interval, cohen_intervals, fleiss_interval
from rejoinder.stats.arrays import make_generator
from rejoinder.stats.resampling import percentile_interval, resample_counts
from rejoinder.types import Item, Rating, Record, Response, Turn
from tests.test_stats_agreement import SCALES, ratings

Matrix = NDArray[np.float64]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("seed", range(4))
def test_alpha_with_missing_ratings_equals_the_krippendorff_package(scale, seed) -> None:
    for matrix in (ratings(seed), ratings(seed, units=9, raters=3, missing=0.5), ratings(seed, levels=30) / 7 + 0.1):
        theirs = krippendorff.alpha(matrix.T, level_of_measurement=scale)
        assert alpha_interval(matrix, scale, n_resamples=10).value == pytest.approx(theirs, abs=1e-9)


def slow_fleiss(matrix: Matrix) -> float:
    """Fleiss' kappa over units with two ratings or more, by its definition."""
    lines = [[value for value in line if not math.isnan(value)] for line in matrix]
    lines = [line for line in lines if len(line) > 1]
    alike = [np.mean([a == b for a, b in itertools.permutations(line, 2)]) for line in lines]
    given = [value for line in lines for value in line]
    chance = sum((given.count(value) / len(given)) ** 2 for value in set(given))
    return float((np.mean(alike) - chance) / (1 - chance))


@pytest.mark.parametrize("seed", range(4))
def test_fleiss_with_and_without_missing_ratings(seed) -> None:
    full = ratings(seed, missing=0.0)
    table = inter_rater.aggregate_raters(full.astype(int))[0]
    assert fleiss_interval(full, n_resamples=10).value == pytest.approx(inter_rater.fleiss_kappa(table), abs=1e-9)
    some = ratings(seed, missing=0.4)
    assert fleiss_interval(some, n_resamples=10).value == pytest.approx(slow_fleiss(some), abs=1e-9)
    assert fleiss_interval(some, n_resamples=10).value == pytest.approx(fleiss_kappa(some).value, abs=1e-12)


def statsmodels_kappa(pairs: Matrix, levels: int, weights: str) -> float:
    table = np.histogram2d(pairs[:, 0], pairs[:, 1], bins=np.arange(levels + 1) - 0.5)[0]
    return float(inter_rater.cohens_kappa(table, wt=None if weights == "none" else weights).kappa)


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_cohen_over_pairs_and_against_the_rest_equals_statsmodels(weights) -> None:
    matrix = ratings(7, units=60, raters=5, missing=0.35)
    found = cohen_intervals(matrix, weights, n_resamples=10)
    kappas, shared = [], []
    for a, b in itertools.combinations(range(5), 2):
        both = matrix[:, [a, b]][~np.isnan(matrix[:, [a, b]]).any(axis=1)]
        kappas.append(statsmodels_kappa(both, 5, weights))
        shared.append(len(both))
    assert min(shared) >= 10
    assert found.n_pairs == 10
    assert found.mean.value == pytest.approx(np.average(kappas, weights=shared), abs=1e-9)
    for rater in range(5):
        others = [other for other in range(5) if other != rater]
        pairs = np.concatenate([matrix[:, [rater, other]] for other in others])
        pairs = pairs[~np.isnan(pairs).any(axis=1)]
        assert found.raters[rater].value == pytest.approx(statsmodels_kappa(pairs, 5, weights), abs=1e-9)
        known = ~np.isnan(matrix)
        assert found.shared[rater] == (known[:, rater] & known[:, others].any(axis=1)).sum()


def test_raters_who_share_too_little_have_no_mean_of_pairs() -> None:
    matrix = ratings(8, units=12, raters=6, missing=0.6)
    found = cohen_intervals(matrix, n_resamples=20)
    assert math.isnan(found.mean.value)
    assert found.mean.reason == "no two raters share 10 units"
    assert cohen_intervals(matrix, least_shared=2, n_resamples=20).n_pairs > 0


def test_the_resamples_are_those_of_whole_units() -> None:
    matrix = ratings(9, units=25, raters=4, missing=0.3)
    used = matrix[(~np.isnan(matrix)).sum(axis=1) >= 2]
    counts = resample_counts(len(used), 50, make_generator(3))
    drawn = [np.repeat(used, times, axis=0) for times in counts]
    n = int((~np.isnan(used)).sum())
    numbers = n, len(matrix) - len(used), len(used)
    for scale in SCALES:
        samples = np.array([krippendorff_alpha(part, scale).value for part in drawn])
        slow = percentile_interval(krippendorff_alpha(used, scale).value, samples, *numbers, kind="corrected")
        assert alpha_interval(matrix, scale, n_resamples=50, seed=3)[:3] == pytest.approx(slow[:3], abs=1e-9)
    samples = np.array([fleiss_kappa(part).value for part in drawn])
    slow = percentile_interval(fleiss_kappa(used).value, samples, *numbers, kind="corrected")
    assert fleiss_interval(matrix, n_resamples=50, seed=3)[:3] == pytest.approx(slow[:3], abs=1e-9)
    samples = np.array([cohen_kappa(part[:, 0], part[:, 1]).value for part in (d[:, :2] for d in drawn)])
    two = cohen_intervals(used[:, :2], n_resamples=50, seed=3, least_shared=1)
    both = used[:, :2][~np.isnan(used[:, :2]).any(axis=1)]
    assert two.mean.value == pytest.approx(cohen_kappa(both[:, 0], both[:, 1]).value, abs=1e-12)


def test_many_different_ratings_are_drawn_again_one_by_one() -> None:
    random = np.random.default_rng(1)
    matrix = random.normal(size=(150, 1)) + random.normal(size=(150, 2)) * 0.5
    found = alpha_interval(matrix, "interval", n_resamples=50)
    assert found.value == pytest.approx(krippendorff.alpha(matrix.T, level_of_measurement="interval"), abs=1e-9)
    assert found.low < found.value < found.high
    assert "more than 200" in str(fleiss_interval(matrix).reason)
    assert "more than 200" in str(cohen_intervals(matrix).mean.reason)


@pytest.mark.parametrize("matrix", [np.empty((0, 2)), [[1.0, math.nan], [math.nan, 2.0]], [[3.0, 3.0], [3.0, 3.0]]])
def test_where_there_is_no_agreement_to_speak_of_the_reason_is_given(matrix) -> None:
    for found in (alpha_interval(matrix), fleiss_interval(matrix), cohen_intervals(matrix).mean):
        assert math.isnan(found.value)
        assert math.isnan(found.low)
        assert found.reason


def test_units_of_one_dialogue_are_drawn_together() -> None:
    """Each unit four times in one dialogue: nothing more is known, so the intervals stay as wide."""
    random = np.random.default_rng(0)
    truth = random.integers(1, 6, 40)
    matrix = np.clip(truth[:, None] + random.integers(-1, 2, (40, 3)), 1, 5).astype(float)
    copies, dialogues = np.repeat(matrix, 4, axis=0), np.repeat(np.arange(40), 4)
    pairs = [
        (alpha_interval(matrix), alpha_interval(copies, "ordinal", dialogues), alpha_interval(copies)),
        (fleiss_interval(matrix), fleiss_interval(copies, dialogues), fleiss_interval(copies)),
        tuple(
            found.mean
            for found in (cohen_intervals(matrix), cohen_intervals(copies, "none", dialogues), cohen_intervals(copies))
        ),
    ]
    for alone, together, apart in pairs:
        assert together.n_clusters == alone.n_clusters == 40
        assert together.high - together.low == pytest.approx(alone.high - alone.low, rel=0.1)
        assert apart.high - apart.low < 0.6 * (alone.high - alone.low)


def test_agreement_knows_the_dialogues_of_what_was_rated() -> None:
    def said(dialogues: list[str | None]) -> AspectJudgements:
        records: list[Record] = []
        for i, dialogue in enumerate(dialogues):
            records += [Item(f"i{i}", (Turn("Hi."),), dialogue=dialogue), Response(f"i{i}/s", f"i{i}", "s", "Hello.")]
            records += [Rating(rater, "apt", float(i % 3), f"i{i}/s") for rater in ("ann", "bob")]
        return sort_judgements(records).aspects["apt"]

    assert said(["d", "d", None, "e"]).dialogues == ("dialogue d", "dialogue d", "item i2", "dialogue e")
    assert said(["d", "e", None]).dialogues is None  # as before: every unit by itself
    found = examine_agreement(said(["d", "d", None, "e", "f"]), resamples=100)
    assert found.alpha.n_clusters == 4
