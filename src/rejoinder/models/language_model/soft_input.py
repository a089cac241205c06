"""Soft tokens: distributions over the vocabulary in place of tokens, with gradients to them.

What gradient-based decoding stands on (DELOREAN, Qin et al. 2020): the model's weights are frozen, a soft token enters
as the mean of all embeddings under its distribution, and the context waits in a key-value cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rejoinder.errors import InputError
from rejoinder.models.language_model.network import Reading, extend

if TYPE_CHECKING:
    import torch

Form: TypeAlias = Literal["logits", "probabilities"]


def check_shape(soft_tokens: torch.Tensor) -> int:
    """How many places the soft tokens fill, if they have a shape that can be read."""
    shape = tuple(soft_tokens.shape)
    if len(shape) not in (2, 3) or 0 in shape:
        raise InputError(f"soft tokens must be (tokens, vocabulary) or (rows, tokens, vocabulary), not {shape}")
    return int(shape[-2])


def soft_embeddings(network: Any, soft_tokens: torch.Tensor, form: Form) -> torch.Tensor:
    """The mean embedding under each distribution: (..., vocabulary) becomes (..., dimensions)."""
    import torch

    table = network.get_input_embeddings()
    weights: torch.Tensor = table.weight
    if soft_tokens.shape[-1] != len(weights):
        raise InputError(
            f"a soft token is {soft_tokens.shape[-1]} numbers wide, but the model knows {len(weights)} tokens"
        )
    if form not in ("logits", "probabilities"):
        raise InputError(f"form must be 'logits' or 'probabilities', not {form!r}")
    one = torch.zeros(1, dtype=torch.long, device=weights.device)
    if not torch.equal(table(one), weights[:1]):  # a table that scales its rows would be read wrongly
        raise InputError(f"{type(network).__name__} does more than look embeddings up, so soft tokens cannot be read")
    soft = soft_tokens.to(weights.device, weights.dtype)
    return (soft.softmax(dim=-1) if form == "logits" else soft) @ weights


def read_soft(
    network: Any, reading: Reading, soft_tokens: torch.Tensor, form: Form = "logits"
) -> tuple[torch.Tensor, Reading]:
    """The log-probabilities of the token after each soft token, and the longer reading.

    (tokens, vocabulary) gives (tokens, vocabulary); with a first dimension, several rows follow the one context. Read
    one token at a time, this is the forward pass of DELOREAN, where each step's input mixes in the step before.
    """
    import torch

    check_shape(soft_tokens)
    batch = soft_tokens if soft_tokens.ndim == 3 else soft_tokens[None]
    if len(reading.mask) not in (1, len(batch)):
        raise InputError(f"{len(batch)} rows of soft tokens cannot follow {len(reading.mask)} rows that were read")
    if len(reading.mask) < len(batch):
        reading = reading.rows(torch.zeros(len(batch), dtype=torch.long, device=reading.mask.device))
    logits, longer = extend(network, reading, embeddings=soft_embeddings(network, batch, form))
    found = logits.log_softmax(dim=-1)
    return (found if soft_tokens.ndim == 3 else found[0]), longer


def soft_log_probabilities(
    network: Any, reading: Reading, soft_tokens: torch.Tensor, form: Form = "logits"
) -> torch.Tensor:
    """The log-probabilities of every token at each place, given the context and the soft tokens before it.

    One row more than there are soft tokens: the first is what the context alone says, the last what would come next.
    """
    import torch

    after, _ = read_soft(network, reading, soft_tokens, form)
    first = reading.logits.log_softmax(dim=-1)
    first = first[0] if soft_tokens.ndim == 2 else first.expand(len(after), -1)
    return torch.cat([first.unsqueeze(-2), after], dim=-2)
