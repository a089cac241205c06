"""What is proposed as a reference for each item, source by source; every number here was fixed before any rating."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from rejoinder.augmenting.commonsense import CommonSense, GeneratedKnowledge, Generator, MatchedKnowledge
from rejoinder.augmenting.proposal import Proposal
from rejoinder.types import Dialogue, Item, Turn

RETRIEVED = 20  # turns of the corpus an item
ADAPTED = 10  # of these, the best are adapted
EACH = 3  # inferences of a relation
SHARE = 0.05  # of the corpus, for the ablation
SEED = 0
RETRIEVAL, COMET, PART, MATCHED = "retrieval", "common sense", "retrieval, 5% of the corpus", "common sense, matched"
# In this order they are adapted: what Table 1 is made of comes first.
ORDER = (RETRIEVAL, COMET, PART, MATCHED)
Proposals: TypeAlias = Sequence[Sequence[Proposal]]  # of each item
_MARK = re.compile(r"(?<=[^\s.,!?;:])([.,!?;:]+)(?=\s|$)")
_GAP = re.compile(r"\s+(?=[.,!?;:])")


class Place(NamedTuple):
    """One proposal to adapt: its source, the number of its item, and its rank there."""

    source: str
    item: int
    rank: int


def spaced(text: str) -> str:
    """A text with a space before its punctuation marks, as the rated replies and DailyDialog's files have it."""
    return " ".join(_MARK.sub(r" \1", text).split())


def closed(context: Sequence[Turn]) -> tuple[Turn, ...]:
    """A context without the spaces before punctuation marks: knowledge is about text as people write it."""
    return tuple(replace(turn, text=_GAP.sub("", turn.text)) for turn in context)


def retrieve(items: Sequence[Item], dialogues: Sequence[Dialogue]) -> list[list[Proposal]]:
    """The turns of a corpus that stand where past, reply and future are most alike, as they are written there."""
    from rejoinder.augmenting.retrieved import Retrieval

    return Retrieval(kind="bm25").over(dialogues).propose(items, RETRIEVED)


def part_of(dialogues: Sequence[Dialogue]) -> list[Dialogue]:
    """A twentieth of a corpus, drawn by the seed, in its order."""
    chosen = random.Random(SEED).sample(range(len(dialogues)), max(1, round(SHARE * len(dialogues))))
    return [dialogues[number] for number in sorted(chosen)]


def infer(items: Sequence[Item], source: CommonSense) -> list[list[Proposal]]:
    """What common sense says of each item, spaced."""
    found = source.infer([replace(item, context=closed(item.context)) for item in items])
    return [[replace(one, text=spaced(one.text)) for one in of_item] for of_item in found]


def generate(items: Sequence[Item], generator: Generator) -> list[list[Proposal]]:
    """What follows by a generator."""
    return infer(items, GeneratedKnowledge(generator, each=EACH))


def match(items: Sequence[Item]) -> list[list[Proposal]]:
    """What follows by the events of the knowledge files that the last utterance is nearest to."""
    from rejoinder.augmenting.knowledge import read_knowledge
    from rejoinder.models.encoder import load_encoder

    names = ("dataset:knowledge/atomic", "dataset:knowledge/conceptnet")
    encoder = load_encoder("aptness")
    found = [infer(items, MatchedKnowledge(read_knowledge(name), encoder, each=EACH)) for name in names]
    return [[*first, *second] for first, second in zip(*found, strict=True)]


def to_adapt(proposals: Mapping[str, Proposals]) -> list[Place]:
    """What is adapted, the first of every item before the second: so any number of them is fair to all items."""
    places = []
    for source in (source for source in ORDER if source in proposals):
        of_items = proposals[source]
        most = max(map(len, of_items), default=0)
        for rank in range(min(most, ADAPTED) if source in (RETRIEVAL, PART) else most):
            places += [Place(source, item, rank) for item, found in enumerate(of_items) if rank < len(found)]
    return places
