"""Indexes over the turns of dialogues: built once, stored in a plain folder, opened in place."""

from typing import TYPE_CHECKING

from rejoinder.exports import export_lazily

if TYPE_CHECKING:
    from rejoinder.indexes.corpus import Corpus as Corpus
    from rejoinder.indexes.embedding import EmbeddedTexts as EmbeddedTexts
    from rejoinder.indexes.factory import open_index as open_index
    from rejoinder.indexes.one_field.base import Passage as Passage
    from rejoinder.indexes.one_field.base import passages as passages
    from rejoinder.indexes.one_field.bm25 import Bm25Index as Bm25Index
    from rejoinder.indexes.one_field.dense import DenseIndex as DenseIndex
    from rejoinder.indexes.sharded.bm25 import ShardedBm25Index as ShardedBm25Index
    from rejoinder.indexes.sharded.dense import ShardedDenseIndex as ShardedDenseIndex
    from rejoinder.indexes.speaker_similarity import SpeakerReport as SpeakerReport

__getattr__, __dir__, __all__ = export_lazily(
    __name__,
    {
        "corpus": ("Corpus",),
        "embedding": ("EmbeddedTexts",),
        "factory": ("open_index",),
        "one_field.base": ("Passage", "passages"),
        "one_field.bm25": ("Bm25Index",),
        "one_field.dense": ("DenseIndex",),
        "sharded.bm25": ("ShardedBm25Index",),
        "sharded.dense": ("ShardedDenseIndex",),
        "speaker_similarity": ("SpeakerReport",),
    },
)
