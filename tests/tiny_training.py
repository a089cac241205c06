"""What a training starts from, small enough for a test: a BERT of one layer whose marks have BERT's ids, and talks."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tiny_models

from rejoinder.files import sha256_of
from rejoinder.models.catalog.manifest import ModelManifest, write_model_manifest
from rejoinder.types import Dialogue, Turn

TOPICS = {
    "animals": "cat dog sat mat ran".split(),
    "travel": "train leaves nine see soon".split(),
    "feelings": "like love good bad fine".split(),
}
SPLITS = ("train", "train", "train", "valid", "test")


@cache
def tokenizer() -> str:
    """The words of the tiny models at the places that BERT's vocabulary gives its marks."""
    found = json.loads(tiny_models.word_pieces().to_str())
    unused = [f"[unused{i}]" for i in range(99)]
    words = [word for word in found["model"]["vocab"] if word not in tiny_models.MARKS]
    names = ["[PAD]", *unused, "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    found["model"]["vocab"] = {name: i for i, name in enumerate(names)}
    for token in found["added_tokens"]:
        token["id"] = names.index(token["content"])
    for mark, token in found["post_processor"]["special_tokens"].items():
        token["ids"] = [names.index(mark)]
    return json.dumps(found)


def trunk(seed: int = 0, layers: int = 1, **changed: Any) -> Any:
    """A BERT of random weights."""
    torch = pytest.importorskip("torch", reason="the torch extra is not installed")
    from transformers import BertConfig, BertModel

    shape: dict[str, Any] = {
        "vocab_size": len(json.loads(tokenizer())["model"]["vocab"]),
        "hidden_size": 16,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "max_position_embeddings": 256,
        "initializer_range": 0.4,  # so that texts differ, as they do in a trained model
    }
    network: Any = BertModel
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return network(BertConfig(**{**shape, **changed}), add_pooling_layer=False).eval()


def mpnet_tokenizer() -> str:
    """The same words with MPNet's special tokens: four before BERT's vocabulary, and one after it."""
    found = json.loads(tokenizer())
    names = ["<s>", "<pad>", "</s>", "<unk>", *found["model"]["vocab"], "<mask>"]
    found["model"]["vocab"] = {name: i for i, name in enumerate(names)}
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    marks = ("<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>")
    found["added_tokens"] = [{"id": names.index(mark), "content": mark, **plain, "special": True} for mark in marks]
    processor = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]}
    found["post_processor"] = {**processor, "trim_offsets": True, "add_prefix_space": False}
    return json.dumps(found)


def mpnet(seed: int = 0) -> Any:
    """An MPNet of random weights."""
    torch = pytest.importorskip("torch", reason="the torch extra is not installed")
    from transformers import MPNetConfig, MPNetModel

    shape: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    words = len(json.loads(mpnet_tokenizer())["model"]["vocab"])
    network: Any = MPNetModel
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = MPNetConfig(
            vocab_size=words, intermediate_size=32, max_position_embeddings=258, initializer_range=0.4, **shape
        )
        return network(config, add_pooling_layer=False).eval()


def install(cache_folder: Path, name: str = "minilm", **changed: Any) -> Path:
    """Put a base under a name of the catalog into a cache."""
    folder = cache_folder / "models" / name
    folder.mkdir(parents=True, exist_ok=True)
    is_mpnet = name == "mpnet"
    (mpnet() if is_mpnet else trunk(**changed)).save_pretrained(folder)
    (folder / "tokenizer.json").write_text(mpnet_tokenizer() if is_mpnet else tokenizer(), encoding="utf-8")
    files = {path.name: sha256_of(path) for path in sorted(folder.iterdir()) if path.name != "manifest.json"}
    write_model_manifest(folder, ModelManifest(name, "made by a test", "none", files))
    return folder


def talks(n: int = 20, corpora: tuple[str, ...] = ("shop", "street"), seed: int = 0) -> list[Dialogue]:
    """Dialogues that each keep to one topic, so that there is something to learn, over all splits."""
    rng = random.Random(seed)
    fillers = "the a is it so and yes no".split()
    found = []
    for corpus in corpora:
        for i in range(n):
            topic = TOPICS[rng.choice(sorted(TOPICS))]
            turns = [
                Turn(f"{' '.join(rng.choices(topic, k=rng.randint(2, 4)))} {rng.choice(fillers)}{rng.choice('.?!')}")
                for _ in range(rng.randint(2, 9))
            ]
            found.append(Dialogue(f"{corpus}-{i}", tuple(turns), corpus, SPLITS[i % len(SPLITS)]))
    return found
