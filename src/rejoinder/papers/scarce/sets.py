"""The sets of references that replies are scored with: human ones, and retrieved or generated ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from rejoinder.augmentation.acceptance import AdaptationOutcome
from rejoinder.augmentation.augment import to_references
from rejoinder.augmentation.paraphrase import paraphrase
from rejoinder.augmentation.proposal import Proposal
from rejoinder.papers.scarce.proposals import (
    COMET,
    MATCHED,
    PART,
    RETRIEVAL,
    WIDE,
    WIDE_PART,
    ProposalPlace,
    Proposals,
    space_punctuation,
)
from rejoinder.types import Item, Reference

# The columns of Tables 1 and 4; OURS stands where the paper has SCARCE.
SINGLE, PARAPHRASE_SINGLE, OURS_SINGLE = "SINGLE", "PARAPHRASE-SINGLE", "OURS-SINGLE"
MULTI, PARAPHRASE_MULTI, OURS_MULTI = "MULTI", "PARAPHRASE-MULTI", "OURS-MULTI"
# The rows of Table 2.
WHOLE, SENSE, MATCHED_SENSE = "ours", "common sense only", "common sense only, from knowledge files by matching"
RETRIEVAL_ONLY, FIVE_PER_CENT = "retrieval only", "retrieval only, 5% of the corpus"
NOT_ADAPTED = "without context adaptation"
AS_RELEASED, NOT_WIDE = "retrieval only, 5 and 5 by BM25 as released", "without the wide search"
References: TypeAlias = Mapping[str, tuple[Reference, ...]]  # by item
OURS = (RETRIEVAL, WIDE, COMET)


@dataclass(frozen=True)
class AugmentedReferences:
    """The proposals for the items, by source: unchanged, and adapted where the adaptation was accepted."""

    items: Sequence[str]
    proposals: Mapping[str, Proposals]
    adapted: Mapping[str, Proposals]
    verdicts: Mapping[str, Mapping[str, int]]  # of the source's texts: what came of adapting them

    def added(self, *sources: str, adapted: bool = True) -> References:
        """The references of some sources; both the original and the adapted text are references."""
        parts = [self.proposals[source] for source in sources]
        parts += [self.adapted[source] for source in sources] if adapted else []
        return {
            item: _drop_duplicates(to_references(one for part in parts for one in part[number]))
            for number, item in enumerate(self.items)
        }

    def changed(self, source: str) -> References:
        """The adapted texts of a source alone."""
        return {
            item: _drop_duplicates(to_references(proposals))
            for item, proposals in zip(self.items, self.adapted[source], strict=True)
        }


def combine_outcomes(
    items: Sequence[str],
    proposals: Mapping[str, Proposals],
    places: Sequence[ProposalPlace],
    outcomes: Sequence[AdaptationOutcome],
) -> AugmentedReferences:
    """Return the proposals with the adaptation outcomes of the first ones; later places were not tried."""
    adapted: dict[str, list[list[Proposal]]] = {source: [[] for _ in items] for source in proposals}
    verdicts: dict[str, Counter[str]] = {source: Counter() for source in proposals}
    for number, place in enumerate(places):
        verdict = outcomes[number].verdict if number < len(outcomes) else "not tried"
        verdicts[place.source][verdict] += 1
        if verdict == "adapted":
            new = outcomes[number].proposal
            adapted[place.source][place.item].append(replace(new, text=space_punctuation(new.text)))
    return AugmentedReferences(items, proposals, adapted, verdicts)


def human_references(items: Iterable[Item]) -> References:
    """The references that people wrote."""
    return {item.id: item.references for item in items}


def paraphrase_references(items: References) -> References:
    """Five paraphrases of each reference, by synonyms and other orders."""
    flat = [(item, reference.text) for item, of_item in items.items() for reference in of_item]
    by_item: dict[str, list[Proposal]] = {item: [] for item in items}
    for (item, _), proposals in zip(flat, paraphrase([text for _, text in flat]), strict=True):
        by_item[item] += proposals
    return {item: _drop_duplicates(to_references(proposals)) for item, proposals in by_item.items()}


def merge_references(*sets: References) -> References:
    """The references of several sets, each text once."""
    return {item: _drop_duplicates(one for of_set in sets for one in of_set[item]) for item in sets[0]}


def table_1_references(single: References, multi: References, augmented: AugmentedReferences) -> dict[str, References]:
    """The six columns of Tables 1 and 4."""
    ours = augmented.added(*OURS)
    return {
        SINGLE: single,
        PARAPHRASE_SINGLE: merge_references(single, paraphrase_references(single)),
        OURS_SINGLE: merge_references(single, ours),
        MULTI: multi,
        PARAPHRASE_MULTI: merge_references(multi, paraphrase_references(multi)),
        OURS_MULTI: merge_references(multi, ours),
    }


def table_2_references(single: References, augmented: AugmentedReferences) -> dict[str, References]:
    """The rows of Table 2: the single human reference and a part of ours."""
    parts = {
        WHOLE: augmented.added(*OURS),
        SENSE: augmented.added(COMET),
        MATCHED_SENSE: augmented.added(MATCHED),
        RETRIEVAL_ONLY: augmented.added(RETRIEVAL, WIDE),
        AS_RELEASED: augmented.added(RETRIEVAL),
        FIVE_PER_CENT: augmented.added(PART, WIDE_PART),
        NOT_ADAPTED: augmented.added(*OURS, adapted=False),
        NOT_WIDE: augmented.added(RETRIEVAL, COMET),
    }
    return {row: merge_references(single, part) for row, part in parts.items()}


def _drop_duplicates(references: Iterable[Reference]) -> tuple[Reference, ...]:
    """References, each text once."""
    by_text: dict[str, Reference] = {}
    for one in references:
        by_text.setdefault(one.text, one)
    return tuple(by_text.values())
