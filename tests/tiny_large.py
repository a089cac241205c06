"""The large judge small enough for a test: a GGUF file of two layers with random weights, and an adapter to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from made_once import made_once
from tiny_models import WORDS

from rejoinder.files import sha256_of
from rejoinder.models.catalog.entries import MODELS
from rejoinder.models.catalog.manifest import ModelManifest, write_model_manifest

NAME = "qwen2.5-coder-1.5b"
FILE = "tiny.gguf"
HIDDEN, INNER, HEADS, KEY_HEADS, LAYERS, RANK = 64, 96, 4, 2, 2, 3
ABOUT = {"licence": "CC-BY-SA-4.0", "base": "random", "data": ["made up"]}


def shapes() -> dict[str, tuple[int, int]]:
    """The matrices of a layer by their names in a GGUF file: outputs and inputs."""
    keys = HIDDEN // HEADS * KEY_HEADS
    return {
        "attn_q": (HIDDEN, HIDDEN), "attn_k": (keys, HIDDEN), "attn_v": (keys, HIDDEN), "attn_output": (HIDDEN, HIDDEN),
        "ffn_gate": (INNER, HIDDEN), "ffn_up": (INNER, HIDDEN), "ffn_down": (HIDDEN, INNER),
    }  # fmt: skip


def vocabulary() -> tuple[list[str], list[str]]:
    """Tokens and merges of a byte-level tokeniser that knows the words of the tiny models."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    core: Any = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, show_progress=False, initial_alphabet=alphabet)
    core.train_from_iterator([" ".join(WORDS)] * 3, trainer)
    import json

    model = json.loads(core.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    return tokens, [" ".join(pair) for pair in model["merges"]]


@made_once
def write_base(folder: Path, seed: int = 0) -> None:
    """Matrices in 8 bits, as published files have them; weights so large that every earlier token matters."""
    import gguf

    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    tokens, merges = vocabulary()
    writer = gguf.GGUFWriter(str(folder / FILE), "qwen2")
    writer.add_block_count(LAYERS)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_merges(merges)

    def add(name: str, values: Any, rounded: bool = False) -> None:
        values = values.astype(np.float32)
        kind = gguf.GGMLQuantizationType.Q8_0
        if rounded:
            writer.add_tensor(name, gguf.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(name, values)

    add("token_embd.weight", np.zeros((len(tokens), HIDDEN)))  # not used where there is an output
    add("output.weight", random.normal(size=(len(tokens), HIDDEN)))
    add("output_norm.weight", random.uniform(0.5, 1.5, HIDDEN))
    for layer in range(LAYERS):
        for name in ("attn_norm", "ffn_norm"):
            add(f"blk.{layer}.{name}.weight", random.uniform(0.5, 1.5, HIDDEN))
        for name, shape in shapes().items():
            add(f"blk.{layer}.{name}.weight", random.normal(size=shape) * 0.2, rounded=True)
            if name in ("attn_q", "attn_k", "attn_v"):
                add(f"blk.{layer}.{name}.bias", random.normal(size=shape[0]))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def install_base(cache: Path) -> Path:
    """Put the base where the catalog looks for it."""
    folder = write_base(cache / "models" / NAME)
    manifest = ModelManifest(NAME, str(MODELS[NAME].origin), "Apache-2.0", {FILE: sha256_of(folder / FILE)})
    write_model_manifest(folder, manifest)
    return folder / FILE


def random_adapter(seed: int = 1) -> Any:
    """An adapter to all matrices of the base."""
    from rejoinder.models.large.adapter import Adapter
    from rejoinder.models.large.gguf_file import _LAYER_NAMES

    random = np.random.default_rng(seed)
    parts = {}
    for layer in range(LAYERS):
        for name, (outputs, inputs) in shapes().items():
            parts[f"layers.{layer}.{_LAYER_NAMES[name]}.a"] = (
                random.normal(size=(RANK, inputs)).astype(np.float32) * 0.2
            )
            parts[f"layers.{layer}.{_LAYER_NAMES[name]}.b"] = (
                random.normal(size=(outputs, RANK)).astype(np.float32) * 0.2
            )
    return Adapter(parts, random.normal(size=HIDDEN).astype(np.float32) * 0.2, 0.1)


def write_adapter(folder: Path, base: Path, **options: Any) -> Path:
    """The folder of that adapter, to the base in a file."""
    from rejoinder.models.large.adapter import write_large_adapter
    from rejoinder.models.large.card import LargeBase

    write_large_adapter(folder, random_adapter(), LargeBase(NAME, sha256_of(base)), **{"about": ABOUT, **options})
    return folder
