"""What SIF takes from a corpus: how often each word occurs, and the first principal component; kept in the cache."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import orjson

from rejoinder.data.reading import Source as File
from rejoinder.errors import InputError, brief
from rejoinder.files import whole_file
from rejoinder.models.contract import WordVectors
from rejoinder.sources._corpus import Corpus
from rejoinder.sources._sif import Fit, Weighing
from rejoinder.text import tokenizer_of

VERSION = 1  # of the vectors
_AT_ONCE = 8192  # texts


def fit(corpus: Corpus, words: WordVectors, a: float, given: tuple[Mapping[str, int], int] | None = None) -> Fit:
    """The word counts (where no file gives them) and the first principal component of a corpus."""
    counts, total = given if given is not None else _counts(corpus, words)
    weighing = Weighing(words, a, counts, total)
    products = np.zeros((words.dimensions, words.dimensions))
    for texts in _blocks(corpus):
        means = weighing.means(texts)
        products += means.T @ means
    return Fit(counts, total, np.linalg.eigh(products)[1][:, -1])


def _counts(corpus: Corpus, words: WordVectors) -> tuple[dict[str, int], int]:
    tokens_of = tokenizer_of("words")
    counted: Counter[str] = Counter()
    for texts in _blocks(corpus):
        for text in texts:
            counted.update(tokens_of(text))
    return {word: n for word, n in sorted(counted.items()) if word in words}, counted.total()


def _blocks(corpus: Corpus) -> Iterator[list[str]]:
    for start in range(0, corpus.n_turns, _AT_ONCE):
        yield corpus.texts(np.arange(start, min(start + _AT_ONCE, corpus.n_turns)))


def read_counts(path: str) -> tuple[dict[str, int], int]:
    """The counts of a file with a word and how often it occurs on each line."""
    counts: dict[str, int] = {}
    for line in File(path).lines():
        word, _, number = line.text.decode("utf-8", "replace").strip().rpartition(" ")
        if not word.strip() or not number.isdecimal():
            found = brief(line.text[:60].decode("utf-8", "replace").strip())
            raise InputError(f"{line.place}: found {found}; write a word and its count on each line")
        counts[word.strip()] = counts.get(word.strip(), 0) + int(number)
    return counts, sum(counts.values())


def digest_of(corpus: Corpus, words: WordVectors, a: float, counts: str | None) -> str:
    """A name for everything that decides the vectors."""
    of_file = File(counts).measure()[0] if counts is not None else "corpus"
    return hashlib.sha256(f"sif {VERSION} {words.digest} {a!r} {of_file} {corpus.digest}".encode()).hexdigest()


def write_fit(path: Path, made: Fit) -> None:
    """Keep a fit in a file of the cache."""
    content = {"counts": made.counts, "total": made.total, "component": made.component.tolist()}
    with whole_file(path) as file:
        file.write(orjson.dumps(content))


def read_fit(path: Path) -> Fit | None:
    """The fit that a file of the cache holds; None where there is none."""
    try:
        found = orjson.loads(path.read_bytes())
        return Fit(found["counts"], int(found["total"]), np.array(found["component"], np.float64))
    except (OSError, ValueError, KeyError, TypeError):
        return None
