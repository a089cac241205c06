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
from rejoinder.stats.resampling import Design, Draw
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
    design = Design.of(len(z), systems, items, dialogues).only(rows)
    nothing = Significance(NAN, NAN, len(rows), len(z) - len(rows))
    if len(rows) < 3:
        return nothing._replace(reason="fewer than 3 rows")
    x, y, z = x[rows], y[rows], z[rows]
    constant = [name for name, v in (("first", x), ("second", y), ("ratings", z)) if is_constant(v)]
    if constant:
        return nothing._replace(reason=f"constant: {', '.join(constant)}")
    as_given = correlation_at_level(at, method, [x, y], z, design)(design.as_it_is())[0]
    statistic = float(as_given[0] - as_given[1])
    if np.isnan(statistic):
        return nothing._replace(reason="no correlation at this level")
    # Which of a row's two scores is used is a count of 0 or 1 over the rows of both metrics, one after the other.
    scores = np.concatenate([_standardise(x), _standardise(y)])
    twice = Design(*(np.tile(codes, 2) for codes in (design.systems, design.items, design.dialogues)))
    correlate = correlation_at_level(at, method, [scores], np.tile(z, 2), twice)
    observed = float(_swapped_difference(correlate, np.zeros((1, len(z)), dtype=bool), twice)[0])
    as_large = 0
    random = make_generator(seed)
    at_once = max(1, _CELLS // len(z))
    for start in range(0, n_permutations, at_once):
        swapped = _draw_swaps(design, swap, min(at_once, n_permutations - start), random)
        differences = np.abs(_swapped_difference(correlate, swapped, twice))
        as_large += int((~(differences < abs(observed) - 1e-12)).sum())  # an undefined difference speaks for chance
    return nothing._replace(statistic=statistic, p=(1 + as_large) / (1 + n_permutations))


def _draw_swaps(design: Design, swap: Swap, size: int, random: np.random.Generator) -> Bools:
    """The rows whose two scores are swapped: (permutations, rows)."""
    units, n_units = (design.items, design.n_items) if swap == "items" else (design.dialogues, design.n_dialogues)
    drawn = random.random((size, n_units + design.n_systems)) < 0.5
    of_units = drawn[:, :n_units].take(units, axis=1)
    of_systems = drawn[:, n_units:].take(design.systems, axis=1)
    return {"systems": of_systems, "both": of_units ^ of_systems}.get(swap, of_units)


def _swapped_difference(correlate: LevelCorrelation, swapped: Bools, twice: Design) -> Floats:
    """The first correlation minus the second, after swapping."""
    whole = twice.as_it_is()
    values = []
    for chosen in (np.concatenate([~swapped, swapped], axis=1), np.concatenate([swapped, ~swapped], axis=1)):
        draw = Draw(
            chosen.astype(np.int64),
            np.repeat(whole.systems, len(swapped), axis=0),
            np.repeat(whole.items, len(swapped), axis=0),
        )
        values.append(correlate(draw)[:, 0])
    return values[0] - values[1]


def _standardise(values: Floats) -> Floats:
    scaled = values / np.abs(values).max()
    deviations = scaled - scaled.mean()
    standardised: Floats = deviations / deviations.std()
    return standardised
