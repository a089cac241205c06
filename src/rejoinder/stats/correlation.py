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
    order = np.argsort(values, kind="stable")
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
    """Kendall's tau-b (Kendall 1945), counted in O(n log n).

    p is exact when there are no ties and n is at most 33 (or at most one pair is out of order), else normal with the
    variance corrected for ties.
    """
    x, y, empty = _complete_pairs(first, second)
    if empty.reason:
        return empty
    n = len(x)
    ties_x, ties_y = ties(x), ties(y)
    joint_counts = ties((ties_x.codes * n + ties_y.codes).astype(np.float64)).counts
    total = n * (n - 1) // 2
    tied_x, tied_y, tied_both = (_pairs_within(counts) for counts in (ties_x.counts, ties_y.counts, joint_counts))
    discordant = count_inversions(ties_y.codes[np.lexsort((ties_y.codes, ties_x.codes))])
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

    Bit by bit from the highest: two numbers that agree in all higher bits are inverted when the earlier has a one and
    the later a zero; the numbers are kept stably sorted by the higher bits.
    """
    count = 0
    ordered = codes
    for bit in reversed(range(int(codes.max(initial=0)).bit_length())):
        ones = (ordered >> bit) & 1
        before = np.cumsum(ones) - ones
        prefix = ordered >> (bit + 1)
        starts = np.flatnonzero(np.diff(prefix, prepend=-1))
        sizes = np.diff(np.append(starts, len(codes)))
        count += int(((before - np.repeat(before[starts], sizes)) * (1 - ones)).sum())
        ordered = ordered[np.argsort(ordered >> bit, kind="stable")]
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
    fx, fy = x.astype(np.float64), y.astype(np.float64)
    pairs = [float((f * (f - 1)).sum()) for f in (fx, fy)]
    triples = [float((f * (f - 1) * (f - 2)).sum()) for f in (fx, fy)]
    fives = [float((f * (f - 1) * (2 * f + 5)).sum()) for f in (fx, fy)]
    variance = (m * (2 * n + 5) - sum(fives)) / 18 + pairs[0] * pairs[1] / (2 * m)
    variance += triples[0] * triples[1] / (9 * m * (n - 2))
    return math.erfc(abs(surplus) / math.sqrt(2 * variance))
