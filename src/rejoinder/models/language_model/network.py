"""The network of a causal language model: what it has read stays in a key-value cache and can be continued repeatedly.

Rows that are read together are padded on the left, their continuations on the right: with causal attention no real
token ever sees padding, so the results of a row do not depend on other rows.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from rejoinder.errors import InputError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class NetworkReading:
    """What a network has read: the cache, which of its positions are not padding, and the logits of the next token."""

    cache: Any
    mask: torch.Tensor  # (rows, positions), bool
    logits: torch.Tensor  # (rows, vocabulary)

    def rows(self, indices: torch.Tensor) -> NetworkReading:
        """Return some of the rows, each as often as it is named, with their own cache."""
        cache = _copy_cache(self.cache)
        cache.batch_select_indices(indices)
        return NetworkReading(cache, self.mask[indices], self.logits[indices])


def pad_left(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Return token ids as one tensor, padded on the left, and which of them are real."""
    import torch

    width = max(len(row) for row in rows)
    ids = torch.tensor([[0] * (width - len(row)) + list(row) for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    return ids, torch.arange(width, device=device) >= width - lengths[:, None]


def read_token_rows(network: Any, rows: Sequence[Sequence[int]]) -> NetworkReading:
    """Read rows of token ids (none of them empty), without gradients."""
    return read_with_logits(network, rows, last=1)[1]


def read_with_logits(network: Any, rows: Sequence[Sequence[int]], last: int = 0) -> tuple[torch.Tensor, NetworkReading]:
    """Read rows of token ids and return the logits after the ``last`` positions too (0: after all of them)."""
    import torch

    ids, mask = pad_left(rows, network.device)
    arguments = {"logits_to_keep": last} if last and _accepts_parameter(network, "logits_to_keep") else {}
    with torch.no_grad():
        output = network(input_ids=ids, use_cache=True, **_position_arguments(network, mask, ids.shape[1]), **arguments)
    logits = _to_float32(output.logits[:, -last:])
    return logits, NetworkReading(output.past_key_values, mask, logits[:, -1])


def extend_reading(
    network: Any, reading: NetworkReading, *, ids: torch.Tensor | None = None, embeddings: torch.Tensor | None = None
) -> tuple[torch.Tensor, NetworkReading]:
    """Return the logits after each new token, (rows, tokens, vocabulary), and the longer reading; the old one stays.

    The tokens are ids, (rows, tokens), or their vectors, (rows, tokens, dimensions), through which gradients flow.
    """
    import torch

    inputs: dict[str, Any] = {"input_ids": ids} if embeddings is None else {"inputs_embeds": embeddings}
    rows, tokens = next(iter(inputs.values())).shape[:2]
    mask = torch.cat([reading.mask, reading.mask.new_ones(rows, tokens)], dim=1)
    cache = _copy_cache(reading.cache)
    output = network(past_key_values=cache, use_cache=True, **inputs, **_position_arguments(network, mask, tokens))
    logits = _to_float32(output.logits)
    return logits, NetworkReading(output.past_key_values, mask, logits[:, -1])


def is_causal(network: Any) -> bool:
    """Whether the logits after a token do not depend on what follows it; in an encoder they do."""
    import torch

    ids = torch.tensor([[0, 1, 1], [0, 1, 2]], device=network.device)
    with torch.no_grad():
        first, second = network(input_ids=ids).logits[:, :2]
    return bool(torch.allclose(first, second, rtol=1e-2, atol=1e-2))


def _position_arguments(network: Any, mask: torch.Tensor, last: int) -> dict[str, Any]:
    """Return the positions of the last tokens and, if there is padding, the attention mask."""

    positions = (mask.long().cumsum(dim=1) - 1).clamp(min=0)[:, -last:]
    arguments: dict[str, torch.Tensor] = {} if bool(mask.all()) else {"attention_mask": mask.long()}
    return {**arguments, "position_ids": positions} if _accepts_parameter(network, "position_ids") else arguments


def _accepts_parameter(network: Any, parameter: str) -> bool:
    return parameter in inspect.signature(network.forward).parameters


def _to_float32(logits: torch.Tensor) -> torch.Tensor:
    """Return the logits in float32 or better: half precision is too coarse for sums over a vocabulary."""
    import torch

    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def _copy_cache(cache: Any) -> Any:
    """Return a copy of a cache that can grow without changing the original.

    Layers that grow by concatenation never write into their tensors, so these can be shared: this costs nothing and
    works for tensors with gradients, which cannot be deep-copied.
    """
    from transformers.cache_utils import DynamicLayer

    duplicate = copy.copy(cache)
    duplicate.layers = [
        copy.copy(layer) if isinstance(layer, DynamicLayer) else copy.deepcopy(layer) for layer in cache.layers
    ]
    return duplicate


SoftForm: TypeAlias = Literal["logits", "probabilities"]


def check_soft_tokens(soft_tokens: torch.Tensor) -> int:
    """Return the number of positions of soft tokens; raise if their shape is wrong."""
    shape = tuple(soft_tokens.shape)
    if len(shape) not in (2, 3) or 0 in shape:
        raise InputError(f"soft tokens must be (tokens, vocabulary) or (rows, tokens, vocabulary), not {shape}")
    return int(shape[-2])


def soft_embeddings(network: Any, soft_tokens: torch.Tensor, form: SoftForm) -> torch.Tensor:
    """Return the mean embedding under each distribution: (..., vocabulary) becomes (..., dimensions)."""
    import torch

    table = network.get_input_embeddings()
    weights: torch.Tensor = table.weight
    if soft_tokens.shape[-1] != len(weights):
        raise InputError(f"a soft token has {soft_tokens.shape[-1]} numbers, but the model has {len(weights)} tokens")
    if form not in ("logits", "probabilities"):
        raise InputError(f"form must be 'logits' or 'probabilities', not {form!r}")
    first_token = torch.zeros(1, dtype=torch.long, device=weights.device)
    if not torch.equal(table(first_token), weights[:1]):  # a table that scales its rows would give wrong results
        raise InputError(f"{type(network).__name__} does more than look up embeddings, so it cannot read soft tokens")
    soft = soft_tokens.to(weights.device, weights.dtype)
    return (soft.softmax(dim=-1) if form == "logits" else soft) @ weights


def read_soft(
    network: Any, reading: NetworkReading, soft_tokens: torch.Tensor, form: SoftForm = "logits"
) -> tuple[torch.Tensor, NetworkReading]:
    """Return the log-probabilities of the token after each soft token, and the longer reading.

    (tokens, vocabulary) gives (tokens, vocabulary); with a first dimension, several rows follow one context. One token
    at a time, this is the forward pass of DELOREAN, where each step's input mixes in the previous step.
    """
    import torch

    check_soft_tokens(soft_tokens)
    batch = soft_tokens if soft_tokens.ndim == 3 else soft_tokens[None]
    if len(reading.mask) not in (1, len(batch)):
        raise InputError(f"{len(batch)} rows of soft tokens cannot follow a reading of {len(reading.mask)} rows")
    if len(reading.mask) < len(batch):
        reading = reading.rows(torch.zeros(len(batch), dtype=torch.long, device=reading.mask.device))
    logits, longer = extend_reading(network, reading, embeddings=soft_embeddings(network, batch, form))
    log_probabilities = logits.log_softmax(dim=-1)
    return (log_probabilities if soft_tokens.ndim == 3 else log_probabilities[0]), longer


def soft_log_probabilities(
    network: Any, reading: NetworkReading, soft_tokens: torch.Tensor, form: SoftForm = "logits"
) -> torch.Tensor:
    """Return the log-probabilities of every token at each position, given the context and the previous soft tokens.

    There is one more position than soft tokens: the first is predicted from the context alone, the last comes next.
    """
    import torch

    after, _ = read_soft(network, reading, soft_tokens, form)
    first = reading.logits.log_softmax(dim=-1)
    first = first[0] if soft_tokens.ndim == 2 else first.expand(len(after), -1)
    return torch.cat([first.unsqueeze(-2), after], dim=-2)
