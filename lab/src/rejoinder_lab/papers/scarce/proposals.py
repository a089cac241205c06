"""The proposed references for each item, source by source; all settings were fixed before any rating was read.

The published items are lower-case, tokenised, and end with the reply. DailyDialog's test file has the same turns as
they were written, and the future turns that retrieval needs."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from rejoinder.augmentation.proposal import Proposal
from rejoinder.augmentation.retrieval import Retrieval
from rejoinder.errors import InputError
from rejoinder.types import Dialogue, Item, Reference, Turn

# What comes nearest to the lists that the authors released, judged by their texts alone (docs/augmenting.md).
AS_RELEASED = Retrieval(past_alone=True, k1=1.5, b=0.75, tokenizer="whitespace", lowercase=False, once="both")
AS_PRINTED = Retrieval(past_alone=True)  # Appendix C
RETRIEVED = 10  # turns of the corpus per item, half of them by the past alone
COUNTS = {"atomic": 4, "conceptnet": 5}  # inferences per relation, as released
SHARE = 0.05  # of the corpus, for the ablation
SEED = 0
RETRIEVAL, SENSE, PART = "retrieval", "common sense", "retrieval, 5% of the corpus"
PRINTED, OTHER = "retrieval by BM25 as printed", "retrieval from other corpora"
WIDER = "retrieval, longer lists"  # of which the step beyond the paper chooses
OTHER_CORPORA = ("dream", "empathetic", "commonsense_dialogues")  # the judged systems were trained on DailyDialog
Proposals: TypeAlias = Sequence[Sequence[Proposal]]  # of each item
_MARK = re.compile(r"(?<=[^\s.,!?;:])([.,!?;:]+)(?=\s|$)")
_SHORT_FORM = re.compile(r"(?<=\w)(n't|'(?:s|m|re|ve|ll|d))\b")
_SPLIT_FORM = re.compile(r" (n't|'(?:s|m|re|ve|ll|d))(?= |$)")
_GAP = re.compile(r"\s+(?=[.,!?;:])")


class ProposalPlace(NamedTuple):
    """One retrieved text to adapt: the number of its item, and its rank there."""

    item: int
    rank: int


def space_punctuation(text: str) -> str:
    """A text with a space before its punctuation marks, as the rated replies and DailyDialog's files have it."""
    return " ".join(_MARK.sub(r" \1", text).split())


def spell_like_rated(text: str) -> str:
    """A text in the spelling of the rated replies: lower case, with spaces before punctuation and short forms."""
    return space_punctuation(_SHORT_FORM.sub(r" \1", text.lower().replace("’", "'")))


def spell_plainly(text: str) -> str:
    """A text as people write it, from the spelling of the rated replies: a capital, no spaces before punctuation."""
    plain = _GAP.sub("", _SPLIT_FORM.sub(r"\1", text))
    return plain[:1].upper() + re.sub(r"\bi\b", "I", plain[1:])


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


def retrieve_proposals(
    items: Sequence[Item], dialogues: Sequence[Dialogue], how: Retrieval = AS_RELEASED, n: int = RETRIEVED
) -> list[list[Proposal]]:
    """Return the turns of a corpus whose past, reply and future are most similar, and those whose past is.

    The lists that the authors released are made so, half by all three fields and half by the past alone. Each turn is
    as it is written there.
    """
    return how.over(dialogues).propose(items, n)


def draw_corpus_part(dialogues: Sequence[Dialogue]) -> list[Dialogue]:
    """Return a random twentieth of a corpus, in its order."""
    chosen = random.Random(SEED).sample(range(len(dialogues)), max(1, round(SHARE * len(dialogues))))
    return [dialogues[number] for number in sorted(chosen)]


def infer_proposals(items: Sequence[Item]) -> list[list[Proposal]]:
    """Return the inferences from the events in the knowledge files that are closest to the last utterance.

    Their form is that of the authors' lists: lower case, without a full stop.
    """
    from rejoinder.augmentation.commonsense.knowledge import read_knowledge
    from rejoinder.augmentation.inference import MatchedKnowledge
    from rejoinder.models.encoder.factory import load_encoder

    plain = [replace(item, context=close_punctuation(item.context)) for item in items]
    encoder = load_encoder("aptness")
    inferences = [
        MatchedKnowledge(read_knowledge(f"dataset:knowledge/{name}"), encoder, each=each).infer(plain)
        for name, each in COUNTS.items()
    ]
    return [
        [replace(one, text=space_punctuation(one.text).removesuffix(" .").lower()) for one in (*first, *second)]
        for first, second in zip(*inferences, strict=True)
    ]


def list_adaptations(proposals: Proposals) -> list[ProposalPlace]:
    """Return what to adapt, the first of every item before the second, so that any limit treats all items equally."""
    most = max(map(len, proposals), default=0)
    return [
        ProposalPlace(item, rank)
        for rank in range(most)
        for item, of_item in enumerate(proposals)
        if rank < len(of_item)
    ]
