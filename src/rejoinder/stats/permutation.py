"""Does one metric correlate better with the ratings than another? A permutation test (Deutsch et al. 2021).

Both metrics' scores are standardised; under the hypothesis that the metrics are exchangeable, their scores may be
swapped for any item, any dialogue (all its items at once), any system, or dialogues and systems both (a row is swapped
when its dialogue or its system is, but not when both are). Swapping items or both breaks up what replies of one
dialogue have in common, and finds differences that are not there. The statistic is the difference of the two
correlations at the given level, and p the share of seeded swaps, the data included, whose absolute difference is at
least as large. Only rows with both scores and a rating count.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from rejoinder.stats.arrays import (
    NAN,
    Bools,
    Floats,
    Labels,
    Numbers,
    as_finite,
    check_at_least,
    check_one_of,
    check_same_length,
    is_constant,
    make_generator,
)
from rejoinder.stats.correlation import Method
from rejoinder.stats.levels import Level, LevelCorrelation, correlation_at_level
from rejoinder.stats.resampling import ResampleDraw, ResamplingDesign
from rejoinder.stats.significance import Significance

Swap: TypeAlias = Literal["items", "dialogues", "systems", "both"]
_CELLS = 2**14


def permutation_test(
    first: Numbers,
    second: Numbers,
    ratings: Numbers,
    *,
    systems: Labels | None = None,
    items: Labels | None = None,
    dialogues: Labels | None = None,
    at: Level = "pooled",
    swap: Swap = "items",
    method: Method = "spearman",
    n_permutations: int = 1000,
    seed: int = 0,
) -> Significance:
    """The first metric's correlation minus the second's, and how often swapping gives a difference as large."""
    x, y, z = as_finite(first, "first"), as_finite(second, "second"), as_finite(ratings, "ratings")
    check_same_length(first=x, second=y, ratings=z)
    check_at_least(n_permutations, 1, "n_permutations")
    check_one_of(swap, Swap, "swap")
    rows = np.flatnonzero(~np.isnan(x + y + z))
    design = ResamplingDesign.of(len(z), systems, items, dialogues).only(rows)
    empty = Significance(NAN, NAN, len(rows), len(z) - len(rows))
    if len(rows) < 3:
        return empty._replace(reason="fewer than 3 rows")
    x, y, z = x[rows], y[rows], z[rows]
    constant = [name for name, v in (("first", x), ("second", y), ("ratings", z)) if is_constant(v)]
    if constant:
        return empty._replace(reason=f"constant: {', '.join(constant)}")
    correlations = correlation_at_level(at, method, [x, y], z, design)(design.full_sample())[0]
    statistic = float(correlations[0] - correlations[1])
    if np.isnan(statistic):
        return empty._replace(reason="no correlation at this level")
    # Which of a row's two scores is used is a count of 0 or 1 over the rows of both metrics, one after the other.
    scores = np.concatenate([_standardise(x), _standardise(y)])
    doubled = ResamplingDesign(*(np.tile(codes, 2) for codes in (design.systems, design.items, design.dialogues)))
    correlate = correlation_at_level(at, method, [scores], np.tile(z, 2), doubled)
    observed = float(_swapped_difference(correlate, np.zeros((1, len(z)), dtype=bool), doubled)[0])
    n_as_large = 0
    random = make_generator(seed)
    batch_size = max(1, _CELLS // len(z))
    for start in range(0, n_permutations, batch_size):
        swaps = _draw_swaps(design, swap, min(batch_size, n_permutations - start), random)
        differences = np.abs(_swapped_difference(correlate, swaps, doubled))
        n_as_large += int((~(differences < abs(observed) - 1e-12)).sum())  # an undefined difference speaks for chance
    return empty._replace(statistic=statistic, p=(1 + n_as_large) / (1 + n_permutations))


def _draw_swaps(design: ResamplingDesign, swap: Swap, size: int, random: np.random.Generator) -> Bools:
    """The rows whose two scores are swapped: (permutations, rows)."""
    units, n_units = (design.items, design.n_items) if swap == "items" else (design.dialogues, design.n_dialogues)
    flips = random.random((size, n_units + design.n_systems)) < 0.5
    unit_swaps = flips[:, :n_units].take(units, axis=1)
    system_swaps = flips[:, n_units:].take(design.systems, axis=1)
    return {"systems": system_swaps, "both": unit_swaps ^ system_swaps}.get(swap, unit_swaps)


def _swapped_difference(correlate: LevelCorrelation, swaps: Bools, doubled: ResamplingDesign) -> Floats:
    """The first correlation minus the second, after swapping."""
    whole = doubled.full_sample()
    values = []
    for mask in (np.concatenate([~swaps, swaps], axis=1), np.concatenate([swaps, ~swaps], axis=1)):
        draw = ResampleDraw(
            mask.astype(np.int64),
            np.repeat(whole.systems, len(swaps), axis=0),
            np.repeat(whole.items, len(swaps), axis=0),
        )
        values.append(correlate(draw)[:, 0])
    return values[0] - values[1]


def _standardise(values: Floats) -> Floats:
    scaled = values / np.abs(values).max()
    deviations = scaled - scaled.mean()
    standardised: Floats = deviations / deviations.std()
    return standardised
