"""How DELOREAN rewrites a text: the parameters of its passes, and when it stops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from rejoinder.errors import SpecError

StartMethod: TypeAlias = Literal["greedy", "original"]


@dataclass(frozen=True)
class DeloreanSettings:
    """How a text is rewritten.

    Each of at most ``iterations`` rounds is a backward pass of ``updates`` gradient steps and a forward pass. A step
    has the length of ``step_size`` times the norm of the output's logits, along the gradient. ``mixing`` is the
    language model's share of the logits. A soft token is read at a ``temperature`` far below 1, which makes it almost a
    single token. A text that did not change in a round is finished (``stop``). A text of more than ``most_tokens`` is
    left unchanged; one that ends inside a sentence may get ``extra`` tokens to complete it. The defaults were set by
    hand on a dozen of DailyDialog's validation turns, by how much of a text is kept (docs/augmenting.md); ratings were
    not used.
    """

    iterations: int = 5
    updates: int = 10
    step_size: float = 0.002
    mixing: float = 0.86
    temperature: float = 0.1
    start: StartMethod = "greedy"
    stop: Literal["unchanged", "never"] = "unchanged"
    most_tokens: int = 64
    extra: int = 20

    def __post_init__(self) -> None:
        for name, low in (("iterations", 1), ("updates", 1), ("most_tokens", 1), ("extra", 0)):
            if getattr(self, name) < low:
                raise SpecError(f"delorean: {name} must be at least {low}, not {getattr(self, name)}")
        if not self.step_size > 0 or not self.temperature > 0:
            raise SpecError("delorean: step_size and temperature must be above 0")
        if not 0 <= self.mixing <= 1:
            raise SpecError(f"delorean: mixing must be from 0 to 1, not {self.mixing}")
