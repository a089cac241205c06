"""A moment of a conversation as attacks need it: what was said before, the true reply, and what was said next."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from rejoinder.text.normalise import normalise_text
from rejoinder.text.words import find_words
from rejoinder.types import Item, Reference, Statement, Turn

_TRIES = 100


@dataclass(frozen=True, eq=False)
class ReplyPool:
    """The replies of a corpus, each with its dialogue: the texts and words that attacks borrow."""

    replies: tuple[tuple[str, str], ...]

    def other(self, rng: random.Random, dialogue: str, reply: str) -> str | None:
        """A reply from another dialogue that does not say the same; None if none is found."""
        normalised = normalise_text(reply)
        for _ in range(_TRIES):
            other_dialogue, text = rng.choice(self.replies)
            if other_dialogue != dialogue and normalise_text(text) != normalised:
                return text
        return None

    def word(self, rng: random.Random) -> str:
        """A random word, as frequent as in the corpus."""
        return rng.choice(find_words(rng.choice(self.replies)[1]))


@dataclass(frozen=True)
class Exchange:
    """A context, the true reply to it, and what else is known about them.

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
    pool: ReplyPool = field(default=ReplyPool(()), repr=False, compare=False)

    def item(self) -> Item:
        """The item that a metric sees; the true reply is not among its references."""
        return Item(self.id, self.context, self.references, self.future, self.situation, self.dialogue)
