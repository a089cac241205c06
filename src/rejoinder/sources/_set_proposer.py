"""The proposer that the speaker-set sources share: it draws from the set of each moment."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.errors import SpecError
from rejoinder.indexes.corpus import Corpus, Numbers
from rejoinder.indexes.pool_sampling import TurnPools, draw_keys, draw_turns
from rejoinder.indexes.speakers import SpeakerSet
from rejoinder.sources._base import ResponsePlace
from rejoinder.sources._places import CorpusPlaces
from rejoinder.types import Candidate


@dataclass(frozen=True, eq=False)
class SetProposer:
    """Draws from one of the speaker sets; an item outside the corpus has no speaker, so only random works for it."""

    spec: str
    of: SpeakerSet
    corpus: Corpus

    def propose(self, places: Sequence[ResponsePlace], k: int, seed: int = 0) -> list[list[Candidate]]:
        """Return up to k candidates for each place, drawn without replacement."""
        if k < 1:
            raise SpecError(f"k must be at least 1, not {k}")
        turn_rows = self.draw(CorpusPlaces.of(places, self.corpus), k, seed)
        turns = turn_rows[turn_rows >= 0]
        candidates = map(self._candidate, self.corpus.texts(turns), self.corpus.names(turns))
        return [list(itertools.islice(candidates, n)) for n in (turn_rows >= 0).sum(axis=1).tolist()]

    def _candidate(self, text: str, name: str) -> Candidate:
        return Candidate(text, name, None, self.spec)

    def draw(self, places: CorpusPlaces, k: int, seed: int = 0) -> Numbers:
        """Return the same as numbers of turns, one line per place, -1 where there are no more."""
        keys = draw_keys(places.names, seed, zlib.crc32(self.spec.encode()))
        turn_rows = np.full((len(keys), k), -1, dtype=np.int64)
        inside, outside = places.inside, places.outside
        turn_rows[inside] = self.corpus.speakers.sample(
            self.of, places.turns[inside], k, keys[inside], lambda rows, turns: places.is_new(inside[rows], turns)
        )
        if self.of.name == "random" and len(outside):
            everything = _whole_corpus(self.corpus, len(outside))
            turn_rows[outside] = draw_turns(
                everything,
                k,
                keys[outside],
                self.corpus.text_codes,
                lambda rows, turns: places.is_new(outside[rows], turns),
            )
        return turn_rows


def _whole_corpus(corpus: Corpus, n: int) -> TurnPools:
    """Return the whole corpus as the pool of n rows."""
    nothing = np.zeros(n, dtype=np.int64)
    return TurnPools(nothing, nothing + corpus.n_turns, nothing, nothing, lambda places: places)
