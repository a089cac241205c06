"""The networks' forward pass over texts of any length without padding: all tokens of a step are one long row.

Small networks are limited by the number of kernel launches and by padding; packed, a step of thousands of texts is one
pass. The results are those of ``models/aptness/network.py`` (a test checks this).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from rejoinder.models.aptness.network import BiEncoder, CrossEncoder
from rejoinder_lab.training.aptness import mpnet
from rejoinder_lab.training.aptness.layers import apply_dropout, apply_linear, apply_norm
from rejoinder_lab.training.token_rows import PairRows, TokenRows, add_special_tokens


class TokenPacking:
    """The row and position of each token of the long row."""

    def __init__(self, texts: TokenRows | PairRows) -> None:
        self.mask = texts.mask
        self.ids = texts.ids[self.mask]
        rows, self.positions = torch.nonzero(self.mask, as_tuple=True)
        self.rows = rows
        self.lengths = texts.lengths
        self.longest = texts.ids.shape[1]
        self.ends = functional.pad(torch.cumsum(texts.lengths, 0), (1, 0)).int()
        self.kinds = texts.kinds[self.mask] if isinstance(texts, PairRows) else None

    def mean(self, states: Tensor, weights: Tensor | None = None) -> Tensor:
        """Return the mean of the states of each row, in float32."""
        count = self.lengths.float()
        values = states.float()
        if weights is not None:
            values = values * weights[:, None]
            count = torch.zeros_like(count).index_add_(0, self.rows, weights)
        total = torch.zeros(len(self.lengths), states.shape[1], device=states.device)
        return total.index_add(0, self.rows, values) / count.clamp(min=1)[:, None]

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Compute attention within each row; (tokens, heads, size) in and out."""
        if query.is_cuda and query.dtype != torch.float32 and (varlen := _import_varlen()) is not None:
            attended: Tensor = varlen(query, key, value, self.ends, self.ends, self.longest, self.longest)
            return attended
        query, key, value = (self._padded(part).transpose(1, 2) for part in (query, key, value))
        padded = functional.scaled_dot_product_attention(query, key, value, attn_mask=self.mask[:, None, None])
        return padded.transpose(1, 2)[self.mask]

    def _padded(self, part: Tensor) -> Tensor:
        return part.new_zeros(*self.mask.shape, *part.shape[1:]).index_put((self.rows, self.positions), part)


def _import_varlen() -> Any:
    """Return attention over rows of any length in one kernel; None where torch is too old for it."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    return varlen_attn


def packed_states(trunk: Any, packing: TokenPacking) -> Tensor:
    """Return the last layer's token vectors of a BERT, packed; bfloat16 on a GPU."""
    kind = torch.bfloat16 if packing.ids.is_cuda else torch.float32
    embeddings = trunk.embeddings
    kinds = packing.kinds if packing.kinds is not None else torch.zeros_like(packing.ids)
    x = embeddings.word_embeddings(packing.ids) + embeddings.position_embeddings(packing.positions)
    x = (x + embeddings.token_type_embeddings(kinds)).to(kind)
    x = apply_dropout(apply_norm(x, embeddings.LayerNorm), trunk)
    heads = trunk.config.num_attention_heads
    for layer in trunk.encoder.layer:
        attention = layer.attention.self
        weight = torch.cat([attention.query.weight, attention.key.weight, attention.value.weight]).to(kind)
        bias = torch.cat([attention.query.bias, attention.key.bias, attention.value.bias]).to(kind)
        projected = functional.linear(x, weight, bias).view(len(x), 3, heads, -1)
        attended = packing.attend(projected[:, 0], projected[:, 1], projected[:, 2]).reshape(len(x), -1)
        out = layer.attention.output
        x = apply_norm(apply_dropout(apply_linear(attended, out.dense), trunk) + x, out.LayerNorm)
        hidden = functional.gelu(apply_linear(x, layer.intermediate.dense))
        x = apply_norm(apply_dropout(apply_linear(hidden, layer.output.dense), trunk) + x, layer.output.LayerNorm)
    return x


def packed_turn_vectors(network: BiEncoder, texts: TokenRows) -> Tensor:
    """Return the vectors of length 1 of utterances, which come without [CLS] and [SEP]."""
    if network.trunk.config.model_type == "mpnet":
        return functional.normalize(mpnet.mpnet_mean_vectors(network.trunk, texts), dim=-1)
    packing = TokenPacking(add_special_tokens(texts))
    return functional.normalize(packing.mean(packed_states(network.trunk, packing)), dim=-1)


def packed_pair_log_odds(network: CrossEncoder, pairs: PairRows) -> Tensor:
    """Return the log-odds of pairs."""
    first, context, reply = _pair_vectors(network.trunk, pairs)
    features = torch.tanh(network.gather(torch.cat([first, context, reply, context * reply], dim=-1)))
    odds: Tensor = network.head(features)
    return odds.squeeze(-1)


def _pair_vectors(trunk: Any, pairs: PairRows) -> tuple[Tensor, Tensor, Tensor]:
    """Return the first token's vector of each pair, and the means of its context and of its reply, in float32."""
    if trunk.config.model_type == "mpnet":
        return mpnet.mpnet_pair_vectors(trunk, pairs)
    packing = TokenPacking(pairs)
    states = packed_states(trunk, packing)
    assert packing.kinds is not None
    of_reply = packing.kinds.float()
    first = states[packing.ends[:-1].long()].float()
    return first, packing.mean(states, 1 - of_reply), packing.mean(states, of_reply)
