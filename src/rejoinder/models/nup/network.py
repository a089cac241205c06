"""The network of `nup` as a torch module, and its export to a folder that needs no torch."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rejoinder.files import sha256_of
from rejoinder.models.aptness_card import AptnessLimits, SpecialTokens
from rejoinder.models.card import write_model_card
from rejoinder.models.device import silence_transformers
from rejoinder.models.nup import model as cards
from rejoinder.models.nup.model import NupCard
from rejoinder.models.onnx.quantization import quantize_weights

_OPSET = 17


class NextUtteranceNetwork(nn.Module):
    """An encoder of context and reply together; its token vectors max-pooled, one layer, two classes (Phy et al.)."""

    def __init__(self, trunk: Any, dropout: float = 0.2) -> None:
        super().__init__()
        self.trunk = trunk
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(int(trunk.config.hidden_size), 2)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the log-odds that each reply is the next utterance, all that a softmax of two classes depends on."""
        states = self.trunk(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        pooled = states.masked_fill(attention_mask.unsqueeze(-1) == 0, -1e4).max(dim=1).values
        classes: Tensor = self.head(self.dropout(pooled))
        return classes[:, 1] - classes[:, 0]


def export_nup(
    network: NextUtteranceNetwork,
    tokenizer: str,
    marks: SpecialTokens,
    limits: AptnessLimits,
    about: dict[str, Any],
    target: Path,
) -> NupCard:
    """Write a network into a folder: graph with int8 weights, tokeniser, card."""
    target.mkdir(parents=True, exist_ok=True)
    network = network.eval().cpu()
    network.trunk.set_attn_implementation("eager")
    ids = torch.full((2, 7), 3)
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    kinds = mask * (torch.arange(7) > 3)
    axes = {0: "rows", 1: "tokens"}
    names = ["input_ids", "attention_mask", "token_type_ids"]
    with torch.no_grad(), silence_transformers(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tracer's remarks on constants and on its own deprecation
        torch.onnx.export(
            network,
            (ids, mask, kinds),
            str(target / cards.GRAPH),
            input_names=names,
            output_names=["log_odds"],
            dynamic_axes={**dict.fromkeys(names, axes), "log_odds": {0: "rows"}},
            opset_version=_OPSET,
            dynamo=False,
        )
    quantize_weights(target / cards.GRAPH, target / cards.GRAPH)
    (target / cards.TOKENIZER).write_text(tokenizer, encoding="utf-8", newline="")
    files = {name: sha256_of(target / name) for name in (cards.GRAPH, cards.TOKENIZER)}
    card = NupCard(files, marks, limits, about)
    write_model_card(target / cards.CARD_FILE, card)
    return card
