"""BLEU from its counts (Papineni et al. 2002), with the smoothing methods used in dialogue research.

``matches`` are the clipped matches of order 1, 2, ...; ``length`` is the number of tokens in the reply and ``closest``
the number in the reference nearest to it in length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

Smoothing: TypeAlias = Literal["epsilon", "method7", "exp", "none"]

_TINY, _SMALL = 1e-15, 1e-9


def orders_needed(n: int, smoothing: Smoothing) -> int:
    """Return the order up to which matches must be counted: method7 uses 5-grams whatever n is."""
    return 5 if smoothing == "method7" else n


def bleu(matches: Sequence[float], length: int, closest: int, n: int, smoothing: Smoothing) -> float:
    """Sentence BLEU over n-grams of order 1 to n."""
    return _SMOOTHINGS[smoothing](matches, length, closest, n)


def _epsilon_bleu(matches: Sequence[float], length: int, closest: int, n: int) -> float:
    """The smoothing of the COCO caption scorer (Chen et al. 2015), used by SCARCE: every precision stays above 0."""
    product = 1.0
    for k in range(n):
        product *= (matches[k] + _TINY) / (max(0, length - k) + _SMALL)
    score: float = product ** (1.0 / n)
    ratio = (length + _TINY) / (closest + _SMALL)
    return score * math.exp(1 - 1 / ratio) if ratio < 1 else score


def _method7_bleu(matches: Sequence[float], length: int, closest: int, n: int) -> float:
    """Smoothing 7 of Chen and Cherry (2014) as implemented in NLTK, used by SSREM.

    First each precision without a match becomes ln(length) / (5 * 2^i * guesses), with i = 1, 2, ... (method 4;
    ln(1) is 0). Then each is averaged with its neighbours: the previous one after averaging (for the first order, the
    first precision plus 1), and the next one (method 5), which for the last order is always the plain 5-gram precision,
    whatever n is. So a reply that equals a reference scores above 1; one that shares no word with it scores 0.
    """
    if not matches[0]:
        return 0.0
    precisions, misses = [], 0
    for k in range(n):
        guesses = max(1, length - k)
        if matches[k]:
            precisions.append(matches[k] / guesses)
        else:
            misses += 1
            precisions.append(math.log(length) / (5 * 2**misses * guesses))
    after = [*precisions[1:], matches[4] / max(1, length - 4)]
    before, logs = precisions[0] + 1, 0.0
    for here, following in zip(precisions, after, strict=True):
        before = (before + here + following) / 3
        logs += math.log(before)
    return _brevity_penalty(length, closest) * math.exp(logs / n)


def _exp_bleu(matches: Sequence[float], length: int, closest: int, n: int) -> float:
    """Smoothing 3 of Chen and Cherry (2014), sacrebleu's default, over the orders that fit into the reply."""
    if not matches[0]:
        return 0.0
    orders, halvings, logs = min(n, length), 1.0, 0.0
    for k in range(orders):
        if not matches[k]:
            halvings *= 2
        logs += math.log((matches[k] or 1 / halvings) / (length - k))
    return min(1.0, _brevity_penalty(length, closest) * math.exp(logs / orders))


def _unsmoothed_bleu(matches: Sequence[float], length: int, closest: int, n: int) -> float:
    """The plain formula: 0 if any order has no match, as in every reply of fewer than n tokens."""
    if not all(matches[:n]):
        return 0.0
    logs = sum(math.log(matches[k] / (length - k)) for k in range(n))
    return min(1.0, _brevity_penalty(length, closest) * math.exp(logs / n))


def _brevity_penalty(length: int, closest: int) -> float:
    return 1.0 if length >= closest else math.exp(1 - closest / length)


_SMOOTHINGS: dict[Smoothing, Callable[[Sequence[float], int, int, int], float]] = {
    "epsilon": _epsilon_bleu,
    "method7": _method7_bleu,
    "exp": _exp_bleu,
    "none": _unsmoothed_bleu,
}
