"""The network of a causal language model: what it has read stays in a key-value cache, to be continued again and again.

Rows that are read together are filled up on the left, what follows them on the right: with causal attention no real
token ever sees filling, so a row's numbers do not depend on its neighbours.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Reading:
    """What a network has read: the cache, which of its positions are real, and the logits of the next token."""

    cache: Any
    mask: torch.Tensor  # (rows, positions), bool
    logits: torch.Tensor  # (rows, vocabulary)

    def rows(self, indices: torch.Tensor) -> Reading:
        """Some of the rows, each as often as it is named, with a cache of their own."""
        cache = _copied(self.cache)
        cache.batch_select_indices(indices)
        return Reading(cache, self.mask[indices], self.logits[indices])


def fill_left(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids in one tensor, filled up on the left, and which of them are real."""
    import torch

    width = max(len(row) for row in rows)
    ids = torch.tensor([[0] * (width - len(row)) + list(row) for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    return ids, torch.arange(width, device=device) >= width - lengths[:, None]


def read(network: Any, rows: Sequence[Sequence[int]]) -> Reading:
    """What the network makes of rows of token ids (none of them empty); without gradients."""
    import torch

    ids, mask = fill_left(rows, network.device)
    arguments = {"logits_to_keep": 1} if _takes(network, "logits_to_keep") else {}
    with torch.no_grad():
        found = network(input_ids=ids, use_cache=True, **_places(network, mask, ids.shape[1]), **arguments)
    return Reading(found.past_key_values, mask, _wide(found.logits[:, -1]))


def extend(
    network: Any, reading: Reading, *, ids: torch.Tensor | None = None, embeddings: torch.Tensor | None = None
) -> tuple[torch.Tensor, Reading]:
    """The logits after each further token, (rows, tokens, vocabulary), and the longer reading; the given one stays.

    The tokens are ids, (rows, tokens), or vectors in their place, (rows, tokens, dimensions), through which gradients
    flow.
    """
    import torch

    given: dict[str, Any] = {"input_ids": ids} if embeddings is None else {"inputs_embeds": embeddings}
    rows, tokens = next(iter(given.values())).shape[:2]
    mask = torch.cat([reading.mask, reading.mask.new_ones(rows, tokens)], dim=1)
    cache = _copied(reading.cache)
    found = network(past_key_values=cache, use_cache=True, **given, **_places(network, mask, tokens))
    logits = _wide(found.logits)
    return logits, Reading(found.past_key_values, mask, logits[:, -1])


def is_causal(network: Any) -> bool:
    """Whether the logits after a token are the same whatever follows it: an encoder's are not."""
    import torch

    ids = torch.tensor([[0, 1, 1], [0, 1, 2]], device=network.device)
    with torch.no_grad():
        first, second = network(input_ids=ids).logits[:, :2]
    return bool(torch.allclose(first, second, rtol=1e-2, atol=1e-2))


def _places(network: Any, mask: torch.Tensor, last: int) -> dict[str, Any]:
    """Where the last tokens stand in their rows, and what they may see; nothing where there is no filling."""

    positions = (mask.long().cumsum(dim=1) - 1).clamp(min=0)[:, -last:]
    places: dict[str, torch.Tensor] = {} if bool(mask.all()) else {"attention_mask": mask.long()}
    return {**places, "position_ids": positions} if _takes(network, "position_ids") else places


def _takes(network: Any, parameter: str) -> bool:
    return parameter in inspect.signature(network.forward).parameters


def _wide(logits: torch.Tensor) -> torch.Tensor:
    """The logits in float32 or better: half precision is too coarse to be summed over a vocabulary."""
    import torch

    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def _copied(cache: Any) -> Any:
    """A cache that grows without touching the given one.

    Layers that grow by concatenation never write into their tensors, so those can be shared: this costs nothing, and
    it works on tensors with gradients, which cannot be deep-copied.
    """
    from transformers.cache_utils import DynamicLayer

    own = copy.copy(cache)
    own.layers = [
        copy.copy(layer) if isinstance(layer, DynamicLayer) else copy.deepcopy(layer) for layer in cache.layers
    ]
    return own
