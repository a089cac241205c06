"""How the next token of a reply is chosen: rules that look at a row's own context and reply, never at the batch.

A row draws from a generator of its own, which comes from the seed and its context. Repetition is looked for in the
reply only, never in the context or the filling.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from rejoinder.errors import InputError
from rejoinder.models.language_model.prompt_format import Ids

if TYPE_CHECKING:
    import torch

Method: TypeAlias = Literal["greedy", "sample"]


@dataclass(frozen=True)
class Decoding:
    """How replies are written.

    ``greedy`` takes the likeliest token; ``sample`` draws one, after ``temperature`` and ``top_p`` (Holtzman et al.
    2020). No ``no_repeat`` tokens in a row occur twice in a reply (0: no such rule): greedy decoding loops without it.
    """

    max_tokens: int
    method: Method = "greedy"
    temperature: float = 1.0
    top_p: float = 1.0
    no_repeat: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in ("greedy", "sample"):
            raise InputError(f"method must be 'greedy' or 'sample', not {self.method!r}")
        if self.max_tokens < 1:
            raise InputError(f"max_tokens must be at least 1, not {self.max_tokens}")
        if self.no_repeat < 0:
            raise InputError(f"no_repeat must be 0 or more, not {self.no_repeat}")
        if not self.temperature > 0:
            raise InputError(
                f"temperature must be above 0, not {self.temperature}; for no randomness use method='greedy'"
            )
        if not 0 < self.top_p <= 1:
            raise InputError(f"top_p must be above 0 and at most 1, not {self.top_p}")


def rules(contexts: Sequence[Ids], decoding: Decoding, stops: Sequence[int], width: int) -> list[Callable[..., Any]]:
    """What happens to the logits of each step, in order; the largest of what is left is taken."""
    from transformers import TemperatureLogitsWarper, TopPLogitsWarper

    found: list[Callable[..., Any]] = [_NeverEmpty(width, tuple(stops))]
    if decoding.no_repeat:
        found.append(_NoRepeat(width, decoding.no_repeat))
    if decoding.method == "sample":
        found += [TemperatureLogitsWarper(decoding.temperature), TopPLogitsWarper(decoding.top_p)]
        found.append(_Draw([_generator(decoding.seed, context) for context in contexts]))
    return found


def _generator(seed: int, context: Ids) -> np.random.Generator:
    key = hashlib.sha256(" ".join(map(str, (seed, *context))).encode()).digest()
    return np.random.Generator(np.random.Philox(int.from_bytes(key, "little")))


@dataclass(frozen=True)
class _NeverEmpty:
    """The first token does not end the reply."""

    width: int
    stops: Ids

    def __call__(self, ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        if ids.shape[1] == self.width and self.stops:
            logits[:, list(self.stops)] = -float("inf")
        return logits


@dataclass(frozen=True)
class _NoRepeat:
    """No run of ``n`` tokens occurs twice in a reply."""

    width: int
    n: int

    def __call__(self, ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        for row, reply in enumerate(ids[:, self.width :].tolist()):
            before = reply[len(reply) - self.n + 1 :]
            banned = [
                reply[place + self.n - 1]
                for place in range(len(reply) - self.n + 1)
                if reply[place : place + self.n - 1] == before
            ]
            if banned:
                logits[row, banned] = -float("inf")
        return logits


@dataclass(frozen=True)
class _Draw:
    """One token a row, drawn by the inverse of the cumulative distribution; all others are ruled out.

    In float64, so that where the draw falls hardly ever hangs on rounding, whatever the device and the batch.
    """

    generators: Sequence[np.random.Generator]

    def __call__(self, ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        import torch

        reached = logits.double().softmax(dim=-1).cumsum(dim=-1)
        draws = torch.tensor([[generator.random()] for generator in self.generators], dtype=torch.float64)
        chosen = torch.searchsorted(reached, draws.to(logits.device) * reached[:, -1:], right=True)
        drawn = torch.full_like(logits, -float("inf"))
        return drawn.scatter_(1, chosen.clamp(max=logits.shape[1] - 1), 0.0)
