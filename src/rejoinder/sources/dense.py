"""Turns whose vectors are near that of the context or the reply."""

from __future__ import annotations

from dataclasses import dataclass

from rejoinder.indexes.corpus import Corpus
from rejoinder.sources._base import Source
from rejoinder.sources._retrieval_proposer import Query, RetrievalProposer, corpus_passages, index_folder, open_or_build


@dataclass(frozen=True)
class Dense(Source):
    """The nearest of all turns of the split by an encoder's vectors: to the context, its last turn, or the reply.

    The index of a corpus is built once per encoder and stored in the cache.
    """

    encoder: str = "aptness"
    query: Query = "context"

    citation = "Reimers and Gurevych 2019, Sentence-BERT"

    def over(self, corpus: Corpus) -> RetrievalProposer:
        """Return the proposer of this source for a corpus."""
        from rejoinder.indexes.one_field.dense import DenseIndex
        from rejoinder.models.encoder.factory import load_encoder

        encoder = load_encoder(self.encoder)
        index = open_or_build(
            index_folder(corpus, f"dense-{encoder.digest[:12]}"),
            lambda folder: DenseIndex.open(folder, encoder),
            lambda folder: DenseIndex.build(corpus_passages(corpus), folder, encoder),
        )
        return RetrievalProposer(str(self), self.query, corpus, index)
