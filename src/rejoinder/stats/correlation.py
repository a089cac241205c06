"""Pearson, Spearman and Kendall (tau-b) correlations with two-sided p-values, as in scipy.stats.

Pairs in which either value is missing are left out and counted. With fewer than three pairs, or when one side is
constant, there is no correlation: the value and p are NaN and ``reason`` says why.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.stats.arrays import NAN, Floats, Ints, Numbers, as_paired_floats, check_one_of, is_constant


class TiedValues(NamedTuple):
    """An array in terms of its sorted distinct values: the code of each entry, and how often each value occurs."""

    codes: Ints
    counts: Ints


def ties(values: Floats) -> TiedValues:
    """The groups of equal values, from the smallest to the largest; there must be no NaN."""
    order = np.argsort(values)
    ordered = values[order]
    new = np.ones(len(values), dtype=bool)
    new[1:] = ordered[1:] != ordered[:-1]
    codes = np.empty(len(values), dtype=np.int64)
    codes[order] = np.cumsum(new) - 1
    return TiedValues(codes, np.diff(np.append(np.flatnonzero(new), len(values))))


def midranks(values: Floats) -> Floats:
    """Ranks from 1 to n; equal values get the mean of their ranks. There must be no NaN."""
    codes, counts = ties(values)
    ranks: Floats = (np.cumsum(counts) - (counts - 1) / 2)[codes]
    return ranks


Method: TypeAlias = Literal["pearson", "spearman", "kendall"]
_EXACT_UP_TO = 33  # scipy's limit for the exact p of Kendall's tau


class Correlation(NamedTuple):
    """A correlation coefficient and the two-sided p-value of no correlation."""

    value: float
    p: float
    n: int
    n_missing: int
    reason: str | None = None


def correlate(first: Numbers, second: Numbers, method: Method = "spearman") -> Correlation:
    """The correlation of two arrays by the given method."""
    check_one_of(method, Method, "correlation")
    return {"pearson": pearson, "spearman": spearman, "kendall": kendall}[method](first, second)


def pearson(first: Numbers, second: Numbers) -> Correlation:
    """Pearson's r; p from the exact distribution of r under normality."""
    from scipy.special import betainc

    x, y, empty = _complete_pairs(first, second)
    if empty.reason:
        return empty
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        return empty._replace(reason="infinite values")
    r = _product_moment(x, y)
    if math.isnan(r):
        return empty._replace(reason="nearly constant: the values differ by rounding only")
    half = len(x) / 2 - 1
    return empty._replace(value=r, p=float(2 * betainc(half, half, (1 - abs(r)) / 2)))


def spearman(first: Numbers, second: Numbers) -> Correlation:
    """Spearman's rho, Pearson's r of the mid-ranks; p from Student's t with n - 2 degrees of freedom."""
    from scipy.special import stdtr

    x, y, empty = _complete_pairs(first, second)
    if empty.reason:
        return empty
    # Twice the rank minus n + 1 is a whole number around 0: the sums are exact, and so is a rho of 1.
    u, v = (2 * midranks(values) - (len(x) + 1) for values in (x, y))
    rho = float(u @ v) / math.sqrt(float(u @ u) * float(v @ v))
    freedom = len(x) - 2
    t = math.inf if abs(rho) == 1 else abs(rho) * math.sqrt(freedom / ((1 + rho) * (1 - rho)))
    return empty._replace(value=rho, p=float(2 * stdtr(freedom, -t)))


def kendall(first: Numbers, second: Numbers) -> Correlation:
    """Kendall's tau-b (Kendall 1945), without comparing all pairs.

    p is exact when there are no ties and n is at most 33 (or at most one pair is out of order), else normal with the
    variance corrected for ties.
    """
    x, y, empty = _complete_pairs(first, second)
    if empty.reason:
        return empty
    n = len(x)
    ties_x, ties_y = ties(x), ties(y)
    total = n * (n - 1) // 2
    tied_x, tied_y = (_pairs_within(counts) for counts in (ties_x.counts, ties_y.counts))
    by_first = np.empty(n, dtype=np.int64)  # the codes of the second in the order of the first
    if tied_x == 0:
        by_first[ties_x.codes] = ties_y.codes
        tied_both = 0
    else:
        keys = np.sort(ties_x.codes * n + ties_y.codes)
        by_first = keys % n
        tied_both = _pairs_within(np.diff(np.append(np.flatnonzero(np.diff(keys, prepend=-1)), n)))
    discordant = count_inversions(by_first)
    surplus = total - tied_x - tied_y + tied_both - 2 * discordant  # concordant minus discordant pairs
    tau = surplus / math.sqrt(total - tied_x) / math.sqrt(total - tied_y)
    few = min(discordant, total - discordant)
    if tied_x == 0 == tied_y and (n <= _EXACT_UP_TO or few <= 1):
        p = _exact_p(n, few)
    else:
        p = _normal_p(n, surplus, ties_x.counts, ties_y.counts)
    return empty._replace(value=max(-1.0, min(1.0, tau)), p=p)


