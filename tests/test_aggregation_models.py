"""Aggregation: against crowd-kit 1.4.2's numbers, hand-computed ones, and slow direct reckonings of the same model."""

from __future__ import annotations

import doctest
import importlib.util
import math

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from rejoinder.errors import InputError, MissingExtraError, SpecError
from rejoinder.stats.aggregation import (
    _REGISTRY,
    Votes,
    aggregate,
    dawid_skene,
    list_methods,
    minimax_entropy,
    minimax_entropy_ordinal,
)
from rejoinder.stats.aggregation._minimax import MinimaxStructure, _Dual
from rejoinder.stats.aggregation.minimax_entropy_ordinal import cut_features
from tests.simulated_raters import simulate

# Twenty units, six raters, a dot where a rater did not rate; the thirteenth unit has no ratings.
SAID = """22.220 0000.0 000000 111..0 220222 0.0000 000000 22011. ...001 2211.1
0..11. .00010 ...... .01.10 1111.1 222200 1.2212 ..2..0 222221 011122""".split()
MATRIX = np.array([[math.nan if said == "." else float(said) for said in unit] for unit in SAID])
RATED = [row for row in range(20) if row != 12]
OWN = ("mean", "mode", "majority", "dawid_skene", "minimax_entropy", "minimax_entropy_ordinal")
CLASSES = OWN[1:]

# crowd-kit 1.4.2 (numpy 2.4.6, pandas 3.1.1) on the rows (task, worker, label) of SAID, unit by unit:
# MajorityVote().fit_predict_proba, DawidSkene(n_iter=N, tol=-1e9), GLAD(), MACE(random_state=0); rounded to 8 decimals.
DAWID_SKENE = {
    1: [
        [0.00200341, 0.00483488, 0.99316172], [0.99948335, 0.00051665, 0.0], [0.9999134, 8.66e-05, 0.0],
        [0.0086153, 0.98214681, 0.00923789], [0.00031386, 0.00165125, 0.99803488], [0.99961022, 0.00038978, 0.0],
        [0.9999134, 8.66e-05, 0.0], [0.05145375, 0.31084696, 0.63769928], [0.91242709, 0.08757291, 0.0],
        [0.00171995, 0.73873408, 0.25954597], [0.20232656, 0.77724083, 0.02043262], [0.99625486, 0.00374514, 0.0],
        [0.57030312, 0.42969688, 0.0], [8.413e-05, 0.99863968, 0.00127619], [0.0132386, 0.00221797, 0.98454343],
        [0.00191414, 0.2091307, 0.78895516], [0.37163743, 0.09872531, 0.52963726], [6.876e-05, 0.00247115, 0.9974601],
        [0.00127897, 0.9858838, 0.01283723],
    ],
    5: [
        [0.0, 9e-08, 0.99999991], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0],
        [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.00432943, 0.99567057], [1.0, 0.0, 0.0],
        [0.0, 0.9984349, 0.0015651], [0.00188162, 0.9981182, 1.8e-07], [1.0, 0.0, 0.0],
        [0.85931045, 0.14068955, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1e-08, 0.99999999],
        [0.01411723, 0.0003891, 0.98549367], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0],
    ],
}  # fmt: skip
DAWID_SKENE_LABELS = "2 0 0 1 2 0 0 2 0 1 1 0 0 1 2 2 2 2 1"  # after 60 steps every probability is 0 or 1 to 8 decimals
MAJORITY = [
    [1, 0, 4], [1, 0, 0], [1, 0, 0], [1, 3, 0], [1, 0, 5], [1, 0, 0], [1, 0, 0], [1, 2, 2], [2, 1, 0], [0, 3, 2],
    [1, 2, 0], [4, 1, 0], [2, 2, 0], [0, 1, 0], [2, 0, 4], [0, 2, 3], [1, 0, 1], [0, 1, 5], [1, 3, 2],
]  # fmt: skip
GLAD = [
    [2.97e-06, 7.8e-07, 0.99999625], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.00037574, 0.99952227, 0.00010199],
    [0.00015826, 1.713e-05, 0.99982461], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.09574845, 0.5164627, 0.38778885],
    [0.98829694, 0.00891493, 0.00278812], [0.00585602, 0.84588873, 0.14825525], [0.04726468, 0.94380848, 0.00892685],
    [0.99993391, 5.562e-05, 1.047e-05], [0.5070965, 0.46605767, 0.02684583], [0.0, 1.0, 0.0],
    [0.00013847, 8.88e-06, 0.99985264], [0.00258488, 0.04568364, 0.95173149], [0.25733608, 0.09191168, 0.65075224],
    [1e-08, 4e-08, 0.99999995], [0.00429324, 0.98682498, 0.00888177],
]  # fmt: skip
MACE = [
    [8.267e-05, 3.332e-05, 0.99988402], [0.99999216, 3.92e-06, 3.92e-06], [0.99999831, 8.4e-07, 8.4e-07],
    [0.00583048, 0.99181972, 0.00234981], [0.00014838, 1.272e-05, 0.99983889], [0.9999838, 8.1e-06, 8.1e-06],
    [0.99999831, 8.4e-07, 8.4e-07], [0.01172695, 0.95099977, 0.03727329], [0.99614243, 0.00280081, 0.00105676],
    [0.00014703, 0.99440313, 0.00544984], [0.00475938, 0.99418938, 0.00105124], [0.99989941, 8.284e-05, 1.774e-05],
    [0.28490893, 0.70313675, 0.01195432], [4.41e-06, 0.99999117, 4.41e-06], [0.00019814, 1.718e-05, 0.99978469],
    [0.00024202, 0.004652, 0.99510598], [0.19791297, 0.07976317, 0.72232386], [3.68e-06, 9.75e-06, 0.99998657],
    [0.00021783, 0.99919396, 0.00058821],
]  # fmt: skip


