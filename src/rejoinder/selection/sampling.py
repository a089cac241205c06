"""Which of the usable false candidates stand in a question, and in which order: the seed draws, and sources are mixed.

The first is drawn. Each other is one of the source that has given fewest so far, and of these the one that was found
first, which is most like the true reply; where nothing says what was found first, the one that is least like those that
stand there already. What is alike in all goes by the draw.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rejoinder.seeded import stable_shuffle
from rejoinder.text.similarity import dice_similarity, extract_ngrams
from rejoinder.types import Candidate


def draw_candidates(usable: Sequence[Candidate], n: int, *names: object) -> list[Candidate]:
    """So many of some candidates (told apart by their ids), by the draw that belongs to these names."""
    by_id = {str(one.id): one for one in usable}
    rest = [by_id[name] for name in stable_shuffle(by_id, *names)]
    words = {str(one.id): extract_ngrams(one.text) for one in usable}
    chosen: list[Candidate] = []
    given: Counter[str | None] = Counter()
    alike = dict.fromkeys(words, 0.0)
    while rest and len(chosen) < n:
        best = rest[0]
        if chosen:
            best = min(rest, key=lambda one: (given[one.source], one.meta.get("place", 0), alike[str(one.id)]))
        rest.remove(best)
        chosen.append(best)
        given[best.source] += 1
        for name in alike:
            alike[name] = max(alike[name], dice_similarity(words[name], words[str(best.id)]))
    return chosen


def shuffle_candidates(candidates: Sequence[Candidate], *names: object) -> tuple[Candidate, ...]:
    """Candidates in the order that belongs to these names."""
    by_id = {str(one.id): one for one in candidates}
    return tuple(by_id[name] for name in stable_shuffle(by_id, *names))
