"""An encoder from a transformers folder, with torch: any layer, on the GPU if there is one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.errors import InputError, MissingExtraError, SpecError
from rejoinder.files import sha256_of_bytes
from rejoinder.models.base import Side, TokenVectors, Vectors
from rejoinder.models.batching import pad_token_ids, split_into_batches
from rejoinder.models.card import join_digests
from rejoinder.models.device import count_threads, device_batch_limits, silence_transformers, torch_device
from rejoinder.models.encoder import card as cards
from rejoinder.models.encoder.architecture import read_encoder_shape, weights_digest
from rejoinder.models.encoder.pooling import pool_tokens
from rejoinder.models.tokenization import TextTokenizer, read_tokenizer, separate_special_tokens

# Models whose later layers can be left out, because no norm follows the stack: a layer's output is then the last state.
_TRUNCATABLE = frozenset({"bert", "roberta", "xlm-roberta", "camembert", "electra"})


class TransformersEncoder:
    """The encoder of a folder with safetensors, a configuration and a tokeniser."""

    def __init__(self, folder: Path, name: str) -> None:
        shape = read_encoder_shape(folder)
        self.name = name
        self.max_tokens = shape.max_tokens
        self._pooling, self._padding = shape.pooling, shape.padding
        self._tokenizer = load_tokenizer(folder, shape.max_tokens)
        self._model = open_network(folder)
        self._torch: Any = __import__("torch")
        self._torch.set_num_threads(count_threads())
        self._model.to(torch_device())
        self.dimensions = int(self._model.config.hidden_size)
        self.layers = int(self._model.config.num_hidden_layers)
        tokens = sha256_of_bytes(self._tokenizer.serialized.encode())
        self.digest = join_digests(weights_digest(folder), tokens, shape.pooling, shape.max_tokens, shape.padding)

    def encode(self, texts: Sequence[str], cut: Side = "right") -> Vectors:
        """Return one vector of length 1 per text, in order; a text of more than ``max_tokens`` is cut on one side."""
        ids = self._tokenizer.ids(texts, cut)
        vectors = np.zeros((len(ids), self.dimensions), np.float32)
        for batch in split_into_batches([len(row) for row in ids], *device_batch_limits(self._model.device.type)):
            tokens, mask = pad_token_ids([ids[i] for i in batch], self._padding)
            vectors[batch] = pool_tokens(self._run(tokens, mask, -1), mask, self._pooling)
        return vectors

    def encode_tokens(self, texts: Sequence[str], layer: int = -1, cut: Side = "right") -> list[TokenVectors]:
        """Return the vectors of each text's tokens from a layer: 0 is the embedding, 1 the first layer, -1 the last."""
        if not -self.layers - 1 <= layer <= self.layers:
            raise SpecError(f"{self.name!r} has layers 0 to {self.layers} (or -1, -2, ... from the end), not {layer}")
        encodings = self._tokenizer.encode(texts, cut)
        results: list[TokenVectors] = [TokenVectors((), np.zeros((0, self.dimensions), np.float32))] * len(encodings)
        with self._skip_later_layers(layer) as layer_index:
            for batch in split_into_batches(
                [len(e.ids) for e in encodings], *device_batch_limits(self._model.device.type)
            ):
                tokens, mask = pad_token_ids([encodings[i].ids for i in batch], self._padding)
                for i, vectors in zip(batch, self._run(tokens, mask, layer_index), strict=True):
                    results[i] = separate_special_tokens(encodings[i], vectors)
        return results

    @property
    def has_pooler(self) -> bool:
        """Whether the network has a pooler on its first token (in BERT: dense and tanh, for the next sentence)."""
        return getattr(self._model, "pooler", None) is not None

    def encode_pooled(self, texts: Sequence[str], cut: Side = "right") -> Vectors:
        """Return the first token of each text after the network's pooler, not normalised."""
        ids = self._tokenizer.ids(texts, cut)
        vectors = np.zeros((len(ids), self.dimensions), np.float32)
        for batch in split_into_batches([len(row) for row in ids], *device_batch_limits(self._model.device.type)):
            tokens, mask = pad_token_ids([ids[i] for i in batch], self._padding)
            vectors[batch] = self._states(tokens, mask).pooler_output.float().cpu().numpy()
        return vectors

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        """Return which of the texts are too long to be read in full."""
        return self._tokenizer.truncated(texts)

    def _run(self, tokens: Any, mask: Any, layer: int) -> Vectors:
        states = self._states(tokens, mask, output_hidden_states=layer != -1)
        output = states.last_hidden_state if layer == -1 else states.hidden_states[layer]
        vectors: Vectors = output.float().cpu().numpy()
        return vectors

    def _states(self, tokens: Any, mask: Any, **options: bool) -> Any:
        torch, device = self._torch, self._model.device
        inputs = {"input_ids": torch.from_numpy(tokens), "attention_mask": torch.from_numpy(mask)}
        with torch.inference_mode():
            return self._model(**{k: v.to(device) for k, v in inputs.items()}, **options)

    @contextmanager
    def _skip_later_layers(self, layer: int) -> Iterator[int]:
        """Skip the layers after the wanted one if possible; yield the index of the layer to read."""
        last_layer = layer if layer >= 0 else self.layers + 1 + layer
        if last_layer in (0, self.layers) or self._model.config.model_type not in _TRUNCATABLE:
            yield -1 if last_layer == self.layers else last_layer
            return
        stack = self._model.encoder.layer
        self._model.encoder.layer = stack[:last_layer]
        try:
            yield -1
        finally:
            self._model.encoder.layer = stack


def open_network(folder: Path, **options: Any) -> Any:
    """Open the encoder's network in float32: only from local safetensors, without running the folder's own code."""
    try:
        import torch
        from transformers import AutoModel
    except ImportError as error:
        raise MissingExtraError(error.name or "torch", "torch", f"the encoder in {folder}") from None
    # Without safetensors, AutoModel would look for a pickle or contact a hub.
    if not any(folder.glob("*.safetensors")):
        raise InputError(f"{folder}: has no *.safetensors; weights in other files (pickles) are not opened")
    network_class: Any = AutoModel
    safe = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True}
    try:
        with silence_transformers():
            network, loading_info = network_class.from_pretrained(
                folder, dtype=torch.float32, output_loading_info=True, **safe, **options
            )
    except Exception as error:  # the library raises many classes of errors
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{folder}: cannot be opened by transformers ({reason})") from None
    # transformers would continue with random numbers. A missing pooler is left out: many encoders come without one.
    if missing := sorted(key for key in loading_info["missing_keys"] if not key.startswith("pooler.")):
        raise InputError(f"{folder}: lacks weights ({len(missing)}, such as {missing[0]})")
    if loading_info["missing_keys"]:
        network.pooler = None
    return network.eval()


def load_tokenizer(folder: Path, max_tokens: int) -> TextTokenizer:
    """Return the tokeniser of the folder's ``tokenizer.json``, or the one that transformers builds from older files."""
    if (folder / cards.TOKENIZER).is_file():
        return read_tokenizer(folder / cards.TOKENIZER, max_tokens)
    from transformers import AutoTokenizer

    try:
        with silence_transformers():
            tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        return TextTokenizer(tokenizer.backend_tokenizer.to_str(), max_tokens)
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{folder}: has no tokeniser that transformers can read ({reason})") from None
