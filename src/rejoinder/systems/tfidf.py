"""TF-IDF (Lowe et al. 2015, section 4.1): it prefers the candidate whose words are closest to those of the context."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from rejoinder.data.datasets import dataset, read_dataset
from rejoinder.data.questions import INPUTS, limit_situation
from rejoinder.data.reader import InputFile, stream
from rejoinder.errors import InputError, SpecError
from rejoinder.files import sha256_of_parts
from rejoinder.metric import NAN
from rejoinder.spec import check_choice
from rejoinder.systems._base import System
from rejoinder.systems._texts import distinct_texts, place_scores, spoken_question_turns
from rejoinder.text.tokens import FUNCTION_WORDS, Tokens, get_tokenizer
from rejoinder.types import Dialogue, Item, Question, Record, Response, Turn

_DATASET = "dataset:"
_TWO_SIGNS = re.compile(r"\b\w\w+\b")


class DocumentFrequencies(NamedTuple):
    """The number of documents, and how many of them contain each word."""

    documents: int
    holding: Counter[str]

    def weight(self, word: str) -> float:
        """log(N / n): the fewer documents contain a word, the higher. An unknown word counts as contained in one."""
        return log(self.documents / max(1, self.holding[word]))

    def smooth(self, word: str) -> float:
        """log((1 + N) / (1 + n)) + 1, as if one more document contained every word; 0 for an unknown word."""
        n = self.holding[word]
        return log((1 + self.documents) / (1 + n)) + 1 if n else 0.0


def all_words(text: str) -> Tokens:
    """The words of a text in lower case."""
    return get_tokenizer("words")(text)


def repeated_content_words(text: str) -> Tokens:
    """The content words of a text, with repetitions."""
    return tuple(word for word in all_words(text) if word.partition("'")[0] not in FUNCTION_WORDS)


def long_words(text: str) -> Tokens:
    """The words of at least two letters, digits or underscores in lower case, as in scikit-learn."""
    return tuple(_TWO_SIGNS.findall(text.lower()))


def long_content_words(text: str) -> Tokens:
    """Those of the long words that are content words."""
    return tuple(word for word in long_words(text) if word not in FUNCTION_WORDS)


def count_frequencies(
    documents: Iterable[str], words_of: Callable[[str], Tokens], once: bool = False
) -> DocumentFrequencies:
    """Count in how many documents each word occurs; blank documents do not count, and equal ones once if ``once``."""
    holding: Counter[str] = Counter()
    counted = 0
    for text in dict.fromkeys(documents) if once else documents:
        if text.strip():
            counted += 1
            holding.update(set(words_of(text)))
    return DocumentFrequencies(counted, holding)


def join_turns(turns: Iterable[Turn]) -> str:
    """A context as one document."""
    return " ".join(turn.text for turn in turns)


def join_situation(question: Question) -> str:
    """A context and the statements of its situation as one document."""
    return " ".join([join_turns(question.context), *(statement.text for statement in question.situation)])


def list_documents(record: Record, situation: str | None = None) -> Iterator[str]:
    """Yield the documents of a record: each turn, context, candidate, reference and response is one.

    ``situation`` says how much of a question's situation belongs to its context (None for none of it).
    """
    match record:
        case Dialogue():
            yield from (turn.text for turn in record.turns)
        case Question():
            yield (
                join_turns(record.context)
                if situation is None
                else join_situation(*limit_situation([record], situation))
            )
            yield from (candidate.text for candidate in record.candidates)
        case Item():
            yield join_turns(record.context)
            yield from (reference.text for reference in record.references)
        case Response():
            yield record.text


def fit_frequencies(
    corpus: str, words_of: Callable[[str], Tokens], situation: str | None = None, once: bool = False
) -> DocumentFrequencies:
    """Count the frequencies of a file or of ``dataset:NAME``, once while the file does not change."""
    return _fit_cached(corpus, _modification_time(corpus), words_of, situation, once)


@lru_cache(maxsize=4)
def _fit_cached(
    corpus: str, changed: int, words_of: Callable[[str], Tokens], situation: str | None, once: bool
) -> DocumentFrequencies:
    is_set = corpus.startswith(_DATASET)
    records = read_dataset(corpus.removeprefix(_DATASET)) if is_set else stream(corpus, allow_empty=True)
    frequencies = count_frequencies(
        (text for record in records for text in list_documents(record, situation)), words_of, once
    )
    if not frequencies.documents:
        raise InputError(f"{corpus}: has no text to count words in; name a file of dialogues")
    return frequencies


def corpus_digest(corpus: str) -> str:
    """The digest of the corpus: of the file, or of the files of a published set."""
    return _digest_cached(corpus, _modification_time(corpus))


@lru_cache(maxsize=4)
def _digest_cached(corpus: str, changed: int) -> str:
    if not corpus.startswith(_DATASET):
        return InputFile(corpus).measure()[0]
    files = dataset(corpus.removeprefix(_DATASET)).files
    return sha256_of_parts((f"{file.path} {file.sha256}" for file in files), "\n")


def _modification_time(corpus: str) -> int:
    try:
        return Path(corpus).stat().st_mtime_ns
    except (OSError, ValueError):
        return 0  # a published set; or reading the file will raise an error


Words: TypeAlias = Literal["all", "content"]
Weights: TypeAlias = Literal["plain", "smooth"]
Vector: TypeAlias = dict[str, float]
_WORDS: dict[tuple[Weights, Words], Callable[[str], Tokens]] = {
    ("plain", "all"): all_words,
    ("plain", "content"): repeated_content_words,
    ("smooth", "all"): long_words,
    ("smooth", "content"): long_content_words,
}


@dataclass(frozen=True)
class Tfidf(System):
    """The cosine between the vectors of the context (all turns together) and of the candidate.

    A word w that occurs f times in a text has the component f log(N / n), where n of N documents contain it. The
    documents are those of ``fit``, a file or ``dataset:NAME``; without it, the contexts and candidates of all questions
    that are asked together. A word that no document contains counts as contained in one. ``words='content'`` leaves out
    function words. NaN without a context; 0 if no word is shared.

    With ``situation``, the statements of a question belong to its context; its value, one of ``u``, ``u+S1``, ``u+S``,
    ``5``, ``10``, ``15``, sets how much of the situations of ``fit`` counts (Otani et al. 2023, section 4.2).
    ``weights='smooth'`` is f (log((1 + N) / (1 + n)) + 1) over words of two letters or more, unknown words left out:
    the default of scikit-learn's TfidfVectorizer. ``once`` counts equal documents as one.
    """

    fit: str | None = None
    words: Words = "all"
    situation: str | None = None
    weights: Weights = "plain"
    once: bool = False

    citation = "Lowe et al. 2015, The Ubuntu Dialogue Corpus"
    alone = False  # words are weighted by all questions together, unless there is a corpus

    def __post_init__(self) -> None:
        check_choice("tfidf", "words", self.words, Words)
        check_choice("tfidf", "weights", self.weights, Weights)
        if self.situation is not None and self.situation not in INPUTS:
            raise SpecError(f"tfidf: situation must be one of {', '.join(INPUTS)}, not {self.situation!r}")
        if self.fit is not None and not self.fit.strip():
            raise SpecError("tfidf: fit must name a file or dataset:NAME; leave it out to count in the questions")
        object.__setattr__(self, "alone", self.fit is not None)

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """Return one cosine per candidate."""
        frequencies = self._frequencies(questions)
        return [self._score_question(question, frequencies) for question in questions]

    def used(self, questions: Sequence[Question]) -> list[list[tuple[int, ...]]] | None:
        """For each candidate, the statements that share a word of nonzero weight: only these can raise its score."""
        if self.situation is None:
            return None
        frequencies = self._frequencies(questions)
        statements_used = []
        for question in questions:
            statements = [self._vector(statement.text, frequencies) or {} for statement in question.situation]
            candidates = [self._vector(candidate.text, frequencies) or {} for candidate in question.candidates]
            statements_used.append([_shared_statements(candidate, statements) for candidate in candidates])
        return statements_used

    def details(self) -> dict[str, str]:
        """Return the tokeniser, and the digest of the documents if they are not the questions themselves."""
        tokens = "words" if self.weights == "plain" else "two or more letters"
        return {"tokens": tokens} | ({} if self.fit is None else {"documents": corpus_digest(self.fit)[:12]})

    def _frequencies(self, questions: Sequence[Question]) -> DocumentFrequencies:
        words_of = _WORDS[self.weights, self.words]
        if self.fit is not None:
            return fit_frequencies(self.fit, words_of, self.situation, self.once)
        # Of the questions themselves, the whole situation counts.
        whole = None if self.situation is None else "u+S"
        return count_frequencies(
            (t for question in questions for t in list_documents(question, whole)), words_of, self.once
        )

    def _score_question(self, question: Question, frequencies: DocumentFrequencies) -> list[float]:
        turns = spoken_question_turns(question)
        text = join_turns(turns) if self.situation is None else join_situation(question)
        context = self._vector(text, frequencies) if turns else None
        if context is None:
            return [NAN] * len(question.candidates)
        scores = {
            text: _tfidf_cosine(context, self._vector(text, frequencies) or {}) for text in distinct_texts(question)
        }
        return place_scores(question, scores)

    def _vector(self, text: str, frequencies: DocumentFrequencies) -> Vector | None:
        """The components of a text; None if it has no words."""
        weight = frequencies.weight if self.weights == "plain" else frequencies.smooth
        counts = Counter(_WORDS[self.weights, self.words](text))
        return {word: count * weight(word) for word, count in counts.items()} or None


def _shared_statements(candidate: Vector, statements: Sequence[Vector]) -> tuple[int, ...]:
    heavy = {word for word, weight in candidate.items() if weight}
    return tuple(place for place, statement in enumerate(statements) if heavy & statement.keys())


def _tfidf_cosine(first: Vector, second: Vector) -> float:
    """The cosine, 0 if one of the vectors is zero; summed exactly, so that the order of words does not matter."""
    dot = math.fsum(value * second[word] for word, value in first.items() if word in second)
    lengths = [math.fsum(value * value for value in vector.values()) for vector in (first, second)]
    return dot / math.sqrt(lengths[0] * lengths[1]) if all(lengths) else 0.0
