"""Turns that share words with the context or the reply, by BM25 (Robertson et al. 1995)."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.indexes.corpus import Corpus
from rejoinder.sources._base import Source
from rejoinder.sources._retrieval_proposer import Query, RetrievalProposer, corpus_passages, index_folder, open_or_build


@dataclass(frozen=True)
class Bm25(Source):
    """The best hits of BM25 among all turns of the split, searched by the context, its last turn, or the reply.

    The index of a corpus is built once and stored in the cache.
    """

    query: Query = "context"

    citation = "Robertson et al. 1995, Okapi at TREC-3; Gangal et al. 2021, Appendix C"

    def over(self, corpus: Corpus) -> RetrievalProposer:
        """Return the proposer of this source for a corpus."""
        from rejoinder.indexes.one_field.bm25 import Bm25Index

        index = open_or_build(
            index_folder(corpus, "bm25"),
            Bm25Index.open,
            lambda folder: Bm25Index.build(corpus_passages(corpus), folder),
        )
        return RetrievalProposer(str(self), self.query, corpus, index)
