"""An encoder that needs no torch: an exported graph in onnxruntime, and the tokeniser's own file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.errors import SpecError
from rejoinder.models.base import Side, TokenVectors, Vectors
from rejoinder.models.batching import Rows, pad_token_ids, split_into_batches
from rejoinder.models.encoder import card as cards
from rejoinder.models.encoder.pooling import pool_tokens
from rejoinder.models.onnx.session import compute_in_parallel, open_session
from rejoinder.models.tokenization import read_tokenizer, separate_special_tokens


class OnnxEncoder:
    """The encoder of a folder with ``model.onnx``, ``tokenizer.json`` and ``encoder.json``."""

    def __init__(self, folder: Path, name: str | None = None) -> None:
        self._card = cards.read_encoder_card(folder)
        self.name = name or self._card.name
        self.dimensions = self._card.dimensions
        self.max_tokens = self._card.max_tokens
        self.digest = cards.encoder_digest(folder, self._card)
        self._tokenizer = read_tokenizer(folder / cards.TOKENIZER, self.max_tokens)
        self._session = open_session(folder / cards.GRAPH)

    def encode(self, texts: Sequence[str], cut: Side = "right") -> Vectors:
        """Return one vector of length 1 per text, in order; a text of more than ``max_tokens`` is cut on one side."""
        ids = self._tokenizer.ids(texts, cut)
        vectors = np.zeros((len(ids), self.dimensions), np.float32)

        def fill(batch: Rows) -> None:
            tokens, mask = pad_token_ids([ids[i] for i in batch], self._card.padding)
            vectors[batch] = pool_tokens(self._run(tokens, mask), mask, self._card.pooling)

        compute_in_parallel(fill, split_into_batches([len(row) for row in ids]))
        return vectors

    def encode_tokens(self, texts: Sequence[str], layer: int = -1, cut: Side = "right") -> list[TokenVectors]:
        """Return the last layer's vectors of each text's tokens; the graph has no other outputs."""
        if layer != -1:
            raise SpecError(
                f"{self.name!r} is an exported encoder and has only its last layer (layer=-1), not {layer}; "
                "use hf:FOLDER to read any layer"
            )
        encodings = self._tokenizer.encode(texts, cut)
        results: list[TokenVectors] = [TokenVectors((), np.zeros((0, self.dimensions), np.float32))] * len(encodings)

        def fill(batch: Rows) -> None:
            tokens, mask = pad_token_ids([encodings[i].ids for i in batch], self._card.padding)
            for i, vectors in zip(batch, self._run(tokens, mask), strict=True):
                results[i] = separate_special_tokens(encodings[i], vectors)

        compute_in_parallel(fill, split_into_batches([len(e.ids) for e in encodings]))
        return results

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return which of the texts are too long to be read in full."""
        return self._tokenizer.truncated(texts)

    def _run(self, tokens: Any, mask: Any) -> Vectors:
        vectors: Vectors = self._session.run(None, {"input_ids": tokens, "attention_mask": mask})[0]
        return vectors
