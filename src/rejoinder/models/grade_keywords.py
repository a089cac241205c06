"""The keywords of an utterance, as GRADE (Huang et al. 2020) finds them: nouns, verbs and adjectives of high tf-idf.

Which words may be keywords, and how rare each is, comes from the conversations that are to be scored or from others of
their kind: ``candi_keywords.txt`` has one a line, ``idf.json`` maps each word to its number.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from rejoinder.errors import InputError
from rejoinder.models.checkpoint import find_file, read_lines
from rejoinder.models.grade_language import English, Word

CANDIDATES, IDF = "candi_keywords.txt", "idf.json"
_WEIGHT = {"NN": 2.0, "VB": 1.0, "JJ": 0.5}  # of a part of speech
_THRESHOLD = 0.15


@dataclass(frozen=True)
class Rarity:
    """The words that may be keywords, each with its inverse document frequency."""

    idf: dict[str, float]

    def keywords(self, words: Sequence[Word]) -> list[str]:
        """The lemmas of those words of an utterance that are keywords, in order; a word that comes twice, twice."""
        counts = Counter(word.lemma for word in words)
        return [
            word.lemma
            for word in words
            if word.lemma in self.idf
            and _WEIGHT.get(word.tag[:2], 0.0) * counts[word.lemma] / len(words) * self.idf[word.lemma] > _THRESHOLD
        ]


def keyword_files(folder: Path) -> list[Path]:
    """The files that decide which words are keywords."""
    what = "made from a corpus by rejoinder.models.grade_keywords.write_rarity"
    return [find_file(folder, (name, f"preprocess/dataset/*/{name}"), f"{name}, {what},") for name in (CANDIDATES, IDF)]


def read_rarity(folder: Path) -> Rarity:
    """The rarity of words that a folder tells."""
    candidates, idf = keyword_files(folder)
    try:
        found = orjson.loads(idf.read_bytes())
    except ValueError as error:
        raise InputError(f"{idf}: is not JSON ({error})") from None
    if not isinstance(found, dict) or not all(type(value) in (int, float) for value in found.values()):
        raise InputError(f"{idf}: must map each word to a number")
    words = [line.strip() for line in read_lines(candidates) if line.strip()]
    if without := [word for word in words if word not in found]:
        raise InputError(f"{idf}: has no number for {without[0]!r}, which {candidates.name} lists")
    return Rarity({word: float(found[word]) for word in words})


def write_rarity(folder: str | Path, utterances: Iterable[str]) -> None:
    """Write ``candi_keywords.txt`` and ``idf.json`` into an adapter's folder by the authors' rule, from a corpus."""
    folder = Path(folder)
    english = English(folder)
    total, texts, candidates = 0, Counter[str](), Counter[str]()
    for utterance in utterances:
        words = english.words(utterance)
        total += 1
        texts.update({word.lemma for word in words})
        candidates.update({word.lemma for word in words if word.tag[:2] in _WEIGHT})
    if not total:
        raise InputError("no utterances were given: nothing can be told about the rarity of words")
    chosen = [word for word, _ in candidates.most_common() if len(word) > 1]
    (folder / CANDIDATES).write_text("".join(f"{word}\n" for word in chosen), encoding="utf-8", newline="\n")
    idf = {word: math.log10(total / (n + 1)) for word, n in texts.items()}
    (folder / IDF).write_bytes(orjson.dumps(idf, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2))
