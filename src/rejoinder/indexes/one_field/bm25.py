"""BM25 as in SCARCE's Appendix C (Robertson et al. 1995).

score(q, d) = sum over the words of q of ln(N / df) (k1 + 1) tf / (k1 ((1 - b) + b dl / avdl) + tf)

A word that occurs twice in the query counts twice. Only passages with a score above 0 are found: those that share a
word with the query that not every passage has.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import SpecError
from rejoinder.indexes.one_field import folder as _folder
from rejoinder.indexes.one_field import passage_store, posting_weights
from rejoinder.indexes.one_field.base import Hit, Passage, check_search_arguments
from rejoinder.indexes.one_field.filter import PassageFilter
from rejoinder.indexes.one_field.passage_store import PassageStore
from rejoinder.indexes.one_field.postings import Postings, Vocabulary, count_postings, join_postings, weigh_postings
from rejoinder.text.tokens import TokenizerName, get_tokenizer

ROLE = "postings"


@dataclass(frozen=True)
class Bm25Settings:
    """What determines the scores of an index besides its passages."""

    k1: float
    b: float
    stop_words: list[str]  # count neither as words nor for the length
    tokenizer: TokenizerName = "words"
    lowercase: bool = True

    @classmethod
    def of(cls, k1: float, b: float, stop_words: Collection[str]) -> Bm25Settings:
        """Return checked settings."""
        if not (math.isfinite(k1) and k1 >= 0 and 0 <= b <= 1):
            raise SpecError(f"k1 must be at least 0 and b between 0 and 1, found k1={k1} and b={b}")
        return cls(k1, b, sorted(set(stop_words)))

    def tokens_of(self) -> Callable[[str], Iterable[str]]:
        """Return the function from a text to the words that count."""
        tokens_of = get_tokenizer(self.tokenizer, self.lowercase)
        left_out = frozenset(self.stop_words)
        return (lambda text: [word for word in tokens_of(text) if word not in left_out]) if left_out else tokens_of


class Bm25Index:
    """An index of passages by their words; make one with ``Bm25Index.build``, reopen it with ``Bm25Index.open``."""

    kind = "bm25"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = _folder.read_index_manifest(folder, self.kind)
        self._passages = PassageStore(self.manifest.folders(folder, passage_store.ROLE))
        self._matrix = posting_weights.WeightMatrix(self.manifest.folders(folder, ROLE)[0])
        self.settings = _folder.parse_index_settings(self.manifest, folder, Bm25Settings)
        self._tokens_of = self.settings.tokens_of()
        if len(self._matrix.postings.lengths) != len(self._passages):
            raise _folder.index_damage_error(folder, "its parts do not match")

    @classmethod
    def build(
        cls,
        passages: Iterable[Passage],
        folder: str | Path,
        *,
        k1: float = 0.5,
        b: float = 0.7,
        stop_words: Collection[str] = (),
    ) -> Bm25Index:
        """Index passages into a new folder."""
        settings = Bm25Settings.of(k1, b, stop_words)
        target = Path(folder)
        with _folder.new_index_folder(target) as new:
            words = Vocabulary()
            part, postings = _write_passages(passages, new, words, settings.tokens_of())
            _folder.write_index_manifest(new, _write_postings(new, [part], postings, words, settings))
        return cls(target)

    @classmethod
    def open(cls, folder: str | Path) -> Bm25Index:
        """Open an index that was built before, memory-mapped."""
        return cls(Path(folder))

    def append(self, passages: Iterable[Passage]) -> Bm25Index:
        """Return the index with more dialogues added, the same as if it had been built from all at once."""
        words = Vocabulary(self._matrix.words)
        part, postings = _write_passages(passages, self.folder, words, self._tokens_of, self._passages.numbers)
        parts = [p for p in self.manifest.parts if p.role == passage_store.ROLE] + [part]
        joined = join_postings(self._matrix.postings, postings)
        manifest = _write_postings(self.folder, parts, joined, words, self.settings)
        _folder.write_index_manifest(self.folder, manifest, self.manifest)
        return type(self)(self.folder)

    def __len__(self) -> int:
        return len(self._passages)

    def search(
        self,
        queries: Sequence[str],
        k: int = 5,
        *,
        split: str | None = None,
        exclude_dialogues: Sequence[Collection[str]] | None = None,
        only_dialogues: Collection[str] | None = None,
    ) -> list[list[Hit]]:
        """Return the best hits of each query, best first; see ``base.Index``."""
        check_search_arguments(queries, k, exclude_dialogues)
        allowed = PassageFilter(self._passages, split, only_dialogues)
        mask = allowed.mask if allowed.is_limited else None
        hits = []
        for query, excluded in zip(queries, exclude_dialogues or [()] * len(queries), strict=True):
            numbers, scores = self._matrix.nearest(self._words(query), k, mask, allowed.ranges(excluded))
            hits.append(self._passages.best(numbers, scores, k))
        return hits

    def scores(self, query: str) -> NDArray[np.float64]:
        """Return the score of each passage, in the order in which they were indexed."""
        return self._matrix.all_scores(self._words(query))

    def _words(self, query: str) -> Counter[int]:
        """Return the words of a query that the index knows, in query order, with their counts."""
        known = self._matrix.words
        return Counter(number for word in self._tokens_of(query) if (number := known.get(word)) is not None)


def _write_passages(
    passages: Iterable[Passage],
    folder: Path,
    words: Vocabulary,
    tokens_of: Callable[[str], Iterable[str]],
    known: Collection[str] = (),
) -> tuple[_folder.IndexPart, Postings]:
    """Write a part of passages, and count their words."""
    with _folder.new_index_part(folder, passage_store.ROLE) as new:
        postings = count_postings(passage_store.record_passages(passages, new, known), tokens_of, words)
        return _folder.seal_index_part(new, passage_store.ROLE), postings


def _write_postings(
    folder: Path, parts: list[_folder.IndexPart], postings: Postings, words: Vocabulary, settings: Bm25Settings
) -> _folder.IndexManifest:
    """Compute the weights of all postings, write them as one part, and return the new manifest."""
    with _folder.new_index_part(folder, ROLE) as new:
        posting_weights.save_posting_weights(
            new, postings, weigh_postings(postings, settings.k1, settings.b), words, settings.k1, settings.b
        )
        part = _folder.seal_index_part(new, ROLE)
    counts = {
        "passages": len(postings.lengths),
        "words": len(words),
        "postings": len(postings.passages),
        "tokens": int(postings.lengths.sum()),
    }
    return _folder.IndexManifest(Bm25Index.kind, asdict(settings), counts, (*parts, part))
