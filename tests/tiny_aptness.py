"""The networks of `aptness` small enough for a test: two layers of random weights, a vocabulary of some words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tiny_models

CALIBRATION = {
    "both": {"bi": 2.0, "cross": 0.5, "bias": -0.3},
    "bi": {"bi": 3.0, "bias": 0.1},
    "cross": {"cross": 0.7, "copied": -1.0, "bias": 0.2},
}
CARD = {"licence": "none", "base": "random", "seed": 0, "data": ["made up"], "measured": {}}


def tokenizer() -> str:
    """The words of the tiny models, and the mark that stands between utterances."""
    found = json.loads(tiny_models.word_pieces().to_str())
    found["model"]["vocab"]["[unused0]"] = len(found["model"]["vocab"])
    return json.dumps(found)


def networks(seed: int = 0, layers: int = 2, positions: int = 256) -> tuple[Any, Any]:
    """A bi-encoder and a cross-encoder with the same word embeddings."""
    torch = pytest.importorskip("torch", reason="the torch extra is not installed")
    from transformers import BertConfig, BertModel

    from rejoinder.models.aptness.network import BiEncoder, CrossEncoder

    config: dict[str, Any] = {
        "vocab_size": len(json.loads(tokenizer())["model"]["vocab"]),
        "hidden_size": 32,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": positions,
        "initializer_range": 0.4,  # so that texts differ, as they do in a trained model
    }
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(seed)
        network: Any = BertModel
        bi = BiEncoder(network(BertConfig(num_hidden_layers=layers, **config)))
        cross = CrossEncoder(network(BertConfig(num_hidden_layers=2, **config)))
        cross.trunk.embeddings.word_embeddings.weight.copy_(bi.trunk.embeddings.word_embeddings.weight)
        for weights in [bi.context.places, bi.context.gate, bi.reply.place, cross.head.weight]:
            weights += 0.3 * torch.randn_like(weights)
        for head in (bi.context, bi.reply):
            head.refine.narrow.weight.normal_(std=0.2)
    return bi.eval(), cross.eval()


def write(folder: Path, about: dict[str, Any] | None = None, **options: Any) -> Path:
    """The folder of an exported pair; ``about`` replaces what its card says of where it comes from."""
    pytest.importorskip("torch", reason="the torch extra is not installed")
    from rejoinder.models.aptness.export import export_pair

    bi, cross = networks(**options)
    export_pair(bi, cross, tokenizer(), CALIBRATION, about or CARD, folder)
    return folder
