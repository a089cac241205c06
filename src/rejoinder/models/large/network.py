"""The network of Qwen2 without its output over the vocabulary (Yang et al. 2024), for inputs with segments.

Parameters have the names that transformers gives them. A token sees the tokens before it that are of the context
(segment 0) or of its own segment.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rejoinder.models.large.prompt import CONTEXT

PADDING = -1  # a segment that no other token sees


@dataclass(frozen=True)
class Qwen2Shape:
    """The sizes of a network."""

    layers: int
    hidden: int
    inner: int  # of the feed-forward part
    heads: int
    key_heads: int  # keys and values of each serve heads / key_heads queries
    vocabulary: int
    rotary_base: float = 1e6
    epsilon: float = 1e-6

    @property
    def head_size(self) -> int:
        """Return the dimension of a head."""
        return self.hidden // self.heads


@dataclass(frozen=True)
class Surroundings:
    """What all layers share: the rotation of each position, and which token sees which."""

    cosines: Tensor  # (rows, 1, tokens, head size)
    sines: Tensor
    visible: Tensor  # (rows, 1, tokens, tokens), bool


class Norm(nn.Module):
    """Division by the root of the mean square (Zhang and Sennrich 2019, equation 4), computed in float32."""

    def __init__(self, size: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised vectors."""
        wide = x.float()
        return self.weight * (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.epsilon)).to(x.dtype)


class Attention(nn.Module):
    """Grouped-query attention (Ainslie et al. 2023) with rotary positions (Su et al. 2021)."""

    def __init__(self, shape: Qwen2Shape) -> None:
        super().__init__()
        self.shape = shape
        keys = shape.key_heads * shape.head_size
        self.q_proj = nn.Linear(shape.hidden, shape.heads * shape.head_size)
        self.k_proj = nn.Linear(shape.hidden, keys)
        self.v_proj = nn.Linear(shape.hidden, keys)
        self.o_proj = nn.Linear(shape.heads * shape.head_size, shape.hidden, bias=False)

    def forward(self, x: Tensor, around: Surroundings) -> Tensor:
        """Return what each token takes from the visible ones: (rows, tokens, hidden)."""
        shape = self.shape
        queries = _rotate(_split_heads(self.q_proj(x), shape.heads), around)
        keys = _rotate(_split_heads(self.k_proj(x), shape.key_heads), around)
        values = _split_heads(self.v_proj(x), shape.key_heads)
        group = shape.heads // shape.key_heads
        mixed = F.scaled_dot_product_attention(
            queries, keys.repeat_interleave(group, 1), values.repeat_interleave(group, 1), around.visible
        )
        output: Tensor = self.o_proj(mixed.transpose(1, 2).flatten(2))
        return output


class FeedForward(nn.Module):
    """SwiGLU (Shazeer 2020, equation 6)."""

    def __init__(self, shape: Qwen2Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden, shape.inner, bias=False)
        self.up_proj = nn.Linear(shape.hidden, shape.inner, bias=False)
        self.down_proj = nn.Linear(shape.inner, shape.hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the vectors after the feed-forward part."""
        output: Tensor = self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
        return output


class Layer(nn.Module):
    """Attention and the feed-forward part, each added to its normalised input."""

    def __init__(self, shape: Qwen2Shape) -> None:
        super().__init__()
        self.input_layernorm = Norm(shape.hidden, shape.epsilon)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = Norm(shape.hidden, shape.epsilon)
        self.mlp = FeedForward(shape)

    def forward(self, x: Tensor, around: Surroundings) -> Tensor:
        """Return the layer's vectors."""
        x = x + self.self_attn(self.input_layernorm(x), around)
        output: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return output


class Qwen2Network(nn.Module):
    """Token ids in, the vector of each token out."""

    def __init__(self, shape: Qwen2Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocabulary, shape.hidden)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = Norm(shape.hidden, shape.epsilon)

    def forward(self, ids: Tensor, positions: Tensor, segments: Tensor) -> Tensor:
        """Return the vectors, (rows, tokens, hidden); each argument is (rows, tokens)."""
        x: Tensor = self.embed_tokens(ids)
        around = self._surroundings(positions, segments, x.dtype)
        for layer in self.layers:
            x = layer(x, around)
        output: Tensor = self.norm(x)
        return output

    def _surroundings(self, positions: Tensor, segments: Tensor, precision: torch.dtype) -> Surroundings:
        size, device = self.shape.head_size, positions.device
        speeds = self.shape.rotary_base ** -(torch.arange(0, size, 2, device=device).float() / size)
        angles = (positions[..., None].float() * speeds).repeat(1, 1, 2)[:, None]
        return Surroundings(angles.cos().to(precision), angles.sin().to(precision), find_visible(segments)[:, None])


def find_visible(segments: Tensor) -> Tensor:
    """Return which token sees which, (rows, tokens, tokens); every token sees at least itself."""
    seen, seeing = segments[:, None, :], segments[:, :, None]
    earlier = torch.ones(segments.shape[1], segments.shape[1], dtype=torch.bool, device=segments.device).tril()
    visible = earlier & ((seen == CONTEXT) | (seen == seeing)) & (seen != PADDING)
    return visible | torch.eye(segments.shape[1], dtype=torch.bool, device=segments.device)


def _split_heads(x: Tensor, heads: int) -> Tensor:
    return x.view(*x.shape[:-1], heads, -1).transpose(1, 2)


def _rotate(x: Tensor, around: Surroundings) -> Tensor:
    """Rotate pairs of dimensions, one of each half, by the angles of the positions."""
    first, second = x.chunk(2, dim=-1)
    return x * around.cosines + torch.cat((-second, first), dim=-1) * around.sines
