"""SCARCE (Gangal et al. 2021) from our own augmentation: Tables 1, 2 and 4 and Appendix A.

One human reference becomes many: what was said in similar places of DailyDialog's train file, what common sense says,
both adapted to the context. Then Gupta's 500 rated replies are measured with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rejoinder.augmentation.commonsense.inference import Generator
from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.store import kept_comet
from rejoinder.data.datasets import read_dataset
from rejoinder.data.inputs import read
from rejoinder.errors import InputError
from rejoinder.papers.base import Figure, Reproduction
from rejoinder.papers.scarce import appendix, tables
from rejoinder.papers.scarce.adaptation import adapted
from rejoinder.papers.scarce.items import join
from rejoinder.papers.scarce.measures import Rated, measure, rated
from rejoinder.papers.scarce.notes import notes
from rejoinder.papers.scarce.proposals import (
    COMET,
    MATCHED,
    PART,
    RETRIEVAL,
    WIDE,
    WIDE_PART,
    generate,
    match,
    part_of,
    retrieve,
    search_widely,
)
from rejoinder.papers.scarce.published import OURS_SINGLE, WHOLE
from rejoinder.papers.scarce.sets import OURS, Augmented, References, human, of_table_1, of_table_2, paraphrased
from rejoinder.types import Dialogue, Item

SUMMARY = (
    "SCARCE from our own augmentation: Tables 1, 2 and 4, self-BLEU and reference quality; --adapt N adapts N texts"
)


def reproduce(adapt: int | None = None) -> Reproduction:
    """Augment, score and compare; ``adapt`` is how many texts are adapted (0: none), all where it is not given."""
    if adapt is not None and adapt < 0:
        raise InputError(f"--adapt must be 0 or more, not {adapt}")
    replies = rated(read("dataset:gupta/single"))
    multi = human(read("dataset:gupta/multi").items.values())
    released = human(read("dataset:gupta/scarce-single").items.values())
    items = items_to_augment()
    augmented = adapted(items, propose(items, kept_comet()), adapt)
    return assemble(replies, multi, released, augmented, adapt)


def items_to_augment() -> list[Item]:
    """The 100 items, in the spelling of DailyDialog's test file and with the turns that follow."""
    found = (record for record in read_dataset("gupta/single") if isinstance(record, Item))
    return join(found, _dialogues("test"))


def propose(items: Sequence[Item], generator: Generator) -> dict[str, list[list[Proposal]]]:
    """What every source proposes for each item."""
    corpus = list(_dialogues("train").values())
    return {
        RETRIEVAL: retrieve(items, corpus),
        COMET: generate(items, generator),
        PART: retrieve(items, part_of(corpus)),
        MATCHED: match(items),
        WIDE: search_widely(items, corpus),
        WIDE_PART: search_widely(items, part_of(corpus)),
    }


def assemble(
    replies: Rated, multi: References, released: References, augmented: Augmented, adapt: int | None
) -> Reproduction:
    """The figures and sentences of what was found."""
    single = human(replies.data.items.values())
    columns, rows = of_table_1(single, multi, augmented), of_table_2(single, augmented)
    sets = {name: measure(replies, references) for name, references in columns.items()}
    parts = {WHOLE: sets[OURS_SINGLE].only(tables.IN_TABLE_2)}
    for name, references in rows.items():
        parts[name] = parts.get(name) or measure(replies, references, tables.IN_TABLE_2)
    figures = [
        *tables.table_1(replies, sets),
        *tables.gains(replies, sets),
        *tables.table_2(replies, parts),
        *tables.table_4(replies, sets),
        *_appendix(replies.data.items, single, multi, released, augmented),
    ]
    sentences = notes(figures, {**columns, **rows}, augmented, adapt)
    return Reproduction("scarce", "SCARCE, from our own augmentation", figures, sentences)


def _appendix(
    items: Mapping[str, Item], single: References, multi: References, released: References, augmented: Augmented
) -> list[Figure]:
    """Appendix A: diversity and quality of the references."""
    paraphrases = paraphrased(single)
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
    return [*appendix.diversity(items, diverse), *appendix.quality(items, good)]


def _dialogues(split: str) -> dict[str, Dialogue]:
    return {one.id: one for one in read_dataset(f"dailydialog/{split}") if isinstance(one, Dialogue)}
