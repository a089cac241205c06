"""The forward pass of MPNet (Song et al. 2020) over texts in BERT's ids, in groups of similar length.

MPNet adds a bias for the distance of two tokens to every attention score, which no kernel for packed rows supports. So
rows are sorted by length and read in groups, each padded to its longest. Its vocabulary is BERT's after four special
tokens of its own, so one tokenised corpus can be used for both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from rejoinder.training.aptness.layers import apply_dropout, apply_linear, apply_norm
from rejoinder.training.token_rows import FIRST, LAST, MASKED, PairRows, TokenRows, add_special_tokens

_OFFSET = 4  # of a word's id from BERT's
_MARKS = {0: 1, FIRST: 0, LAST: 2, MASKED: 30_526}  # <pad>, <s>, </s>, <mask>
_FARTHEST = 128  # tokens apart: from here on all distances have the same bias
_GROUP_TOKENS = 24_576  # of a group, with padding


def to_mpnet_ids(ids: Tensor) -> Tensor:
    """Return MPNet's ids for BERT's."""
    mapped = ids + _OFFSET
    for bert_id, mpnet_id in _MARKS.items():
        mapped = torch.where(ids == bert_id, mpnet_id, mapped)
    return mapped


def distance_bias(trunk: Any, width: int) -> Tensor:
    """Return the bias of the attention scores of a row of so many tokens: (heads, queries, keys)."""
    table: Tensor = trunk.encoder.relative_attention_bias.weight.detach()
    places = torch.arange(width, device=table.device)
    back = places[:, None] - places[None]
    half = len(table) // 2
    near = half // 2
    far = back.abs().clamp(min=1).float()
    logarithmic = near + (torch.log(far / near) / math.log(_FARTHEST / near) * (half - near)).long()
    bucket = torch.where(back.abs() < near, back.abs(), logarithmic.clamp(max=half - 1))
    return table[bucket + half * (back < 0)].permute(2, 0, 1)


def group_by_length(lengths: Tensor) -> Iterator[Tensor]:
    """Yield the rows, sorted by length, in groups of about the same number of tokens."""
    order = torch.argsort(lengths)
    sizes = lengths[order].tolist()
    begin = 0
    for i, size in enumerate(sizes):
        longest = sizes[i + 1] if i + 1 < len(sizes) else math.inf
        if (i + 2 - begin) * max(size, longest) > _GROUP_TOKENS:
            yield order[begin : i + 1]
            begin = i + 1


def compute_group_states(trunk: Any, ids: Tensor, mask: Tensor) -> Tensor:
    """Return the last layer's token vectors of a padded group; bfloat16 on a GPU."""
    kind = torch.bfloat16 if ids.is_cuda else torch.float32
    rows, width = ids.shape
    embeddings = trunk.embeddings
    last = embeddings.position_embeddings.num_embeddings - 1  # padding may reach beyond it
    positions = (torch.arange(width, device=ids.device) + 2).clamp(max=last)
    x = (embeddings.word_embeddings(to_mpnet_ids(ids)) + embeddings.position_embeddings(positions)).to(kind)
    x = apply_dropout(apply_norm(x, embeddings.LayerNorm), trunk)
    bias = distance_bias(trunk, width).to(kind)[None].masked_fill(~mask[:, None, None], -1e4)
    heads = trunk.config.num_attention_heads
    for layer in trunk.encoder.layer:
        attention = layer.attention.attn
        weight = torch.cat([attention.q.weight, attention.k.weight, attention.v.weight]).to(kind)
        biases = torch.cat([attention.q.bias, attention.k.bias, attention.v.bias]).to(kind)
        query, key, value = functional.linear(x, weight, biases).view(rows, width, 3, heads, -1).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
        out = apply_linear(attended.transpose(1, 2).reshape(rows, width, -1), attention.o)
        x = apply_norm(apply_dropout(out, trunk) + x, layer.attention.LayerNorm)
        hidden = functional.gelu(apply_linear(x, layer.intermediate.dense))
        x = apply_norm(apply_dropout(apply_linear(hidden, layer.output.dense), trunk) + x, layer.output.LayerNorm)
    return x


def mpnet_mean_vectors(trunk: Any, texts: TokenRows) -> Tensor:
    """Return the mean token vector of each text, with special tokens, in float32."""
    texts = add_special_tokens(texts)
    means, order = [], []
    for rows in group_by_length(texts.lengths):
        ids, mask = _pad_group(texts, rows)
        means.append(_masked_mean(compute_group_states(trunk, ids, mask), mask))
        order.append(rows)
    return torch.cat(means)[torch.argsort(torch.cat(order))]


def mpnet_pair_vectors(trunk: Any, pairs: PairRows) -> tuple[Tensor, Tensor, Tensor]:
    """Return the first token's vector of each pair, and the means of its context and of its reply, in float32."""
    parts, order = [], []
    for rows in group_by_length(pairs.lengths):
        ids, mask = _pad_group(pairs, rows)
        states = compute_group_states(trunk, ids, mask)
        kinds = _set_width(pairs.kinds, ids.shape[1])[rows].bool()
        means = [_masked_mean(states, mask & ~kinds), _masked_mean(states, mask & kinds)]
        parts.append(torch.stack([states[:, 0].float(), *means]))
        order.append(rows)
    first, context, reply = torch.cat(parts, 1)[:, torch.argsort(torch.cat(order))]
    return first, context, reply


def _pad_group(texts: TokenRows | PairRows, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the ids of a group and which are real; the width is a multiple of eight, which suits the kernels."""
    width = -(-int(texts.lengths[rows].max()) // 8) * 8
    ids = _set_width(texts.ids, width)[rows]
    return ids, torch.arange(width, device=ids.device) < texts.lengths[rows, None]


def _set_width(table: Tensor, width: int) -> Tensor:
    return functional.pad(table, (0, width - table.shape[1]))  # a negative number cuts off


def _masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    weights = mask.float() / mask.sum(1, keepdim=True).clamp(min=1)
    return torch.einsum("rw,rwd->rd", weights, states.float())
