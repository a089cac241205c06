"""The networks of `aptness` back from their folder, in float32, to be trained further."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import torch
from torch import Tensor

from rejoinder.models import aptness_card as cards
from rejoinder.models.aptness_card import AptnessCard
from rejoinder.models.aptness_graph import STATE, WORDS
from rejoinder.models.aptness_network import BiEncoder, CrossEncoder
from rejoinder.models.quantization import INT8, SCALES


def float_networks(folder: Path) -> tuple[BiEncoder, CrossEncoder]:
    """Both networks in float32, as they stand in a folder, to be trained further; needs torch and transformers."""
    from transformers import BertConfig, BertModel

    card = cards.read(folder)
    trunk: Any = BertModel
    bi = BiEncoder(trunk(BertConfig(**card.networks["bi"]), add_pooling_layer=False))
    cross = CrossEncoder(trunk(BertConfig(**card.networks["cross"]), add_pooling_layer=False))
    words = _read_words(folder, card)
    state = {name: _parameters(folder / name) for name in (cards.UTTERANCE, cards.CONTEXT, cards.REPLY, cards.CROSS)}
    bi.load_state_dict({**state[cards.UTTERANCE], **state[cards.CONTEXT], **state[cards.REPLY], WORDS: words})
    cross.load_state_dict({**state[cards.CROSS], WORDS: words.clone()})
    return bi.eval(), cross.eval()


def _parameters(path: Path) -> dict[str, Tensor]:
    """The parameters of a graph by name, but for the word embeddings."""
    import onnx
    from onnx import TensorProto, numpy_helper

    model = onnx.load(str(path), load_external_data=False)
    held = {
        constant.name: numpy_helper.to_array(constant)
        for constant in model.graph.initializer
        if constant.data_location != TensorProto.EXTERNAL
    }
    axes = {
        node.input[0].removesuffix(INT8): node.attribute[0].i
        for node in model.graph.node
        if node.op_type == "DequantizeLinear"
    }
    note = next(entry.value for entry in model.metadata_props if entry.key == STATE)
    found = {}
    for name, (constant, turned) in orjson.loads(note).items():
        values = held.get(constant)
        if values is None:
            scales = held[constant + SCALES]
            if constant in axes:
                scales = scales[:, None] if axes[constant] == 0 else scales[None]
            values = held[constant + INT8].astype(np.float32) * scales
        found[name] = torch.from_numpy(np.array(values.T if turned else values))
    return found


def _read_words(folder: Path, card: AptnessCard) -> Tensor:
    rows, width = (int(card.networks["bi"][key]) for key in ("vocab_size", "hidden_size"))
    raw = (folder / cards.EMBEDDINGS).read_bytes()
    small = np.frombuffer(raw, np.int8, rows * width).reshape(rows, width)
    scales = np.frombuffer(raw, "<f4", rows, offset=rows * width)
    return torch.from_numpy(small.astype(np.float32) * scales[:, None])
