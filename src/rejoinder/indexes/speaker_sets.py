"""Whole speaker sets, and utterances drawn from them, for measuring how alike these are.

Two ways to take sets. *Each set once*, as SSREM's Table 2 does: every conversation of every speaker, every pair of
partners, every speaker, and five random sets for each speaker; then the four kinds come from different speakers in
different shares and have different sizes. *Matched*: conversations of A with B where A has also spoken with B
elsewhere, and without B; the three sets of each and a random one, the same number of utterances from each.
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
RANDOM_SETS = 5  # for each speaker, as in the paper


class SetSample(NamedTuple):
    """Utterances drawn from one set, and whose it is."""

    of: SetName
    speaker: int
    turns: Numbers


@dataclass(frozen=True)
class SetSampling:
    """How many sets of each kind are taken, how many utterances of a set at most, and the seed.

    Of utterances that say the same, a set has one unless ``copies`` are wanted: where dialogues overlap (threads of a
    chat room), the same utterance stands in several.
    """

    sets: int = 1000
    size: int = 10
    seed: int = 0
    copies: bool = False


DEFAULT_SAMPLING = SetSampling()


class CorpusSets:
    """The sets of a corpus, each as a stretch of postings."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.index = corpus.speakers
        self.width = len(corpus.named)
        named = np.flatnonzero(corpus.named[corpus.speaker])
        key = corpus.dialogue[named] * np.int64(self.width) + corpus.speaker[named]
        self.by_conversation = TurnPostings.of(key, named, corpus.n_turns)

    @cached_property
    def postings(self) -> dict[SetName, TurnPostings]:
        """Where the sets of each kind stand (random ones stand where the speakers do)."""
        kinds = self.by_conversation, self.index.by_pair, self.index.by_speaker, self.index.by_speaker
        return dict(zip(SETS, kinds, strict=True))

    @cached_property
    def sizes(self) -> dict[SetName, Numbers]:
        """How many utterances each set of a kind has; sets that are none (no name, or none that lasts) have 0."""
        return {of: self._sizes(of) for of in SETS}

    def _sizes(self, of: SetName) -> Numbers:
        postings = self.postings[of]
        sizes = np.diff(postings.starts)[: len(postings.keys)]
        if of in ("same_conversation", "same_partner"):
            return sizes
        speaker = postings.keys % self.width
        known = self.corpus.lasting if of == "same_speaker" else self.corpus.named
        return np.where(known[speaker], sizes, 0)

    def speaker(self, of: SetName, run: int) -> int:
        """Whose set it is."""
        key = int(self.postings[of].keys[run])
        run_of_speaker = key // self.width if of == "same_partner" else None
        return (
            key % self.width if run_of_speaker is None else int(self.index.by_speaker.keys[run_of_speaker]) % self.width
        )

    def chains(self) -> Numbers:
        """Conversations of A with B, and the sets of A with B and of A: each larger than the one before, by lines."""
        turns = self.by_conversation.turn_at(self.by_conversation.starts[:-1][: len(self.by_conversation.keys)])
        turns = turns[self.corpus.lasting[self.corpus.speaker[turns]]]
        key = self.corpus.dialogue[turns] * np.int64(self.width) + self.corpus.speaker[turns]
        conversation = self.by_conversation.find(key)[0]
        speaker = self.index.run[turns]
        pair, known = self.index.by_pair.find(speaker * self.width + self.index.partner[turns])
        known &= self.index.partner[turns] != NOBODY
        pair, conversation, speaker = pair[known], conversation[known], speaker[known]
        here = self.sizes["same_conversation"][conversation]
        with_partner, anywhere = self.sizes["same_partner"][pair], self.sizes["same_speaker"][speaker]
        grows = (here >= 2) & (with_partner > here) & (anywhere > with_partner)
        return np.stack([conversation, pair, speaker], axis=1)[grows]

    def some(self, of: SetName, run: int, n: int, random: np.random.Generator, copies: bool) -> SetSample:
        """Up to n utterances of a set; a random set is what others than the speaker say."""
        postings = self.postings[of]
        low, high = gap_low, gap_high = postings.starts[run : run + 2].tolist()
        if of == "random":
            low, high = self.index.others(run)
        else:
            gap_low = gap_high = high
        size = (high - low) - (gap_high - gap_low)
        # More than n, since some may say the same.
        places = low + random.choice(size, min(4 * n, size), replace=False) if size else np.zeros(0, dtype=np.int64)
        turns = postings.turn_at(places + np.where(places >= gap_low, gap_high - gap_low, 0))
        if not copies:
            turns = turns[np.sort(np.unique(self.corpus.said[turns], return_index=True)[1])]
        return SetSample(of, self.speaker(of, run), turns[:n])


def _sample_each_once(sets: CorpusSets, sampling: SetSampling) -> Iterator[SetSample]:
    """Sets of each kind with at least two utterances, all of them or as many as are asked for."""
    for number, of in enumerate(SETS):
        random = np.random.default_rng([sampling.seed, number])
        runs = np.flatnonzero(sets.sizes[of] >= 2)
        times = RANDOM_SETS if of == "random" else 1
        if len(runs) * times > sampling.sets:
            runs = np.sort(random.choice(runs, max(1, sampling.sets // times), replace=False))
        for run in np.repeat(runs, times).tolist():
            n = min(sampling.size, int(sets.sizes[of][run])) if of == "random" else sampling.size
            drawn = sets.some(of, run, n, random, sampling.copies)
            if len(drawn.turns) >= 2:
                yield drawn


def _sample_matched(sets: CorpusSets, sampling: SetSampling) -> Iterator[SetSample]:
    """The four sets of conversations that have all of them, with equal numbers of utterances."""
    random = np.random.default_rng([sampling.seed, len(SETS)])
    chains = sets.chains()
    if len(chains) > sampling.sets:
        chains = chains[np.sort(random.choice(len(chains), sampling.sets, replace=False))]
    for conversation, pair, speaker in chains.tolist():
        smallest = sets.some("same_conversation", conversation, sampling.size, random, sampling.copies)
        n = len(smallest.turns)
        larger = [
            sets.some(of, run, n, random, sampling.copies)
            for of, run in zip(SETS[1:], (pair, speaker, speaker), strict=True)
        ]
        if n >= 2 and all(len(drawn.turns) == n for drawn in larger):
            yield from (smallest, *larger)


DESIGNS: dict[Design, Callable[[CorpusSets, SetSampling], Iterator[SetSample]]] = {
    "each set once": _sample_each_once,
    "matched": _sample_matched,
}
