"""Which events of a knowledge file an utterance is about, by the vectors of an encoder.

A head is told from outside ("personx asks persony for help"), an utterance from inside ("Can you help me?"). So heads
are put into the mouth of the speaker first ("I ask you for help"), and are compared with each sentence of the utterance
and with the whole of it; the nearest of these counts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rejoinder.augmenting.knowledge import Knowledge
from rejoinder.augmenting.wording import BLANK, ME, YOU, fill, named
from rejoinder.models.contract import Encoder, Vectors

_SENTENCE = re.compile(r"[^.!?]+[.!?]*")
_FEWEST = 2  # words in a sentence that says anything
_SOMEONE = named("someone")


class Match(NamedTuple):
    """A head and how near it is to an utterance: the cosine."""

    head: str
    score: float


class Heads:
    """The heads of some knowledge as vectors."""

    def __init__(self, knowledge: Knowledge, encoder: Encoder) -> None:
        self._encoder = encoder
        self.heads = sorted(knowledge.tails)

    @cached_property
    def _vectors(self) -> Vectors:
        return self._encoder.encode([spoken(head) for head in self.heads])

    def nearest(self, utterances: Sequence[str], least: float) -> list[list[Match]]:
        """The heads that reach a cosine of ``least`` with each utterance, nearest first, ties by the alphabet."""
        pieces = [_pieces(utterance) for utterance in utterances]
        flat = list(dict.fromkeys(piece for of_one in pieces for piece in of_one))
        if not flat:
            return [[] for _ in utterances]
        cosines = dict(zip(flat, self._encoder.encode(flat) @ self._vectors.T, strict=True))
        found = []
        for of_one in pieces:
            best = np.max([cosines[piece] for piece in of_one], axis=0) if of_one else np.zeros(len(self.heads))
            order = np.argsort(-best.round(6), kind="stable")
            found.append([Match(self.heads[n], float(best[n])) for n in order if best[n] >= least])
        return found


def spoken(head: str) -> str:
    """A head as the person it is about would say it."""
    text = fill(head.replace(BLANK, "something"), {"personx": ME, "persony": YOU, "personz": _SOMEONE})
    return text if text.startswith("I ") or text.startswith("my ") else f"I {text}".replace("I be ", "I am ")


def _pieces(utterance: str) -> list[str]:
    """The sentences of an utterance, and the whole where there are several."""
    text = " ".join(utterance.split())
    sentences = [found.group().strip() for found in _SENTENCE.finditer(text)]
    telling = [sentence for sentence in sentences if len(sentence.split()) >= _FEWEST]
    return [*telling, text] if len(sentences) != 1 and text else telling or [text] * bool(text)