def test_the_mode_and_its_shares_equal_the_majority_vote_of_crowd_kit() -> None:
    found = aggregate(MATRIX, "mode")
    counts = np.array(MAJORITY, dtype=float)
    assert found.probabilities is not None
    assert found.probabilities[RATED] == pytest.approx(counts / counts.sum(axis=1, keepdims=True), abs=1e-12)
    assert found.values[RATED].tolist() == counts.argmax(axis=1).tolist()
    assert math.isnan(found.values[12])


@pytest.mark.parametrize("steps", DAWID_SKENE)
def test_dawid_skene_equals_crowd_kit_step_by_step(steps: int) -> None:
    found = dawid_skene.aggregate(Votes.of(MATRIX), max_steps=steps, tolerance=0.0)
    assert found.probabilities is not None
    assert found.probabilities[RATED] == pytest.approx(np.array(DAWID_SKENE[steps]), abs=1e-8)


def test_dawid_skene_ends_where_crowd_kit_does() -> None:
    found = aggregate(MATRIX, "dawid_skene")
    assert found.converged
    assert found.values[RATED].tolist() == [float(label) for label in DAWID_SKENE_LABELS.split()]
    assert found.confidence[RATED] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("method", "golden"), [("glad", GLAD), ("mace", MACE)])
def test_glad_and_mace_are_those_of_crowd_kit(method: str, golden: list[list[float]]) -> None:
    pytest.importorskip("crowdkit", reason="crowd-kit is not installed (the extra 'crowd')")
    found = aggregate(MATRIX, method)
    assert found.probabilities is not None
    assert found.probabilities[RATED] == pytest.approx(np.array(golden), abs=1e-6)
    shuffled = aggregate(MATRIX[::-1], method)
    assert np.array_equal(shuffled.values[::-1], found.values, equal_nan=True)


@pytest.mark.skipif(importlib.util.find_spec("crowdkit") is not None, reason="crowd-kit is installed")
@pytest.mark.parametrize("method", ["glad", "mace"])
def test_without_crowd_kit_the_extra_is_named(method: str) -> None:
    with pytest.raises(
        MissingExtraError, match=r"needs crowd-kit; install it with: pip install \"rejoinder\[crowd\]\""
    ):
        aggregate(MATRIX, method)


def test_the_mean_by_hand() -> None:
    found = aggregate([[1, 2, 3], [4, None, None], [5, 5, None], [None, None, None]], "mean")
    assert found.values[:3].tolist() == [2, 4, 5]
    assert found.error.tolist()[:3:2] == pytest.approx([1 / math.sqrt(3), 0])
    # t of 2 degrees of freedom at .975 is 4.302653
    assert (found.low[0], found.high[0]) == pytest.approx((2 - 4.302653 / math.sqrt(3), 2 + 4.302653 / math.sqrt(3)))
    assert math.isnan(found.error[1])
    assert math.isnan(found.values[3])
    assert found.n.tolist() == [3, 1, 2, 0]


def test_a_majority_is_more_than_half_and_a_tie_is_none() -> None:
    matrix = [[1, 1, 2], [1, 2, None], [1, 2, 3], [3, 3, 3]]
    assert np.array_equal(aggregate(matrix, "majority").values, [1, math.nan, math.nan, 3], equal_nan=True)
    assert aggregate(matrix, "mode").values.tolist() == [1, 1, 1, 3]


def test_labels_carry_their_spread() -> None:
    found = aggregate([[1, 1, 1, 5]], "mode")
    assert found.expected[0] == pytest.approx(2)
    assert found.error[0] == pytest.approx(math.sqrt(3))  # (3 * 1 + 1 * 9) / 4
    assert found.confidence[0] == pytest.approx(0.75)
    assert (found.low[0], found.high[0]) == (1, 5)


@pytest.mark.parametrize("method", OWN)
def test_the_order_of_units_and_raters_changes_nothing(method: str) -> None:
    matrix = simulate("spammers", 3).matrix
    random = np.random.default_rng(0)
    units, raters = random.permutation(len(matrix)), random.permutation(matrix.shape[1])
    before, after = aggregate(matrix, method), aggregate(matrix[units][:, raters], method)
    assert np.array_equal(after.values, before.values[units], equal_nan=True)
    assert after.error == pytest.approx(before.error[units], abs=2e-3, nan_ok=True)


