"""Which proposals become references: what says something new, fits (where that is asked for), and differs.

In turns, each kind of source (retrieval, common sense, paraphrase) gives the proposal of its own that is best by
maximal marginal relevance (Carbonell and Goldstein 1998): as good in its source as possible, and as unlike everything
that is there as possible. So no source takes everything, and the first few of a choice are the choice of fewer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rejoinder.augmentation.proposal import Proposal
from rejoinder.errors import SpecError
from rejoinder.text.normalise import normalise_text
from rejoinder.types import Item

RANK_WEIGHT = 0.5  # what the place in its source counts, against being unlike the others
_Grams = frozenset[tuple[str, ...]]


@dataclass(frozen=True)
class FilteredProposals:
    """What is left of some proposals, and how many were left out for which reason."""

    kept: tuple[Proposal, ...]
    known: int = 0  # said by a reference, a turn of the context or an earlier proposal
    unapt: int = 0  # below the least aptness


def choose_references(
    item: Item, proposals: Sequence[Proposal], k: int, *, least_aptness: float | None = None
) -> list[Proposal]:
    """Up to k proposals for an item, in the order in which they were chosen; each source's come best first.

    Nothing that says the same as a reference, a turn of the context or an earlier proposal is chosen, nor what is less
    apt than ``least_aptness`` (an item without a context cannot be asked: nothing of it is left out for that).
    """
    return select_diverse(item, filter_proposals([item], [proposals], least_aptness)[0].kept, k)


def filter_proposals(
    items: Sequence[Item], proposals: Sequence[Sequence[Proposal]], least: float | None = None
) -> list[FilteredProposals]:
    """What is new of the proposals for each item, and apt enough; all items are asked about together."""
    if least is not None and not 0 <= least <= 1:
        raise SpecError(f"the least aptness must be from 0 to 1, not {least:g}")
    new = [_drop_known(item, of_item) for item, of_item in zip(items, proposals, strict=True)]
    apt = _drop_below_threshold(items, new, least) if least is not None else new
    return [
        FilteredProposals(tuple(remaining), len(total) - len(fresh), len(fresh) - len(remaining))
        for total, fresh, remaining in zip(proposals, new, apt, strict=True)
    ]


def select_diverse(item: Item, proposals: Sequence[Proposal], k: int) -> list[Proposal]:
    """Up to k of some different proposals, the sources taking turns in the order in which they come."""
    if k < 0:
        raise SpecError(f"k must be at least 0, found {k}")
    queues: dict[str, list[int]] = {}
    for i, proposal in enumerate(proposals):
        queues.setdefault(source_kind(proposal.source), []).append(i)
    goodness, grams = _rank_goodness(proposals), [_grams(proposal.text) for proposal in proposals]
    reference_grams = [_grams(reference.text) for reference in item.references]
    likeness = [max((_dice_similarity(own, other) for other in reference_grams), default=0.0) for own in grams]
    chosen: list[Proposal] = []
    while len(chosen) < k and any(queues.values()):
        for queue in (queue for queue in queues.values() if queue):
            best = max(queue, key=lambda i: (RANK_WEIGHT * goodness[i] - (1 - RANK_WEIGHT) * likeness[i], -i))
            queue.remove(best)
            chosen.append(proposals[best])
            for i in (i for rest in queues.values() for i in rest):
                likeness[i] = max(likeness[i], _dice_similarity(grams[i], grams[best]))
    return chosen[:k]


def source_kind(source: str) -> str:
    """The kind of a source: "commonsense" for "commonsense/atomic"."""
    return source.partition("/")[0]


def _drop_known(item: Item, proposals: Sequence[Proposal]) -> list[Proposal]:
    texts = [*(reference.text for reference in item.references), *(turn.text for turn in item.context)]
    known_texts = {normalise_text(text) for text in texts} | {""}
    new = []
    for proposal in proposals:
        words = normalise_text(proposal.text)
        if words not in known_texts:
            known_texts.add(words)
            new.append(proposal)
    return new


def _drop_below_threshold(
    items: Sequence[Item], proposals: Sequence[Sequence[Proposal]], least: float
) -> list[list[Proposal]]:
    from rejoinder.models.aptness.model import open_aptness

    pairs = [(item, proposal) for item, of_item in zip(items, proposals, strict=True) for proposal in of_item]
    contexts = [[turn.text for turn in item.context] for item, _ in pairs]
    values = iter(open_aptness().probabilities(contexts, [proposal.text for _, proposal in pairs]).tolist())
    aptness = [[(proposal, next(values)) for proposal in of_item] for of_item in proposals]
    return [[proposal for proposal, value in of_item if math.isnan(value) or value >= least] for of_item in aptness]


def _rank_goodness(proposals: Sequence[Proposal]) -> list[float]:
    """The place of each proposal among those of its source: 1 for the first, near 0 for the last.

    Scores of two sources cannot be compared: one is a sum of logarithms, the other a cosine.
    """
    before: Counter[str] = Counter()
    places = []
    for proposal in proposals:
        places.append(before[proposal.source])
        before[proposal.source] += 1
    return [1 - place / before[proposal.source] for place, proposal in zip(places, proposals, strict=True)]


def _grams(text: str) -> _Grams:
    """The words of a text and its pairs of neighbouring words."""
    words = normalise_text(text).split()
    return frozenset([*((word,) for word in words), *pairwise(words)])


def _dice_similarity(first: _Grams, second: _Grams) -> float:
    """What two texts share, from 0 to 1 (Dice 1945)."""
    both = len(first) + len(second)
    return 2 * len(first & second) / both if both else 0.0
