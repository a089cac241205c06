"""SCARCE (Gangal et al. 2021) from our own augmentation: Tables 1, 2 and 4 and Appendix A.

One human reference becomes many: what was said in similar places of DailyDialog's train file, what common sense says,
both adapted to the context. Then Gupta's 500 rated replies are measured with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder.augmentation.acceptance import AdaptationOutcome
from rejoinder.augmentation.adaptation import adapt
from rejoinder.augmentation.commonsense.inference import TailGenerator
from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.store import cached_comet
from rejoinder.data.datasets import read_dataset
from rejoinder.data.inputs import read
from rejoinder.errors import InputError
from rejoinder.papers.base import Figure, Reproduction
from rejoinder.papers.scarce import appendix, tables
from rejoinder.papers.scarce.items import restore_spelling
from rejoinder.papers.scarce.measures import RatedResponses, collect_rated, score_with_references
from rejoinder.papers.scarce.notes import list_notes
from rejoinder.papers.scarce.proposals import (
    COMET,
    MATCHED,
    PART,
    RETRIEVAL,
    WIDE,
    WIDE_PART,
    ProposalPlace,
    Proposals,
    draw_part,
    generate_proposals,
    list_adaptations,
    match,
    retrieve,
    search_widely,
)
from rejoinder.papers.scarce.published import OURS_SINGLE, WHOLE
from rejoinder.papers.scarce.sets import (
    OURS,
    AugmentedReferences,
    References,
    combine_outcomes,
    human_references,
    paraphrase_references,
    table_1_references,
    table_2_references,
)
from rejoinder.types import Dialogue, Item, Turn


def adapt_first(items: Sequence[Item], found: Mapping[str, Proposals], most: int | None = None) -> AugmentedReferences:
    """The proposals, the first ``most`` of them adapted (all, where no number is given).

    The number counts what is known already, too: so a result does not hang on what a cache happens to hold.
    """
    places = list_adaptations(found)
    outcomes: list[AdaptationOutcome] = []
    if wanted := places[:most]:
        outcomes = adapt([_context_and_proposal(items, found, place) for place in wanted])
    return combine_outcomes([item.id for item in items], found, places, outcomes)


def count_cached(items: Sequence[Item], found: Mapping[str, Proposals]) -> tuple[int, int]:
    """How many of the first texts the cache has, up to the first that it lacks; and how many there are."""
    places = list_adaptations(found)
    outcomes = adapt([_context_and_proposal(items, found, place) for place in places], most=0) if places else []
    lacking = (number for number, outcome in enumerate(outcomes) if outcome.verdict == "not tried")
    return next(lacking, len(places)), len(places)


def _context_and_proposal(
    items: Sequence[Item], found: Mapping[str, Proposals], place: ProposalPlace
) -> tuple[Sequence[Turn], Proposal]:
    return items[place.item].context, found[place.source][place.item][place.rank]


SUMMARY = (
    "SCARCE from our own augmentation: Tables 1, 2 and 4, self-BLEU and reference quality; --adapt N adapts N texts"
)


def reproduce(adapt: int | None = None) -> Reproduction:
    """Augment, score and compare; ``adapt`` is how many texts are adapted (0: none), all where it is not given."""
    if adapt is not None and adapt < 0:
        raise InputError(f"--adapt must be 0 or more, not {adapt}")
    replies = collect_rated(read("dataset:gupta/single"))
    multi = human_references(read("dataset:gupta/multi").items.values())
    released = human_references(read("dataset:gupta/scarce-single").items.values())
    items = items_to_augment()
    augmented = adapt_first(items, propose(items, cached_comet()), adapt)
    return assemble(replies, multi, released, augmented, adapt)


def items_to_augment() -> list[Item]:
    """The 100 items, in the spelling of DailyDialog's test file and with the turns that follow."""
    found = (record for record in read_dataset("gupta/single") if isinstance(record, Item))
    return restore_spelling(found, _dialogues("test"))


def propose(items: Sequence[Item], generator: TailGenerator) -> dict[str, list[list[Proposal]]]:
    """What every source proposes for each item."""
    corpus = list(_dialogues("train").values())
    return {
        RETRIEVAL: retrieve(items, corpus),
        COMET: generate_proposals(items, generator),
        PART: retrieve(items, draw_part(corpus)),
        MATCHED: match(items),
        WIDE: search_widely(items, corpus),
        WIDE_PART: search_widely(items, draw_part(corpus)),
    }


def assemble(
    replies: RatedResponses, multi: References, released: References, augmented: AugmentedReferences, adapt: int | None
) -> Reproduction:
    """The figures and sentences of what was found."""
    single = human_references(replies.data.items.values())
    columns, rows = table_1_references(single, multi, augmented), table_2_references(single, augmented)
    sets = {name: score_with_references(replies, references) for name, references in columns.items()}
    parts = {WHOLE: sets[OURS_SINGLE].only(tables.IN_TABLE_2)}
    for name, references in rows.items():
        parts[name] = parts.get(name) or score_with_references(replies, references, tables.IN_TABLE_2)
    figures = [
        *tables.table_1(replies, sets),
        *tables.gain_figures(replies, sets),
        *tables.table_2(replies, parts),
        *tables.table_4(replies, sets),
        *_appendix(replies.data.items, single, multi, released, augmented),
    ]
    sentences = list_notes(figures, {**columns, **rows}, augmented, adapt)
    return Reproduction("scarce", "SCARCE, from our own augmentation", figures, sentences)


def _appendix(
    items: Mapping[str, Item],
    single: References,
    multi: References,
    released: References,
    augmented: AugmentedReferences,
) -> list[Figure]:
    """Appendix A: diversity and quality of the references."""
    paraphrases = paraphrase_references(single)
    own = {name: tuple(one for one in of_item if one.source != "human") for name, of_item in released.items()}
    diverse = {
        "ours": augmented.added(*OURS),
        "paraphrase": paraphrases,
        "multi": multi,
        "the authors' released references": own,
    }
    good = {
        "single": single,
        "multi": multi,
        **{source: augmented.added(source, adapted=False) for source in (RETRIEVAL, WIDE, COMET, MATCHED)},
        **{f"{source}, adapted": augmented.changed(source) for source in (RETRIEVAL, COMET, MATCHED)},
        "paraphrase": paraphrases,
    }
    return [*appendix.diversity_figures(items, diverse), *appendix.quality_figures(items, good)]


def _dialogues(split: str) -> dict[str, Dialogue]:
    return {one.id: one for one in read_dataset(f"dailydialog/{split}") if isinstance(one, Dialogue)}
