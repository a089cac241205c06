"""Systems that select and do not generate, as those of ladders that take seconds: TF-IDF and sentence vectors.

Their loss is 1 minus the cosine of context and candidate. They have no loss without a context; the mean loss after the
contexts of all other questions stands for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rejoinder.systems.tfidf import all_words, count_frequencies
from rejoinder_lab.papers.chosen.answers import Context, LossRequest
from rejoinder_lab.papers.chosen.context import list_spoilt_contexts
from rejoinder_lab.papers.chosen.ladders import MINILM, TFIDF
from rejoinder_lab.papers.chosen.stored import StoredLosses, SystemLosses

Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Vectors]


def compute_selector_losses(request: LossRequest, stored: StoredLosses) -> Iterator[StoredLosses]:
    """Yield the stored losses with one more system each time; systems that are there already are left as they are."""
    texts = [text for texts in request.texts for text in texts]
    encoders = {
        TFIDF: lambda: make_tfidf_encoder([*map(_join, request.contexts), *texts]),
        MINILM: _load_minilm,
    }
    for system, load in encoders.items():
        spoilt = {
            name: contexts
            for name, contexts in list_spoilt_contexts(system, request.contexts).items()
            if name not in stored.systems
        }
        if not spoilt:
            continue
        encode = load()
        candidates = encode(texts)
        for name, contexts in spoilt.items():
            stored = stored.add_system(
                name, compare_vectors(encode([*map(_join, contexts)]), candidates, stored.owners)
            )
            yield stored


def compare_vectors(contexts: Vectors, candidates: Vectors, owners: NDArray[np.int64]) -> SystemLosses:
    """Return the losses of candidates after the contexts of their questions, and the mean over all other contexts."""
    losses = 1 - contexts @ candidates.T  # contexts, candidates
    after = losses[owners, np.arange(len(owners))]
    alone = (losses.sum(axis=0) - after) / (len(contexts) - 1)
    return SystemLosses(after.astype(np.float32), alone.astype(np.float32))


def make_tfidf_encoder(documents: Sequence[str]) -> Encode:
    """Return what turns texts into unit vectors of the system ``tfidf``, its words counted in these documents."""
    frequencies = count_frequencies(documents, all_words)
    columns = {word: column for column, word in enumerate(frequencies.holding)}

    def encode(texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), len(columns)), np.float32)
        for row, text in enumerate(texts):
            for word, count in Counter(all_words(text)).items():
                if word in columns:
                    vectors[row, columns[word]] = count * frequencies.weight(word)
        return _normalise(vectors)

    return encode


def _load_minilm() -> Encode:
    from rejoinder.models.encoder.factory import load_encoder

    encoder = load_encoder("minilm", cache=False)

    def encode(texts: Sequence[str]) -> Vectors:
        return _normalise(encoder.encode(texts, cut="left"))

    return encode


def _normalise(vectors: Vectors) -> Vectors:
    unit: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return unit


def _join(context: Context) -> str:
    return " ".join(context)
