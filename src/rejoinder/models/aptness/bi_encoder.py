"""The bi-encoder's score of replies: the cosine of a context's and a reply's vector, from vectors of utterances."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rejoinder.models import aptness_card as cards
from rejoinder.models.aptness.calibration import Numbers
from rejoinder.models.aptness.windows import group_windows, split_text
from rejoinder.models.aptness_card import CONTEXT, REPLY, AptnessCard
from rejoinder.models.base import Encoder, Vectors
from rejoinder.models.batching import Rows
from rejoinder.models.onnx.session import compute_in_parallel, open_session
from rejoinder.models.tokenization import TextTokenizer

_BATCH_ROWS = 128  # rows per batch of a head
_SPECIAL_TOKENS = 2  # before and after an utterance


class BiScorer:
    """The heads in a folder; the vectors of utterances come from an encoder, which caches them."""

    def __init__(self, folder: Path, card: AptnessCard, tokenizer: TextTokenizer) -> None:
        cards.check_aptness_files(folder, card, CONTEXT, REPLY)
        self._limits = card.limits
        self._tokenizer = tokenizer
        self._context = open_session(folder / CONTEXT)
        self._reply = open_session(folder / REPLY)

    def scores(self, encoder: Encoder, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> Numbers:
        """Return the cosine of each pair; no context and no reply may be blank."""
        last_turns = [tuple(context[-self._limits.utterances :]) for context in contexts]
        context_vectors = self._context_vectors(encoder, last_turns)
        reply_vectors = self._reply_vectors(encoder, replies)
        cosines: Numbers = np.einsum("nd,nd->n", context_vectors, reply_vectors, dtype=np.float64)
        return cosines

    def cut(self, encoder: Encoder, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> list[bool]:
        """Return which pairs have an utterance, among those that are used, that is too long to be read in full."""
        limits = self._limits
        texts_read = [
            [*context[-limits.utterances :], *([] if limits.windows else [reply])]
            for context, reply in zip(contexts, replies, strict=True)
        ]
        distinct = list(dict.fromkeys(text for texts in texts_read for text in texts))
        long_texts = {text for text, is_cut in zip(distinct, encoder.truncated(distinct), strict=True) if is_cut}
        return [not long_texts.isdisjoint(texts) for texts in texts_read]

    def _context_vectors(self, encoder: Encoder, contexts: Sequence[tuple[str, ...]]) -> Vectors:
        distinct = {context: i for i, context in enumerate(dict.fromkeys(contexts))}
        index = {text: i for i, text in enumerate(dict.fromkeys(text for context in distinct for text in context))}
        vectors = encoder.encode(list(index), "left")
        newest_first = np.full((len(distinct), self._limits.utterances), -1)
        for row, context in zip(newest_first, distinct, strict=True):
            row[: len(context)] = [index[text] for text in reversed(context)]
        context_vectors = np.empty((len(distinct), encoder.dimensions), np.float32)

        def fill(batch: Rows) -> None:
            rows = newest_first[batch]
            is_present = rows >= 0
            inputs = {"utterances": vectors[rows] * is_present[..., None], "mask": is_present.astype(np.int64)}
            context_vectors[batch] = self._context.run(["vectors"], inputs)[0]

        compute_in_parallel(fill, _split_rows(len(distinct)))
        return context_vectors[[distinct[context] for context in contexts]]

    def _reply_vectors(self, encoder: Encoder, replies: Sequence[str]) -> Vectors:
        """Return the vector of each reply; of one that is read in windows, the mean of theirs."""
        index = {text: i for i, text in enumerate(dict.fromkeys(replies))}
        texts, grouping = group_windows([self._windows(text) for text in index])
        vectors = encoder.encode(texts, "right")
        window_vectors = np.empty_like(vectors)

        def fill(batch: Rows) -> None:
            window_vectors[batch] = self._reply.run(["vectors"], {"utterances": vectors[batch]})[0]

        compute_in_parallel(fill, _split_rows(len(texts)))
        reply_vectors: Vectors = grouping.mean(window_vectors)[[index[text] for text in replies]]
        return reply_vectors

    def _windows(self, text: str) -> list[str]:
        if not self._limits.windows:
            return [text]
        return split_text(self._tokenizer, text, self._limits.utterance_tokens - _SPECIAL_TOKENS)


def _split_rows(rows: int) -> list[Rows]:
    return [np.arange(start, min(start + _BATCH_ROWS, rows)) for start in range(0, rows, _BATCH_ROWS)]
