"""Harmless changes of a reply: each edit writes the same thing in another way, and the score should hardly move."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from rejoinder.robustness.contractions import toggle_contractions
from rejoinder.robustness.exchange import Exchange
from rejoinder.robustness.punctuation import without_punctuation
from rejoinder.robustness.synonyms import use_synonyms


class Edit(NamedTuple):
    """A name, what is changed, and the function that changes it (the text itself where there is nothing to change)."""

    name: str
    about: str
    make: Callable[[random.Random, str], str]


EDITS = (
    Edit("synonyms", "one or two words replaced by synonyms", use_synonyms),
    Edit("contractions", "contractions written out, or else drawn together", lambda _, text: toggle_contractions(text)),
    Edit("punctuation", "punctuation taken out", lambda _, text: without_punctuation(text)),
    Edit("case", "written in small letters", lambda _, text: text.lower()),
)


def harmless(edit: Edit, seed: int, exchange: Exchange) -> str | None:
    """The true reply as an edit leaves it; None where it changes nothing, or leaves nothing."""
    made = edit.make(random.Random(f"{seed}/{edit.name}/{exchange.id}"), exchange.reply)
    return made if made.split() not in (exchange.reply.split(), []) else None
