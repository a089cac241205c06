"""Batches of items with more references: proposals from all sources, filtered, chosen for diversity, adapted."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable, Sequence

from rejoinder.augmentation.filter import filter_proposals, select_diverse
from rejoinder.augmentation.plan import AugmentationPlan
from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.sources import OpenedSources
from rejoinder.augmentation.summary import AugmentationTally
from rejoinder.text.normalise import normalise_text
from rejoinder.types import Item, Reference, Turn

_DECIMALS = 4  # of a score: those that are the same on every machine


@dataclasses.dataclass
class Augmenter:
    """Augments batches of items; ``adaptations_left`` is how many texts may still be adapted."""

    plan: AugmentationPlan
    sources: OpenedSources
    tally: AugmentationTally

    def __post_init__(self) -> None:
        self.adaptations_left = self.plan.adapt

    def augment_items(self, items: Sequence[Item]) -> list[Item]:
        """Return items with more references."""
        proposals: list[list[Proposal]] = [[] for _ in items]
        for propose in self.sources.propose if items else ():
            for of_item, new in zip(proposals, propose(items), strict=True):
                of_item += new
        filtered = filter_proposals(items, proposals, self.plan.least_aptness)
        chosen = [select_diverse(item, one.remaining, self.plan.k) for item, one in zip(items, filtered, strict=True)]
        if self.adaptations_left is not None:
            chosen = self._adapt(items, chosen)
        for item, one, of_item in zip(items, filtered, chosen, strict=True):
            self.tally.add(item, one, of_item, self.plan)
        return [
            dataclasses.replace(item, references=(*item.references, *to_references(of_item)))
            for item, of_item in zip(items, chosen, strict=True)
        ]

    def _adapt(self, items: Sequence[Item], chosen: Sequence[Sequence[Proposal]]) -> list[list[Proposal]]:
        """Return the chosen proposals, adapted to their contexts if that improves them and repeats nothing."""
        from rejoinder.augmentation.adaptation import adapt

        pairs = [(item.context, proposal) for item, of_item in zip(items, chosen, strict=True) for proposal in of_item]
        adapt_pairs = functools.partial(adapt, pairs, self.plan.delorean, self.plan.acceptance, model=self.plan.model)
        before = adapt_pairs(most=0)
        missing = {_pair_key(pair) for pair, one in zip(pairs, before, strict=True) if one.verdict == "not tried"}
        outcomes = adapt_pairs(most=self.adaptations_left) if self.adaptations_left and missing else before
        self.adaptations_left = max(0, (self.adaptations_left or 0) - len(missing))
        self.tally.adapted.update(outcome.verdict for outcome in outcomes)
        remaining = iter(outcomes)
        return [
            _undo_repetitions(item, of_item, [next(remaining).proposal for _ in of_item])
            for item, of_item in zip(items, chosen, strict=True)
        ]


def _pair_key(pair: tuple[tuple[Turn, ...], Proposal]) -> tuple[tuple[Turn, ...], str]:
    return pair[0], pair[1].text


def _undo_repetitions(item: Item, before: Sequence[Proposal], after: Sequence[Proposal]) -> list[Proposal]:
    """Return the adapted proposals, but the originals of those that now repeat another text."""
    texts = {normalise_text(text) for text in (*(r.text for r in item.references), *(t.text for t in item.context))}
    texts |= {normalise_text(proposal.text) for proposal in before}
    chosen = []
    for old, new in zip(before, after, strict=True):
        repeats = new.text != old.text and normalise_text(new.text) in texts
        chosen.append(old if repeats else new)
        texts.add(normalise_text(chosen[-1].text))
    return chosen


def to_references(proposals: Iterable[Proposal]) -> tuple[Reference, ...]:
    """Proposals as references."""
    return tuple(Reference(p.text, p.source, _round_score(p.score), p.origin) for p in proposals)


def _round_score(score: float | None) -> float | None:
    return None if score is None or not math.isfinite(score) else round(score, _DECIMALS)
