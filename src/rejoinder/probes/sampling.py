"""Exchanges sampled evenly over corpora: a turn of a dialogue with turns before it, or an item's first reference."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from rejoinder.errors import InputError
from rejoinder.probes.exchange import Exchange, ReplyPool
from rejoinder.types import Dialogue, Item, Turn

MAX_TURNS = 5  # turns of a context
_MIN_TURNS = 2  # turns that a context should have if possible

ExchangePlace: TypeAlias = tuple[Dialogue | Item, int]  # a dialogue and the number of its reply; an item and 0


@dataclass
class _ExchangeCorpus:
    """The possible exchanges of a corpus by dialogue, and its replies."""

    places: dict[str, list[ExchangePlace]] = field(default_factory=dict)
    replies: list[tuple[str, str]] = field(default_factory=list)
    seen: set[tuple[type, str]] = field(default_factory=set)

    def add(self, record: Dialogue | Item) -> None:
        """Add all possible exchanges of a record."""
        if (type(record), record.id) in self.seen:
            raise InputError(f"two records of {corpus_name(record)} have the id {record.id!r}; give each its own id")
        self.seen.add((type(record), record.id))
        places: list[ExchangePlace]
        if isinstance(record, Item):
            places = [(record, 0)] if record.context and record.references else []
            dialogue, texts = record.dialogue or record.id, [record.references[0].text] if places else []
        else:
            dialogue, texts = record.id, [turn.text for turn in record.turns[1:]]
            places = [(record, number) for number in range(1, len(record.turns))]
        with_words = [i for i, text in enumerate(texts) if any(map(str.isalnum, text))]
        self.places.setdefault(dialogue, []).extend(places[i] for i in with_words)
        self.replies += [(dialogue, texts[i]) for i in with_words]

    def sample(self, n: int, rng: random.Random) -> list[tuple[str, ExchangePlace]]:
        """A sample of exchanges from as many dialogues as possible, those with enough context first."""
        ranked: list[tuple[bool, int, int, str, ExchangePlace]] = []
        dialogues = [name for name, places in self.places.items() if places]
        rng.shuffle(dialogues)
        for order, name in enumerate(dialogues):
            places = rng.sample(self.places[name], len(self.places[name]))
            places.sort(key=_is_short)
            ranked += [(_is_short(place), nth, order, name, place) for nth, place in enumerate(places)]
        ranked.sort(key=lambda one: one[:3])
        return [(name, place) for *_, name, place in ranked[:n]]


def draw_exchanges(records: Iterable[Dialogue | Item], contexts: int, split: str, seed: int) -> list[Exchange]:
    """Exchanges from the dialogues of a split (and those without one) and from items with references.

    Each corpus contributes the same number, or all that it has if that is fewer.
    """
    corpora: dict[str, _ExchangeCorpus] = {}
    other_splits: set[str] = set()
    for record in records:
        if isinstance(record, Dialogue) and record.split not in (None, split):
            other_splits.add(str(record.split))
            continue
        corpora.setdefault(corpus_name(record), _ExchangeCorpus()).add(record)
    sizes = {name: len(corpus.replies) for name, corpus in corpora.items() if corpus.replies}
    if not sizes and other_splits and not corpora:
        raise InputError(
            f"no dialogue is in the split {split!r}; choose another one (found: {', '.join(sorted(other_splits))})"
        )
    if not sizes:
        raise InputError(
            "there is no true reply to attack; use dialogues with two or more turns, or items with references "
            "(import chat logs with: rejoinder import openai FILE)"
        )
    exchanges = []
    for name, n in share_evenly(sizes, contexts).items():
        pool = ReplyPool(tuple((f"{name}/{dialogue}", text) for dialogue, text in corpora[name].replies))
        sample = corpora[name].sample(n, random.Random(f"{seed}/{name}"))
        exchanges += [_make_exchange(name, dialogue, place, pool) for dialogue, place in sample]
    return exchanges


def corpus_name(record: Dialogue | Item) -> str:
    """The corpus of a record; for an item, from its ``meta``."""
    corpus = record.corpus if isinstance(record, Dialogue) else record.meta.get("corpus")
    return str(corpus) if corpus else "(no corpus)"


def share_evenly(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """How many each set contributes to a total so that all contribute the same, but none more than it has."""
    shares = {}
    left = total
    for done, name in enumerate(sorted(sizes, key=lambda name: (sizes[name], name))):
        shares[name] = min(sizes[name], left // (len(sizes) - done))
        left -= shares[name]
    return {name: shares[name] for name in sorted(shares)}


def _is_short(place: ExchangePlace) -> bool:
    record, number = place
    return (len(record.context) if isinstance(record, Item) else number) < _MIN_TURNS


def _make_exchange(corpus: str, dialogue: str, place: ExchangePlace, pool: ReplyPool) -> Exchange:
    record, number = place
    if isinstance(record, Item):
        name, context, reply = record.id, record.context, Turn(record.references[0].text)
        future, references, situation = record.future, record.references[1:], record.situation
    else:
        name, context, reply = f"{record.id}#{number}", record.turns[:number], record.turns[number]
        future, references, situation = record.turns[number + 1 :], (), ()
    return Exchange(
        f"{corpus}/{name}",
        corpus,
        f"{corpus}/{dialogue}",
        context[-MAX_TURNS:],
        reply.text,
        _next_by_other_speaker(reply, future),
        references,
        future[:MAX_TURNS],
        situation,
        pool,
    )


def _next_by_other_speaker(reply: Turn, future: tuple[Turn, ...]) -> str | None:
    """What another speaker says next; without speakers, the next turn."""
    if not future or (reply.speaker is not None and future[0].speaker == reply.speaker):
        return None
    return future[0].text
