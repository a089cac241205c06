"""Encoders and hub folders small enough for a test: two layers of random weights, a vocabulary of some words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

WORDS = "hello there how are you i am fine thanks what is the weather like in town today it rains again".split()


def write_tokenizer(folder: Path) -> None:
    """A WordPiece tokeniser of whole words and letters."""
    from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordPiece

    letters = [*"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz")]
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"?!.,", *letters, *(w for w in WORDS if len(w) > 1)]
    tokenizer = Tokenizer(WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))


def write_encoder(folder: Path, kind: str = "bert", max_tokens: int = 32, pooling: str | None = None) -> Path:
    """A transformers folder of a random encoder."""
    pytest.importorskip("torch", reason="the torch extra is not installed")
    import torch
    from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder)
    torch.manual_seed(0)
    shape: dict[str, Any] = {"vocab_size": 96, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4}
    shape |= {"intermediate_size": 64, "initializer_range": 0.3}
    if kind == "bert":
        model: Any = BertModel(BertConfig(max_position_embeddings=max_tokens, **shape))
    else:
        config = RobertaConfig(max_position_embeddings=max_tokens + 2, pad_token_id=1, type_vocab_size=1, **shape)
        model = RobertaModel(config)
    model.save_pretrained(folder)
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": max_tokens}))
    if pooling:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps({pooling: True}))
    return folder
