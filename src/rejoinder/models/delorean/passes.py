"""The passes of DELOREAN over a batch of outputs: alternately backward to the text and forward from the context.

An output is (positions, vocabulary) logits, always as log-probabilities: logits are only defined up to a constant per
position, and the length of a step must not depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rejoinder.models.delorean.settings import DeloreanSettings
from rejoinder.models.language_model.network import NetworkReading, extend_reading, read_soft
from rejoinder.models.language_model.prompt_format import Ids

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class RewriteTarget:
    """The texts that outputs are pulled towards: ids (rows, positions), padded on the right, and which are real."""

    ids: torch.Tensor
    real: torch.Tensor

    @classmethod
    def from_texts(cls, texts: Sequence[Ids], device: torch.device) -> RewriteTarget:
        """Put the texts into one tensor."""
        import torch

        width = max(map(len, texts))
        ids = torch.tensor([[*text, *[0] * (width - len(text))] for text in texts], device=device)
        lengths = torch.tensor([len(text) for text in texts], device=device)
        return cls(ids, torch.arange(width, device=device) < lengths[:, None])

    def rows(self, indices: torch.Tensor) -> RewriteTarget:
        """Return some of the rows."""
        return RewriteTarget(self.ids[indices], self.real[indices])


@dataclass
class OutputHistory:
    """The ids of a row after each round, and its content loss before and after the backward pass."""

    ids: list[Ids] = field(default_factory=list)
    before: list[float] = field(default_factory=list)
    after: list[float] = field(default_factory=list)


def rewrite_rows(
    network: Any, reading: NetworkReading, target: RewriteTarget, settings: DeloreanSettings, penalties: torch.Tensor
) -> list[OutputHistory]:
    """Alternate backward and forward passes; a row that did not change in a round leaves the batch."""
    import torch

    outputs = [OutputHistory() for _ in range(len(target.ids))]
    active = np.arange(len(outputs))
    logits = initial_logits(network, reading, target, settings, penalties)
    last = likeliest_tokens(logits, penalties)
    for _ in range(settings.iterations):
        pulled = backward_pass(logits, target, settings)
        losses = torch.stack([content_loss(logits, target), content_loss(pulled, target)])
        logits = forward_pass(network, reading, pulled, settings, penalties)
        ids = likeliest_tokens(logits, penalties)
        is_unchanged = ((ids == last) | ~target.real).all(dim=1)
        for row, tokens, before, after in zip(active, ids.tolist(), *losses.tolist(), strict=True):
            outputs[row].ids.append(tuple(tokens))
            outputs[row].before.append(before)
            outputs[row].after.append(after)
        changing = (
            (~is_unchanged).nonzero()[:, 0]
            if settings.stop == "unchanged"
            else torch.arange(len(ids), device=ids.device)
        )
        if len(changing) == 0:
            break
        if len(changing) < len(ids):
            active = active[changing.cpu().numpy()]
            reading, target, logits, ids = (
                reading.rows(changing),
                target.rows(changing),
                logits[changing],
                ids[changing],
            )
        last = ids
    return outputs


def initial_logits(
    network: Any, reading: NetworkReading, target: RewriteTarget, settings: DeloreanSettings, penalties: torch.Tensor
) -> torch.Tensor:
    """Return the first logits, (rows, positions, vocabulary), always as log-probabilities.

    ``greedy``: what the model expects after the context and its own most likely tokens (SCARCE). ``original``: what it
    expects after the context and the text's own tokens, mixed once in a forward pass (the authors' released code).
    """
    import torch

    if settings.start == "original":
        after = reading.logits[:, None]
        if target.ids.shape[1] > 1:
            after = torch.cat([after, extend_reading(network, reading, ids=target.ids[:, :-1])[0]], dim=1)
        return forward_pass(network, reading, after.log_softmax(dim=-1), settings, penalties)
    rows = [reading.logits.log_softmax(dim=-1)]
    while len(rows) < target.ids.shape[1]:
        logits, reading = extend_reading(network, reading, ids=(rows[-1] + penalties).argmax(dim=-1, keepdim=True))
        rows.append(logits[:, -1].log_softmax(dim=-1))
    return torch.stack(rows, dim=1)


def content_loss(logits: torch.Tensor, target: RewriteTarget) -> torch.Tensor:
    """Return the mean cross-entropy of each text under its output, in nats per token."""
    chosen = logits.gather(-1, target.ids[..., None])[..., 0]
    return -(chosen * target.real).sum(dim=1) / target.real.sum(dim=1)


def backward_pass(logits: torch.Tensor, target: RewriteTarget, settings: DeloreanSettings) -> torch.Tensor:
    """Return the logits after gradient descent on the content loss.

    The loss depends only on the logits, so its gradient has a closed form: the probabilities minus the one-hot text,
    divided by the number of tokens. That number cancels, because a step has the length of ``step_size`` times the norm
    of the logits.
    """
    real = target.real[..., None]
    logits = logits * real
    for _ in range(settings.updates):
        gradient = logits.exp() * real
        gradient.scatter_add_(-1, target.ids[..., None], -real.to(gradient.dtype))
        norms = [values.flatten(1).norm(dim=1) for values in (logits, gradient)]
        length = settings.step_size * norms[0] / norms[1].clamp(min=1e-15)
        logits = (logits - length[:, None, None] * gradient).log_softmax(dim=-1) * real
    return logits


def forward_pass(
    network: Any, reading: NetworkReading, pulled: torch.Tensor, settings: DeloreanSettings, penalties: torch.Tensor
) -> torch.Tensor:
    """Return the logits mixed, position by position, with what the language model expects (Qin et al., eq. 3)."""
    import torch

    expected, mixed = reading.logits.log_softmax(dim=-1), []
    for position in range(pulled.shape[1]):
        mixture = settings.mixing * expected + (1 - settings.mixing) * pulled[:, position]
        mixed.append(mixture.log_softmax(dim=-1))
        if position + 1 < pulled.shape[1]:
            soft = ((mixed[-1] + penalties) / settings.temperature)[:, None]
            after, reading = read_soft(network, reading, soft)
            expected = after[:, 0]
    return torch.stack(mixed, dim=1)


def likeliest_tokens(logits: torch.Tensor, penalties: torch.Tensor) -> torch.Tensor:
    """Return the most likely token at each position."""
    return (logits + penalties).argmax(dim=-1)
