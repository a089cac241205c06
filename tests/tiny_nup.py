"""A network of `nup` made without torch: the largest value of each embedding over a pair's tokens, weighed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.files import sha256_of
from rejoinder.models.aptness_card import AptnessLimits, SpecialTokens
from rejoinder.models.card import write_model_card
from rejoinder.models.nup import model as cards


def write(folder: Path, tokenizer: Any, dimensions: int = 8, seed: int = 0) -> Path:
    """The folder of a random network over a tokeniser's words."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / cards.TOKENIZER))
    random = np.random.default_rng(seed)
    embeddings = random.normal(size=(tokenizer.get_vocab_size(), dimensions)).astype(np.float32)
    _write_graph(folder / cards.GRAPH, embeddings, random.normal(size=dimensions).astype(np.float32))
    marks = SpecialTokens(*(tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]", "[MASK]", "[PAD]")))
    files = {name: sha256_of(folder / name) for name in (cards.GRAPH, cards.TOKENIZER)}
    card = cards.NupCard(files, marks, AptnessLimits(context_tokens=25, reply_tokens=25), {"licence": "none"})
    write_model_card(folder / cards.CARD_FILE, card)
    return folder


def _write_graph(path: Path, embeddings: Any, head: Any) -> None:
    from onnx import TensorProto, helper, numpy_helper, save

    nodes = [
        helper.make_node("Gather", ["embeddings", "input_ids"], ["own"]),
        helper.make_node("Cast", ["token_type_ids"], ["kinds"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["kinds", "last"], ["kind"]),
        helper.make_node("Add", ["own", "kind"], ["placed"]),  # a token says more as a part of the reply
        helper.make_node("Cast", ["attention_mask"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["real", "last"], ["kept"]),
        helper.make_node("Sub", ["kept", "one"], ["away"]),
        helper.make_node("Mul", ["away", "far"], ["pushed"]),
        helper.make_node("Add", ["placed", "pushed"], ["seen"]),
        helper.make_node("ReduceMax", ["seen"], ["pooled"], axes=[1], keepdims=0),
        helper.make_node("MatMul", ["pooled", "head"], ["log_odds"]),
    ]
    constants = {"embeddings": embeddings, "head": head, "last": np.array([2])}
    constants |= {"one": np.array(1, np.float32), "far": np.array(1e4, np.float32)}
    names = ("input_ids", "attention_mask", "token_type_ids")
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["r", "t"]) for name in names],
        [helper.make_tensor_value_info("log_odds", TensorProto.FLOAT, ["r"])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
