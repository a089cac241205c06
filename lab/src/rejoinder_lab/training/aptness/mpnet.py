"""The forward pass of MPNet (Song et al. 2020) over texts in BERT's ids, in groups of similar length.

MPNet adds a bias for the distance of two tokens to every attention score, which no kernel for packed rows supports. So
rows are sorted by length and read in groups, each padded to its longest. Its vocabulary is BERT's after four special
tokens of its own; a trunk and a tokeniser are renumbered to BERT's ids before anything else, so that one tokenised
corpus, its samplers and the exported folder are the same for both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import orjson
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from rejoinder_lab.training.aptness.layers import apply_dropout, apply_linear, apply_norm
from rejoinder_lab.training.token_rows import FIRST, LAST, MASKED, PairRows, TokenRows, add_special_tokens

_OFFSET = 4  # of a word's id from BERT's
_FARTHEST = 128  # tokens apart: from here on all distances have the same bias
_GROUP_TOKENS = 24_576  # of a group, with padding


def mpnet_ids(vocabulary: int) -> Tensor:
    """Return MPNet's id for each of BERT's, by the size of MPNet's vocabulary: <pad>, <s>, </s> and <mask> differ."""
    ids = torch.arange(vocabulary - _OFFSET - 1) + _OFFSET
    ids[0], ids[FIRST], ids[LAST], ids[MASKED] = 1, 0, 2, vocabulary - 1
    return ids


def renumber_trunk(trunk: Any) -> Any:
    """Let a trunk read BERT's ids: word vectors change places, and padding, from which it counts positions, is 0."""
    embeddings, config = trunk.embeddings, trunk.config
    words = embeddings.word_embeddings.weight.detach()[mpnet_ids(config.vocab_size)]
    positions = embeddings.position_embeddings.weight.detach()[config.pad_token_id :]
    config.vocab_size, config.max_position_embeddings = len(words), len(positions)
    config.pad_token_id = embeddings.padding_idx = 0
    config.bos_token_id, config.eos_token_id = FIRST, LAST
    embeddings.word_embeddings = nn.Embedding(len(words), words.shape[1], padding_idx=0, _weight=words)
    embeddings.position_embeddings = nn.Embedding(
        len(positions), positions.shape[1], padding_idx=0, _weight=positions.clone()
    )
    embeddings.register_buffer("position_ids", torch.arange(len(positions)).expand(1, -1), persistent=False)
    return trunk


def renumber_tokenizer(serialized: str) -> str:
    """Return MPNet's ``tokenizer.json`` with BERT's ids and special tokens."""
    content = orjson.loads(serialized)
    names = sorted(content["model"]["vocab"], key=content["model"]["vocab"].__getitem__)[_OFFSET:-1]
    content["model"]["vocab"] = ids = {name: i for i, name in enumerate(names)}
    marks = [name for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") if name in ids]
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    content["added_tokens"] = [{"id": ids[name], "content": name, **plain, "special": True} for name in marks]
    content["post_processor"] = {
        "type": "BertProcessing",
        "sep": ["[SEP]", ids.get("[SEP]", -1)],
        "cls": ["[CLS]", ids.get("[CLS]", -1)],
    }
    content["truncation"] = content["padding"] = None
    return orjson.dumps(content).decode()


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
    positions = (torch.arange(width, device=ids.device) + 1 + trunk.config.pad_token_id).clamp(max=last)
    x = (embeddings.word_embeddings(ids) + embeddings.position_embeddings(positions)).to(kind)
    x = apply_dropout(apply_norm(x, embeddings.LayerNorm), trunk)
    bias = distance_bias(trunk, width).to(kind)[None].masked_fill(~mask[:, None, None], -1e4)
    heads = trunk.config.num_attention_heads
    for layer in trunk.encoder.layer:
        attention = layer.attention.attn
        weight = torch.cat([attention.q.weight, attention.k.weight, attention.v.weight]).to(kind)
        biases = torch.cat([attention.q.bias, attention.k.bias, attention.v.bias]).to(kind)
        query, key, value = functional.linear(x, weight, biases).view(rows, width, 3, heads, -1).permute(2, 0, 3, 1, 4)
        attended = _attend_with_bias(query, key, value, bias)
        out = apply_linear(attended.transpose(1, 2).reshape(rows, width, -1), attention.o)
        x = apply_norm(apply_dropout(out, trunk) + x, layer.attention.LayerNorm)
        hidden = functional.gelu(apply_linear(x, layer.intermediate.dense))
        x = apply_norm(apply_dropout(apply_linear(hidden, layer.output.dense), trunk) + x, layer.output.LayerNorm)
    return x


def _attend_with_bias(query: Tensor, key: Tensor, value: Tensor, bias: Tensor) -> Tensor:
    """Compute attention with a bias; on a GPU by the kernel that needs no plan for each shape."""
    if not query.is_cuda:
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=bias)


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
