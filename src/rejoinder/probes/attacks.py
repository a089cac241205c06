"""Worse replies made by rule: each attack takes an exchange and gives the text that the true reply should beat.

Copies are the attack of Sai et al. (2019) and of SSREM (Bak and Oh 2020); generic replies that of Li et al. (2016).
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from importlib.resources import files
from typing import NamedTuple

from rejoinder.probes.exchange import Exchange
from rejoinder.probes.words import change_words, repeat, reverse_words
from rejoinder.text.normalise import same_words

Make = Callable[[random.Random, Exchange], str | None]


class Attack(NamedTuple):
    """A name, what the reply is, and the function that makes it (None where it cannot be made)."""

    name: str
    about: str
    make: Make


def copy(rng: random.Random, exchange: Exchange) -> str | None:
    """The last utterance of the context."""
    return exchange.context[-1].text if exchange.context else None


def copy_earlier(rng: random.Random, exchange: Exchange) -> str | None:
    """Any utterance of the context but the last."""
    return rng.choice(exchange.context[:-1]).text if len(exchange.context) > 1 else None


def near_copy(rng: random.Random, exchange: Exchange) -> str | None:
    """The last utterance of the context with a few words changed."""
    if not exchange.context or not exchange.pool.replies:
        return None
    last = exchange.context[-1].text
    changed = change_words(rng, last, exchange.pool.word)
    return changed if changed and same_words(changed) != same_words(last) else None


def reversed_words(rng: random.Random, exchange: Exchange) -> str | None:
    """The true reply with its words in reverse order."""
    return reverse_words(exchange.reply)


def other_dialogue(rng: random.Random, exchange: Exchange) -> str | None:
    """A reply from another dialogue of the same corpus."""
    pool = exchange.pool
    return pool.other(rng, exchange.dialogue, exchange.reply) if pool.replies else None


def generic(rng: random.Random, exchange: Exchange) -> str | None:
    """A reply that fits nearly everywhere and says nearly nothing."""
    return rng.choice(generic_replies())


def repeated(rng: random.Random, exchange: Exchange) -> str | None:
    """The true reply three times over."""
    return repeat(exchange.reply)


def other_speaker(rng: random.Random, exchange: Exchange) -> str | None:
    """What the other speaker says after the true reply."""
    return exchange.following


@functools.cache
def generic_replies() -> tuple[str, ...]:
    """The generic replies of ``generic.txt``."""
    lines = (files("rejoinder.probes") / "generic.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


ATTACKS = (
    Attack("copy", "the last utterance of the context", copy),
    Attack("copy_earlier", "an earlier utterance of the context", copy_earlier),
    Attack("near_copy", "the last utterance with a few words changed", near_copy),
    Attack("reversed", "the true reply with its words reversed", reversed_words),
    Attack("other_dialogue", "a reply from another dialogue of the corpus", other_dialogue),
    Attack("generic", "a generic reply", generic),
    Attack("repeated", "the true reply three times", repeated),
    Attack("other_speaker", "what the other speaker says next", other_speaker),
)


def worse(attack: Attack, seed: int, exchange: Exchange) -> str | None:
    """What an attack makes of an exchange; None where it cannot, or where that says the same as the true reply.

    The draw depends on the seed, the exchange and the attack alone.
    """
    made = attack.make(random.Random(f"{seed}/{attack.name}/{exchange.id}"), exchange)
    return made if made is not None and same_words(made) != same_words(exchange.reply) else None
