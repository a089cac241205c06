"""English as GRADE's keywords need it: words, parts of speech and lemmas, by NLTK's algorithms and published data.

The data lie in ``nltk_data`` under an adapter's folder, as NLTK publishes them in text and JSON (``punkt_tab``,
``averaged_perceptron_tagger_eng``, ``wordnet``). They are read here, because NLTK would also look elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.models.checkpoint import find_file, read_lines

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
class Word:
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
        """The shortest lemma that a word may have as this part of speech; the word itself where there is none."""
        part = _PARTS.get(tag[:2])
        if part is None:
            return word
        forms = self.irregular[part].get(word) or tuple(
            word.removesuffix(old) + new for old, new in _ENDINGS[part] if word.endswith(old)
        )
        return min((form for form in (word, *forms) if form in self.known[part]), key=len, default=word)


class English:
    """Cuts a text into lower-case words and tells what each is."""

    def __init__(self, folder: Path) -> None:
        try:
            from nltk.tokenize.destructive import NLTKWordTokenizer
        except ImportError:
            raise MissingExtraError("nltk", "grade", "grade") from None
        self._sentences = _sentence_splitter(folder)
        self._words: Any = NLTKWordTokenizer()
        self._tagger = _tagger(folder)
        self._lemmas = _read_lemmas(folder)

    def words(self, text: str) -> list[Word]:
        """The words of a text, in order."""
        tokens = [
            token.lower() for sentence in self._sentences.tokenize(text) for token in self._words.tokenize(sentence)
        ]
        tagged: Sequence[tuple[str, str]] = self._tagger.tag(tokens)
        return [Word(word, tag, self._lemmas.lemma_of(word, tag)) for word, tag in tagged]


def language_files(folder: Path) -> list[Path]:
    """The files that decide words, tags and lemmas."""
    names = [f"{_PUNKT}/{name}" for name in _PUNKT_FILES] + [f"{_TAGGER}.{part}.json" for part in _TAGGER_PARTS]
    names += [f"{_WORDNET}/{name}" for part in _ENDINGS for name in (f"index.{part}", f"{part}.exc")]
    return [find_file(folder, (name,), "a file of NLTK's data") for name in names]


_PUNKT_FILES = ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab")
_TAGGER_PARTS = ("weights", "tagdict", "classes")


def _sentence_splitter(folder: Path) -> Any:
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    collocations, starters, abbreviations, contexts = (
        [line for line in read_lines(find_file(folder, (f"{_PUNKT}/{name}",), "the sentence splitter")) if line]
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


def _tagger(folder: Path) -> Any:
    from nltk.tag.perceptron import PerceptronTagger

    parts = []
    for part in _TAGGER_PARTS:
        path = find_file(folder, (f"{_TAGGER}.{part}.json",), "the tagger")
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
        lines = read_lines(find_file(folder, (f"{_WORDNET}/index.{part}",), "WordNet"))
        # The licence at the head of the file is indented.
        known[part] = frozenset(line.partition(" ")[0] for line in lines if line and not line.startswith(" "))
        forms = read_lines(find_file(folder, (f"{_WORDNET}/{part}.exc",), "WordNet's irregular forms"))
        irregular[part] = {first: tuple(rest) for first, *rest in (line.split() for line in forms if line.strip())}
    return Lemmas(known, irregular)
