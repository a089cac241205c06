"""The proposed references for each item, source by source; all settings were fixed before any rating was read.

The published items are lower-case, tokenised, and end with the reply. DailyDialog's test file has the same turns as
they were written, and the future turns that retrieval needs."""

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

RETRIEVED = 10  # turns of the corpus per item, half of them by the past alone
WIDE_HITS = 80  # the same of the wide search, by words and by vectors each
MIN_APTNESS = 0.7  # the minimum aptness of what the wide search finds
EACH = 3  # inferences per relation
SHARE = 0.05  # of the corpus, for the ablation
SEED = 0
RETRIEVAL, COMET, PART, MATCHED = "retrieval", "common sense", "retrieval, 5% of the corpus", "common sense, matched"
WIDE, WIDE_PART = "wide retrieval", "wide retrieval, 5% of the corpus"
KINDS: tuple[ThreeFieldKind, ...] = ("bm25", "dense")  # of the wide search
# The order of adaptation: what Table 1 is made from comes first.
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
    """Return the items as spelled in their dialogues: `73_4` ends with turn 4 of dialogue `test-73`, counted from 0."""
    return [_restore_item(item, dialogues) for item in items]


def _restore_item(item: Item, dialogues: Mapping[str, Dialogue]) -> Item:
    last = int(item.id.rpartition("_")[2])
    dialogue = dialogues.get(item.dialogue or "")
    turns = dialogue.turns if dialogue else ()
    texts = [*(turn.text for turn in item.context), item.references[0].text]
    spelled = turns[max(0, last + 1 - len(item.context)) : last + 2]
    if [_spelling_letters(text) for text in texts] != [_spelling_letters(turn.text) for turn in spelled]:
        raise InputError(
            f"item {item.id} differs from {item.dialogue} of dailydialog/test; the reproduction needs the "
            "copy of DailyDialog that `rejoinder data show dailydialog/test` describes"
        )
    *context, reply = spelled
    return replace(item, context=tuple(context), references=(Reference(reply.text),), future=turns[last + 2 :])


def _spelling_letters(text: str) -> str:
    """A text without case, spacing and punctuation."""
    return re.sub(r"[\W_]", "", text.lower())


def retrieve_proposals(items: Sequence[Item], dialogues: Sequence[Dialogue]) -> list[list[Proposal]]:
    """Return the turns of a corpus whose past, reply and future are most similar, and those whose past is.

    The lists that the authors released are made so, half by all three fields and half by the past alone. Each turn is
    as it is written there.
    """
    from rejoinder.augmentation.retrieval import Retrieval

    return Retrieval(kind="bm25", past_alone=True).over(dialogues).propose(items, RETRIEVED)


def retrieve_widely(items: Sequence[Item], dialogues: Sequence[Dialogue]) -> list[list[Proposal]]:
    """Return many turns, found by words and by vectors, keeping those that our bi-encoder finds apt.

    The numbers were chosen on contexts of DailyDialog's test file that nobody rated (docs/augmenting.md).
    """
    from rejoinder.augmentation.retrieval import Retrieval
    from rejoinder.metric import parse

    sources = [Retrieval(kind=kind, past_alone=True).over(dialogues) for kind in KINDS]
    lists = zip(*(source.propose(items, WIDE_HITS) for source in sources), strict=True)
    proposals = [list({one.text: one for of_source in of_item for one in of_source}.values()) for of_item in lists]
    pairs = [
        Pair(item, Response(f"{item.id}/{rank}", item.id, WIDE, one.text))
        for item, of_item in zip(items, proposals, strict=True)
        for rank, one in enumerate(of_item)
    ]
    scores = iter(parse("aptness(model='bi')").score(pairs))
    return [[one for one in of_item if next(scores) >= MIN_APTNESS] for of_item in proposals]


def draw_corpus_part(dialogues: Sequence[Dialogue]) -> list[Dialogue]:
    """Return a random twentieth of a corpus, in its order."""
    chosen = random.Random(SEED).sample(range(len(dialogues)), max(1, round(SHARE * len(dialogues))))
    return [dialogues[number] for number in sorted(chosen)]


def infer_proposals(items: Sequence[Item], source: CommonSense) -> list[list[Proposal]]:
    """Return the common-sense proposals for each item, with spaced punctuation."""
    inferences = source.infer([replace(item, context=close_punctuation(item.context)) for item in items])
    return [[replace(one, text=space_punctuation(one.text)) for one in of_item] for of_item in inferences]


def generate_proposals(items: Sequence[Item], generator: TailGenerator) -> list[list[Proposal]]:
    """Return the inferences of a generator."""
    return infer_proposals(items, GeneratedKnowledge(generator, each=EACH))


def match_proposals(items: Sequence[Item]) -> list[list[Proposal]]:
    """Return the inferences from the events in the knowledge files that are closest to the last utterance."""
    from rejoinder.augmentation.commonsense.knowledge import read_knowledge
    from rejoinder.models.encoder.factory import load_encoder

    names = ("dataset:knowledge/atomic", "dataset:knowledge/conceptnet")
    encoder = load_encoder("aptness")
    inferences = [infer_proposals(items, MatchedKnowledge(read_knowledge(name), encoder, each=EACH)) for name in names]
    return [[*first, *second] for first, second in zip(*inferences, strict=True)]


def list_adaptations(proposals: Mapping[str, Proposals]) -> list[ProposalPlace]:
    """Return what to adapt, the first of every item before the second, so that any limit treats all items equally."""
    places = []
    for source in (source for source in ORDER if source in proposals):
        of_items = proposals[source]
        most = max(map(len, of_items), default=0)
        for rank in range(most):
            places += [
                ProposalPlace(source, item, rank) for item, of_item in enumerate(of_items) if rank < len(of_item)
            ]
    return places
