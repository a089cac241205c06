"""uBLEU (Tsuta et al. 2020): Delta-BLEU over references that were collected by machine and weighted by a network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rejoinder.metric import Metric, signature
from rejoinder.metrics._inner import parse_context_metric, unit_scores
from rejoinder.metrics._references import matches_source
from rejoinder.metrics.delta_bleu import DeltaBleu
from rejoinder.spec import check_between
from rejoinder.text.tokens import tokenizer_details
from rejoinder.types import Item, Pair, Reference, Response


@dataclass(frozen=True)
class Ubleu(Metric):
    """Delta-BLEU in which a network says how much a reference counts that no person wrote.

    A reference by a person has the weight 1. Any other (from ``rejoinder augment``) has the score of ``rater``, a
    metric that needs only the context, for the reference as a reply, scaled to 0 to 1. The paper trains a rater that
    also reads the human reference; ``aptness`` is used here. Without other references it is BLEU. NaN without
    references.
    """

    n: int = 2
    rater: str = "aptness"

    needs = frozenset({"context", "references"})
    citation = (
        "Tsuta, Yoshinaga and Toyoda 2020, uBLEU: Uncertainty-Aware Automatic Evaluation Method for Open-Domain "
        "Dialogue Systems"
    )
    decimals = 4
    large = True

    def __post_init__(self) -> None:
        check_between("ubleu", "n", self.n, 1, 4)
        object.__setattr__(self, "rater", str(self._rater))  # however it was written

    @cached_property
    def _rater(self) -> Metric:
        return parse_context_metric("ubleu", "rater", self.rater)

    @property
    def _delta_bleu(self) -> DeltaBleu:
        return DeltaBleu(self.n, weight="probability", human=1.0, other=1.0)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the uBLEU of each response against its item's references."""
        return self._delta_bleu.score(self.rate_references(pairs))

    def match(self, pairs: Sequence[Pair]) -> list[int | None]:
        """Return the reference each response matched best: the first whose own score times its weight is highest."""
        return self._delta_bleu.match(self.rate_references(pairs))

    def details(self) -> dict[str, str]:
        """Return the signature of the rater and the version of the tokeniser's package."""
        return {**tokenizer_details("13a"), "rater": signature(self._rater)}

    def rate_references(self, pairs: Sequence[Pair]) -> list[Pair]:
        """Return the pairs with the weight of each reference as its score; None for one by a person."""
        items = {id(pair.item): pair.item for pair in pairs}
        unrated = [
            Pair(item, Response(f"{item.id}/{i}", item.id, reference.source, reference.text))
            for item in items.values()
            for i, reference in enumerate(item.references)
            if not _is_human(reference)
        ]
        scores = iter(unit_scores(self._rater, unrated))
        rated: dict[int, Item] = {}
        for key, item in items.items():
            weights = [None if _is_human(one) else next(scores) for one in item.references]
            rated[key] = replace(
                item,
                references=tuple(
                    replace(one, score=0.0 if weight is not None and math.isnan(weight) else weight)
                    for one, weight in zip(item.references, weights, strict=True)
                ),
            )
        return [replace(pair, item=rated[id(pair.item)]) for pair in pairs]


def _is_human(reference: Reference) -> bool:
    return matches_source(reference.source, "human")
