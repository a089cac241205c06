"""How fast METEOR is beside NLTK's, on replies of English words."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

import numpy as np

from rejoinder.metrics.meteor import FUNCTION_WORDS, Meteor, parse_meteor_sentence
from rejoinder.text.english import synonyms
from rejoinder.types import Item, Pair, Reference, Response

REFERENCES = 5
_ROUND = 5_000
_FEWER = 10  # NLTK is given one response in so many: all of them would take minutes


def measure(responses: int = 50_000) -> list[dict[str, Any]]:
    """One entry: reference comparisons a second on one core, texts tokenised on the way, and NLTK's on the same."""
    pairs = made_up(responses)
    Meteor().score(pairs[:1])  # reads the table
    wordnet = ServedWordNet()
    ours = theirs = 0.0
    compared = 0
    for start in range(0, responses, _ROUND):  # by turns, so that a busy machine slows both
        part = pairs[start : start + _ROUND]
        ours += _seconds(part)
        theirs += _seconds_of_nltk(part[: _ROUND // _FEWER], wordnet)
        compared += len(part[: _ROUND // _FEWER])
    return [
        {
            "name": f"meteor, {responses} responses, {REFERENCES} references each, one core",
            "value": responses * REFERENCES / ours,
            "unit": "reference comparisons/s",
            "against": f"nltk's meteor_score, given tokens, on {compared} of the responses; WordNet is served to it "
            "from rejoinder's table in memory, so that its own corpus need not be there",
            "ratio": (responses / ours) / (compared / theirs),
            "floor": 8,
        }
    ]


def _seconds(pairs: list[Pair]) -> float:
    start = time.process_time()
    Meteor().score(pairs)
    return time.process_time() - start


def _seconds_of_nltk(pairs: list[Pair], wordnet: ServedWordNet) -> float:
    from nltk.translate.meteor_score import meteor_score

    tokens = [([_tokens(r.text) for r in pair.item.references], _tokens(pair.response.text)) for pair in pairs]
    start = time.process_time()
    for references, reply in tokens:
        meteor_score(references, reply, wordnet=wordnet)
    return time.process_time() - start


def made_up(responses: int, seed: int = 0) -> list[Pair]:
    """Replies and references of 4 to 18 words by Zipf's law; the common ones are those with the most synsets."""
    random = np.random.default_rng(seed)
    synsets = synonyms._load_table().synsets
    known = sorted((w for w in synsets if w.isalpha() and len(w) > 2), key=lambda w: (-len(synsets[w]), w))
    words = np.array([".", ",", "i", "you", "the", "to", *sorted(FUNCTION_WORDS), *known[:8_000]])
    chances = 1 / np.arange(1, len(words) + 1)
    lengths = random.integers(4, 19, responses * (1 + REFERENCES))
    drawn = random.choice(words, int(lengths.sum()), p=chances / chances.sum()).tolist()
    ends = np.cumsum(lengths).tolist()
    texts = [" ".join(drawn[end - length : end]) for end, length in zip(ends, lengths.tolist(), strict=True)]
    pairs = []
    for i in range(responses):
        reply, *references = texts[i * (1 + REFERENCES) : (i + 1) * (1 + REFERENCES)]
        pairs.append(Pair(Item(str(i), (), tuple(map(Reference, references))), Response(str(i), str(i), "s", reply)))
    return pairs


def _tokens(text: str) -> list[str]:
    return [word.text for word in parse_meteor_sentence(text).words]


class ServedWordNet:
    """What NLTK asks of its WordNet reader, answered from rejoinder's table; NLTK's own corpus need not be there."""

    def __init__(self) -> None:
        members = defaultdict(list)
        for word, numbers in synonyms._load_table().synsets.items():
            for number in numbers:
                members[number].append(_Lemma(word))
        self._members = members
        self._found: dict[str, list[_Synset]] = {}

    def synsets(self, word: str) -> list[_Synset]:
        if word not in self._found:
            synsets = synonyms._load_table().synsets
            numbers = sorted({n for form in synonyms.word_base_forms(word) for n in synsets[form]})
            self._found[word] = [_Synset(self._members[number]) for number in numbers]
        return self._found[word]


class _Lemma:
    def __init__(self, name: str) -> None:
        self._name = name

    def name(self) -> str:
        return self._name


class _Synset:
    def __init__(self, lemmas: list[_Lemma]) -> None:
        self._lemmas = lemmas

    def lemmas(self) -> list[_Lemma]:
        return self._lemmas


if __name__ == "__main__":
    for entry in measure():
        print(entry)
