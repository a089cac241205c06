"""Pairs as vectors: context and reply are read together by a frozen network, each pair only once.

A pair encoder is ``aptness`` (the shipped cross-encoder, before its head; ``aptness:SET`` with the weights of a set), a
folder with networks of `aptness`, or a BERT with the pooling layer of next-sentence prediction: ``bert-base-uncased``
or ``hf:FOLDER``. The vectors are cached in ``<cache>/pairs`` under the digest of the model and a hash of the texts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from rejoinder.errors import SpecError
from rejoinder.models import aptness_card as cards
from rejoinder.models.aptness.model import AptnessModel, open_aptness
from rejoinder.models.base import Vectors
from rejoinder.models.encoder.cache import VectorCache
from rejoinder.models.encoder.factory import HUB_PREFIX, find_encoder_folder
from rejoinder.models.spoken import Contexts
from rejoinder.paths import cache_home

DEFAULT_ENCODER = "aptness"
_CHUNK = 512  # pairs computed between two writes: the most that a killed process can lose


class PairEncoder(Protocol):
    """Turns a context and a reply into one vector."""

    name: str
    digest: str  # of everything that determines the vectors
    dimensions: int
    licence: str

    def features(self, contexts: Contexts, replies: Sequence[str]) -> Vectors:
        """Return one vector per pair, in order; a row of NaN if the context or the reply is blank."""
        ...

    def cut(self, contexts: Contexts, replies: Sequence[str]) -> list[bool]:
        """Return which pairs are too long to be read in full."""
        ...


def load_pair_encoder(name: str = DEFAULT_ENCODER, cache: bool = True) -> PairEncoder:
    """Load a pair encoder by name; its vectors are stored in the cache unless ``cache`` is False."""
    encoder = _open_pair_encoder(name)
    return CachedPairEncoder(encoder) if cache else encoder


def _open_pair_encoder(name: str) -> PairEncoder:
    if name.partition(":")[0] == DEFAULT_ENCODER:
        return AptnessPairEncoder(open_aptness(find_encoder_folder(name)[0]), name)
    if not name.startswith(HUB_PREFIX) and (Path(name) / cards.CARD_FILE).is_file():
        return AptnessPairEncoder(open_aptness(name), name)
    from rejoinder.models.bert.next_sentence import open_next_sentence_encoder

    return open_next_sentence_encoder(name)


class AptnessPairEncoder:
    """The cross-encoder of `aptness` as a pair encoder: the vector before its head."""

    def __init__(self, model: AptnessModel, name: str) -> None:
        card = model.card
        self._model = model
        self.name = name
        self.digest = card.digest((cards.CROSS, cards.EMBEDDINGS, cards.TOKENIZER))
        self.dimensions = int(card.networks["cross"]["hidden_size"])
        self.licence = card.licence

    def features(self, contexts: Contexts, replies: Sequence[str]) -> Vectors:
        """Return one vector per pair, in order."""
        return self._model.cross_features(contexts, replies)

    def cut(self, contexts: Contexts, replies: Sequence[str]) -> list[bool]:
        """Return which pairs are too long to be read in full."""
        return self._model.cut(contexts, replies, "cross")


class CachedPairEncoder:
    """A pair encoder that looks up vectors before it computes them."""

    def __init__(self, encoder: PairEncoder) -> None:
        self._encoder = encoder
        self._store = VectorCache(cache_home() / "pairs" / f"{encoder.digest[:32]}.sqlite", encoder.dimensions)
        self.name, self.digest = encoder.name, encoder.digest
        self.dimensions, self.licence = encoder.dimensions, encoder.licence

    def features(self, contexts: Contexts, replies: Sequence[str]) -> Vectors:
        """Return one vector per pair, in order; a row of NaN if the context or the reply is blank."""
        if len(contexts) != len(replies):
            raise SpecError(
                f"{len(contexts)} contexts but {len(replies)} replies were given; pass one context per reply"
            )
        spoken_contexts = [tuple(text for text in context if text.strip()) for context in contexts]
        pairs = {
            _pair_key(context, reply): (context, reply)
            for context, reply in zip(spoken_contexts, replies, strict=True)
            if context and reply.strip()
        }
        index = {key: i for i, key in enumerate(pairs)}
        vectors = np.full((len(pairs) + 1, self.dimensions), np.nan, np.float32)  # the last row is for blank pairs
        known = self._store.get(list(pairs), vectors)
        missing = sorted((key for key in pairs if key not in known), key=lambda key: _text_length(*pairs[key]))
        for start in range(0, len(missing), _CHUNK):
            chunk = missing[start : start + _CHUNK]
            new_vectors = self._encoder.features([pairs[key][0] for key in chunk], [pairs[key][1] for key in chunk])
            vectors[[index[key] for key in chunk]] = new_vectors
            self._store.put(chunk, new_vectors)
        keys = (_pair_key(context, reply) for context, reply in zip(spoken_contexts, replies, strict=True))
        return vectors[[index.get(key, -1) for key in keys]]

    def cut(self, contexts: Contexts, replies: Sequence[str]) -> list[bool]:
        """Return which pairs are too long to be read in full."""
        return self._encoder.cut(contexts, replies)


def _pair_key(context: Sequence[str], reply: str) -> bytes:
    """Return a hash of the texts; it includes their lengths, so that different splits of the same text differ."""
    texts = [text.encode("utf-8", "surrogatepass") for text in (*context, reply)]
    digest = hashlib.blake2b(digest_size=16)
    for text in texts:
        digest.update(len(text).to_bytes(8, "little") + text)
    return digest.digest()


def _text_length(context: Sequence[str], reply: str) -> int:
    return sum(map(len, context)) + len(reply)
