"""Whether two texts are nearly the same, how many words they share, and whether they share content words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from rejoinder.text.normalise import normalise_text
from rejoinder.text.tokens import content_words
from rejoinder.types import Turn

NEAR_THRESHOLD = 85.0  # out of 100: from here on, one text counts as the other with small changes
Grams = frozenset[tuple[str, ...]]


def is_near_any(words: str, others: Iterable[str]) -> bool:
    """Whether a text is nearly the same as any of the others; all of them are in normal form.

    At most about one letter in seven may differ (Levenshtein 1966, insertions and deletions only).
    """
    from rapidfuzz.fuzz import ratio

    return any(ratio(words, other, score_cutoff=NEAR_THRESHOLD) > 0 for other in others)


def extract_ngrams(text: str) -> Grams:
    """Return the words of a text and its pairs of adjacent words."""
    words = normalise_text(text).split()
    return frozenset([*((word,) for word in words), *pairwise(words)])


def dice_similarity(first: Grams, second: Grams) -> float:
    """Return the Dice coefficient of two sets of n-grams, from 0 to 1 (Dice 1945)."""
    total = len(first) + len(second)
    return 2 * len(first & second) / total if total else 0.0


def shares_content(first: str, second: str) -> bool | None:
    """Whether two texts share a content word; None if the first has no content words."""
    words = content_words(first)
    return bool(words & content_words(second)) if words else None


def count_repeated_words(context: Sequence[Turn], text: str) -> int:
    """Return how many distinct content words of a text already occur in the context."""
    words = content_words(text)
    return len(words & frozenset().union(*(content_words(turn.text) for turn in context))) if words else 0