def count_inversions(codes: Ints) -> int:
    """The number of pairs in decreasing order.

    Equal codes are told apart by their place, which inverts none. Then places and codes are cut into blocks of one
    size. A pair in two blocks of places and two of codes is counted by the table of how many codes of each block are in
    each block of places; a pair in one block of either kind is compared. With blocks of about the cube root of n, both
    take O(n^(4/3)) steps, all of them in numpy.
    """
    n = len(codes)
    if n < 2:
        return 0
    if codes.max(initial=-1) + 1 != n or not np.bincount(codes, minlength=n).all():
        order = np.argsort(codes, kind="stable")
        codes = np.empty(n, dtype=np.int64)
        codes[order] = np.arange(n)
    bits = round(math.log2(5 * n ** (1 / 3)))
    blocks = -(-n >> bits)  # rounded up
    indices = np.arange(blocks << bits)
    padded = indices.copy()  # the last block is filled up by codes that are in order
    padded[:n] = codes
    places = np.empty_like(padded)
    places[padded] = indices
    table = np.bincount((indices >> bits) * blocks + (padded >> bits), minlength=blocks * blocks)
    counts = table.reshape(blocks, blocks).astype(np.float64)
    before = np.cumsum(counts, axis=0) - counts
    larger_before = np.cumsum(before[:, ::-1], axis=1)[:, ::-1] - before
    across = int(np.vdot(larger_before, counts))  # sums of whole numbers below 2^53: exact
    return across + _inversions_within(padded, 1 << bits) + _inversions_within(places >> bits, 1 << bits)


def _inversions_within(values: Ints, size: int) -> int:
    """The number of pairs in decreasing order within blocks of one size."""
    small = values.astype(np.int16 if values.max(initial=0) < 2**15 else np.int32)
    columns = small.reshape(-1, size).T.ravel()  # the first of every block, the second of every block, ...
    step = len(values) // size
    larger = np.empty(len(values), dtype=bool)
    count = 0
    for distance in range(step, len(values), step):
        part = np.greater(columns[:-distance], columns[distance:], out=larger[:-distance])
        count += int(np.count_nonzero(part))
    return count


def _complete_pairs(first: Numbers, second: Numbers) -> tuple[Floats, Floats, Correlation]:
    """The complete pairs, and a correlation of NaN, with a reason where they allow no other."""
    x, y = as_paired_floats(first=first, second=second)
    known = ~(np.isnan(x) | np.isnan(y))
    x, y = x[known], y[known]
    reason = None
    if len(x) < 3:
        reason = "fewer than 3 pairs"
    elif is_constant(x):
        reason = "the first variable is constant"
    elif is_constant(y):
        reason = "the second variable is constant"
    return x, y, Correlation(NAN, NAN, len(x), len(known) - len(x), reason)


def _product_moment(x: Floats, y: Floats) -> float:
    """Pearson's r of finite values that are not constant; NaN when they differ only by rounding."""
    deviations = []
    for values in (x, y):
        scaled = np.ldexp(values, -math.frexp(np.abs(values).max())[1])  # exact, and no square overflows
        mean = scaled.mean()
        deviation = scaled - mean
        largest = np.abs(deviation).max()
        norm = float(largest * np.linalg.norm(deviation / largest)) if largest else 0.0
        if norm <= 1e-13 * abs(mean):
            return NAN
        deviations.append(deviation / norm)
    return max(-1.0, min(1.0, float(deviations[0] @ deviations[1])))


def _pairs_within(counts: Ints) -> int:
    return int((counts * (counts - 1) // 2).sum())


def _exact_p(n: int, few: int) -> float:
    """Twice the chance that a random permutation of n has at most ``few`` inversions."""
    if few == 0 or (few == 1 and n > _EXACT_UP_TO):
        return min(1.0, 2 * (n if few else 1) * math.exp(-math.lgamma(n + 1)))
    if 4 * few == n * (n - 1):
        return 1.0
    chance = np.ones(1)
    for size in range(2, n + 1):
        chance = np.convolve(chance, np.full(size, 1 / size))
    return min(1.0, 2 * float(chance[: few + 1].sum()))


def _normal_p(n: int, surplus: int, x: Ints, y: Ints) -> float:
    """The tie-corrected normal approximation (Kendall 1970, chapter 4)."""
    m = float(n) * (n - 1)
    fx, fy = (counts[counts > 1].astype(np.float64) for counts in (x, y))
    pairs = [float((f * (f - 1)).sum()) for f in (fx, fy)]
    triples = [float((f * (f - 1) * (f - 2)).sum()) for f in (fx, fy)]
    fives = [float((f * (f - 1) * (2 * f + 5)).sum()) for f in (fx, fy)]
    variance = (m * (2 * n + 5) - sum(fives)) / 18 + pairs[0] * pairs[1] / (2 * m)
    variance += triples[0] * triples[1] / (9 * m * (n - 2))
    return math.erfc(abs(surplus) / math.sqrt(2 * variance))
