"""The parts of a transformer's layer; trunks with more positions, and trunks with fewer layers."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

_DROPOUT = 0.1


def apply_linear(x: Tensor, layer: nn.Linear) -> Tensor:
    """Apply a dense layer."""
    return functional.linear(x, layer.weight.to(x.dtype), layer.bias.to(x.dtype))


def apply_norm(x: Tensor, layer: nn.LayerNorm) -> Tensor:
    """Apply a layer norm."""
    return functional.layer_norm(x, layer.normalized_shape, layer.weight.to(x.dtype), layer.bias.to(x.dtype), layer.eps)


def apply_dropout(x: Tensor, trunk: nn.Module) -> Tensor:
    """Apply dropout, while the trunk is trained."""
    return functional.dropout(x, _DROPOUT, training=trunk.training)


def lengthen_positions(trunk: Any, tokens: int) -> None:
    """Let a trunk read so many tokens: positions without a vector start as copies of its last ones."""
    words = trunk.embeddings
    table = words.position_embeddings
    offset = trunk.config.pad_token_id + 1 if trunk.config.model_type == "mpnet" else 0
    missing = tokens + offset - table.num_embeddings
    if missing <= 0:
        return
    positions = torch.arange(table.num_embeddings + missing)
    source = torch.where(positions < table.num_embeddings, positions, (positions - missing) % table.num_embeddings)
    weight = table.weight.detach()[source]
    words.position_embeddings = nn.Embedding(
        len(weight), table.embedding_dim, padding_idx=table.padding_idx, _weight=weight
    )
    trunk.config.max_position_embeddings = len(weight)
    words.register_buffer("position_ids", torch.arange(len(weight)).expand(1, -1), persistent=False)
    if hasattr(words, "token_type_ids"):
        words.register_buffer("token_type_ids", torch.zeros(1, len(weight), dtype=torch.long), persistent=False)


def keep_layers(trunk: Any, layers: Sequence[int]) -> Any:
    """Return a copy of a trunk with only some of its layers."""
    copied = copy.deepcopy(trunk)
    copied.encoder.layer = nn.ModuleList(copied.encoder.layer[i] for i in layers)
    copied.config.num_hidden_layers = len(layers)
    return copied
