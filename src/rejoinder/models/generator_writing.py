"""How a generator writes a reply: greedily, or by a beam with scores a token."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from rejoinder.models.generator_network import GeneratorNetwork
from rejoinder.models.generator_text import BEGIN, END, PADDING, TURN, UNKNOWN

_NEVER = (PADDING, UNKNOWN, BEGIN, TURN)


@torch.no_grad()
def written(network: GeneratorNetwork, contexts: Tensor, beam: int, length: int) -> list[list[int]]:
    """The ids of a reply to each context, of at least one piece."""
    memory = network.encode(contexts)
    return _greedy(network, memory, length) if beam == 1 else _beam(network, memory, beam, length)


def _next(network: GeneratorNetwork, memory: Any, ids: Tensor) -> Tensor:
    """Log-probabilities of what follows each prefix; the prefix is short, so it is read anew."""
    logits = network.logits(network.decode(memory, ids)[:, -1]).float()
    logits[:, list(_NEVER)] = -torch.inf
    if ids.shape[1] == 1:
        logits[:, END] = -torch.inf
    return logits.log_softmax(-1)


def _greedy(network: GeneratorNetwork, memory: Any, length: int) -> list[list[int]]:
    rows = memory.states.shape[0]
    ids = torch.full((rows, 1), BEGIN, device=memory.states.device)
    ended = torch.zeros(rows, dtype=torch.bool, device=ids.device)
    for _ in range(length):
        chosen = _next(network, memory, ids).argmax(-1)
        # A row that has ended goes on with its end: as a filling it would be hidden from itself.
        chosen = torch.where(ended, END, chosen)
        ids = torch.cat([ids, chosen[:, None]], dim=1)
        ended |= chosen == END
        if bool(ended.all()):
            break
    return [_until_end(row) for row in ids[:, 1:].tolist()]


def _beam(network: GeneratorNetwork, memory: Any, beam: int, length: int) -> list[list[int]]:
    """The best of a beam by log-probability a token; what has ended stays with its score."""
    rows, device = memory.states.shape[0], memory.states.device
    wide = memory.rows(torch.arange(rows, device=device).repeat_interleave(beam))
    ids = torch.full((rows * beam, 1), BEGIN, device=device)
    totals = torch.full((rows, beam), -torch.inf, device=device)
    totals[:, 0] = 0.0
    lengths = torch.zeros(rows, beam, device=device)
    ended = torch.zeros(rows, beam, dtype=torch.bool, device=device)
    for _ in range(length):
        steps = _next(network, wide, ids).view(rows, beam, -1)
        stay = torch.full_like(steps, -torch.inf)
        stay[:, :, END] = 0.0
        added = totals[:, :, None] + torch.where(ended[:, :, None], stay, steps)
        longer = (lengths + (~ended).float())[:, :, None]
        best = (added / longer).flatten(1).topk(beam, dim=1).indices
        origin, token = best // steps.shape[2], best % steps.shape[2]
        totals = added.flatten(1).gather(1, best)
        lengths = longer[:, :, 0].gather(1, origin)
        ended = ended.gather(1, origin) | (token == END)
        flat = (origin + torch.arange(rows, device=device)[:, None] * beam).flatten()
        ids = torch.cat([ids[flat], token.flatten()[:, None]], dim=1)
        if bool(ended.all()):
            break
    top = (totals / lengths).argmax(1)
    chosen = ids.view(rows, beam, -1)[torch.arange(rows, device=device), top, 1:]
    return [_until_end(row) for row in chosen.tolist()]


def _until_end(row: list[int]) -> list[int]:
    return row[: row.index(END)] if END in row else row
