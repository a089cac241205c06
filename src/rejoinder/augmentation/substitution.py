"""Words replaced by synonyms if the meaning of the sentence stays the same, according to an encoder.

Synonyms share a synset of WordNet 3.0 (Miller 1995), in any of their senses, and most pairs of words share only senses
that nobody means. So a synonym counts only if it is common, shares a good part of the word's synsets, and hardly
changes the vector of the words around it (as in Jin et al. 2020).
"""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import orjson

from rejoinder.models.encoder.centred import load_centred_encoder
from rejoinder.models.encoder.factory import find_encoder_folder
from rejoinder.text.english import synonyms as _synonyms
from rejoinder.text.english.synonym_replacement import load_replacements, match_case

_WORD = re.compile(r"(?<![\w'’-])[^\W\d_]{3,}(?![\w'’-])")
_COMMON = 10_000  # BERT's vocabulary lists its most frequent words first
_WINDOW = 4  # words on either side
_MAX_SYNONYMS = 4  # synonyms of a word that are tried
_SHARE = 0.25  # of a word's synsets that a synonym must share: others mean the same only occasionally
_RUDE = frozenset("ass bang bastard bitch broad damn dame dick fuck gay hell kill rape savage screw sex shit".split())
_EXCLUDED_WORDS = frozenset(  # words whose senses in WordNet are never the ones that a conversation means
    "the and but for nor yet not you your yours his her hers him she they them their theirs our ours who whom "
    "whose what which when where why how that this these those there here are was were been being have has had "
    "having does did done doing can could may might must shall should will would ought let get got gets getting "
    "all any both each few more most much many other some such only own same than too very just also even still "
    "then now yes yeah okay well with about against between into through during before after above below from "
    "down out off over under again once upon one two three four five six seven eight nine ten hundred thousand "
    "please thanks thank hello hey sir madam mister because until while since though although unless whether "
    "either neither never ever always often going gonna something anything nothing everything someone anyone "
    "nobody everybody like "
    "know enough first next last hand little ask say".split()
)


class SynonymReplacement(NamedTuple):
    """A span of a text, and what may replace it."""

    start: int
    end: int
    instead: str


def find_replacements(
    texts: Sequence[str], similarity: float, encoder: str = "aptness"
) -> list[list[SynonymReplacement]]:
    """Return the possible replacements in each text: those that keep a cosine of at least ``similarity``.

    Only the words around a replacement are compared, since a single word hardly changes the vector of a long text.
    """
    proposed = [(i, replacement) for i, text in enumerate(texts) for replacement in _propose_replacements(text)]
    around = [_surrounding_words(texts[i], replacement) for i, replacement in proposed]
    vectors = load_centred_encoder(encoder).encode([text for pair in around for text in pair])
    accepted: list[list[SynonymReplacement]] = [[] for _ in texts]
    for (i, replacement), cosine in zip(proposed, np.einsum("ij,ij->i", vectors[::2], vectors[1::2]), strict=True):
        if cosine >= similarity:
            accepted[i].append(replacement)
    return accepted


def _surrounding_words(text: str, replacement: SynonymReplacement) -> tuple[str, str]:
    """Return the words around a replacement, as they are and with the replacement."""
    before, after = (
        text[: replacement.start].split(" ")[-_WINDOW - 1 :],
        text[replacement.end :].split(" ")[: _WINDOW + 1],
    )
    left, right = " ".join(before), " ".join(after)
    return left + text[replacement.start : replacement.end] + right, left + replacement.instead + right


def apply_replacements(text: str, chosen: Sequence[SynonymReplacement]) -> str:
    """Return the text with some of its words replaced (no two replacements in one place)."""
    for replacement in sorted(chosen, reverse=True):
        text = text[: replacement.start] + replacement.instead + text[replacement.end :]
    return text


def _propose_replacements(text: str) -> list[SynonymReplacement]:
    return [
        SynonymReplacement(*match.span(), match_case(match.group(), other))
        for match in _WORD.finditer(text)
        for other in _find_synonyms(match.group().lower())
    ]


@functools.lru_cache(2**14)
def _find_synonyms(word: str) -> tuple[str, ...]:
    """Return the synonyms of a word form; for inflected forms, only those that were checked by hand."""
    curated = [load_replacements()[word]] if word in load_replacements() else []
    if word in _EXCLUDED_WORDS or _synonyms.word_base_forms(word) != [word]:
        return tuple(curated)
    shared: dict[str, int] = defaultdict(int)
    synsets = [meaning for meaning in _synonyms.find_word_meanings(word) if meaning in _synset_words()]
    for other in (other for synset in synsets for other in _synset_words()[synset]):
        if other in _common_words() and not _share_a_stem(word, other):
            shared[other] += 1
    near = [other for other in shared if shared[other] >= _SHARE * len(synsets)]
    others = sorted(near, key=lambda other: (-shared[other], other))
    return tuple(dict.fromkeys([*curated, *others[:_MAX_SYNONYMS]]))


def _share_a_stem(word: str, other: str) -> bool:
    """Whether one word is derived from the other, so probably another part of speech: "quickly" and "quick"."""
    from snowballstemmer import stemmer

    stems = stemmer("english").stemWords([word, other])
    return word.startswith(other) or other.startswith(word) or stems[0] == stems[1]


@functools.cache
def _common_words() -> frozenset[str]:
    """Common words."""
    tokenizer = orjson.loads((find_encoder_folder("aptness")[0] / "tokenizer.json").read_bytes())
    vocabulary = tokenizer["model"]["vocab"]
    return (
        frozenset(word for word, rank in vocabulary.items() if rank < _COMMON and word.isalpha())
        - _EXCLUDED_WORDS
        - _RUDE
    )


@functools.cache
def _synset_words() -> dict[_synonyms.Meaning, list[str]]:
    """The words of each synset."""
    words: dict[_synonyms.Meaning, list[str]] = defaultdict(list)
    for word, synsets in _synonyms._load_table().synsets.items():
        for synset in synsets:
            words[synset].append(word)
    return dict(words)
