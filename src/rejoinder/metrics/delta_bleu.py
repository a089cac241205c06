"""Delta-BLEU (Galley et al. 2015): BLEU over references with different weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from rejoinder.errors import InputError, SpecError
from rejoinder.metric import NAN, Metric
from rejoinder.metrics._bleu import bleu
from rejoinder.metrics._ngram import Ngram, ngrams
from rejoinder.metrics._references import matches_source
from rejoinder.spec import check_between, check_choice, check_tokenizer
from rejoinder.text.tokens import TokenizerName, Tokens, get_tokenizer, tokenizer_details
from rejoinder.types import Pair, Reference

Weight: TypeAlias = Literal["source", "score", "probability"]
Smoothing: TypeAlias = Literal["exp", "epsilon", "none"]
_SOURCES = ("human", "retrieval", "commonsense", "paraphrase")


@dataclass(frozen=True)
class DeltaBleu(Metric):
    """BLEU in which an n-gram match counts as much as the weight of the best reference that contains it.

    Weights depend on the source: ``human`` (including edits by people), ``retrieval``, ``commonsense``, ``paraphrase``,
    and ``other`` for all other sources and for weights that are None. ``weight='score'`` multiplies them by the
    reference's score, scaled linearly from 0 (the lowest of its source in the item) to 1 (the highest, or a reference
    without a score); ``weight='probability'`` by the score as it is, such as an aptness. Smoothing is as in ``bleu``;
    with ``exp``, an order without a match counts as half a match of the reference with the lowest weight, then a
    quarter, ... NaN without references, and if none has a weight.
    """

    n: int = 4
    weight: Weight = "source"
    human: float = 1.0
    retrieval: float | None = None
    commonsense: float | None = None
    paraphrase: float | None = None
    other: float = 0.5
    smoothing: Smoothing = "exp"
    tokenizer: TokenizerName = "13a"
    lowercase: bool = True

    needs = frozenset({"references"})
    languages = "spaces"
    citation = (
        "Galley et al. 2015, deltaBLEU: A Discriminative Metric for Generation Tasks with Intrinsically Diverse Targets"
    )

    def __post_init__(self) -> None:
        check_between("delta_bleu", "n", self.n, 1, 4)
        check_choice("delta_bleu", "weight", self.weight, Weight)
        check_choice("delta_bleu", "smoothing", self.smoothing, Smoothing)
        check_tokenizer("delta_bleu", self.tokenizer, self.lowercase)
        for name in (*_SOURCES, "other"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 1:
                raise SpecError(f"delta_bleu: {name} is a weight and must be from 0 to 1, not {value!r}")

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the Delta-BLEU of each response against its item's references."""
        tokens_of = get_tokenizer(self.tokenizer, self.lowercase)
        scores = []
        seen: tuple[Reference, ...] | None = None
        references: list[_WeightedReference] = []
        for pair in pairs:
            if pair.item.references is not seen:  # the responses to one item are usually adjacent
                seen = pair.item.references
                references = self._weighted_references(seen, tokens_of)
            reply = tokens_of(pair.response.text)
            scores.append(self._bleu(reply, references) if reply and references else NAN)
        return scores

    def match(self, pairs: Sequence[Pair]) -> list[int | None]:
        """Return the reference each response matched best: the first whose own score times its weight is highest."""
        tokens_of = get_tokenizer(self.tokenizer, self.lowercase)
        best_indices: list[int | None] = []
        for pair in pairs:
            reply, references = (
                tokens_of(pair.response.text),
                self._weighted_references(pair.item.references, tokens_of),
            )
            values = [reference.weight * self._bleu(reply, [reference]) for reference in references] if reply else []
            best_indices.append(references[values.index(max(values))].place if values else None)
        return best_indices

    def details(self) -> dict[str, str]:
        """Return the version of the tokeniser's package."""
        return tokenizer_details(self.tokenizer)

    def weights(self, references: Sequence[Reference]) -> list[float]:
        """Return the weight of each reference of an item."""
        by_source = [self._source_weight(reference.source) for reference in references]
        if self.weight == "source":
            return by_source
        if self.weight == "probability":
            return [weight * _read_probability(one) for weight, one in zip(by_source, references, strict=True)]
        return [weight * scaled for weight, scaled in zip(by_source, _scale_scores(references), strict=True)]

    def _source_weight(self, source: str) -> float:
        for name in _SOURCES:
            value: float | None = getattr(self, name)
            if value is not None and matches_source(source, name):
                return value
        return self.other

    def _weighted_references(
        self, references: Sequence[Reference], tokens_of: Callable[[str], Tokens]
    ) -> list[_WeightedReference]:
        """Return the references that have words and a weight."""
        return [
            _WeightedReference(place, weight, len(tokens), [Counter(ngrams(tokens, k)) for k in range(1, self.n + 1)])
            for place, (reference, weight) in enumerate(zip(references, self.weights(references), strict=True))
            if weight > 0 and (tokens := tokens_of(reference.text))
        ]

    def _bleu(self, reply: Tokens, references: Sequence[_WeightedReference]) -> float:
        highest, lowest = (extreme([reference.weight for reference in references]) for extreme in (max, min))
        # Both sums of a precision are weighted, so matches are relative to the highest weight.
        matches = [_weighted_matches(reply, k, references) / highest for k in range(1, self.n + 1)]
        length = len(reply)
        closest = min((abs(reference.length - length), reference.length) for reference in references)[1]
        if self.smoothing != "exp":
            return bleu(matches, length, closest, self.n, self.smoothing)
        if not matches[0]:
            return 0.0
        orders, missing = min(self.n, length), lowest / highest
        for k in range(orders):
            if not matches[k]:
                missing /= 2
                matches[k] = missing
        return bleu(matches, length, closest, orders, "none")


class _WeightedReference(NamedTuple):
    """A reference as it is compared: its index, weight and length, and how often it has each n-gram of each order."""

    place: int
    weight: float
    length: int
    grams: list[Counter[Ngram]]


def _weighted_matches(reply: Tokens, k: int, references: Sequence[_WeightedReference]) -> float:
    """Return the weighted matches of one order: each n-gram counts by the reference that gives it the most."""
    total = 0.0
    for gram, times in Counter(ngrams(reply, k)).items():
        total += max([reference.weight * min(times, reference.grams[k - 1][gram]) for reference in references])
    return total


def _read_probability(reference: Reference) -> float:
    """Return the score of a reference, which must be a probability; 1 without a score."""
    value = 1.0 if reference.score is None else reference.score
    if not 0 <= value <= 1:
        raise InputError(
            f"delta_bleu: weight='probability' needs scores from 0 to 1, a reference has {value:g}; use weight='score'"
        )
    return value


def _scale_scores(references: Sequence[Reference]) -> list[float]:
    """Return the scores of an item's references scaled from 0 to 1 within each source; 1 without a score."""
    by_source: dict[str, list[float]] = {}
    for reference in references:
        if reference.score is not None:
            by_source.setdefault(reference.source, []).append(reference.score)
    scaled = []
    for reference in references:
        scores = by_source.get(reference.source, [])
        low, high = (min(scores), max(scores)) if scores else (0.0, 0.0)
        has_scale = reference.score is not None and high > low
        scaled.append(((reference.score or 0.0) - low) / (high - low) if has_scale else 1.0)
    return scaled
