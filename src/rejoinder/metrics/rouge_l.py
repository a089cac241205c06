"""ROUGE-L (Lin 2004): the longest common subsequence of a reply and a reference, over any number of references."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from rejoinder.errors import SpecError
from rejoinder.metric import NAN, Metric
from rejoinder.metrics._token_pairs import Numbers, TokenPairs, token_pairs
from rejoinder.spec import check_choice, check_tokenizer
from rejoinder.stats.arrays import Floats
from rejoinder.text.tokens import TokenizerName, tokenizer_details
from rejoinder.types import Pair

Aggregate: TypeAlias = Literal["coco", "best"]
_CHARACTERS = sys.maxunicode  # numbers from here on have no character


@dataclass(frozen=True)
class RougeL(Metric):
    """How much of the reply and of a reference is common to both in the same order, as an F-measure.

    Over several references, ``coco`` takes the best precision and the best recall, each from whichever reference has it
    (the COCO caption scorer, used by SCARCE), and ``best`` the best F (the rouge-score package, whose scores are
    ``rouge_l(tokenizer='rouge', aggregate='best')``). ``beta`` says how much more recall counts than precision; by
    default it is 1.2 for ``coco`` and 1 for ``best``, as in those two. NaN without references.
    """

    tokenizer: TokenizerName = "13a"
    lowercase: bool = True
    aggregate: Aggregate = "coco"
    beta: float | None = None

    needs = frozenset({"references"})
    languages = "spaces"
    citation = "Lin 2004, ROUGE: A Package for Automatic Evaluation of Summaries"
    default_for = ("references", 2)

    def __post_init__(self) -> None:
        check_choice("rouge_l", "aggregate", self.aggregate, Aggregate)
        check_tokenizer("rouge_l", self.tokenizer, self.lowercase)
        if self.beta is not None and not 0 < self.beta < math.inf:
            raise SpecError(f"rouge_l: beta must be above 0, not {self.beta!r}")

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the ROUGE-L of each response against its item's references."""
        scores = np.full(len(pairs), NAN)
        for block in token_pairs(pairs, self.tokenizer, self.lowercase):
            scores[block.indices] = self._f(block, _common_lengths(block))
        found: list[float] = scores.tolist()
        return found

    def details(self) -> dict[str, str]:
        """Return the version of the tokeniser's package."""
        return tokenizer_details(self.tokenizer)

    def _f(self, pairs: TokenPairs, common: Numbers) -> Floats:
        """Return the F-measure of each pair, from the tokens that its reply has in common with each of its texts."""
        precisions = common / np.repeat(pairs.lengths[pairs.replies], pairs.n_texts)
        recalls = common / pairs.lengths
        if self.aggregate == "best":
            best: Floats = np.maximum.reduceat(_f_measure(precisions, recalls, self.beta or 1.0), pairs.replies)
            return best
        precisions, recalls = (np.maximum.reduceat(values, pairs.replies) for values in (precisions, recalls))
        return _f_measure(precisions, recalls, self.beta or 1.2)


def _common_lengths(pairs: TokenPairs) -> Numbers:
    """Return the length of the longest common subsequence of each text and its pair's reply; 0 for the reply itself."""
    from rapidfuzz.distance.LCSseq import similarity
    from rapidfuzz.process import cpdist

    ends = np.cumsum(pairs.lengths).tolist()
    row = _as_characters(pairs.numbers)
    texts = [row[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]
    replies = np.repeat(pairs.replies, pairs.n_texts).tolist()
    common: Numbers = cpdist([texts[i] for i in replies], texts, scorer=similarity, dtype=np.int64)
    common[pairs.replies] = 0
    return common


def _as_characters(numbers: Numbers) -> str | list[int]:
    """Return numbers from 0 as characters with these code points, plus 1: strings are compared the fastest."""
    if numbers.max(initial=0) >= _CHARACTERS:
        return list(map(int, numbers))
    return str((numbers + 1).astype(np.uint32).view(f"U{len(numbers)}")[0]) if len(numbers) else ""


def _f_measure(precision: Floats, recall: Floats, beta: float) -> Floats:
    denominator = recall + beta**2 * precision
    measure: Floats = np.zeros(len(precision))
    np.divide((1 + beta**2) * precision * recall, denominator, out=measure, where=precision > 0)
    return measure
