"""Whole speaker sets, and turns sampled from them, to measure how similar these are.

There are two designs. *Each set once*, as in SSREM's Table 2: every conversation of every speaker, every pair of
partners, every speaker, and five random sets per speaker; the four kinds then come from different speakers in
different shares and have different sizes. *Matched*: conversations of A with B where A has also spoken with B
elsewhere, and without B; the three sets of each and a random one, with the same number of turns from each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.indexes.corpus import Corpus, Numbers
from rejoinder.indexes.speakers import NOBODY, SETS, SetName, TurnPostings

Design: TypeAlias = Literal["each set once", "matched"]
RANDOM_SETS = 5  # per speaker, as in the paper


class SetSample(NamedTuple):
    """Turns sampled from one set, and the speaker whose set it is."""

    of: SetName
    speaker: int
    turns: Numbers


@dataclass(frozen=True)
class SetSampling:
    """The number of sets of each kind, the largest number of turns per set, and the seed.

    Of turns with the same text a set has only one, unless ``copies`` is set: where dialogues overlap (threads of a
    chat room), the same turn is in several.
    """

    sets: int = 1000
    size: int = 10
    seed: int = 0
    copies: bool = False


DEFAULT_SAMPLING = SetSampling()


class CorpusSets:
    """The sets of a corpus, each as a range of postings."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.index = corpus.speakers
        self.width = len(corpus.has_label)
        named = np.flatnonzero(corpus.has_label[corpus.speaker])
        key = corpus.dialogue[named] * np.int64(self.width) + corpus.speaker[named]
        self.by_conversation = TurnPostings.of(key, named, corpus.n_turns)

    @cached_property
    def postings(self) -> dict[SetName, TurnPostings]:
        """The postings of the sets of each kind (random sets use those of the speakers)."""
        kinds = self.by_conversation, self.index.by_pair, self.index.by_speaker, self.index.by_speaker
        return dict(zip(SETS, kinds, strict=True))

    @cached_property
    def sizes(self) -> dict[SetName, Numbers]:
        """The number of turns in each set of a kind; 0 for speakers without a name, or without a permanent one."""
        return {set_name: self._sizes(set_name) for set_name in SETS}

    def _sizes(self, set_name: SetName) -> Numbers:
        postings = self.postings[set_name]
        sizes = np.diff(postings.starts)[: len(postings.keys)]
        if set_name in ("same_conversation", "same_partner"):
            return sizes
        speaker = postings.keys % self.width
        known = self.corpus.permanent if set_name == "same_speaker" else self.corpus.has_label
        return np.where(known[speaker], sizes, 0)

    def speaker(self, set_name: SetName, run: int) -> int:
        """Return the speaker whose set it is."""
        key = int(self.postings[set_name].keys[run])
        run_of_speaker = key // self.width if set_name == "same_partner" else None
        return (
            key % self.width if run_of_speaker is None else int(self.index.by_speaker.keys[run_of_speaker]) % self.width
        )

    def chains(self) -> Numbers:
        """Return lines of (conversation of A with B, pair set, speaker set), each set larger than the one before."""
        turns = self.by_conversation.turn_at(self.by_conversation.starts[:-1][: len(self.by_conversation.keys)])
        turns = turns[self.corpus.permanent[self.corpus.speaker[turns]]]
        key = self.corpus.dialogue[turns] * np.int64(self.width) + self.corpus.speaker[turns]
        conversation = self.by_conversation.find(key)[0]
        speaker = self.index.run[turns]
        pair, known = self.index.by_pair.find(speaker * self.width + self.index.partner[turns])
        known &= self.index.partner[turns] != NOBODY
        pair, conversation, speaker = pair[known], conversation[known], speaker[known]
        in_conversation = self.sizes["same_conversation"][conversation]
        with_partner, anywhere = self.sizes["same_partner"][pair], self.sizes["same_speaker"][speaker]
        grows = (in_conversation >= 2) & (with_partner > in_conversation) & (anywhere > with_partner)
        return np.stack([conversation, pair, speaker], axis=1)[grows]

    def sample(self, set_name: SetName, run: int, n: int, random: np.random.Generator, copies: bool) -> SetSample:
        """Sample up to n turns of a set; a random set has the turns of everyone except the speaker."""
        postings = self.postings[set_name]
        low, high = gap_low, gap_high = postings.starts[run : run + 2].tolist()
        if set_name == "random":
            low, high = self.index.others(run)
        else:
            gap_low = gap_high = high
        size = (high - low) - (gap_high - gap_low)
        # More than n, since some may have the same text.
        places = low + random.choice(size, min(4 * n, size), replace=False) if size else np.zeros(0, dtype=np.int64)
        turns = postings.turn_at(places + np.where(places >= gap_low, gap_high - gap_low, 0))
        if not copies:
            turns = turns[np.sort(np.unique(self.corpus.text_codes[turns], return_index=True)[1])]
        return SetSample(set_name, self.speaker(set_name, run), turns[:n])


def _sample_each_once(sets: CorpusSets, sampling: SetSampling) -> Iterator[SetSample]:
    """Yield sets of each kind with at least two turns, all of them or ``sampling.sets`` of them."""
    for number, set_name in enumerate(SETS):
        random = np.random.default_rng([sampling.seed, number])
        runs = np.flatnonzero(sets.sizes[set_name] >= 2)
        times = RANDOM_SETS if set_name == "random" else 1
        if len(runs) * times > sampling.sets:
            runs = np.sort(random.choice(runs, max(1, sampling.sets // times), replace=False))
        for run in np.repeat(runs, times).tolist():
            n = min(sampling.size, int(sets.sizes[set_name][run])) if set_name == "random" else sampling.size
            sample = sets.sample(set_name, run, n, random, sampling.copies)
            if len(sample.turns) >= 2:
                yield sample


def _sample_matched(sets: CorpusSets, sampling: SetSampling) -> Iterator[SetSample]:
    """Yield the four sets of conversations that have all four, with equal numbers of turns."""
    random = np.random.default_rng([sampling.seed, len(SETS)])
    chains = sets.chains()
    if len(chains) > sampling.sets:
        chains = chains[np.sort(random.choice(len(chains), sampling.sets, replace=False))]
    for conversation, pair, speaker in chains.tolist():
        smallest = sets.sample("same_conversation", conversation, sampling.size, random, sampling.copies)
        n = len(smallest.turns)
        larger = [
            sets.sample(set_name, run, n, random, sampling.copies)
            for set_name, run in zip(SETS[1:], (pair, speaker, speaker), strict=True)
        ]
        if n >= 2 and all(len(sample.turns) == n for sample in larger):
            yield from (smallest, *larger)


DESIGNS: dict[Design, Callable[[CorpusSets, SetSampling], Iterator[SetSample]]] = {
    "each set once": _sample_each_once,
    "matched": _sample_matched,
}
