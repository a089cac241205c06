"""What is proposed as a reference for each item, source by source; every number here was fixed before any rating."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from rejoinder.augmentation.commonsense.inference import (
    CommonSense,
    GeneratedKnowledge,
    MatchedKnowledge,
    TailGenerator,
)
from rejoinder.augmentation.proposal import Proposal
from rejoinder.errors import InputError
from rejoinder.indexes.three_field.cache import ThreeFieldKind
from rejoinder.types import Dialogue, Item, Pair, Reference, Response, Turn

RETRIEVED = 10  # turns of the corpus an item, half of them by the past alone
WIDE_HITS = 80  # the same of the wide search, by words and by vectors each
MIN_APTNESS = 0.7  # the least aptness of what a wide search finds
EACH = 3  # inferences of a relation
SHARE = 0.05  # of the corpus, for the ablation
SEED = 0
RETRIEVAL, COMET, PART, MATCHED = "retrieval", "common sense", "retrieval, 5% of the corpus", "common sense, matched"
WIDE, WIDE_PART = "wide retrieval", "wide retrieval, 5% of the corpus"
KINDS: tuple[ThreeFieldKind, ...] = ("bm25", "dense")  # of the wide search
# In this order they are adapted: what Table 1 is made of comes first.
ORDER = (RETRIEVAL, COMET, PART, MATCHED)
Proposals: TypeAlias = Sequence[Sequence[Proposal]]  # of each item
_MARK = re.compile(r"(?<=[^\s.,!?;:])([.,!?;:]+)(?=\s|$)")
_GAP = re.compile(r"\s+(?=[.,!?;:])")


class ProposalPlace(NamedTuple):
    """One proposal to adapt: its source, the number of its item, and its rank there."""

    source: str
    item: int
    rank: int


def space_punctuation(text: str) -> str:
    """A text with a space before its punctuation marks, as the rated replies and DailyDialog's files have it."""
    return " ".join(_MARK.sub(r" \1", text).split())


def close_punctuation(context: Sequence[Turn]) -> tuple[Turn, ...]:
    """A context without the spaces before punctuation marks: knowledge is about text as people write it."""
    return tuple(replace(turn, text=_GAP.sub("", turn.text)) for turn in context)


def restore_spelling(items: Iterable[Item], dialogues: Mapping[str, Dialogue]) -> list[Item]:
    """The items in the spelling of their dialogues: `73_4` ends with turn 4 of dialogue `test-73`, counted from 0."""
    return [_restore_item(item, dialogues) for item in items]


def _restore_item(item: Item, dialogues: Mapping[str, Dialogue]) -> Item:
    last = int(item.id.rpartition("_")[2])
    found = dialogues.get(item.dialogue or "")
    turns = found.turns if found else ()
    told = [*(turn.text for turn in item.context), item.references[0].text]
    written = turns[max(0, last + 1 - len(item.context)) : last + 2]
    if [_letters(text) for text in told] != [_letters(turn.text) for turn in written]:
        raise InputError(
            f"the item {item.id} is not what stands in {item.dialogue} of dailydialog/test; the reproduction needs the "
            "copy of DailyDialog that `rejoinder data show dailydialog/test` describes"
        )
    *context, reply = written
    return replace(item, context=tuple(context), references=(Reference(reply.text),), future=turns[last + 2 :])


def _letters(text: str) -> str:
    """What is left of a text when case and spacing are gone."""
    return re.sub(r"[\W_]", "", text.lower())


def retrieve(items: Sequence[Item], dialogues: Sequence[Dialogue]) -> list[list[Proposal]]:
    """The turns of a corpus that stand where past, reply and future are most alike, and those where the past is.

    The lists that the authors released are made so, half by all three fields and half by the past alone. Each turn is
    as it is written there.
    """
    from rejoinder.augmentation.retrieval import Retrieval

    return Retrieval(kind="bm25", past_alone=True).over(dialogues).propose(items, RETRIEVED)


def search_widely(items: Sequence[Item], dialogues: Sequence[Dialogue]) -> list[list[Proposal]]:
    """Many turns, found by words and by vectors, of which those stay that our bi-encoder finds apt.

    The numbers were chosen on contexts of DailyDialog's test file that nobody rated (docs/augmenting.md).
    """
    from rejoinder.augmentation.retrieval import Retrieval
    from rejoinder.metric import parse

    sources = [Retrieval(kind=kind, past_alone=True).over(dialogues) for kind in KINDS]
    lists = zip(*(source.propose(items, WIDE_HITS) for source in sources), strict=True)
    found = [list({one.text: one for of_source in of_item for one in of_source}.values()) for of_item in lists]
    pairs = [
        Pair(item, Response(f"{item.id}/{rank}", item.id, WIDE, one.text))
        for item, of_item in zip(items, found, strict=True)
        for rank, one in enumerate(of_item)
    ]
    scores = iter(parse("aptness(model='bi')").score(pairs))
    return [[one for one in of_item if next(scores) >= MIN_APTNESS] for of_item in found]


def draw_part(dialogues: Sequence[Dialogue]) -> list[Dialogue]:
    """A twentieth of a corpus, drawn by the seed, in its order."""
    chosen = random.Random(SEED).sample(range(len(dialogues)), max(1, round(SHARE * len(dialogues))))
    return [dialogues[number] for number in sorted(chosen)]


def infer_proposals(items: Sequence[Item], source: CommonSense) -> list[list[Proposal]]:
    """What common sense says of each item, spaced."""
    found = source.infer([replace(item, context=close_punctuation(item.context)) for item in items])
    return [[replace(one, text=space_punctuation(one.text)) for one in of_item] for of_item in found]


def generate_proposals(items: Sequence[Item], generator: TailGenerator) -> list[list[Proposal]]:
    """What follows by a generator."""
    return infer_proposals(items, GeneratedKnowledge(generator, each=EACH))


def match(items: Sequence[Item]) -> list[list[Proposal]]:
    """What follows by the events of the knowledge files that the last utterance is nearest to."""
    from rejoinder.augmentation.commonsense.knowledge import read_knowledge
    from rejoinder.models.encoder.factory import load_encoder

    names = ("dataset:knowledge/atomic", "dataset:knowledge/conceptnet")
    encoder = load_encoder("aptness")
    found = [infer_proposals(items, MatchedKnowledge(read_knowledge(name), encoder, each=EACH)) for name in names]
    return [[*first, *second] for first, second in zip(*found, strict=True)]


def list_adaptations(proposals: Mapping[str, Proposals]) -> list[ProposalPlace]:
    """What is adapted, the first of every item before the second: so any number of them is fair to all items."""
    places = []
    for source in (source for source in ORDER if source in proposals):
        of_items = proposals[source]
        most = max(map(len, of_items), default=0)
        for rank in range(most):
            places += [ProposalPlace(source, item, rank) for item, found in enumerate(of_items) if rank < len(found)]
    return places
