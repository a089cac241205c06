"""The test sets of ``reproduce chosen``: the same contexts with well-chosen and with random false candidates.

Contexts and true replies are from DailyDialog's validation and test files; the repository is the valid and test splits
of the corpora, while the systems are trained on the train split. Sets of one kind differ by the seed, which decides
which half of the repository is searched and which of a pool's candidates are used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rejoinder.data.datasets import read_dataset
from rejoinder.seeded import stable_shuffle
from rejoinder.selection.build import BuiltTestSet, build
from rejoinder.selection.contexts import collect_contexts
from rejoinder.selection.leakage import scan_training
from rejoinder.selection.settings import SelectionSettings
from rejoinder.sources import Corpus
from rejoinder.types import Dialogue, Item, Question

CONTEXTS = 750
CHOSEN, RANDOM = 20, 100  # sets of each kind
SHARE = 0.5  # of the repository's dialogues that a chosen set is searched in


class ChosenSets(NamedTuple):
    """The sets of both kinds; the first chosen one has the whole repository."""

    items: Sequence[Item]
    chosen: Sequence[BuiltTestSet]
    random: Sequence[Sequence[Question]]


def draw_contexts() -> list[Item]:
    """Return the contexts with their true replies, selected with a fixed seed."""
    items = collect_contexts(
        [d for part in ("valid", "test") for d in _read_dialogues(f"dailydialog/{part}")], SelectionSettings()
    ).items
    order = stable_shuffle({item.id: item for item in items}, 0, "contexts")[:CONTEXTS]
    by_id = {item.id: item for item in items}
    return [by_id[name] for name in order]


def read_chosen_repository() -> Corpus:
    """Return the dialogues that the systems were not trained on."""
    return Corpus.of(d for d in _read_dialogues("corpus/dialogues") if d.split != "train")


def build_sets(report: Callable[[str], None] = lambda _: None) -> ChosenSets:
    """Build all sets."""
    corpus = read_chosen_repository()
    items = draw_contexts()
    training = scan_training((d for d in _read_dialogues("corpus/dialogues") if d.split == "train"), items)
    chosen = []
    for seed in range(CHOSEN + 1):
        settings = SelectionSettings(seed=seed, share=SHARE if seed else 1.0, second="none")
        chosen.append(build(items, corpus, settings, training=training))
        report(f"chosen set {seed}: {len(chosen[-1].questions):,} questions")
    random = []
    for seed in range(RANDOM):
        random.append(
            build(items, corpus, SelectionSettings(random=True, seed=seed, second="none"), training=training).questions
        )
    report(f"{RANDOM} random sets of {len(random[0]):,} questions")
    return ChosenSets(items, chosen, random)


def _read_dialogues(name: str) -> Iterator[Dialogue]:
    return (record for record in read_dataset(name) if isinstance(record, Dialogue))
