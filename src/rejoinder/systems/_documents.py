"""Documents and how many of them hold a word: what TF-IDF weighs words by."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from math import log
from pathlib import Path
from typing import NamedTuple

from rejoinder.data.datasets import dataset, read_dataset
from rejoinder.data.reading import Source, stream
from rejoinder.data.situations import shown
from rejoinder.errors import InputError
from rejoinder.text import FUNCTION_WORDS, Tokens, tokenizer_of
from rejoinder.types import Dialogue, Item, Question, Record, Response, Turn

_DATASET = "dataset:"
_TWO_SIGNS = re.compile(r"\b\w\w+\b")


class Frequencies(NamedTuple):
    """In how many of so many documents each word stands."""

    documents: int
    holding: Counter[str]

    def weight(self, word: str) -> float:
        """log(N / n): the fewer documents hold a word, the more it says. An unknown word counts as held by one."""
        return log(self.documents / max(1, self.holding[word]))

    def smooth(self, word: str) -> float:
        """log((1 + N) / (1 + n)) + 1, as if one more document held every word; an unknown word says nothing."""
        held = self.holding[word]
        return log((1 + self.documents) / (1 + held)) + 1 if held else 0.0


def all_words(text: str) -> Tokens:
    """The words of a text in lower case."""
    return tokenizer_of("words")(text)


def content_words(text: str) -> Tokens:
    """The words that carry meaning by themselves, as often as they stand in the text."""
    return tuple(word for word in all_words(text) if word.partition("'")[0] not in FUNCTION_WORDS)


def long_words(text: str) -> Tokens:
    """The words of at least two letters, digits or underscores in lower case, as scikit-learn cuts them."""
    return tuple(_TWO_SIGNS.findall(text.lower()))


def long_content_words(text: str) -> Tokens:
    """Those of them that carry meaning by themselves."""
    return tuple(word for word in long_words(text) if word not in FUNCTION_WORDS)


def frequencies(documents: Iterable[str], words_of: Callable[[str], Tokens], once: bool = False) -> Frequencies:
    """The frequencies of some documents; one that says nothing is none, and equal ones may count as one."""
    holding: Counter[str] = Counter()
    counted = 0
    for text in dict.fromkeys(documents) if once else documents:
        if text.strip():
            counted += 1
            holding.update(set(words_of(text)))
    return Frequencies(counted, holding)


def joined(turns: Iterable[Turn]) -> str:
    """A context as one document."""
    return " ".join(turn.text for turn in turns)


def situated(question: Question) -> str:
    """A context and the statements of its situation as one document."""
    return " ".join([joined(question.context), *(statement.text for statement in question.situation)])


def documents_of(record: Record, situation: str | None = None) -> Iterator[str]:
    """The documents that a record holds: a turn, a context, a candidate, a reference, a response is one each.

    ``situation`` says how much of a question's situation belongs to its context (None for nothing of it).
    """
    match record:
        case Dialogue():
            yield from (turn.text for turn in record.turns)
        case Question():
            yield joined(record.context) if situation is None else situated(*shown([record], situation))
            yield from (candidate.text for candidate in record.candidates)
        case Item():
            yield joined(record.context)
            yield from (reference.text for reference in record.references)
        case Response():
            yield record.text


def fitted(
    corpus: str, words_of: Callable[[str], Tokens], situation: str | None = None, once: bool = False
) -> Frequencies:
    """The frequencies of a file or of ``dataset:NAME``, counted once as long as the file does not change."""
    return _fitted(corpus, _changed(corpus), words_of, situation, once)


@lru_cache(maxsize=4)
def _fitted(
    corpus: str, changed: int, words_of: Callable[[str], Tokens], situation: str | None, once: bool
) -> Frequencies:
    is_set = corpus.startswith(_DATASET)
    records = read_dataset(corpus.removeprefix(_DATASET)) if is_set else stream(corpus, allow_empty=True)
    found = frequencies((text for record in records for text in documents_of(record, situation)), words_of, once)
    if not found.documents:
        raise InputError(f"{corpus}: holds no text that words could be counted in; name a file of dialogues")
    return found


def digest_of(corpus: str) -> str:
    """The digest of the corpus: of the file, or of what a published set consists of."""
    return _digest(corpus, _changed(corpus))


@lru_cache(maxsize=4)
def _digest(corpus: str, changed: int) -> str:
    if not corpus.startswith(_DATASET):
        return Source(corpus).measure()[0]
    files = dataset(corpus.removeprefix(_DATASET)).files
    return hashlib.sha256("\n".join(f"{file.path} {file.sha256}" for file in files).encode()).hexdigest()


def _changed(corpus: str) -> int:
    try:
        return Path(corpus).stat().st_mtime_ns
    except (OSError, ValueError):
        return 0  # a published set; or reading it will say what is wrong
