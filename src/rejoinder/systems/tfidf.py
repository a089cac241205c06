"""TF-IDF (Lowe et al. 2015, section 4.1): the candidate whose words are nearest to those of the context."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rejoinder.contract import NAN
from rejoinder.data.situations import INPUTS
from rejoinder.errors import SpecError
from rejoinder.metrics._parameters import check_choice
from rejoinder.systems._contract import System
from rejoinder.systems._documents import (
    Frequencies,
    all_words,
    content_words,
    digest_of,
    documents_of,
    fitted,
    frequencies,
    joined,
    long_content_words,
    long_words,
    situated,
)
from rejoinder.systems._texts import placed, replies, said
from rejoinder.text import Tokens
from rejoinder.types import Question

Words: TypeAlias = Literal["all", "content"]
Weights: TypeAlias = Literal["plain", "smooth"]
Vector: TypeAlias = dict[str, float]
_WORDS: dict[tuple[Weights, Words], Callable[[str], Tokens]] = {
    ("plain", "all"): all_words,
    ("plain", "content"): content_words,
    ("smooth", "all"): long_words,
    ("smooth", "content"): long_content_words,
}


@dataclass(frozen=True)
class Tfidf(System):
    """The cosine between the vectors of the context (all turns together) and of the candidate.

    A word w that stands f times in a text has the component f log(N / n), where n of N documents hold it. The documents
    are those of ``fit``, a file or ``dataset:NAME``; without one, the contexts and candidates of all questions that are
    asked together. A word that no document holds counts as held by one. ``words='content'`` leaves function words out.
    NaN without a context; 0 where no word is shared.

    With a ``situation`` the statements of a question belong to its context; the word, one of ``u``, ``u+S1``, ``u+S``,
    ``5``, ``10``, ``15``, says how much of the situations of ``fit`` counts (Otani et al. 2023, section 4.2).
    ``weights='smooth'`` is f (log((1 + N) / (1 + n)) + 1) over words of two letters or more, unknown words left out:
    what scikit-learn's TfidfVectorizer does unless told otherwise. ``once`` counts equal documents as one.
    """

    fit: str | None = None
    words: Words = "all"
    situation: str | None = None
    weights: Weights = "plain"
    once: bool = False

    citation = "Lowe et al. 2015, The Ubuntu Dialogue Corpus"
    alone = False  # words are weighed by all questions together, unless there is a corpus

    def __post_init__(self) -> None:
        check_choice("tfidf", "words", self.words, Words)
        check_choice("tfidf", "weights", self.weights, Weights)
        if self.situation is not None and self.situation not in INPUTS:
            raise SpecError(f"tfidf: situation must be one of {', '.join(INPUTS)}, not {self.situation!r}")
        if self.fit is not None and not self.fit.strip():
            raise SpecError("tfidf: fit must name a file or dataset:NAME; leave it out to count in the questions")
        object.__setattr__(self, "alone", self.fit is not None)

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """One cosine a candidate."""
        known = self._known(questions)
        return [self._of_question(question, known) for question in questions]

    def used(self, questions: Sequence[Question]) -> list[list[tuple[int, ...]]] | None:
        """For each candidate the statements that share a word of some weight with it: no other can raise its score."""
        if self.situation is None:
            return None
        known = self._known(questions)
        found = []
        for question in questions:
            statements = [self._vector(statement.text, known) or {} for statement in question.situation]
            candidates = [self._vector(candidate.text, known) or {} for candidate in question.candidates]
            found.append([_sharing(candidate, statements) for candidate in candidates])
        return found

    def details(self) -> dict[str, str]:
        """The tokeniser, and the digest of the documents where they are not the questions themselves."""
        tokens = "words" if self.weights == "plain" else "two or more letters"
        return {"tokens": tokens} | ({} if self.fit is None else {"documents": digest_of(self.fit)[:12]})

    def _known(self, questions: Sequence[Question]) -> Frequencies:
        words_of = _WORDS[self.weights, self.words]
        if self.fit is not None:
            return fitted(self.fit, words_of, self.situation, self.once)
        # What is asked shows as much of its situation as there is to see.
        whole = None if self.situation is None else "u+S"
        return frequencies((t for question in questions for t in documents_of(question, whole)), words_of, self.once)

    def _of_question(self, question: Question, known: Frequencies) -> list[float]:
        turns = said(question)
        text = joined(turns) if self.situation is None else situated(question)
        context = self._vector(text, known) if turns else None
        if context is None:
            return [NAN] * len(question.candidates)
        found = {text: _cosine(context, self._vector(text, known) or {}) for text in replies(question)}
        return placed(question, found)

    def _vector(self, text: str, known: Frequencies) -> Vector | None:
        """The components of a text; None where it has no word."""
        weight = known.weight if self.weights == "plain" else known.smooth
        counts = Counter(_WORDS[self.weights, self.words](text))
        return {word: count * weight(word) for word, count in counts.items()} or None


def _sharing(candidate: Vector, statements: Sequence[Vector]) -> tuple[int, ...]:
    heavy = {word for word, weight in candidate.items() if weight}
    return tuple(place for place, statement in enumerate(statements) if heavy & statement.keys())


def _cosine(first: Vector, second: Vector) -> float:
    """The cosine, 0 where one of the two has no direction; summed exactly, so that no order can be seen in it."""
    dot = math.fsum(value * second[word] for word, value in first.items() if word in second)
    lengths = [math.fsum(value * value for value in vector.values()) for vector in (first, second)]
    return dot / math.sqrt(lengths[0] * lengths[1]) if all(lengths) else 0.0
