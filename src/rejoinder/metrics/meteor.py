"""METEOR (Banerjee and Lavie 2005) as in version 1.5 for English (Denkowski and Lavie 2014), without Java.

Where do the synonyms come from? From WordNet 3.0: a table of its single words is part of the package (see
``_synonyms``), so nothing is downloaded. METEOR's paraphrase tables are not part of it: words match exactly, by their
stem (Snowball's English stemmer) or as synonyms, never as longer paraphrases. docs/meteor.md says what that changes.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from rejoinder.contract import NAN, Metric
from rejoinder.errors import SpecError
from rejoinder.metrics._alignment import NO_CANDIDATES, Candidates, align
from rejoinder.metrics._sentence import Sentence, Word, sentence
from rejoinder.metrics._synonyms import Meaning, digest
from rejoinder.types import Pair

EXACT, STEM, SYNONYM = range(3)


@dataclass(frozen=True)
class Meteor(Metric):
    """How well a reply's words align with those of the best reference, as an F measure, less for broken word order.

    ``alpha`` weighs recall against precision, ``gamma`` is the largest penalty for word order and ``beta`` its shape,
    ``delta`` weighs content words against function words. ``stem`` and ``synonym`` say what such a match is worth
    beside an exact one; 0 leaves the stage out. NaN without references.
    """

    alpha: float = 0.85
    beta: float = 0.2
    gamma: float = 0.6
    delta: float = 0.75
    stem: float = 0.6
    synonym: float = 0.8

    needs = frozenset({"references"})
    citation = (
        "Denkowski and Lavie 2014, Meteor Universal: Language Specific Translation Evaluation for Any Target Language; "
        "Banerjee and Lavie 2005, METEOR: An Automatic Metric for MT Evaluation with Improved Correlation with Human "
        "Judgments"
    )

    def __post_init__(self) -> None:
        for name in ("alpha", "gamma", "stem", "synonym"):
            if not 0 <= getattr(self, name) <= 1:
                raise SpecError(f"meteor: {name} must be between 0 and 1, not {getattr(self, name)!r}")
        if not 0 < self.delta < 1:
            raise SpecError(f"meteor: delta must be above 0 and below 1, not {self.delta!r}")
        if not 0 <= self.beta < float("inf"):
            raise SpecError(f"meteor: beta must be 0 or above, not {self.beta!r}")

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """METEOR of each response against the reference that suits it best."""
        stages = (self.stem > 0, self.synonym > 0)
        scores = []
        for pair in pairs:
            reply = sentence(pair.response.text, *stages)
            references = [s for r in pair.item.references if (s := sentence(r.text, *stages)).words]
            if reply.words and references:
                matches = _Matches(reply.words)
                scores.append(max([self._score(reply, reference, matches) for reference in references]))
            else:
                scores.append(NAN)
        return scores

    def details(self) -> dict[str, str]:
        """Where synonyms, stems and function words come from."""
        found = {"function_words": "enwiki>0.001", "paraphrases": "none"}
        if self.synonym:
            found["synonyms"] = f"wordnet-3.0 {digest()}"
        if self.stem:
            found["snowballstemmer"] = version("snowballstemmer")
        return found

    def _score(self, reply: Sentence, reference: Sentence, matches: _Matches) -> float:
        links, chunks = align(matches.of(reference.words))
        if not links:
            return 0.0
        worth, in_reply, in_reference = self._worth, reply.is_content, reference.is_content
        covered = sum([worth[stage][in_reply[i]] for i, _, stage in links])
        recalled = sum([worth[stage][in_reference[j]] for _, j, stage in links])
        precision = covered / self._weight(in_reply)
        recall = recalled / self._weight(in_reference)
        f = precision * recall / (self.alpha * precision + (1 - self.alpha) * recall)
        if chunks == 1 and len(links) == len(in_reply) == len(in_reference):
            return min(f, 1.0)  # as in METEOR's program: no penalty where one chunk covers both texts
        return min(float(f * (1 - self.gamma * (chunks / len(links)) ** self.beta)), 1.0)

    @functools.cached_property
    def _worth(self) -> list[tuple[float, float]]:
        """What a match is worth, by stage, for a function word and for a content word."""
        return [((1 - self.delta) * weight, self.delta * weight) for weight in (1.0, self.stem, self.synonym)]

    def _weight(self, is_content: Sequence[bool]) -> float:
        content = sum(is_content)
        return self.delta * content + (1 - self.delta) * (len(is_content) - content)


class _Matches(dict[Word, Candidates]):
    """The words of a reply that a word may be paired with, found once for each word of all references."""

    def __init__(self, reply: Sequence[Word]) -> None:
        super().__init__()
        self._reply = reply
        self._keys = set[Meaning]().union(*[word.keys for word in reply])

    def of(self, words: Sequence[Word]) -> list[Candidates]:
        """The candidates of each word; most words match nothing, which is told fastest."""
        is_strange = self._keys.isdisjoint
        return [NO_CANDIDATES if is_strange(word.keys) else self[word] for word in words]

    def __missing__(self, word: Word) -> Candidates:
        is_strange = word.keys.isdisjoint
        stages = [(i, _stage(word, other)) for i, other in enumerate(self._reply) if not is_strange(other.keys)]
        found = self[word] = Candidates(sum([1 << i for i, _ in stages]), stages)
        return found


def _stage(word: Word, other: Word) -> int:
    """The first stage that matches two words that have something in common."""
    if word.text == other.text:
        return EXACT
    return STEM if word.stem == other.stem else SYNONYM
