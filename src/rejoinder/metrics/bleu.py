"""BLEU (Papineni et al. 2002), sentence level, over any number of references."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.metric import NAN, Metric
from rejoinder.metrics._bleu import Smoothing, bleu, orders_needed
from rejoinder.metrics._ngram import closest_lengths, count_matches
from rejoinder.metrics._token_pairs import token_pairs
from rejoinder.spec import check_between, check_choice, check_tokenizer
from rejoinder.text.tokens import TokenizerName, tokenizer_details
from rejoinder.types import Pair

# Replies are short and match little, so the same counts come again and again.
_bleu_of_counts = functools.lru_cache(2**16)(bleu)


@dataclass(frozen=True)
class Bleu(Metric):
    """The share of the reply's n-grams of order 1 to n found in a reference (geometric mean), lower for short replies.

    Smoothing decides what an order without a match counts: ``epsilon`` almost nothing (the COCO caption scorer, used by
    SCARCE), ``method7`` an average with its neighbours (NLTK's, used by SSREM; up to 1.12 for n=4), ``exp`` half a
    match, then a quarter ... (sacrebleu's default, with effective order), ``none`` nothing. NaN without references.
    """

    n: int = 4
    smoothing: Smoothing = "exp"
    tokenizer: TokenizerName = "13a"
    lowercase: bool = True

    needs = frozenset({"references"})
    languages = "spaces"
    citation = "Papineni et al. 2002, BLEU: a Method for Automatic Evaluation of Machine Translation"
    default_for = ("references", 1)

    def __post_init__(self) -> None:
        check_between("bleu", "n", self.n, 1, 4)
        check_choice("bleu", "smoothing", self.smoothing, Smoothing)
        check_tokenizer("bleu", self.tokenizer, self.lowercase)
        if self.smoothing == "method7":
            best = bleu((5, 4, 3, 2, 1), length=5, closest=5, n=self.n, smoothing="method7")
            object.__setattr__(self, "range", (0.0, best))

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the BLEU of each response against its item's references."""
        n, smoothing = self.n, self.smoothing
        scores = np.full(len(pairs), NAN)
        for block in token_pairs(pairs, self.tokenizer, self.lowercase):
            matches = count_matches(block, orders_needed(n, smoothing)).tolist()
            counts = zip(matches, block.lengths[block.replies].tolist(), closest_lengths(block).tolist(), strict=True)
            scores[block.indices] = [_bleu_of_counts(tuple(m), *lengths, n, smoothing) for m, *lengths in counts]
        found: list[float] = scores.tolist()
        return found

    def details(self) -> dict[str, str]:
        """Return the version of the tokeniser's package."""
        return tokenizer_details(self.tokenizer)
