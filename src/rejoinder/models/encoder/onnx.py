"""An encoder that needs no torch: an exported graph in onnxruntime, and the tokeniser's own file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.errors import InputError, RejoinderError, SpecError
from rejoinder.models import device
from rejoinder.models.base import Side, TokenVectors, Vectors
from rejoinder.models.batching import Rows, pad_token_ids, split_into_batches
from rejoinder.models.device import count_threads
from rejoinder.models.encoder import card as cards
from rejoinder.models.encoder.pooling import pool_tokens
from rejoinder.models.encoder.tokenization import read_tokenizer
from rejoinder.models.encoder.word_pieces import TokenizedText

_split_batches = ContextVar("splitting", default=True)


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


def separate_special_tokens(encoding: TokenizedText, vectors: Vectors) -> TokenVectors:
    """Return a text's own tokens and their vectors without padding, and the vectors of special tokens separately."""
    mask = np.array(encoding.is_special, bool)
    own, special = np.flatnonzero(~mask), np.flatnonzero(mask)
    tokens = encoding.tokens
    return TokenVectors(tuple(tokens[i] for i in own), vectors[own], vectors[special])


def compute_in_parallel(compute: Callable[[Rows], None], parts: Iterable[Rows]) -> None:
    """Compute batches in parallel, each on one core: cores that share a small matrix would wait for each other."""
    if device.graph_backend().device == "cuda":  # one batch fills the GPU
        for batch in parts:
            compute(batch)
        return
    pending = _split_for_workers(list(parts), count_threads()) if _split_batches.get() else list(parts)
    workers = min(count_threads(), len(pending))
    if workers < 2:
        for batch in pending:
            compute(batch)
        return
    with ThreadPoolExecutor(workers) as pool:
        for _ in pool.map(compute, pending):
            pass


@contextmanager
def keep_batches_whole() -> Iterator[None]:
    """Within this block, which texts are computed together does not depend on the number of threads."""
    before = _split_batches.set(False)
    try:
        yield
    finally:
        _split_batches.reset(before)


def _split_for_workers(parts: list[Rows], workers: int) -> list[Rows]:
    """Split batches until there is one for each core, if there are enough rows."""
    while len(parts) < workers and any(len(part) > 1 for part in parts):
        parts.sort(key=len)
        largest = parts.pop()
        parts += [largest[: len(largest) // 2], largest[len(largest) // 2 :]]
    return parts


def open_session(graph: Path) -> Any:
    """Open a session that computes in float32, however the weights are stored, on the chosen device."""
    backend = device.graph_backend()
    try:
        if backend.runtime == "torch":
            from rejoinder.models.onnx.torch_graph import TorchGraph, UnknownOperationError

            try:
                return TorchGraph(graph, backend.device)
            except UnknownOperationError:
                if device.requested_device() is not None:
                    raise
        return _open_onnxruntime(graph, "cuda" if backend == ("cuda", "onnxruntime") else "cpu")
    except RejoinderError:
        raise
    except Exception as error:  # the libraries' errors have no common base class
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{graph}: cannot be opened ({reason}); export the encoder again") from None


def _open_onnxruntime(graph: Path, target: device.Device) -> Any:
    onnxruntime = device.import_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # batches run in parallel instead
    options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.log_severity_level = 3
    # int8 arithmetic scales by the whole batch, so other rows would change a score: weights become float32 at loading.
    options.add_session_config_entry("session.disable_quant_qdq", "1")
    return onnxruntime.InferenceSession(str(graph), options, providers=device.onnx_providers(target))
