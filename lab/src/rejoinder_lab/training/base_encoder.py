"""The encoder that a training starts from: a BERT of the catalog whose special tokens have BERT's ids, or MPNet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import torch

from rejoinder.errors import InputError
from rejoinder.models.aptness.network import MPNET
from rejoinder.models.aptness_card import AptnessLimits
from rejoinder.models.catalog.manifest import require_model
from rejoinder.models.device import silence_transformers
from rejoinder_lab.training.aptness.mpnet import renumber_tokenizer, renumber_trunk
from rejoinder_lab.training.token_rows import FIRST, LAST, MASKED
from rejoinder_lab.training.tokens import BETWEEN

_FILES = ("config.json", "model.safetensors", "tokenizer.json")
BERT = "bert"
_TYPES = {BERT: "BERT", MPNET: "MPNet"}  # of networks, as their configurations name them: the usual spelling
_SPECIAL_IDS = {"[PAD]": 0, "[unused0]": BETWEEN, "[CLS]": FIRST, "[SEP]": LAST, "[MASK]": MASKED}


class BaseEncoder(NamedTuple):
    """A folder with a network as transformers saves it, and the text of its ``tokenizer.json`` with BERT's ids."""

    folder: Path
    tokenizer: str


def open_base_encoder(name: str, types: Sequence[str] = (BERT,)) -> BaseEncoder:
    """Return a model of the catalog that can be trained further; a problem with it is an error before any training."""
    folder = require_model(name)
    for file in _FILES:
        if not (folder / file).is_file():
            raise InputError(
                f"the model {name!r} cannot be trained further: it has no {file}; name a BERT, e.g. minilm"
            )
    config = orjson.loads((folder / "config.json").read_bytes())
    tokenizer = (folder / "tokenizer.json").read_text(encoding="utf-8")
    encoder = BaseEncoder(folder, renumber_tokenizer(tokenizer) if config.get("model_type") == MPNET else tokenizer)
    if problem := _find_problem(config, encoder.tokenizer, types):
        raise InputError(f"the model {name!r} cannot be trained further: {problem}; name another BERT, e.g. minilm")
    return encoder


def _find_problem(config: dict[str, Any], tokenizer: str, types: Sequence[str]) -> str | None:
    """Return why a network and its tokeniser cannot be used: batches and the packed pass rely on these properties."""
    from tokenizers import Tokenizer

    if config.get("model_type") not in types or config.get("hidden_act") != "gelu":
        known = " or ".join(_TYPES[name] for name in types)
        return f"it is not a {known} with gelu ({config.get('model_type')}, {config.get('hidden_act')})"
    limits = AptnessLimits()
    needed = max(limits.utterance_tokens, limits.context_tokens + limits.reply_tokens + 3)
    if config.get("max_position_embeddings", 0) < needed:
        return f"it reads {config.get('max_position_embeddings', 0)} tokens and {needed} are needed"
    encoder = Tokenizer.from_str(tokenizer)
    for token, expected in _SPECIAL_IDS.items():
        if (token_id := encoder.token_to_id(token)) != expected:
            return f"its tokeniser has {token} as {'nothing' if token_id is None else token_id}, not as {expected}"
    return None


def open_trunk(folder: Path) -> Any:
    """Return the network of a folder, without its pooling layer; it reads BERT's ids."""
    from transformers import BertModel, MPNetModel

    is_mpnet = orjson.loads((folder / "config.json").read_bytes()).get("model_type") == MPNET
    network: Any = MPNetModel if is_mpnet else BertModel
    with silence_transformers():
        trunk = network.from_pretrained(folder, add_pooling_layer=False, dtype=torch.float32)
    return renumber_trunk(trunk) if is_mpnet else trunk
