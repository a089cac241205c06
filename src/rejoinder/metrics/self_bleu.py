"""Self-BLEU (Zhu et al. 2018): how similar the texts of a set are to each other."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rejoinder.metric import NAN, Rows, SetMetric, Statistic
from rejoinder.metrics._bleu import Smoothing, bleu, orders_needed
from rejoinder.metrics._ngram import Ngram, ngrams
from rejoinder.spec import check_between, check_choice, check_tokenizer
from rejoinder.text.tokens import TokenizerName, Tokens, get_tokenizer, tokenizer_details
from rejoinder.types import Pair

Over: TypeAlias = Literal["responses", "references"]


@dataclass(frozen=True)
class SelfBleu(SetMetric):
    """The BLEU of a text with all others of its set as references: low means diverse, which alone is not good.

    Over ``responses`` the set is all responses of a system, and each response gets its own BLEU against the others: a
    system that always says the same scores near 1. Over ``references`` the set is the item's references, and the score
    is the mean of their BLEUs, whatever the response (SCARCE, Appendix A.3). NaN for a set of fewer than two.
    """

    n: int = 4
    over: Over = "responses"
    smoothing: Smoothing = "exp"
    tokenizer: TokenizerName = "13a"
    lowercase: bool = True

    higher_is_better = None
    languages = "spaces"
    citation = "Zhu et al. 2018, Texygen: A Benchmarking Platform for Text Generation Models"

    def __post_init__(self) -> None:
        check_between("self_bleu", "n", self.n, 1, 4)
        check_choice("self_bleu", "over", self.over, Over)
        check_choice("self_bleu", "smoothing", self.smoothing, Smoothing)
        check_tokenizer("self_bleu", self.tokenizer, self.lowercase)
        if self.over == "references":
            object.__setattr__(self, "needs", frozenset({"references"}))
        if self.smoothing == "method7":
            best = bleu((5, 4, 3, 2, 1), length=5, closest=5, n=self.n, smoothing="method7")
            object.__setattr__(self, "range", (0.0, best))

    def statistic(self, pairs: Sequence[Pair]) -> list[Statistic]:
        """Return the response's tokens in one string; over references, the score itself."""
        tokens_of = get_tokenizer(self.tokenizer, self.lowercase)
        if self.over == "responses":
            return [" ".join(tokens_of(pair.response.text)) or None for pair in pairs]
        statistics: list[Statistic] = []
        for pair in pairs:
            texts = [tokens for r in pair.item.references if (tokens := tokens_of(r.text))]
            scores = self._scores(texts) if len(texts) > 1 and pair.response.text.strip() else []
            statistics.append(math.fsum(scores) / len(scores) if scores else None)
        return statistics

    def settle(self, rows: Rows) -> list[float]:
        """Return each response's BLEU against the other responses of its system."""
        if self.over == "references":
            return [NAN if row.statistic is None else row.statistic for row in rows]
        indices: dict[str, list[int]] = {}
        texts: dict[str, list[Tokens]] = {}
        for i, row in enumerate(rows):
            if row.statistic is not None:
                indices.setdefault(row.system, []).append(i)
                texts.setdefault(row.system, []).append(tuple(row.statistic.split(" ")))
        scores = [NAN] * len(rows)
        for system, system_texts in texts.items():
            if len(system_texts) > 1:
                for i, score in zip(indices[system], self._scores(system_texts), strict=True):
                    scores[i] = score
        return scores

    def details(self) -> dict[str, str]:
        """Return the version of the tokeniser's package."""
        return tokenizer_details(self.tokenizer)

    def _scores(self, texts: Sequence[Tokens]) -> list[float]:
        """Return the BLEU of each of two or more texts against all others."""
        orders = [_count_matches_among(texts, k) for k in range(1, orders_needed(self.n, self.smoothing) + 1)]
        closest = _closest_lengths_among(texts)
        return [
            bleu(matches, len(tokens), closest[len(tokens)], self.n, self.smoothing)
            for tokens, matches in zip(texts, zip(*orders, strict=True), strict=True)
        ]


def _count_matches_among(texts: Sequence[Tokens], k: int) -> list[int]:
    """Return how many k-grams of each text occur in the others, as BLEU counts, in time linear in their number.

    A k-gram that occurs once in a text matches if a second text has it too. For one that occurs more often, the highest
    count in the other texts is needed: known for all texts from the two highest counts and the text with the highest.
    """
    text_counts: Counter[Ngram] = Counter()  # in how many texts a k-gram occurs
    highest: dict[Ngram, tuple[int, int, int]] = {}  # of repeated ones: highest count, whose it is, next highest
    repeated: list[dict[Ngram, int]] = []
    for i, tokens in enumerate(texts):
        counts = Counter(ngrams(tokens, k))
        text_counts.update(counts.keys())
        repeated.append({gram: count for gram, count in counts.items() if count > 1})
        for gram, count in repeated[-1].items():
            first, owner, second = highest.get(gram, (0, i, 0))
            highest[gram] = (count, i, first) if count > first else (first, owner, max(second, count))
    matches = []
    for i, tokens in enumerate(texts):
        total = sum([text_counts[gram] > 1 for gram in set(ngrams(tokens, k))])
        for gram, count in repeated[i].items():
            first, owner, second = highest[gram]
            highest_elsewhere = second if owner == i else first
            if highest_elsewhere > 1:
                total += min(count, highest_elsewhere) - 1
        matches.append(total)
    return matches


def _closest_lengths_among(texts: Sequence[Tokens]) -> dict[int, int]:
    """Return, for the length of each text, the nearest length of another; the shorter one of two equally near."""
    counts = Counter(map(len, texts))
    lengths = sorted(counts)
    closest = {}
    for length in lengths:
        if counts[length] > 1:
            closest[length] = length
        else:
            i = bisect_left(lengths, length)
            neighbours = lengths[max(0, i - 1) : i] + lengths[i + 1 : i + 2]
            closest[length] = min(neighbours, key=lambda other: (abs(other - length), other), default=length)
    return closest
