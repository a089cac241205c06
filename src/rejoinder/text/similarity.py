"""When two texts say nearly the same, how much of their words they share, and which words carry the meaning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from rejoinder.text.normalise import normalise_text
from rejoinder.text.tokens import content_words
from rejoinder.types import Turn

NEAR_THRESHOLD = 85.0  # of 100: from here on, one text is the other with small changes
Grams = frozenset[tuple[str, ...]]


def is_near_any(words: str, others: Iterable[str]) -> bool:
    """Whether a text says nearly the same as one of some others, all of them without case and punctuation.

    That is where at most about one letter in seven differs (Levenshtein 1966, insertions and deletions only).
    """
    from rapidfuzz.fuzz import ratio

    return any(ratio(words, other, score_cutoff=NEAR_THRESHOLD) > 0 for other in others)


def extract_ngrams(text: str) -> Grams:
    """The words of a text and its pairs of neighbouring words."""
    words = normalise_text(text).split()
    return frozenset([*((word,) for word in words), *pairwise(words)])


def dice_similarity(first: Grams, second: Grams) -> float:
    """What two texts share, from 0 to 1 (Dice 1945)."""
    both = len(first) + len(second)
    return 2 * len(first & second) / both if both else 0.0


def shares_content(first: str, second: str) -> bool | None:
    """Whether two texts have a content word in common; None where the first has none at all."""
    words = content_words(first)
    return bool(words & content_words(second)) if words else None


def repeated(context: Sequence[Turn], text: str) -> int:
    """How many different content words of a text stand in the context already."""
    words = content_words(text)
    return len(words & frozenset().union(*(content_words(turn.text) for turn in context))) if words else 0
