"""The sets of references that replies are scored with: human ones, retrieved or generated ones, the authors' own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from rejoinder.augmentation.acceptance import AdaptationOutcome
from rejoinder.augmentation.augmenter import to_references
from rejoinder.augmentation.paraphrase import BackTranslation, Paraphraser, paraphrase
from rejoinder.augmentation.proposal import Proposal
from rejoinder.types import Item, Reference
from rejoinder_lab.papers.scarce.proposals import (
    OTHER,
    PART,
    PRINTED,
    RETRIEVAL,
    SENSE,
    ProposalPlace,
    Proposals,
    space_punctuation,
    spell_like_rated,
    spell_plainly,
)

# The columns of Tables 1 and 4; OURS stands where the paper has SCARCE, RELEASED for the authors' own references.
SINGLE, PARAPHRASE_SINGLE, OURS_SINGLE, RELEASED_SINGLE = (
    "SINGLE",
    "PARAPHRASE-SINGLE",
    "OURS-SINGLE",
    "RELEASED-SINGLE",
)
MULTI, PARAPHRASE_MULTI, OURS_MULTI, RELEASED_MULTI = "MULTI", "PARAPHRASE-MULTI", "OURS-MULTI", "RELEASED-MULTI"
TABLE_1 = (
    SINGLE,
    PARAPHRASE_SINGLE,
    OURS_SINGLE,
    RELEASED_SINGLE,
    MULTI,
    PARAPHRASE_MULTI,
    OURS_MULTI,
    RELEASED_MULTI,
)
# The rows of Table 2.
WHOLE, SENSE_ONLY = "ours", "common sense only"
RETRIEVAL_ONLY, FIVE_PER_CENT = "retrieval only", "retrieval only, 5% of the corpus"
RETRIEVED_ONLY = "retrieval only, not adapted"
NOT_ADAPTED, PRINTED_ONLY = "without context adaptation", "retrieval only, BM25 as printed"
OTHER_ONLY = "retrieval only, from corpora that the judged systems never saw"
REWORDED, TRANSLATED = "paraphrase by rewording only", "paraphrase by back-translation only"
TABLE_2 = (
    WHOLE,
    SENSE_ONLY,
    RETRIEVAL_ONLY,
    FIVE_PER_CENT,
    NOT_ADAPTED,
    RETRIEVED_ONLY,
    PRINTED_ONLY,
    OTHER_ONLY,
    REWORDED,
    TRANSLATED,
)
FURTHER = "ours, one step further"
References: TypeAlias = Mapping[str, tuple[Reference, ...]]  # by item
OURS = (RETRIEVAL, SENSE)
# Rounded, since the texts were translated on a machine to which the weights travelled as bytes.
BACK_TRANSLATION = BackTranslation(precision="int8")


@dataclass(frozen=True)
class PublishedReferences:
    """The published sets: one and four human references, and both with what the authors added."""

    single: References
    multi: References
    released_single: References
    released_multi: References


@dataclass(frozen=True)
class AugmentedReferences:
    """The proposals for the items, by source, and the retrieved ones that adaptation changed."""

    items: Sequence[str]
    proposals: Mapping[str, Proposals]
    adapted: Proposals
    verdicts: Mapping[str, int]  # what came of adapting retrieved texts

    def added(self, *sources: str, adapted: bool = True) -> References:
        """The references of some sources; both the original and the adapted text are references."""
        parts = [self.proposals[source] for source in sources]
        parts += [self.adapted] if adapted and RETRIEVAL in sources else []
        return self._collect(parts)

    def changed(self) -> References:
        """The adapted texts alone."""
        return self._collect([self.adapted])

    def _collect(self, parts: Sequence[Proposals]) -> References:
        return {
            item: _drop_duplicates(to_references(one for part in parts for one in part[number]))
            for number, item in enumerate(self.items)
        }


def combine_outcomes(
    items: Sequence[str],
    proposals: Mapping[str, Proposals],
    places: Sequence[ProposalPlace],
    outcomes: Sequence[AdaptationOutcome],
) -> AugmentedReferences:
    """Return the proposals with the adaptation outcomes of the first ones; later places were not tried."""
    adapted: list[list[Proposal]] = [[] for _ in items]
    verdicts: Counter[str] = Counter()
    for number, place in enumerate(places):
        verdict = outcomes[number].verdict if number < len(outcomes) else "not tried"
        verdicts[verdict] += 1
        if verdict == "adapted":
            new = outcomes[number].proposal
            adapted[place.item].append(replace(new, text=space_punctuation(new.text)))
    return AugmentedReferences(items, proposals, adapted, verdicts)


def human_references(items: Iterable[Item]) -> References:
    """The references that people wrote."""
    return {item.id: item.references for item in items}


def list_plain_texts(items: References) -> list[tuple[str, str]]:
    """Return the item and the text of each reference, as people spell it: what is paraphrased."""
    return [(item, spell_plainly(reference.text)) for item, of_item in items.items() for reference in of_item]


def paraphrase_references(items: References, method: str | Paraphraser) -> References:
    """Up to five paraphrases of each reference, spelled like it."""
    flat = list_plain_texts(items)
    by_item: dict[str, list[Proposal]] = {item: [] for item in items}
    for (item, _), proposals in zip(flat, paraphrase([text for _, text in flat], method), strict=True):
        by_item[item] += [replace(one, text=spell_like_rated(one.text)) for one in proposals]
    return {item: _drop_duplicates(to_references(proposals)) for item, proposals in by_item.items()}


def merge_references(*sets: References) -> References:
    """The references of several sets, each text once."""
    return {item: _drop_duplicates(one for of_set in sets for one in of_set[item]) for item in sets[0]}


def paraphrase_columns(human: PublishedReferences, method: str | Paraphraser) -> dict[str, References]:
    """The columns of Tables 1 and 4 that have paraphrases."""
    sets = {PARAPHRASE_SINGLE: human.single, PARAPHRASE_MULTI: human.multi}
    return {name: merge_references(of, paraphrase_references(of, method)) for name, of in sets.items()}


def table_1_references(
    human: PublishedReferences, augmented: AugmentedReferences, method: str | Paraphraser
) -> dict[str, References]:
    """The columns of Tables 1 and 4."""
    ours = augmented.added(*OURS)
    paraphrases = paraphrase_columns(human, method)
    return {
        SINGLE: human.single,
        PARAPHRASE_SINGLE: paraphrases[PARAPHRASE_SINGLE],
        OURS_SINGLE: merge_references(human.single, ours),
        RELEASED_SINGLE: human.released_single,
        MULTI: human.multi,
        PARAPHRASE_MULTI: paraphrases[PARAPHRASE_MULTI],
        OURS_MULTI: merge_references(human.multi, ours),
        RELEASED_MULTI: human.released_multi,
    }


def table_2_references(single: References, augmented: AugmentedReferences) -> dict[str, References]:
    """The rows of Table 2: the single human reference and a part of ours."""
    parts = {
        WHOLE: augmented.added(*OURS),
        SENSE_ONLY: augmented.added(SENSE),
        RETRIEVAL_ONLY: augmented.added(RETRIEVAL),
        FIVE_PER_CENT: augmented.added(PART),
        NOT_ADAPTED: augmented.added(*OURS, adapted=False),
        RETRIEVED_ONLY: augmented.added(RETRIEVAL, adapted=False),
        PRINTED_ONLY: augmented.added(PRINTED),
        OTHER_ONLY: augmented.added(OTHER),
        REWORDED: paraphrase_references(single, "rewording"),
    }
    return {row: merge_references(single, part) for row, part in parts.items()}


def _drop_duplicates(references: Iterable[Reference]) -> tuple[Reference, ...]:
    """References, each text once."""
    by_text: dict[str, Reference] = {}
    for one in references:
        by_text.setdefault(one.text, one)
    return tuple(by_text.values())
