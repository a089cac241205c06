"""The optimiser, its schedule, and the running average of a network's weights."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

_WARM_UP = 0.05
_DECAY = 0.01
_LARGEST_NORM = 1.0


def build_optimizer(groups: Sequence[tuple[Sequence[Any], float]]) -> torch.optim.AdamW:
    """Return AdamW over groups of parameters, each with its learning rate."""
    trainable: list[dict[str, Any]] = [
        {"params": [p for p in part if p.requires_grad], "lr": rate} for part, rate in groups
    ]
    fused = all(p.is_cuda for group in trainable for p in group["params"])
    return torch.optim.AdamW(trainable, weight_decay=_DECAY, betas=(0.9, 0.98), eps=1e-6, fused=fused)


class LearningRateSchedule:
    """Steps of an optimiser: a linear warm-up, then a half cosine down to zero."""

    def __init__(self, optimizer: torch.optim.Optimizer, steps: int) -> None:
        self._optimizer = optimizer
        self._steps = steps
        self._step = 0
        self._rates = [group["lr"] for group in optimizer.param_groups]

    def step(self, loss: Tensor | None, network: nn.Module) -> None:
        """Take one step with the gradient of a loss (or with the gradients that are there already)."""
        if loss is not None:
            loss.backward()  # type: ignore[no-untyped-call]
        warm = max(1, int(_WARM_UP * self._steps))
        at = self._step
        factor = (
            (at + 1) / warm if at < warm else 0.5 * (1 + math.cos(math.pi * (at - warm) / max(1, self._steps - warm)))
        )
        for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * factor
        torch.nn.utils.clip_grad_norm_(network.parameters(), _LARGEST_NORM)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        self._step += 1


class WeightAverage:
    """An exponential running average of a network's weights (a cheap average of many checkpoints)."""

    def __init__(self, network: nn.Module, decay: float) -> None:
        self._decay = decay
        self._steps = 0
        self._kept = copy.deepcopy(network).requires_grad_(False)

    @torch.no_grad()
    def update(self, network: nn.Module) -> None:
        """Add the current weights to the average."""
        self._steps += 1
        decay = min(self._decay, (1 + self._steps) / (10 + self._steps))
        averaged: list[Tensor] = list(self._kept.parameters())
        current = [p.detach() for p in network.parameters()]
        torch._foreach_lerp_(averaged, current, 1 - decay)

    @torch.no_grad()
    def copy_to(self, network: nn.Module) -> None:
        """Copy the average into the network."""
        for target, source in zip(network.parameters(), self._kept.parameters(), strict=True):
            target.copy_(source)
