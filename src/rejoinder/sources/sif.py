"""Turns whose SIF-weighted word vectors are near that of the context or the reply (Arora et al. 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rejoinder.errors import SpecError
from rejoinder.indexes import sif
from rejoinder.indexes.corpus import Corpus
from rejoinder.indexes.one_field.base import Hit
from rejoinder.indexes.sif import SifEncoder
from rejoinder.sources._base import Source
from rejoinder.sources._retrieval_proposer import Query, RetrievalProposer, corpus_passages, index_folder, open_or_build


@dataclass(frozen=True)
class Sif(Source):
    """The nearest of all turns of the split by SIF vectors: to the context, its last turn, or the reply.

    ``counts`` is a file with a word and its count on each line; without one, the corpus itself is counted. The index of
    a corpus is built once and stored in the cache. A text without a known word finds nothing and is not found.
    """

    vectors: str = "glove-6b-50d"
    a: float = 0.001
    counts: str | None = None
    query: Query = "context"

    citation = "Arora, Liang and Ma 2017, A Simple but Tough-to-Beat Baseline; Sato et al. 2020, Appendix A"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.a) and self.a > 0):
            raise SpecError(f"sif: a must be above 0, not {self.a}")

    def over(self, corpus: Corpus) -> RetrievalProposer:
        """Return the proposer of this source for a corpus."""
        from rejoinder.indexes.one_field.dense import DenseIndex
        from rejoinder.models.word_vectors.model import load_word_vectors

        words = load_word_vectors(self.vectors)
        digest = sif.sif_digest(corpus, words, self.a, self.counts)
        home = index_folder(corpus, f"sif-{digest[:12]}")
        path = home.with_name(f"{home.name}.json")
        fit = sif.read_sif_fit(path)
        if fit is None:
            word_counts = sif.read_word_counts(self.counts) if self.counts is not None else None
            fit = sif.fit_sif(corpus, words, self.a, word_counts)
            sif.write_sif_fit(path, fit)
        encoder = SifEncoder(words, self.a, fit, digest)
        index = open_or_build(
            home,
            lambda folder: DenseIndex.open(folder, encoder),
            lambda folder: DenseIndex.build(corpus_passages(corpus), folder, encoder),
        )
        return _SifProposer(str(self), self.query, corpus, index)


class _SifProposer(RetrievalProposer):
    """Proposes only hits with a score above 0, which texts without known words never have."""

    def _search(self, texts: list[str], k: int, split: str | None, own_dialogues: list[list[str]]) -> list[list[Hit]]:
        return [[hit for hit in hits if hit.score > 0] for hits in super()._search(texts, k, split, own_dialogues)]
