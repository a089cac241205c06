"""A moment of a conversation as attacks need it: what was said before, the true reply, and what was said next."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from rejoinder.probes.words import find_words
from rejoinder.text.normalise import normalise_text
from rejoinder.types import Item, Reference, Statement, Turn

_TRIES = 100


@dataclass(frozen=True, eq=False)
class Pool:
    """The replies of a corpus, each with the dialogue it stands in: what attacks borrow from."""

    replies: tuple[tuple[str, str], ...]

    def other(self, rng: random.Random, dialogue: str, reply: str) -> str | None:
        """A reply from another dialogue that does not say the same; None where there seems to be none."""
        said = normalise_text(reply)
        for _ in range(_TRIES):
            where, text = rng.choice(self.replies)
            if where != dialogue and normalise_text(text) != said:
                return text
        return None

    def word(self, rng: random.Random) -> str:
        """A word as often as people here say it."""
        return rng.choice(find_words(rng.choice(self.replies)[1]))


@dataclass(frozen=True)
class Exchange:
    """A context, the true reply to it, and what is known around them.

    ``following`` is what another speaker says next, ``references`` are other replies known to be good (never the true
    reply itself).
    """

    id: str
    corpus: str
    dialogue: str
    context: tuple[Turn, ...]
    reply: str
    following: str | None = None
    references: tuple[Reference, ...] = ()
    future: tuple[Turn, ...] = ()
    situation: tuple[Statement, ...] = ()
    pool: Pool = field(default=Pool(()), repr=False, compare=False)

    def item(self) -> Item:
        """The item that a metric sees; the true reply is not among its references."""
        return Item(self.id, self.context, self.references, self.future, self.situation, self.dialogue)
