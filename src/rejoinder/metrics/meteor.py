"""METEOR (Banerjee and Lavie 2005) as in version 1.5 for English (Denkowski and Lavie 2014), without Java.

The synonyms come from WordNet 3.0: a table of its single words is part of the package (``text/english/synonyms.py``),
so nothing is downloaded. METEOR's paraphrase tables are not included: words match exactly, by their stem (Snowball's
English stemmer) or as synonyms, never as longer paraphrases. docs/meteor.md describes the effect.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import chain
from typing import NamedTuple

from rejoinder.errors import SpecError
from rejoinder.metric import NAN, Metric
from rejoinder.metrics._alignment import NO_CANDIDATES, WordCandidates, align_words
from rejoinder.text.english.grammar import stem_english_word
from rejoinder.text.english.synonyms import Meaning, find_word_meanings, synonym_table_digest
from rejoinder.types import Pair

_MAX_TEXTS = 2**14
_MAX_PIECES = 2**17

# For METEOR, a function word is one that makes up more than a thousandth of a large text. These do in the word counts
# of English Wikipedia that accompany SIF (Arora et al. 2017; enwiki_vocab_min200.txt, MIT licence), without the
# digits, which that file spells out, and without words that are typical of Wikipedia pages (utc, talk, article ...).
FUNCTION_WORDS = frozenset(
    """
    a about after all also an and are as at be been but by can do first for from had has have he her his i if in is it
    its m made may more new no not of on only or other people s she should some such t that the their there they this
    time to up was were when which who with would years you
    """.split()
)
_LETTER = r"[^\W_]"
_LOOK_ALIKES = str.maketrans(dict.fromkeys("’‘`´", "'") | dict.fromkeys("“”", '"') | {"–": "-"})
_INNER_HYPHENS = re.compile(r"(?<=\w)-+(?=\w)")
_DASHES = re.compile("--+")
_INITIALS = re.compile(rf"(?<!{_LETTER})(?:(?:[a-z]\.)+[a-z]|ph\.d)\.?(?!{_LETTER})")
_TOKEN = re.compile(
    rf"(?:mr|mrs|ms|dr|prof|st|jr|sr|vs|etc)\.(?![.\w])"  # abbreviations that keep their full stop
    rf"|(?<={_LETTER})'[^\W\d_]+"  # the end of a contraction: don 't, it 's
    rf"|{_LETTER}+(?:(?:\.|(?<=\d),(?=\d)){_LETTER}+)*"  # words, numbers (1,000.5), addresses (www.example.com)
    r"|\.+|\S"
)


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity, which is fast
class MeteorWord:
    """A word and what it can match by; without stems, its stem is the word itself; without synonyms, no meanings."""

    text: str
    is_content: bool
    stem: str
    # Its stem (with a hyphen, which no base form has) and its meanings: two words match if they share a key.
    keys: frozenset[Meaning]


class MeteorSentence(NamedTuple):
    """The words of a text, and which of them are content words."""

    words: tuple[MeteorWord, ...]
    is_content: tuple[bool, ...]


@functools.lru_cache(_MAX_TEXTS)
def parse_meteor_sentence(text: str, stems: bool = True, synonyms: bool = True) -> MeteorSentence:
    """Return the words of a text, ready to be matched with or without stems and synonyms."""
    known = _vocabulary(stems, synonyms)
    words = tuple(chain.from_iterable(map(known.__getitem__, text.lower().split())))
    return MeteorSentence(words, tuple([word.is_content for word in words]))


class _Vocabulary(dict[str, tuple[MeteorWord, ...]]):
    """The words of each white-space-separated piece of text seen so far; emptied when it is full."""

    def __init__(self, stems: bool, synonyms: bool) -> None:
        super().__init__()
        self._stems, self._synonyms = stems, synonyms
        self._words: dict[str, MeteorWord] = {}

    def __missing__(self, piece: str) -> tuple[MeteorWord, ...]:
        if len(self) >= _MAX_PIECES:
            self.clear()
            self._words.clear()
        self[piece] = words = tuple(self._words.get(text) or self._add(text) for text in tokenize_for_meteor(piece))
        return words

    def _add(self, text: str) -> MeteorWord:
        stem = stem_english_word(text) if self._stems else text
        means = find_word_meanings(text) if self._synonyms else frozenset[Meaning]()
        self._words[text] = word = MeteorWord(text, is_content_word(text), stem, means | {f"{stem}-"})
        return word


_vocabulary = functools.cache(_Vocabulary)


def tokenize_for_meteor(text: str) -> list[str]:
    """Return the tokens of a lower-case text; no rule looks beyond white space."""
    text = unicodedata.normalize("NFC", text).translate(_LOOK_ALIKES).replace("''", '"')
    text = _DASHES.sub("-", _INNER_HYPHENS.sub(" ", text))
    text = _INITIALS.sub(lambda match: match[0].replace(".", ""), text)
    return _TOKEN.findall(text)


def is_content_word(word: str) -> bool:
    """Whether a word is neither a function word (``'s`` counts as ``s``) nor punctuation."""
    bare = word.lstrip("'")
    return bare not in FUNCTION_WORDS and any(map(str.isalnum, bare))


EXACT, STEM, SYNONYM = range(3)


@dataclass(frozen=True)
class Meteor(Metric):
    """How well a reply's words align with the best reference, as an F-measure, lower for a different word order.

    ``alpha`` weights recall against precision, ``gamma`` is the largest penalty for word order and ``beta`` its shape,
    ``delta`` weights content words against function words. ``stem`` and ``synonym`` are the weights of such matches
    relative to an exact match; 0 leaves the stage out. NaN without references.
    """

    alpha: float = 0.85
    beta: float = 0.2
    gamma: float = 0.6
    delta: float = 0.75
    stem: float = 0.6
    synonym: float = 0.8

    needs = frozenset({"references"})
    default_for = ("references", 3)
    languages = "English"
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
        """Return the METEOR of each response against its best reference."""
        stages = (self.stem > 0, self.synonym > 0)
        scores = []
        for pair in pairs:
            reply = parse_meteor_sentence(pair.response.text, *stages)
            references = [s for r in pair.item.references if (s := parse_meteor_sentence(r.text, *stages)).words]
            if reply.words and references:
                matches = _Matches(reply.words)
                scores.append(max([self._score(reply, reference, matches) for reference in references]))
            else:
                scores.append(NAN)
        return scores

    def details(self) -> dict[str, str]:
        """Return where synonyms, stems and function words come from."""
        sources = {"function_words": "enwiki>0.001", "paraphrases": "none"}
        if self.synonym:
            sources["synonyms"] = f"wordnet-3.0 {synonym_table_digest()}"
        if self.stem:
            sources["snowballstemmer"] = version("snowballstemmer")
        return sources

    def _score(self, reply: MeteorSentence, reference: MeteorSentence, matches: _Matches) -> float:
        links, chunks = align_words(matches.candidates_of(reference.words))
        if not links:
            return 0.0
        worth, in_reply, in_reference = self._worth, reply.is_content, reference.is_content
        covered = sum([worth[stage][in_reply[i]] for i, _, stage in links])
        recalled = sum([worth[stage][in_reference[j]] for _, j, stage in links])
        precision = covered / self._weight(in_reply)
        recall = recalled / self._weight(in_reference)
        f = precision * recall / (self.alpha * precision + (1 - self.alpha) * recall)
        if chunks == 1 and len(links) == len(in_reply) == len(in_reference):
            return min(f, 1.0)  # as in METEOR's program: no penalty if one chunk covers both texts
        return min(float(f * (1 - self.gamma * (chunks / len(links)) ** self.beta)), 1.0)

    @functools.cached_property
    def _worth(self) -> list[tuple[float, float]]:
        """Return the weight of a match by stage, for function words and for content words."""
        return [((1 - self.delta) * weight, self.delta * weight) for weight in (1.0, self.stem, self.synonym)]

    def _weight(self, is_content: Sequence[bool]) -> float:
        content = sum(is_content)
        return self.delta * content + (1 - self.delta) * (len(is_content) - content)


class _Matches(dict[MeteorWord, WordCandidates]):
    """The words of a reply that a word can be paired with, computed once for each word of all references."""

    def __init__(self, reply: Sequence[MeteorWord]) -> None:
        super().__init__()
        self._reply = reply
        self._keys = set[Meaning]().union(*[word.keys for word in reply])

    def candidates_of(self, words: Sequence[MeteorWord]) -> list[WordCandidates]:
        """Return the candidates of each word; most words match nothing, which is the fastest case."""
        is_unrelated = self._keys.isdisjoint
        return [NO_CANDIDATES if is_unrelated(word.keys) else self[word] for word in words]

    def __missing__(self, word: MeteorWord) -> WordCandidates:
        is_unrelated = word.keys.isdisjoint
        stages = [(i, _match_stage(word, other)) for i, other in enumerate(self._reply) if not is_unrelated(other.keys)]
        candidates = self[word] = WordCandidates(sum([1 << i for i, _ in stages]), stages)
        return candidates


def _match_stage(word: MeteorWord, other: MeteorWord) -> int:
    """Return the first stage that matches two words that share a key."""
    if word.text == other.text:
        return EXACT
    return STEM if word.stem == other.stem else SYNONYM
