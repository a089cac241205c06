"""The speaker sets of SSREM (Bak and Oh 2020, section 3.1) over a corpus, as ranges of sorted arrays of turns.

A moment is a turn that has a context: the turns before it. Its speaker is A, its partner B is whoever spoke last before
A (or, if nobody did, first after), and its conversation is the dialogue. The paper's sets, each a subset of the next:

- *same conversation*: what A says in this dialogue;
- *same partner*: what A says in dialogues in which B speaks too;
- *same speaker*: all that A says;
- *random*: what everyone except A says.

The paper leaves the context out of each set, and the reply itself is the right answer: so a set has nothing that A says
in this dialogue up to and including the moment, and no turn, whoever says it, with the same text as the reply or a turn
of the context. Everything stays within the split (and the corpus) of the moment.

With ``exclusive``, a set also has nothing from the smaller ones: *same partner* only other dialogues with B, *same
speaker* only dialogues without B. If labels do not last from dialogue to dialogue, A has no other dialogues, and these
two sets are empty.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.indexes.corpus import Corpus, Numbers
from rejoinder.indexes.pool_sampling import Allowed, Keys, TurnPools, draw_turns


@dataclass(frozen=True, eq=False)
class TurnPostings:
    """Turns by key: ``keys`` is sorted; the turns of the i-th, sorted, are at ``starts[i]`` to ``starts[i + 1]``."""

    keys: Numbers
    starts: Numbers
    _order: Numbers  # run * width + turn, sorted
    _width: int

    @classmethod
    def of(cls, keys: Numbers, turns: Numbers, n_turns: int) -> TurnPostings:
        """Return the postings of turns under their keys; a turn may have several."""
        distinct, run, counts = np.unique(keys, return_inverse=True, return_counts=True)
        width = max(1, n_turns)
        starts = np.concatenate([[0], np.cumsum(counts) if len(counts) else [0]])  # without keys there is one empty run
        return cls(distinct, starts, np.sort(run * width + turns), width)

    def turn_at(self, places: Numbers) -> Numbers:
        """Return the turns at some positions."""
        return self._order[places] % self._width

    def find(self, keys: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
        """Return the run of each key (an arbitrary one if there is none), and whether there is one."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=bool)
        run = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return run, self.keys[run] == keys

    def between(self, run: Numbers, first: Numbers, end: Numbers) -> tuple[Numbers, Numbers]:
        """Return the range of a run's turns from ``first`` to before ``end``."""
        base = run * self._width
        return np.searchsorted(self._order, base + first), np.searchsorted(self._order, base + end)


SetName: TypeAlias = Literal["same_conversation", "same_partner", "same_speaker", "random"]
SETS: tuple[SetName, ...] = ("same_conversation", "same_partner", "same_speaker", "random")
Scope: TypeAlias = Literal["corpus", "split"]
NOBODY = -1


@dataclass(frozen=True)
class SpeakerSet:
    """One of the four sets; ``exclusive`` is for the middle two, ``scope`` (corpus or whole split) for random."""

    name: SetName
    exclusive: bool = False
    scope: Scope = "corpus"


