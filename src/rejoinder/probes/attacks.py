"""Worse replies made by rule: each attack turns an exchange into a text that the true reply should beat.

Copies are the attack of Sai et al. (2019) and of SSREM (Bak and Oh 2020), generic replies that of Li et al. (2016).
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from importlib.resources import files
from typing import NamedTuple

from rejoinder.probes.exchange import Exchange
from rejoinder.text.normalise import normalise_text
from rejoinder.text.words import change_words, repeat_text, reverse_words

Make = Callable[[random.Random, Exchange], str | None]


class Attack(NamedTuple):
    """A name, what the reply is, and the function that makes it (None where it cannot be made)."""

    name: str
    about: str
    make: Make


def copy_last_turn(rng: random.Random, exchange: Exchange) -> str | None:
    """The last utterance of the context."""
    return exchange.context[-1].text if exchange.context else None


def copy_earlier_turn(rng: random.Random, exchange: Exchange) -> str | None:
    """Any utterance of the context except the last."""
    return rng.choice(exchange.context[:-1]).text if len(exchange.context) > 1 else None


def copy_with_changes(rng: random.Random, exchange: Exchange) -> str | None:
    """The last utterance of the context with a few words changed."""
    if not exchange.context or not exchange.pool.replies:
        return None
    last = exchange.context[-1].text
    changed = change_words(rng, last, exchange.pool.word)
    return changed if changed and normalise_text(changed) != normalise_text(last) else None


def reverse_reply(rng: random.Random, exchange: Exchange) -> str | None:
    """The true reply with its words in reverse order."""
    return reverse_words(exchange.reply)


def pick_from_other_dialogue(rng: random.Random, exchange: Exchange) -> str | None:
    """A reply from another dialogue of the same corpus."""
    pool = exchange.pool
    return pool.other(rng, exchange.dialogue, exchange.reply) if pool.replies else None


def pick_generic_reply(rng: random.Random, exchange: Exchange) -> str | None:
    """A reply that fits nearly everywhere and says nearly nothing."""
    return rng.choice(read_generic_replies())


def repeat_reply(rng: random.Random, exchange: Exchange) -> str | None:
    """The true reply three times over."""
    return repeat_text(exchange.reply)


def pick_from_other_speaker(rng: random.Random, exchange: Exchange) -> str | None:
    """What the other speaker says after the true reply."""
    return exchange.following


@functools.cache
def read_generic_replies() -> tuple[str, ...]:
    """The generic replies of ``generic.txt``."""
    lines = (files("rejoinder.probes") / "generic.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


ATTACKS = (
    Attack("copy", "the last utterance of the context", copy_last_turn),
    Attack("copy_earlier", "an earlier utterance of the context", copy_earlier_turn),
    Attack("near_copy", "the last utterance with a few words changed", copy_with_changes),
    Attack("reversed", "the true reply with its words reversed", reverse_reply),
    Attack("other_dialogue", "a reply from another dialogue of the corpus", pick_from_other_dialogue),
    Attack("generic", "a generic reply", pick_generic_reply),
    Attack("repeated", "the true reply three times", repeat_reply),
    Attack("other_speaker", "what the other speaker says next", pick_from_other_speaker),
)


def make_attack_text(attack: Attack, seed: int, exchange: Exchange) -> str | None:
    """The text that an attack makes from an exchange; None where there is none, or it says the same as the true reply.

    Random choices depend only on the seed, the exchange and the attack.
    """
    text = attack.make(random.Random(f"{seed}/{attack.name}/{exchange.id}"), exchange)
    return text if text is not None and normalise_text(text) != normalise_text(exchange.reply) else None
