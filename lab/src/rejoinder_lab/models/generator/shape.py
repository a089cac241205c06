"""The size of a generator, and how much it reads and writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Architecture: TypeAlias = Literal["gru", "lstm", "transformer"]


@dataclass(frozen=True)
class GeneratorShape:
    """The size of a network."""

    arch: Architecture = "gru"
    layers: int = 1  # of the encoder and of the decoder
    dim: int = 256  # of word vectors and of hidden vectors
    heads: int = 4  # of the Transformer
    vocabulary: int = 16_000
    attention: bool = True  # of the recurrent decoders
    dropout: float = 0.1


@dataclass(frozen=True)
class GeneratorLimits:
    """How much a generator reads and writes; a context that is too long loses its beginning, a reply its end."""

    context_turns: int = 3  # the dialogues of the paper have four turns
    context_tokens: int = 96
    reply_tokens: int = 48
