"""Prompts and what a language model should write after them, as token ids: batches, and their loss in training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from rejoinder.models.language_model.model import LanguageModel


class PromptRow(NamedTuple):
    """Token ids, and how many of them are the prompt."""

    ids: tuple[int, ...]
    prompt: int


def batch_by_length(rows: Sequence[PromptRow], size: int, random: np.random.Generator) -> list[Any]:
    """Return batches of rows of about the same length, in a new random order."""
    lengths = np.array([len(row.ids) for row in rows]) + random.random(len(rows))
    order = np.argsort(lengths)
    parts = [order[start : start + size] for start in range(0, len(order), size)]
    return [parts[i] for i in random.permutation(len(parts))]


def batch_loss(network: Any, rows: Sequence[PromptRow], reduction: str = "mean") -> Tensor:
    """Return the cross-entropy of the tails' tokens."""
    width = max(len(row.ids) for row in rows)
    ids = torch.tensor([[*row.ids, *[0] * (width - len(row.ids))] for row in rows], device=network.device)
    positions = torch.arange(width, device=network.device)
    first = torch.tensor([row.prompt for row in rows], device=network.device)[:, None]
    end = torch.tensor([len(row.ids) for row in rows], device=network.device)[:, None]
    targets = torch.where((positions >= first) & (positions < end), ids, -100)
    # Padding is at the end of a row, where no real token attends to it.
    with torch.autocast(network.device.type, torch.bfloat16, enabled=network.device.type == "cuda"):
        logits = network(input_ids=ids).logits[:, :-1].float()
    return functional.cross_entropy(logits.flatten(0, 1), targets[:, 1:].flatten(), reduction=reduction)


@torch.no_grad()
def mean_loss(model: LanguageModel, rows: Sequence[PromptRow], batch: int) -> float:
    """Return the mean loss of the tails' tokens."""
    total = sum(
        float(batch_loss(model.network, rows[start : start + batch], "sum")) for start in range(0, len(rows), batch)
    )
    return total / sum(len(row.ids) - row.prompt for row in rows)
