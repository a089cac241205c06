"""The torch module of USR's masked language model: an encoder with low-rank additions, and a head over its words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.models.language_model.lora import attach_lora, extract_lora, merge_lora

LAYERS = ("query", "key", "value", "dense")  # of a BERT, by the ends of their names
_TRUNK = "trunk."  # before the names of additions


class MaskedNetwork(nn.Module):
    """A BERT, and the head of its masked language model, whose output matrix is that of the word embeddings."""

    def __init__(self, trunk: Any) -> None:
        super().__init__()
        self.trunk = trunk
        width, words = int(trunk.config.hidden_size), int(trunk.config.vocab_size)
        self.dense, self.norm = nn.Linear(width, width), nn.LayerNorm(width, trunk.config.layer_norm_eps)
        self.bias = nn.Parameter(torch.zeros(words))

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor, chosen: Tensor) -> Tensor:
        """Return log-odds of all words (places, words) at the chosen places of rows (rows, tokens)."""
        states = self.trunk(input_ids=ids, attention_mask=mask, token_type_ids=kinds).last_hidden_state[chosen]
        hidden = self.norm(functional.gelu(self.dense(states)))
        odds: Tensor = hidden @ self.trunk.embeddings.word_embeddings.weight.T.to(hidden.dtype) + self.bias
        return odds

    def attach(self, rank: int, scale: float, seed: int) -> list[Any]:
        """Freeze the BERT except for low-rank additions to its matrices; return what is trained."""
        added = attach_lora(self.trunk, rank, scale, seed, LAYERS)
        return [*added, *self.dense.parameters(), *self.norm.parameters(), self.bias]

    def additions(self) -> dict[str, Tensor]:
        """Return what was trained, by name: low-rank matrices and the head."""
        head = {name: value.cpu() for name, value in self.state_dict().items() if not name.startswith(_TRUNK)}
        return {**{_TRUNK + name: value for name, value in extract_lora(self.trunk).items()}, **head}

    def merge(self, additions: Mapping[str, Tensor]) -> None:
        """Add what was trained; raise ValueError or RuntimeError where it does not fit."""
        lora = {name.removeprefix(_TRUNK): value for name, value in additions.items() if name.startswith(_TRUNK)}
        merge_lora(self.trunk, lora, LAYERS)
        head = {name: value for name, value in additions.items() if not name.startswith(_TRUNK)}
        known = {name for name, _ in self.named_parameters() if not name.startswith(_TRUNK)}
        if head.keys() != known:
            raise ValueError(f"the head has {len(head)} arrays, not {len(known)}")
        self.load_state_dict(head, strict=False)
