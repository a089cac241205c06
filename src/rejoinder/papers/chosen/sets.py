"""The test sets of ``reproduce chosen``: the same contexts with well-chosen and with random false candidates.

Contexts and true replies are of DailyDialog's validation and test files; the repository is the splits valid and test of
the corpora, while the systems are trained on the split train. Sets of one kind differ in what the seed draws: which
half of the repository is searched, and which of a pool's candidates are taken.
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


class Sets(NamedTuple):
    """The sets of both kinds; the first chosen one has the whole repository."""

    items: Sequence[Item]
    chosen: Sequence[BuiltTestSet]
    random: Sequence[Sequence[Question]]


def draw_contexts() -> list[Item]:
    """The contexts with their true replies, drawn once."""
    taken = collect_contexts(
        [d for part in ("valid", "test") for d in _read_dialogues(f"dailydialog/{part}")], SelectionSettings()
    ).items
    order = stable_shuffle({item.id: item for item in taken}, 0, "contexts")[:CONTEXTS]
    by_id = {item.id: item for item in taken}
    return [by_id[name] for name in order]


def read_repository() -> Corpus:
    """What the systems were not trained on."""
    return Corpus.of(d for d in _read_dialogues("corpus/dialogues") if d.split != "train")


def build_sets(say: Callable[[str], None] = lambda _: None) -> Sets:
    """All sets."""
    corpus = read_repository()
    items = draw_contexts()
    training = scan_training((d for d in _read_dialogues("corpus/dialogues") if d.split == "train"), items)
    chosen = []
    for seed in range(CHOSEN + 1):
        settings = SelectionSettings(seed=seed, share=SHARE if seed else 1.0, second="none")
        chosen.append(build(items, corpus, settings, training=training))
        say(f"chosen set {seed}: {len(chosen[-1].questions):,} questions")
    drawn = []
    for seed in range(RANDOM):
        drawn.append(
            build(items, corpus, SelectionSettings(random=True, seed=seed, second="none"), training=training).questions
        )
    say(f"{RANDOM} random sets of {len(drawn[0]):,} questions")
    return Sets(items, chosen, drawn)


def _read_dialogues(name: str) -> Iterator[Dialogue]:
    return (record for record in read_dataset(name) if isinstance(record, Dialogue))
