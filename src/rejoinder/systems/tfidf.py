"""TF-IDF (Lowe et al. 2015, section 4.1): the candidate whose words are nearest to those of the context."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rejoinder.contract import NAN
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
)
from rejoinder.systems._texts import placed, replies, said
from rejoinder.text import Tokens
from rejoinder.types import Question

Words: TypeAlias = Literal["all", "content"]
Vector: TypeAlias = dict[str, float]
_WORDS: dict[Words, Callable[[str], Tokens]] = {"all": all_words, "content": content_words}


@dataclass(frozen=True)
class Tfidf(System):
    """The cosine between the vectors of the context (all turns together) and of the candidate.

    A word w that stands f times in a text has the component f log(N / n), where n of N documents hold it. The documents
    are those of ``fit``, a file or ``dataset:NAME``; without one, the contexts and candidates of all questions that are
    asked together. A word that no document holds counts as held by one. ``words='content'`` leaves function words out.
    NaN without a context; 0 where no word is shared.
    """

    fit: str | None = None
    words: Words = "all"

    citation = "Lowe et al. 2015, The Ubuntu Dialogue Corpus"
    alone = False  # words are weighed by all questions together, unless there is a corpus

    def __post_init__(self) -> None:
        check_choice("tfidf", "words", self.words, Words)
        if self.fit is not None and not self.fit.strip():
            raise SpecError("tfidf: fit must name a file or dataset:NAME; leave it out to count in the questions")
        object.__setattr__(self, "alone", self.fit is not None)

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """One cosine a candidate."""
        words_of = _WORDS[self.words]
        if self.fit is None:
            known = frequencies((text for question in questions for text in documents_of(question)), words_of)
        else:
            known = fitted(self.fit, words_of)
        return [self._of_question(question, known, words_of) for question in questions]

    def details(self) -> dict[str, str]:
        """The tokeniser, and the digest of the documents where they are not the questions themselves."""
        return {"tokens": "words"} | ({} if self.fit is None else {"documents": digest_of(self.fit)[:12]})

    def _of_question(self, question: Question, known: Frequencies, words_of: Callable[[str], Tokens]) -> list[float]:
        context = _vector(joined(said(question)), known, words_of)
        if context is None:
            return [NAN] * len(question.candidates)
        found = {text: _cosine(context, _vector(text, known, words_of) or {}) for text in replies(question)}
        return placed(question, found)


def _vector(text: str, known: Frequencies, words_of: Callable[[str], Tokens]) -> Vector | None:
    """The components of a text; None where it has no word."""
    counts = Counter(words_of(text))
    return {word: count * known.weight(word) for word, count in counts.items()} or None


def _cosine(first: Vector, second: Vector) -> float:
    """The cosine, 0 where one of the two has no direction; summed exactly, so that no order can be seen in it."""
    dot = math.fsum(value * second[word] for word, value in first.items() if word in second)
    lengths = [math.fsum(value * value for value in vector.values()) for vector in (first, second)]
    return dot / math.sqrt(lengths[0] * lengths[1]) if all(lengths) else 0.0