class SpeakerIndex:
    """An index of what A says here, to B, anywhere, and what the others say, built by sorting once."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        turns = np.arange(corpus.n_turns)
        group = corpus.group[corpus.dialogue].astype(np.int64)
        self._n_speakers = len(corpus.has_label)
        # Sorted by group and then speaker, so that the corpora of a split, and the speakers of a corpus, are together.
        self.by_speaker = TurnPostings.of(group * self._n_speakers + corpus.speaker, turns, corpus.n_turns)
        self.run = self.by_speaker.find(group * self._n_speakers + corpus.speaker)[0]  # of each turn's speaker
        groups = np.arange(len(corpus.groups) + 1) * self._n_speakers
        self._group_ends = self.by_speaker.starts[np.searchsorted(self.by_speaker.keys, groups)]
        splits = [split for split, _ in corpus.groups]
        self._split_low = self._group_ends[[splits.index(split) for split in splits]]
        self._split_high = self._group_ends[[len(splits) - splits[::-1].index(split) for split in splits]]
        self.partner = _find_partners(corpus)

    @cached_property
    def by_pair(self) -> TurnPostings:
        """The turns of each permanent speaker in dialogues with each other speaker."""
        corpus = self.corpus
        width = self._n_speakers
        present = self._present
        first_present = np.searchsorted(present, np.arange(len(corpus.ids) + 1) * width)
        turns = np.flatnonzero(corpus.permanent[corpus.speaker])
        dialogue = corpus.dialogue[turns]
        count = (first_present[1:] - first_present[:-1])[dialogue]
        entries = np.repeat(turns, count)
        place = np.arange(len(entries)) - np.repeat(np.cumsum(count) - count, count)
        other = present[np.repeat(first_present[dialogue], count) + place] % width
        is_other = other != corpus.speaker[entries]
        entries, other = entries[is_other], other[is_other]
        return TurnPostings.of(self.run[entries] * width + other, entries, corpus.n_turns)

    @cached_property
    def _present(self) -> Numbers:
        """Who speaks in which dialogue, as sorted numbers."""
        return np.unique(self.corpus.dialogue.astype(np.int64) * self._n_speakers + self.corpus.speaker)

    @cached_property
    def _first_turns(self) -> tuple[Numbers, Numbers]:
        """The texts of each dialogue, as sorted numbers, and the first turn with each text."""
        corpus = self.corpus
        return np.unique(corpus.dialogue * np.int64(len(corpus.digests)) + corpus.text_codes, return_index=True)

    def pools(self, speaker_set: SpeakerSet, turns: Numbers) -> TurnPools:
        """Return the set of each moment, without what A says in the dialogue up to the moment."""
        corpus, name = self.corpus, speaker_set.name
        if name == "random":
            return self._others(turns, speaker_set.scope)
        start, end = (corpus.starts[corpus.dialogue[turns] + i] for i in (0, 1))
        speaker = corpus.speaker[turns]
        exists = corpus.has_label[speaker] if name == "same_conversation" else corpus.permanent[speaker]
        if name == "same_partner":
            postings = self.by_pair
            run, known = postings.find(self.run[turns] * self._n_speakers + self.partner[turns])
            exists = exists & known & (self.partner[turns] != NOBODY)
        else:
            postings, run = self.by_speaker, self.run[turns]
        low, high = postings.starts[run], postings.starts[run + 1]
        here_low, here_high = postings.between(run, start, end)
        if name == "same_conversation":
            low, high = here_low, here_high
        gap_low, gap_high = here_low, postings.between(run, start, turns + 1)[1]
        if speaker_set.exclusive and name != "same_conversation":
            gap_high = here_high
            if name == "same_speaker":
                exists = exists & ~self._only_with_partner(turns, high - low)
        high = np.where(exists, high, low)
        gap_low, gap_high = (np.where(exists, gap, low) for gap in (gap_low, gap_high))
        return TurnPools(low, high, gap_low, gap_high, postings.turn_at)

    def _others(self, turns: Numbers, scope: Scope) -> TurnPools:
        group = self.corpus.group[self.corpus.dialogue[turns]]
        run = self.run[turns]
        starts = self.by_speaker.starts
        low, high = (
            (self._group_ends[group], self._group_ends[group + 1])
            if scope == "corpus"
            else (self._split_low[group], self._split_high[group])
        )
        return TurnPools(low, high, starts[run], starts[run + 1], self.by_speaker.turn_at)

    def others(self, run: int) -> tuple[int, int]:
        """Return the range of the corpus and split that contains a speaker's run."""
        group = int(self.by_speaker.keys[run]) // self._n_speakers
        return int(self._group_ends[group]), int(self._group_ends[group + 1])

    def _only_with_partner(self, turns: Numbers, all_of_it: Numbers) -> NDArray[np.bool_]:
        """Whether A speaks only in dialogues with B."""
        run, known = self.by_pair.find(self.run[turns] * self._n_speakers + self.partner[turns])
        with_partner = self.by_pair.starts[run + 1] - self.by_pair.starts[run]
        only: NDArray[np.bool_] = known & (self.partner[turns] != NOBODY) & (with_partner == all_of_it)
        return only

    def sample(
        self, speaker_set: SpeakerSet, turns: Numbers, k: int, keys: Keys, unlike: Allowed | None = None
    ) -> Numbers:
        """Sample up to k turns from the set of each moment, one line per moment, -1 where there are no more.

        ``unlike`` restricts further which (row, turn) pairs may be drawn.
        """

        def allowed(rows: Numbers, candidates: Numbers) -> NDArray[np.bool_]:
            good = ~self.repeats_context(turns[rows], candidates)
            if speaker_set.exclusive and speaker_set.name == "same_speaker":
                good &= ~self._speaks(self.partner[turns[rows]], candidates)
            return good & unlike(rows, candidates) if unlike else good

        return draw_turns(self.pools(speaker_set, turns), k, keys, self.corpus.text_codes, allowed)

    def repeats_context(self, moments: Numbers, candidates: Numbers) -> NDArray[np.bool_]:
        """Whether a turn has the same text as the reply of a moment or as a turn of its context."""
        keys, first = self._first_turns
        key = self.corpus.dialogue[moments] * np.int64(len(self.corpus.digests)) + self.corpus.text_codes[candidates]
        place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        same: NDArray[np.bool_] = (keys[place] == key) & (first[place] <= moments)
        return same

    def _speaks(self, speaker: NDArray[np.int32], turns: Numbers) -> NDArray[np.bool_]:
        """Whether a speaker takes part in the dialogue of a turn."""
        key = self.corpus.dialogue[turns] * np.int64(self._n_speakers) + speaker
        place = np.minimum(np.searchsorted(self._present, key), len(self._present) - 1)
        takes_part: NDArray[np.bool_] = (self._present[place] == key) & (speaker != NOBODY)
        return takes_part


def _find_partners(corpus: Corpus) -> NDArray[np.int32]:
    """Return whom each turn addresses: whoever spoke last before its speaker, else first after, else nobody."""
    n = corpus.n_turns
    if n == 0:
        return np.zeros(0, dtype=np.int32)
    begins = np.ones(n, dtype=bool)
    begins[1:] = (corpus.speaker[1:] != corpus.speaker[:-1]) | (corpus.dialogue[1:] != corpus.dialogue[:-1])
    firsts = np.flatnonzero(begins)
    block = np.cumsum(begins) - 1
    before, after = firsts[block] - 1, np.append(firsts, n)[block + 1]
    padded_dialogue = np.append(corpus.dialogue, -1)  # positions -1 and n belong to no dialogue
    padded_speaker = np.append(corpus.speaker, NOBODY).astype(np.int32)
    partner = np.where(padded_dialogue[after] == corpus.dialogue, padded_speaker[after], NOBODY)
    return np.where(padded_dialogue[before] == corpus.dialogue, padded_speaker[before], partner).astype(np.int32)
