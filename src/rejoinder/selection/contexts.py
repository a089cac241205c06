"""Contexts and their true replies, one per dialogue: by default its first three turns, and the fourth as the reply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from rejoinder.data.questions import find_right_candidates
from rejoinder.errors import InputError
from rejoinder.seeded import stable_hash
from rejoinder.selection.settings import SelectionSettings
from rejoinder.text.normalise import normalise_text
from rejoinder.types import Dialogue, Item, Question, Reference


@dataclass(frozen=True)
class ContextItems:
    """Items with their true reply as the first reference, and how many dialogues were left out."""

    items: tuple[Item, ...]
    dialogues: int
    too_short: int = 0
    without_reply: int = 0  # items without a reference
    twice: int = 0  # items with the same context and reply as an earlier one


def collect_contexts(records: Iterable[Dialogue | Item | Question], settings: SelectionSettings) -> ContextItems:
    """Return one item per dialogue.

    Of an item, the last turns are the context and the first reference is the true reply; a question keeps its whole
    context, and its right candidate is the true reply.
    """
    items: dict[tuple[str, ...], Item] = {}
    left_out: Counter[str] = Counter()
    ids: set[str] = set()
    for record in records:
        if record.id in ids:
            raise InputError(f"two dialogues have the id {record.id!r}; give each its own")
        ids.add(record.id)
        item = _to_item(record, settings)
        if isinstance(item, str):
            left_out[item] += 1
            continue
        key = tuple(normalise_text(text) for text in (*(t.text for t in item.context), item.references[0].text))
        if items.setdefault(key, item) is not item:
            left_out["twice"] += 1
    if not ids:
        raise InputError("there are no dialogues to build from; name a file that has some")
    if not items:
        raise InputError(
            f"none of the {len(ids):,} dialogues has {settings.context_turns} turns of context and a reply after "
            "them; set context_turns to fewer"
        )
    return ContextItems(
        tuple(items.values()), len(ids), left_out["too_short"], left_out["without_reply"], left_out["twice"]
    )


def _to_item(record: Dialogue | Item | Question, settings: SelectionSettings) -> Item | str:
    match record:
        case Dialogue():
            return _item_from_dialogue(record, settings)
        case Item():
            return _shorten_item(record, settings)
    return _item_from_question(record)


def _item_from_dialogue(dialogue: Dialogue, settings: SelectionSettings) -> Item | str:
    n, size = settings.context_turns, len(dialogue.turns)
    if size <= n:
        return "too_short"
    match settings.position:
        case "first":
            at = n
        case "last":
            at = size - 1
        case "random":
            at = n + stable_hash(settings.seed, "position", dialogue.id) % (size - n)
        case number:
            at = number - 1
    if at >= size:
        return "too_short"
    meta = {key: value for key, value in (("corpus", dialogue.corpus), ("split", dialogue.split)) if value is not None}
    return Item(
        dialogue.id,
        dialogue.turns[at - n : at],
        (Reference(dialogue.turns[at].text),),
        dialogue.turns[at + 1 :],
        dialogue=dialogue.id,
        truncated=at > n,
        meta=meta,
    )


def _shorten_item(item: Item, settings: SelectionSettings) -> Item | str:
    if not item.references:
        return "without_reply"
    if len(item.context) < settings.context_turns:
        return "too_short"
    cut = len(item.context) > settings.context_turns
    return replace(item, context=item.context[-settings.context_turns :], truncated=item.truncated or cut)


def _item_from_question(question: Question) -> Item:
    places = find_right_candidates(question)
    truth = question.candidates[min(places)]
    if len(places) > 1:
        raise InputError(f"question {question.id}: has {len(places)} right candidates; one must be the best")
    return Item(
        question.id,
        question.context,
        (Reference(truth.text, truth.source or "human"),),
        situation=question.situation,
        dialogue=question.dialogue,
        meta={**question.meta, "split": question.split} if question.split else question.meta,
    )
