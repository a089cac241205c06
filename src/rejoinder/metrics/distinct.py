"""Distinct-n (Li et al. 2016): the share of n-grams that are distinct."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rejoinder.metric import NAN, Rows, SetMetric, Statistic
from rejoinder.metrics._ngram import ngrams
from rejoinder.spec import check_between, check_choice, check_tokenizer
from rejoinder.text.tokens import TokenizerName, get_tokenizer, tokenizer_details
from rejoinder.types import Pair

Over: TypeAlias = Literal["response", "system"]


@dataclass(frozen=True)
class Distinct(SetMetric):
    """The number of distinct n-grams divided by the number of n-grams: diversity, not quality.

    With ``over='response'`` the n-grams are those of the response. With ``over='system'`` they are those of all
    responses of the system, as in Li et al. (2016), and each response gets its share: with N responses and T n-grams in
    the system, the sum over its n-grams of 1 / (how often the system has this n-gram), times N / T. The mean of a
    system's scores is then exactly its number of distinct n-grams divided by T. A response with fewer than n tokens has
    no n-grams: its score is NaN, and it does not count in N.
    """

    n: int = 2
    over: Over = "response"
    tokenizer: TokenizerName = "13a"
    lowercase: bool = True

    higher_is_better = None
    languages = "spaces"
    citation = "Li et al. 2016, A Diversity-Promoting Objective Function for Neural Conversation Models"
    default_for = ("no references", 2)

    def __post_init__(self) -> None:
        check_between("distinct", "n", self.n, 1, 9)
        check_choice("distinct", "over", self.over, Over)
        check_tokenizer("distinct", self.tokenizer, self.lowercase)
        if self.over == "system":  # the share of a response much longer than the others can exceed 1
            object.__setattr__(self, "range", (0.0, math.inf))

    def statistic(self, pairs: Sequence[Pair]) -> list[Statistic]:
        """Return the score itself over a response; over a system, the n-grams, each as one string."""
        tokens_of = get_tokenizer(self.tokenizer, self.lowercase)
        grams = [[*map(" ".join, ngrams(tokens_of(pair.response.text), self.n))] for pair in pairs]
        if self.over == "system":
            return [response_grams or None for response_grams in grams]
        return [len(set(response_grams)) / len(response_grams) if response_grams else None for response_grams in grams]

    def settle(self, rows: Rows) -> list[float]:
        """Return each response's own ratio, or its share of the system's."""
        if self.over == "response":
            return [NAN if row.statistic is None else row.statistic for row in rows]
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        responses: Counter[str] = Counter()
        for row in rows:
            if row.statistic is not None:
                counts[row.system].update(row.statistic)
                responses[row.system] += 1
        weights = {system: responses[system] / system_counts.total() for system, system_counts in counts.items()}
        return [
            NAN
            if row.statistic is None
            else weights[row.system] * sum(1 / counts[row.system][gram] for gram in row.statistic)
            for row in rows
        ]

    def details(self) -> dict[str, str]:
        """Return the version of the tokeniser's package."""
        return tokenizer_details(self.tokenizer)
