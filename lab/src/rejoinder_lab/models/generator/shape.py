"""The size of a generator."""

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
