"""The keywords of an utterance, as in GRADE (Huang et al. 2020): nouns, verbs and adjectives with a high tf-idf.

Which words may be keywords, and how rare each is, comes from the conversations to be scored or from similar ones:
``candi_keywords.txt`` has one word per line, ``idf.json`` maps each word to its inverse document frequency.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.lab import DISTRIBUTION
from rejoinder.models.translation.checkpoint import find_checkpoint_file, read_checkpoint_lines

_PUNKT = "nltk_data/tokenizers/punkt_tab/english"
_TAGGER = "nltk_data/taggers/averaged_perceptron_tagger_eng/averaged_perceptron_tagger_eng"
_WORDNET = "nltk_data/corpora/wordnet"
_PARTS = {"NN": "noun", "VB": "verb", "JJ": "adj"}
# WordNet's rules of detachment (morphy), in the order in which they are tried.
_ENDINGS = {
    "noun": (
        *(("s", ""), ("ses", "s"), ("ves", "f"), ("xes", "x"), ("zes", "z")),
        *(("ches", "ch"), ("shes", "sh"), ("men", "man"), ("ies", "y")),
    ),
    "verb": (
        *(("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e")),
        *(("ed", ""), ("ing", "e"), ("ing", "")),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
}


@dataclass(frozen=True)
class TaggedWord:
    """A word of a text with its part of speech (Penn's tags) and its lemma."""

    text: str
    tag: str
    lemma: str


@dataclass(frozen=True)
class Lemmas:
    """WordNet's lemmas and irregular forms, by part of speech."""

    known: dict[str, frozenset[str]]
    irregular: dict[str, dict[str, tuple[str, ...]]]

    def lemma_of(self, word: str, tag: str) -> str:
        """Return the shortest lemma of a word as this part of speech; the word itself if there is none."""
        part = _PARTS.get(tag[:2])
        if part is None:
            return word
        forms = self.irregular[part].get(word) or tuple(
            word.removesuffix(old) + new for old, new in _ENDINGS[part] if word.endswith(old)
        )
        return min((form for form in (word, *forms) if form in self.known[part]), key=len, default=word)


class EnglishTagger:
    """Splits a text into lower-case words with their parts of speech and lemmas."""

    def __init__(self, folder: Path) -> None:
        try:
            from nltk.tokenize.destructive import NLTKWordTokenizer
        except ImportError:
            raise MissingExtraError("nltk", "grade", "grade", DISTRIBUTION) from None
        self._sentences = _load_sentence_splitter(folder)
        self._words: Any = NLTKWordTokenizer()
        self._tagger = _load_tagger(folder)
        self._lemmas = _read_lemmas(folder)

    def words(self, text: str) -> list[TaggedWord]:
        """Return the words of a text, in order."""
        tokens = [
            token.lower() for sentence in self._sentences.tokenize(text) for token in self._words.tokenize(sentence)
        ]
        tagged: Sequence[tuple[str, str]] = self._tagger.tag(tokens)
        return [TaggedWord(word, tag, self._lemmas.lemma_of(word, tag)) for word, tag in tagged]


def language_files(folder: Path) -> list[Path]:
    """Return the files that determine words, tags and lemmas."""
    names = [f"{_PUNKT}/{name}" for name in _PUNKT_FILES] + [f"{_TAGGER}.{part}.json" for part in _TAGGER_PARTS]
    names += [f"{_WORDNET}/{name}" for part in _ENDINGS for name in (f"index.{part}", f"{part}.exc")]
    return [find_checkpoint_file(folder, (name,), "a file of NLTK's data") for name in names]


_PUNKT_FILES = ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab")
_TAGGER_PARTS = ("weights", "tagdict", "classes")


def _load_sentence_splitter(folder: Path) -> Any:
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    collocations, starters, abbreviations, contexts = (
        [
            line
            for line in read_checkpoint_lines(
                find_checkpoint_file(folder, (f"{_PUNKT}/{name}",), "the sentence splitter")
            )
            if line
        ]
        for name in _PUNKT_FILES
    )
    parameters: Any = PunktParameters()
    parameters.collocations = {tuple(line.split("\t")) for line in collocations}
    parameters.sent_starters, parameters.abbrev_types = set(starters), set(abbreviations)
    for line in contexts:
        word, _, flags = line.partition("\t")
        parameters.ortho_context[word] = int(flags)
    splitter: Any = PunktSentenceTokenizer()
    splitter._params = parameters
    return splitter


def _load_tagger(folder: Path) -> Any:
    from nltk.tag.perceptron import PerceptronTagger

    parts = []
    for part in _TAGGER_PARTS:
        path = find_checkpoint_file(folder, (f"{_TAGGER}.{part}.json",), "the tagger")
        try:
            parts.append(orjson.loads(path.read_bytes()))
        except ValueError as error:
            raise InputError(f"{path}: is not JSON ({error})") from None
    tagger: Any = PerceptronTagger(load=False)
    tagger.model.weights, tagger.tagdict = parts[0], parts[1]
    tagger.classes = tagger.model.classes = set(parts[2])
    return tagger


def _read_lemmas(folder: Path) -> Lemmas:
    known, irregular = {}, {}
    for part in _ENDINGS:
        lines = read_checkpoint_lines(find_checkpoint_file(folder, (f"{_WORDNET}/index.{part}",), "WordNet"))
        # The licence at the top of the file is indented.
        known[part] = frozenset(line.partition(" ")[0] for line in lines if line and not line.startswith(" "))
        forms = read_checkpoint_lines(
            find_checkpoint_file(folder, (f"{_WORDNET}/{part}.exc",), "WordNet's irregular forms")
        )
        irregular[part] = {first: tuple(rest) for first, *rest in (line.split() for line in forms if line.strip())}
    return Lemmas(known, irregular)


CANDIDATES, IDF = "candi_keywords.txt", "idf.json"
_WEIGHT = {"NN": 2.0, "VB": 1.0, "JJ": 0.5}  # of a part of speech
_THRESHOLD = 0.15


@dataclass(frozen=True)
class KeywordRarity:
    """The words that may be keywords, each with its inverse document frequency."""

    idf: dict[str, float]

    def keywords(self, words: Sequence[TaggedWord]) -> list[str]:
        """Return the lemmas of an utterance's keywords, in order, with repetitions."""
        counts = Counter(word.lemma for word in words)
        return [
            word.lemma
            for word in words
            if word.lemma in self.idf
            and _WEIGHT.get(word.tag[:2], 0.0) * counts[word.lemma] / len(words) * self.idf[word.lemma] > _THRESHOLD
        ]


def keyword_files(folder: Path) -> list[Path]:
    """Return the files that determine which words are keywords."""
    what = "which rejoinder_lab.write_rarity makes from a corpus"
    return [
        find_checkpoint_file(folder, (name, f"preprocess/dataset/*/{name}"), f"{name}, {what},")
        for name in (CANDIDATES, IDF)
    ]


def read_rarity(folder: Path) -> KeywordRarity:
    """Return the rarity of words from a folder."""
    candidates, idf = keyword_files(folder)
    try:
        content = orjson.loads(idf.read_bytes())
    except ValueError as error:
        raise InputError(f"{idf}: is not JSON ({error})") from None
    if not isinstance(content, dict) or not all(type(value) in (int, float) for value in content.values()):
        raise InputError(f"{idf}: must map each word to a number")
    words = [line.strip() for line in read_checkpoint_lines(candidates) if line.strip()]
    if unlisted := [word for word in words if word not in content]:
        raise InputError(f"{idf}: has no number for {unlisted[0]!r}, which {candidates.name} lists")
    return KeywordRarity({word: float(content[word]) for word in words})


def write_rarity(folder: str | Path, utterances: Iterable[str]) -> None:
    """Write ``candi_keywords.txt`` and ``idf.json`` into GRADE's folder by the authors' rule, from a corpus.

    - ``folder``: the folder of the checkpoint.
    - ``utterances``: the utterances of the corpus.

    >>> import rejoinder_lab
    >>> rejoinder_lab.write_rarity("GRADE", ["Where are the keys?"])
    """
    folder = Path(folder)
    english = EnglishTagger(folder)
    total, texts, candidates = 0, Counter[str](), Counter[str]()
    for utterance in utterances:
        words = english.words(utterance)
        total += 1
        texts.update({word.lemma for word in words})
        candidates.update({word.lemma for word in words if word.tag[:2] in _WEIGHT})
    if not total:
        raise InputError("no utterances were given; the rarity of words cannot be computed")
    chosen = [word for word, _ in candidates.most_common() if len(word) > 1]
    (folder / CANDIDATES).write_text("".join(f"{word}\n" for word in chosen), encoding="utf-8", newline="\n")
    idf = {word: math.log10(total / (n + 1)) for word, n in texts.items()}
    (folder / IDF).write_bytes(orjson.dumps(idf, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2))
