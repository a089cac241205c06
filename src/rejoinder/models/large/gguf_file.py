"""The base model in its GGUF file: the shape of the network, its weights in full precision, and its tokeniser."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.models.device import count_threads
from rejoinder.models.large.tokenization import LargeTokenizer

if TYPE_CHECKING:
    from rejoinder.models.large.network import Qwen2Shape

_ARCHITECTURE = "qwen2"
_LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
# The matrix of the output is also that of the embeddings. Files have it twice, and quantise the output more finely.
_OUTPUT, _EMBEDDINGS = "output.weight", "token_embd.weight"


class GgufFile:
    """An open file; weights are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        try:
            from gguf import GGUFReader
        except ImportError as error:
            raise MissingExtraError(error.name or "gguf", "torch", "aptness(model='large')") from None
        self.path = path
        try:
            self._reader: Any = GGUFReader(path)
        except (OSError, ValueError, IndexError) as error:
            raise InputError(f"{path}: is not a GGUF file ({error}); get the model again") from None
        architecture = self._value("general.architecture")
        if architecture != _ARCHITECTURE:
            raise InputError(f"{path}: has the architecture {architecture!r}, but only {_ARCHITECTURE!r} can be read")

    @cached_property
    def shape(self) -> Qwen2Shape:
        """Return the sizes of the network."""
        from rejoinder.models.large.network import Qwen2Shape

        def value(key: str) -> Any:
            return self._value(f"{_ARCHITECTURE}.{key}")

        return Qwen2Shape(
            layers=int(value("block_count")),
            hidden=int(value("embedding_length")),
            inner=int(value("feed_forward_length")),
            heads=int(value("attention.head_count")),
            key_heads=int(value("attention.head_count_kv")),
            vocabulary=len(self._reader.fields["tokenizer.ggml.tokens"].data),
            rotary_base=float(value("rope.freq_base")),
            epsilon=float(value("attention.layer_norm_rms_epsilon")),
        )

    @property
    def weights(self) -> int:
        """Return how many weights the network has."""
        return sum(int(tensor.n_elements) for tensor in self._tensors.values())

    def tokenizer(self) -> LargeTokenizer:
        """Return the tokeniser of the file."""
        return LargeTokenizer(self._value("tokenizer.ggml.tokens"), self._value("tokenizer.ggml.merges"))

    def read_weights(self) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Yield the name and the values of each weight; several at a time are dequantised while others are used."""
        with ThreadPoolExecutor(count_threads()) as pool:
            names = list(self._tensors)
            # No more at once than threads: all together would take the memory of a second network.
            step = count_threads()
            for start in range(0, len(names), step):
                some = names[start : start + step]
                yield from zip(some, pool.map(self._read_weight, some), strict=True)

    def _read_weight(self, name: str) -> NDArray[np.float32]:
        from gguf import dequantize

        tensor = self._tensors[name]
        return np.array(dequantize(tensor.data, tensor.tensor_type), np.float32)

    @cached_property
    def _tensors(self) -> dict[str, Any]:
        """The tensors of the file by the names of the network."""
        published = {tensor.name: tensor for tensor in self._reader.tensors}
        names = {
            "embed_tokens.weight": _OUTPUT if _OUTPUT in published else _EMBEDDINGS,
            "norm.weight": "output_norm.weight",
        }
        for layer in range(self.shape.layers):
            for short, name in _LAYER_NAMES.items():
                for kind in ("weight", "bias"):
                    if (member := f"blk.{layer}.{short}.{kind}") in published:
                        names[f"layers.{layer}.{name}.{kind}"] = member
        missing = [member for member in names.values() if member not in published]
        if missing:
            raise InputError(f"{self.path}: has no tensor {missing[0]}; get the model again")
        return {name: published[member] for name, member in names.items()}

    def _value(self, key: str) -> Any:
        field = self._reader.get_field(key)
        if field is None:
            raise InputError(f"{self.path}: has no field {key}; get the model again")
        return field.contents()
