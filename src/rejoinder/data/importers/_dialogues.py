"""What a dialogue becomes: itself, or one item for every turn after its first."""

from __future__ import annotations

from collections.abc import Iterator

from rejoinder.data.importers._base import Options, Tally
from rejoinder.types import Dialogue, Item, Record, Reference

ONE_TURN = "dialogues of one turn"


def dialogue_or_items(dialogue: Dialogue, options: Options, tally: Tally) -> Iterator[Record]:
    """The dialogue in the form that was asked for."""
    if options.form != "items":
        yield dialogue
    elif len(dialogue.turns) < 2:
        tally.left_out[ONE_TURN] += 1
    else:
        yield from items(dialogue)


def items(dialogue: Dialogue) -> Iterator[Item]:
    """Every turn after the first as a reference; the number in the id says how many turns stand before it."""
    for n in range(1, len(dialogue.turns)):
        yield Item(
            id=f"{dialogue.id}/{n}",
            context=dialogue.turns[:n],
            references=(Reference(dialogue.turns[n].text),),
            future=dialogue.turns[n + 1 :],
            dialogue=dialogue.id,
            meta=dialogue.meta,
        )
