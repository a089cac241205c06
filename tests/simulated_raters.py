"""Simulated raters with a known truth: spammers, biased raters, ordinal confusions.

Fixed before any model was run on it (the scenes without an order before the model for such classes was). Every scene
has 150 units, 20 raters and five ratings a unit (three in ``few``), its raters drawn at random. Ordered scenes have
five classes, and an honest rater adds normal noise to the true class and rounds. Scenes without an order have four, and
an honest rater knows the class in 65 of 100 cases and otherwise says any.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

UNITS, RATERS = 150, 20
ORDERED = ("honest", "spammers", "biased", "hard_units", "mixed", "few")
UNORDERED = ("unordered", "unordered_spammers", "unordered_biased", "unordered_mixed")
SCENES = (*ORDERED, *UNORDERED)
SHARES = {5: (0.1, 0.2, 0.3, 0.25, 0.15), 4: (0.4, 0.3, 0.2, 0.1)}


class Simulated(NamedTuple):
    """The ratings (units by raters, NaN where a rater did not rate) and the true class of each unit."""

    matrix: NDArray[np.float64]
    truth: NDArray[np.int64]


def simulate(scene: str, seed: int) -> Simulated:
    """One draw of a scene."""
    random = np.random.default_rng([seed, SCENES.index(scene)])
    levels = 4 if scene in UNORDERED else 5
    truth = random.choice(levels, UNITS, p=SHARES[levels])
    said = _unordered(scene, truth, random) if scene in UNORDERED else _ordered(scene, truth, random)
    if scene.endswith(("spammers", "mixed", "few")):  # six of twenty answer at random, two always the same
        said[:, 1::4] = random.integers(0, levels, (UNITS, RATERS // 4))
        said[:, 3] = random.integers(0, levels, UNITS)
        said[:, 7], said[:, 11] = 2, levels - 1
    said = np.clip(said, 0, levels - 1)
    asked = np.argsort(random.random((UNITS, RATERS)), axis=1) < (3 if scene == "few" else 5)
    return Simulated(np.where(asked, said, np.nan), truth)


def _ordered(scene: str, truth: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.float64]:
    noise = np.full((UNITS, RATERS), 0.6)
    if scene in ("hard_units", "mixed"):
        noise = np.repeat(random.uniform(0.3, 1.1, (UNITS, 1)), RATERS, axis=1)
    bias = np.zeros(RATERS)
    if scene in ("biased", "mixed"):  # every other rater is a class too strict or too lenient
        bias[::4], bias[2::4] = 1, -1
    return np.rint(truth[:, None] + bias + noise * random.normal(size=noise.shape))


def _unordered(scene: str, truth: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.float64]:
    right = random.random((UNITS, RATERS)) < 0.65
    said = np.where(right, truth[:, None], random.integers(0, 4, right.shape)).astype(float)
    if scene in ("unordered_biased", "unordered_mixed"):  # every other rater says their favourite when in doubt
        for rater in range(0, RATERS, 2):
            in_doubt = random.random(UNITS) < 0.5
            said[in_doubt, rater] = (rater // 2) % 4
    return said
