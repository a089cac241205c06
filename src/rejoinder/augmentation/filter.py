"""Which proposals become references: those that are new, apt (if a threshold is set), and diverse.

The kinds of source (retrieval, common sense, paraphrase) take turns; each contributes its best proposal by maximal
marginal relevance (Carbonell and Goldstein 1998): ranked high by its source, and unlike all references so far. So no
source dominates, and choosing fewer gives the first few of a longer choice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.augmentation.proposal import Proposal
from rejoinder.errors import SpecError
from rejoinder.text.normalise import normalise_text
from rejoinder.text.similarity import dice_similarity, extract_ngrams
from rejoinder.types import Item

HOPELESS = 0.2  # of the least aptness: with less by the bi-encoder alone, a text is dropped at once
RANK_WEIGHT = 0.5  # the weight of the rank in its source vs. being unlike the others


@dataclass(frozen=True)
class FilteredProposals:
    """The proposals that passed the filter, and how many were left out for each reason."""

    remaining: tuple[Proposal, ...]
    known: int = 0  # the same as a reference, a turn of the context or an earlier proposal
    unapt: int = 0  # below the least aptness


def choose_references(
    item: Item, proposals: Sequence[Proposal], k: int, *, least_aptness: float | None = None
) -> list[Proposal]:
    """Choose up to k proposals for an item, in order of choice; ``proposals`` has each source's best first.

    Proposals that say the same as a reference, a turn of the context or an earlier proposal are never chosen, nor those
    less apt than ``least_aptness`` (for an item without a context, aptness is unknown and excludes nothing).
    """
    return select_diverse(item, filter_proposals([item], [proposals], least_aptness)[0].remaining, k)


def filter_proposals(
    items: Sequence[Item], proposals: Sequence[Sequence[Proposal]], least: float | None = None
) -> list[FilteredProposals]:
    """Return, for each item, the proposals that are new and apt enough; aptness is computed for all items together."""
    if least is not None and not 0 <= least <= 1:
        raise SpecError(f"least_aptness must be from 0 to 1, not {least:g}")
    new = [_drop_known(item, of_item) for item, of_item in zip(items, proposals, strict=True)]
    apt = _drop_below_threshold(items, new, least) if least else new
    return [
        FilteredProposals(tuple(remaining), len(total) - len(fresh), len(fresh) - len(remaining))
        for total, fresh, remaining in zip(proposals, new, apt, strict=True)
    ]


def select_diverse(item: Item, proposals: Sequence[Proposal], k: int) -> list[Proposal]:
    """Choose up to k of some distinct proposals; the sources take turns, in the order of their first proposals."""
    if k < 0:
        raise SpecError(f"k must be at least 0, found {k}")
    queues: dict[str, list[int]] = {}
    for i, proposal in enumerate(proposals):
        queues.setdefault(source_kind(proposal.source), []).append(i)
    goodness, grams = _rank_goodness(proposals), [extract_ngrams(proposal.text) for proposal in proposals]
    reference_grams = [extract_ngrams(reference.text) for reference in item.references]
    likeness = [max((dice_similarity(own, other) for other in reference_grams), default=0.0) for own in grams]
    chosen: list[Proposal] = []
    while len(chosen) < k and any(queues.values()):
        for queue in (queue for queue in queues.values() if queue):
            best = max(queue, key=lambda i: (RANK_WEIGHT * goodness[i] - (1 - RANK_WEIGHT) * likeness[i], -i))
            queue.remove(best)
            chosen.append(proposals[best])
            for i in (i for rest in queues.values() for i in rest):
                likeness[i] = max(likeness[i], dice_similarity(grams[i], grams[best]))
    return chosen[:k]


def source_kind(source: str) -> str:
    """Return the kind of a source: "commonsense" for "commonsense/atomic"."""
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
    """The proposals that are apt enough; those that the bi-encoder finds hopeless are not read by the cross-encoder.

    The cross-encoder takes nearly all of the time, and most proposals are far from apt.
    """
    from rejoinder.models.aptness.model import open_aptness

    model = open_aptness()
    pairs = [(item, proposal) for item, of_item in zip(items, proposals, strict=True) for proposal in of_item]
    contexts = [[turn.text for turn in item.context] for item, _ in pairs]
    texts = [proposal.text for _, proposal in pairs]
    first = model.probabilities(contexts, texts, "bi")
    passed = ~(first < least * HOPELESS)  # NaN passes: without a context aptness is unknown
    likely = np.flatnonzero(passed).tolist()
    if likely:
        values = model.probabilities([contexts[i] for i in likely], [texts[i] for i in likely])
        passed[likely] = ~(values < least)
    remaining = iter(passed.tolist())
    return [[proposal for proposal in of_item if next(remaining)] for of_item in proposals]


def _rank_goodness(proposals: Sequence[Proposal]) -> list[float]:
    """The rank of each proposal in its source as a number: 1 for the first, near 0 for the last.

    Scores of two sources cannot be compared: one is a sum of logarithms, the other a cosine.
    """
    before: Counter[str] = Counter()
    places = []
    for proposal in proposals:
        places.append(before[proposal.source])
        before[proposal.source] += 1
    return [1 - place / before[proposal.source] for place, proposal in zip(places, proposals, strict=True)]
