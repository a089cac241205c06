"""The ten systems of Sato et al. (2020), Table 6, as one network: an encoder and a decoder of GRU, LSTM or Transformer.

The encoder reads the context, the decoder writes the reply token by token. One table of word vectors serves both ends
and the output. The recurrent decoders look back at the encoder by dot-product attention (Luong et al. 2015), computed
after the recurrence, so that a whole reply is read in one pass; without it they see the context's last state only
(Cho et al. 2014). The Transformer (Vaswani et al. 2017) normalises first, which needs no warm-up of the learning rate.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from rejoinder_lab.models.generator.shape import GeneratorShape


class EncodedContext(NamedTuple):
    """A context as the decoder reads it."""

    states: Tensor  # rows, tokens, dim
    filling: Tensor  # rows, tokens: which are padding
    last: Any = None  # the recurrent state at the context's end

    def rows(self, indices: Tensor) -> EncodedContext:
        """Return some of the rows, each as often as it is named."""
        last = self.last
        if isinstance(last, tuple):
            last = tuple(part[:, indices] for part in last)
        elif last is not None:
            last = last[:, indices]
        return EncodedContext(self.states[indices], self.filling[indices], last)


class GeneratorNetwork(nn.Module):
    """An encoder-decoder; ids in, hidden vectors out, and ``logits`` of those."""

    def __init__(self, shape: GeneratorShape, padding: int = 0) -> None:
        super().__init__()
        self.shape = shape
        self.padding = padding
        self.words = nn.Embedding(shape.vocabulary, shape.dim, padding_idx=padding)
        nn.init.normal_(self.words.weight, std=shape.dim**-0.5)
        self.body = TransformerBody(shape) if shape.arch == "transformer" else RecurrentBody(shape)
        self.bias = nn.Parameter(torch.zeros(shape.vocabulary))

    def encode(self, ids: Tensor, lengths: Tensor | None = None) -> EncodedContext:
        """Encode contexts, padded on the right; lengths that are on the CPU already avoid waiting for the GPU."""
        filling = ids == self.padding
        known = (~filling).sum(1).cpu() if lengths is None else lengths
        return self.body.encode(self._embed(ids), filling, known)

    def decode(self, memory: EncodedContext, ids: Tensor) -> Tensor:
        """Return the decoder's hidden vector after each token of the replies: rows, tokens, dim."""
        return self.body.decode(memory, self._embed(ids))

    def logits(self, hidden: Tensor) -> Tensor:
        """Return the logits of every token as the next one."""
        return nn.functional.linear(hidden, self.words.weight, self.bias)

    def forward(self, context: Tensor, reply: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the hidden vectors of replies after contexts."""
        return self.decode(self.encode(context, lengths), reply)

    def _embed(self, ids: Tensor) -> Tensor:
        return self.words(ids) * math.sqrt(self.shape.dim)  # type: ignore[no-any-return]


class RecurrentBody(nn.Module):
    """GRU or LSTM at both ends."""

    def __init__(self, shape: GeneratorShape) -> None:
        super().__init__()
        kind: Any = nn.GRU if shape.arch == "gru" else nn.LSTM
        between = shape.dropout if shape.layers > 1 else 0.0
        self.dropout = nn.Dropout(shape.dropout)
        self.encoder = kind(shape.dim, shape.dim, shape.layers, batch_first=True, dropout=between)
        self.decoder = kind(shape.dim, shape.dim, shape.layers, batch_first=True, dropout=between)
        self.join = nn.Linear(2 * shape.dim, shape.dim) if shape.attention else None

    def encode(self, words: Tensor, filling: Tensor, lengths: Tensor) -> EncodedContext:
        """Encode word vectors; padding is skipped."""
        packed = nn.utils.rnn.pack_padded_sequence(self.dropout(words), lengths, batch_first=True, enforce_sorted=False)
        output, last = self.encoder(packed)
        states, _ = nn.utils.rnn.pad_packed_sequence(output, batch_first=True, total_length=words.shape[1])
        return EncodedContext(states, filling, last)

    def decode(self, memory: EncodedContext, words: Tensor) -> Tensor:
        """Decode replies; padding comes after the real tokens, which do not see it."""
        hidden, _ = self.decoder(self.dropout(words), memory.last)
        if self.join is not None:
            weights = hidden @ memory.states.transpose(1, 2)
            weights = weights.masked_fill(memory.filling[:, None], torch.finfo(weights.dtype).min).softmax(-1)
            hidden = torch.tanh(self.join(torch.cat([hidden, weights @ memory.states], dim=-1)))
        return self.dropout(hidden)  # type: ignore[no-any-return]


class TransformerBody(nn.Module):
    """A Transformer at both ends, with the positions of Vaswani et al."""

    def __init__(self, shape: GeneratorShape) -> None:
        super().__init__()
        self.dropout = nn.Dropout(shape.dropout)
        sizes: dict[str, Any] = {"dim_feedforward": 4 * shape.dim, "dropout": shape.dropout}
        sizes |= {"batch_first": True, "norm_first": True}
        self.encoder = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(shape.dim, shape.heads, **sizes),
            shape.layers,
            nn.LayerNorm(shape.dim),
            enable_nested_tensor=False,
        )
        self.decoder = nn.TransformerDecoder(
            nn.TransformerDecoderLayer(shape.dim, shape.heads, **sizes), shape.layers, nn.LayerNorm(shape.dim)
        )

    def encode(self, words: Tensor, filling: Tensor, lengths: Tensor) -> EncodedContext:
        """Encode word vectors; padding is masked."""
        return EncodedContext(self.encoder(self._add_positions(words), src_key_padding_mask=filling), filling)

    def decode(self, memory: EncodedContext, words: Tensor) -> Tensor:
        """Decode replies, each token from those before it."""
        later = torch.ones(words.shape[1], words.shape[1], dtype=torch.bool, device=words.device).triu(1)
        return self.decoder(  # type: ignore[no-any-return]
            self._add_positions(words),
            memory.states,
            tgt_mask=later,
            tgt_is_causal=True,
            memory_key_padding_mask=memory.filling,
        )

    def _add_positions(self, words: Tensor) -> Tensor:
        return self.dropout(words + position_encoding(words.shape[1], words.shape[2], words.device))  # type: ignore[no-any-return]


def position_encoding(length: int, dim: int, device: Any = None) -> Tensor:
    """Return the sines and cosines of each position."""
    at = torch.arange(length, device=device, dtype=torch.float32)[:, None]
    rates = torch.exp(torch.arange(0, dim, 2, device=device, dtype=torch.float32) * (-math.log(10_000.0) / dim))
    return torch.stack([torch.sin(at * rates), torch.cos(at * rates)], dim=-1).flatten(1)
