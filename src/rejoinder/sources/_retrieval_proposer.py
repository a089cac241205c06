"""The proposer that the retrieval sources share: the turns that an index finds nearest to a query."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from rejoinder.errors import SpecError
from rejoinder.indexes.corpus import Corpus
from rejoinder.indexes.one_field.base import Hit, Index, Passage
from rejoinder.paths import cache_home
from rejoinder.sources._base import ResponsePlace
from rejoinder.sources._places import OUTSIDE, CorpusPlaces
from rejoinder.types import Candidate, Item

# What is searched for: the whole context, its last turn, or the true reply (a reference, for an item).
Query: TypeAlias = Literal["context", "last", "reply"]
_SPARE = 8  # hits beyond k that are requested at once, since some must not be proposed


def corpus_passages(corpus: Corpus) -> Iterator[Passage]:
    """Yield each turn of a corpus as a passage for an index."""
    for number, name in enumerate(corpus.ids):
        start, end = int(corpus.starts[number]), int(corpus.starts[number + 1])
        for turn in range(start, end):
            yield Passage(name, turn - start, corpus.text(turn), split=corpus.split(turn))


def index_folder(corpus: Corpus, kind: str) -> Path:
    """Return the folder of a corpus's index in the cache."""
    return cache_home() / "indexes" / f"{kind}-{corpus.digest}"


@dataclass(frozen=True, eq=False)
class RetrievalProposer:
    """Proposes what an index of the corpus finds, best first; never from the moment's own dialogue."""

    spec: str
    query: Query
    corpus: Corpus
    index: Index

    def propose(self, places: Sequence[ResponsePlace], k: int, seed: int = 0) -> list[list[Candidate]]:
        """Return the k best candidates for each place; nothing is random, so the seed has no effect."""
        if k < 1:
            raise SpecError(f"k must be at least 1, not {k}")
        proposals: list[list[Candidate]] = [[] for _ in places]
        corpus_places = CorpusPlaces.of(places, self.corpus)
        queries = {
            i: text for i, place in enumerate(places) if (text := self._query_text(place, int(corpus_places.turns[i])))
        }
        groups: dict[tuple[bool, str | None], list[int]] = {}
        for number in queries:
            turn = int(corpus_places.turns[number])
            inside = turn != OUTSIDE
            groups.setdefault((inside, self.corpus.split(turn) if inside else None), []).append(number)
        for (inside, split), rows in groups.items():
            size = k + _SPARE
            while rows:
                hits = self._search([queries[n] for n in rows], size, split, [_own_dialogue(places[n]) for n in rows])
                for number, row_hits in zip(rows, hits, strict=True):
                    good = [h for h in row_hits if not inside or h.split == split]
                    proposals[number] = self._choose(number, good, corpus_places, k)
                rows = [
                    n for n, row_hits in zip(rows, hits, strict=True) if len(proposals[n]) < k and len(row_hits) == size
                ]
                size *= 4
        return proposals

    def _search(self, texts: list[str], k: int, split: str | None, own_dialogues: list[list[str]]) -> list[list[Hit]]:
        return self.index.search(texts, k, split=split, exclude_dialogues=own_dialogues)

    def _query_text(self, place: ResponsePlace, turn: int) -> str | None:
        """Return the text to search for, or None if an item has no reference to search for."""
        if isinstance(place, Item):
            context = [t.text for t in place.context]
            reply = place.references[0].text if place.references else None
        else:
            start = int(self.corpus.starts[self.corpus.dialogue[turn]])
            context = [self.corpus.text(t) for t in range(start, turn)]
            reply = self.corpus.text(turn)
        wanted = {"context": " ".join(context), "last": context[-1] if context else None, "reply": reply}
        return wanted[self.query]

    def _choose(self, number: int, hits: list[Hit], corpus_places: CorpusPlaces, k: int) -> list[Candidate]:
        """Return the first k hits with a new text."""
        turn, codes = int(corpus_places.turns[number]), set()
        candidates: list[Candidate] = []
        for hit in hits:
            place = np.array([int(self.corpus.starts[self.corpus.numbers[hit.dialogue]]) + hit.turn])
            code = int(self.corpus.text_codes[place[0]])
            before = turn != OUTSIDE and bool(self.corpus.speakers.repeats_context(np.array([turn]), place)[0])
            if before or code in codes or not corpus_places.is_new(np.array([number]), place)[0]:
                continue
            codes.add(code)
            candidates.append(Candidate(hit.text, hit.id, source=self.spec))
            if len(candidates) == k:
                break
        return candidates


def _own_dialogue(place: ResponsePlace) -> list[str]:
    """Return the dialogue from which nothing may be proposed for a place."""
    return [place.dialogue] if place.dialogue is not None else []


def open_or_build(folder: Path, reopen: Callable[[Path], Index], build: Callable[[Path], Index]) -> Index:
    """Open the index in a folder of the cache, or build it if it is not there yet."""
    return reopen(folder) if folder.is_dir() else build(folder)