@pytest.mark.parametrize("method", CLASSES)
def test_probabilities_add_up_and_the_label_is_the_likeliest(method: str) -> None:
    matrix = simulate("few", 1).matrix
    found = aggregate(matrix, method)
    assert found.probabilities is not None
    assert found.probabilities.sum(axis=1) == pytest.approx(1)
    assert found.converged
    known = np.isfinite(found.values)
    assert found.confidence[known] == pytest.approx(found.probabilities.max(axis=1)[known], abs=1e-8)


@pytest.mark.parametrize("method", OWN)
def test_one_class_and_one_rater_are_no_trouble(method: str) -> None:
    assert aggregate([[2, 2], [2, None]], method).values.tolist() == [2, 2]
    assert aggregate([[1], [2], [3]], method).values.tolist() == [1, 2, 3]


def test_what_cannot_be_aggregated_is_said() -> None:
    with pytest.raises(InputError, match="there are no ratings to aggregate"):
        aggregate([[None, None]], "mean")
    with pytest.raises(InputError, match="mode needs classes, but the ratings take 40 different values"):
        aggregate([[float(i)] for i in range(40)], "mode")
    with pytest.raises(SpecError, match="did you mean 'dawid_skene'"):
        aggregate([[1, 2]], "dawid-skene")
    assert set(list_methods()) == {*OWN, "glad", "mace"}


def slow_value(votes: Votes, structure: MinimaxStructure, weights: np.ndarray, penalties: tuple[float, ...]) -> float:
    """The dual by its definition, vote by vote."""
    size = len(votes.categories)
    heights = 1, votes.n_raters, votes.n_units
    parts, start = [], 0
    for height, features in zip(heights, structure, strict=True):
        width = features.shape[1]
        parts.append(weights[start : start + height * width].reshape(height, width))
        start += height * width
    total = -sum(penalty / 2 * float((part**2).sum()) for penalty, part in zip(penalties, parts, strict=True))
    for unit in range(votes.n_units):
        by_class = []
        for true in range(size):
            likely = 1.0
            for vote in np.flatnonzero(votes.unit == unit):
                chosen = parts[0][0], parts[1][votes.rater[vote]], parts[2][unit]
                scores = []
                for label in range(size):
                    row = true * size + label
                    scores.append(sum(float(f[row] @ w) for f, w in zip(structure, chosen, strict=True)))
                likely *= math.exp(scores[votes.label[vote]]) / sum(map(math.exp, scores))
            by_class.append(likely)
        total += math.log(sum(by_class))
    return total


@pytest.mark.parametrize("ordered", [False, True])
def test_the_dual_of_minimax_entropy_is_as_written_and_so_is_its_slope(ordered: bool) -> None:
    votes = Votes.of([[0, 1, None], [2, 2, 1], [None, 0, 0], [1, 2, 1]])
    own = cut_features(3) if ordered else np.eye(9)
    structure = MinimaxStructure(np.eye(3).reshape(-1, 1), own, own)
    dual = _Dual(votes, structure, 0.25)
    assert dual.penalties[1:] == (0.25 * 9, 0.25 * 9 * 4 / 3)  # votes a rater 10 / 3, votes a unit 10 / 4
    weights = np.random.default_rng(1).normal(size=int(dual.ends[-1]))
    value, slope = dual.value(weights)
    assert -value == pytest.approx(slow_value(votes, structure, weights, dual.penalties), abs=1e-9)
    assert slope == pytest.approx(approx_fprime(weights, lambda w: dual.value(w)[0], 1e-6), abs=1e-4)
    # at the best probabilities of the classes the value is the one given those probabilities, plus their entropy
    best = dual.classes(weights)
    entropy = -float((best * np.log(best)).sum())
    assert dual.value(weights, best)[0] - entropy == pytest.approx(value, abs=1e-9)


def test_cuts_tell_classes_and_labels_below_from_above() -> None:
    found = cut_features(3)
    assert found.shape == (9, 8)
    assert (found.sum(axis=1) == 2).all()  # one of four cells for each of two cuts
    pairs = {(c, k): found[c * 3 + k].reshape(2, 2, 2) for c in range(3) for k in range(3)}
    assert pairs[0, 2][0].tolist() == [[0, 1], [0, 0]]  # class below the first cut, label above it
    assert pairs[1, 0][0].tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize("model", [minimax_entropy, minimax_entropy_ordinal])
def test_minimax_entropy_as_published_finds_clear_classes(model) -> None:
    random = np.random.default_rng(2)
    truth = random.integers(0, 3, 60)
    right = random.random((60, 12)) < np.linspace(0.5, 0.95, 12)
    matrix = np.where(right, truth[:, None], random.integers(0, 3, right.shape)).astype(float)
    found = model.aggregate(Votes.of(matrix), as_published=True)
    assert (found.values == truth).mean() >= 0.98


@pytest.mark.parametrize("name", sorted(_REGISTRY.names()))
def test_a_model_states_its_formula_and_shows_an_example(name: str) -> None:
    module = importlib.import_module(f"rejoinder.stats.aggregation.{name}")
    text = " ".join((module.__doc__ or "").split())
    assert "It assumes" in text
    assert f'"{name}")' in text
    assert not doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed
