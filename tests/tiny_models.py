"""Tiny models that tests make themselves: nothing is fetched, and each is written in a fraction of a second.

``install(cache)`` puts an encoder and word vectors under the names of the catalog, so that a metric with its default
parameters finds its model.
"""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tiny_nup
from made_once import made_once

from rejoinder.files import sha256_of
from rejoinder.models.catalog.manifest import ModelManifest, write_model_manifest
from rejoinder.models.encoder import card as cards
from rejoinder.models.word_vectors.model import MATRIX, VOCABULARY

MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = (
    "the a i you we it is was are not no yes so and to of in on at what about think train leaves nine cat dog sat "
    "mat ran fast how do don't can help see soon fine thanks ok maybe good bad night day very much like love ha"
).split()
MAX_TOKENS = 64


@made_once
def install(cache: Path) -> None:
    """Put tiny models under the names ``minilm`` and ``glove-6b-50d`` into a cache."""
    write_exported_encoder(cache / "models" / "minilm")
    write_word_vectors(cache / "models" / "glove-6b-50d")
    for name in ("minilm", "glove-6b-50d"):
        folder = cache / "models" / name
        files = {path.name: sha256_of(path) for path in sorted(folder.iterdir())}
        write_model_manifest(folder, ModelManifest(name, "made by a test", "none", files))
    tiny_nup.write(cache / "nup", word_pieces())


def write_word_vectors(folder: Path, dimensions: int = 12, seed: int = 0) -> Path:
    """Random vectors of the words above and of single letters."""
    folder.mkdir(parents=True, exist_ok=True)
    words = [*WORDS, *(letter for letter in string.ascii_lowercase if letter not in WORDS)]
    np.save(folder / MATRIX, np.random.default_rng(seed).normal(size=(len(words), dimensions)).astype(np.float32))
    (folder / VOCABULARY).write_text("\n".join(words) + "\n", encoding="utf-8", newline="\n")
    return folder


def write_exported_encoder(folder: Path, dimensions: int = 16, seed: int = 0) -> Path:
    """An exported encoder without torch: a token's vector is tanh(W (its embedding + the text's mean embedding))."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = word_pieces()
    tokenizer.save(str(folder / cards.TOKENIZER))
    random = np.random.default_rng(seed)
    embeddings = random.normal(size=(tokenizer.get_vocab_size(), dimensions)).astype(np.float32)
    mixing = (random.normal(size=(dimensions, dimensions)) / dimensions**0.5).astype(np.float32)
    _write_graph(folder / cards.GRAPH, embeddings, mixing)
    card = cards.EncoderCard("tiny", dimensions, MAX_TOKENS, source="tiny", graph=sha256_of(folder / cards.GRAPH))
    cards.write_encoder_card(folder, card)
    return folder


def _write_graph(path: Path, embeddings: Any, mixing: Any) -> None:
    from onnx import TensorProto, helper, numpy_helper, save

    nodes = [
        helper.make_node("Gather", ["embeddings", "input_ids"], ["own"]),
        helper.make_node("Cast", ["attention_mask"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["real", "last"], ["weight"]),
        helper.make_node("Mul", ["own", "weight"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "second"], ["sum"], keepdims=1),
        helper.make_node("ReduceSum", ["weight", "second"], ["count"], keepdims=1),
        helper.make_node("Div", ["sum", "count"], ["mean"]),
        helper.make_node("Add", ["own", "mean"], ["both"]),
        helper.make_node("MatMul", ["both", "mixing"], ["mixed"]),
        helper.make_node("Tanh", ["mixed"], ["token_vectors"]),
    ]
    constants = {"embeddings": embeddings, "mixing": mixing, "last": np.array([2]), "second": np.array([1])}
    given = [helper.make_tensor_value_info(n, TensorProto.INT64, ["r", "t"]) for n in ("input_ids", "attention_mask")]
    graph = helper.make_graph(
        nodes,
        "tiny",
        given,
        [helper.make_tensor_value_info("token_vectors", TensorProto.FLOAT, ["r", "t", embeddings.shape[1]])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))


def write_transformers_encoder(
    folder: Path, kind: Literal["bert", "roberta"] = "bert", space_first: bool = False, seed: int = 0
) -> Path:
    """A random encoder of 2 layers and 32 numbers a token as transformers saves it; needs torch."""
    import torch
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    core = word_pieces() if kind == "bert" else byte_pairs(space_first)
    shape: dict[str, Any] = {
        "vocab_size": core.get_vocab_size(),
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 64,
        "max_position_embeddings": MAX_TOKENS + 2,
        "initializer_range": 0.4,  # so that tokens differ, as they do in a trained model
    }
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        if kind == "bert":
            network: Any = transformers.BertModel(transformers.BertConfig(**shape))
        else:
            marks = {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}
            network = transformers.RobertaModel(transformers.RobertaConfig(**shape, **marks))
        network.save_pretrained(folder)
    if kind == "bert":
        transformers.BertTokenizer(tokenizer_object=core, model_max_length=MAX_TOKENS).save_pretrained(folder)
    else:
        transformers.RobertaTokenizer(
            tokenizer_object=core, model_max_length=MAX_TOKENS, add_prefix_space=space_first
        ).save_pretrained(folder)
    return folder


def word_pieces() -> Any:
    """A lower-casing WordPiece tokeniser over the words above and all letters."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    signs = [*string.ascii_lowercase, *string.digits, *".,!?'"]
    words = [word for word in WORDS if word.isalpha() and word not in signs]
    tokens = [*MARKS, *signs, *("##" + sign for sign in signs), *words]
    core = Tokenizer(models.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    marks = [(mark, tokens.index(mark)) for mark in ("[CLS]", "[SEP]")]
    core.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=marks)
    core.add_special_tokens(MARKS)
    return core


def byte_pairs(space_first: bool) -> Any:
    """A byte-level BPE tokeniser such as RoBERTa's, trained on the words above; it may put a space before each text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    core = Tokenizer(models.BPE(unk_token="<unk>"))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, show_progress=False, special_tokens=marks, initial_alphabet=alphabet)
    core.train_from_iterator([" ".join(WORDS)] * 3, trainer)
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=space_first)
    core.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=space_first)
    return core
