"""ROUGE-L (Lin 2004): the longest common subsequence of a reply and a reference, over any number of references."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rejoinder.errors import SpecError
from rejoinder.metric import NAN, Metric
from rejoinder.spec import check_choice, check_tokenizer
from rejoinder.text.tokens import TokenizerName, Tokens, get_tokenizer, tokenizer_details
from rejoinder.types import Pair, Reference

Aggregate: TypeAlias = Literal["coco", "best"]


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
        from rapidfuzz.distance.LCSseq import similarity

        tokens_of = get_tokenizer(self.tokenizer, self.lowercase)
        scores = []
        seen: tuple[Reference, ...] = ()
        references: list[Tokens] = []
        for pair in pairs:
            if pair.item.references is not seen:  # the responses to one item are usually adjacent
                seen = pair.item.references
                references = [tokens for r in seen if (tokens := tokens_of(r.text))]
            reply = tokens_of(pair.response.text)
            if reply and references:
                common = [similarity(reply, tokens) for tokens in references]
                scores.append(self._f(common, len(reply), [len(tokens) for tokens in references]))
            else:
                scores.append(NAN)
        return scores

    def details(self) -> dict[str, str]:
        """Return the version of the tokeniser's package."""
        return tokenizer_details(self.tokenizer)

    def _f(self, common: list[int], length: int, lengths: list[int]) -> float:
        """Return the F-measure, from the tokens that the reply has in common with each reference."""
        recalls = [c / n for c, n in zip(common, lengths, strict=True)]
        if self.aggregate == "coco":
            return _f_measure(max(common) / length, max(recalls), self.beta or 1.2)
        return max(
            [_f_measure(c / length, recall, self.beta or 1.0) for c, recall in zip(common, recalls, strict=True)]
        )


def _f_measure(precision: float, recall: float, beta: float) -> float:
    if not precision:
        return 0.0
    return (1 + beta**2) * precision * recall / (recall + beta**2 * precision)
