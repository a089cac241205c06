"""The two networks of `aptness` as torch modules, for training and for exporting the shipped graphs.

The *bi-encoder* reads each utterance on its own, once: the same vector is used for it in any context and as a reply, so
each turn of a dialogue needs one encoding. A context's vector is computed from the vectors of its last utterances. The
*cross-encoder* reads context and reply together.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.models import aptness_card as cards
from rejoinder.models.aptness.graph import STATE, WORD_EMBEDDINGS
from rejoinder.models.aptness_card import AptnessCard
from rejoinder.models.onnx.quantization import INT8, SCALES

MPNET = "mpnet"  # the type of trunks with relative positions (Song et al. 2020); the others are BERTs
UTTERANCES = 6  # the last ones of a context, which the bi-encoder uses


class ContextHead(nn.Module):
    """From the vectors of a context's last utterances, newest first, to the context's vector of length 1."""

    def __init__(self, dimensions: int, utterances: int = UTTERANCES) -> None:
        super().__init__()
        self.places = nn.Parameter(torch.eye(dimensions).repeat(utterances, 1, 1))
        self.gate = nn.Parameter(torch.zeros(utterances, dimensions))
        self.recency = nn.Parameter(-1.5 * torch.arange(utterances, dtype=torch.float32).clamp(max=3))
        self.refine = Refinement(dimensions)

    def forward(self, utterances: Tensor, mask: Tensor) -> Tensor:
        """Map (rows, utterances, dimensions), and a mask of those present, to (rows, dimensions)."""
        scale = utterances.shape[-1] ** 0.5  # the entries of a vector of length 1 are small
        logits = scale * (utterances * self.gate).sum(-1) + self.recency
        weights = torch.softmax(logits.masked_fill(mask == 0, -1e4), dim=1)
        projected = torch.einsum("rud,ude->rue", utterances, self.places)
        vectors: Tensor = self.refine((weights.unsqueeze(-1) * projected).sum(1))
        return vectors


class ReplyHead(nn.Module):
    """From an utterance's vector to its vector as a reply, of length 1."""

    def __init__(self, dimensions: int) -> None:
        super().__init__()
        self.place = nn.Parameter(torch.eye(dimensions))
        self.refine = Refinement(dimensions)

    def forward(self, utterances: Tensor) -> Tensor:
        """Map (rows, dimensions) to (rows, dimensions)."""
        vectors: Tensor = self.refine(utterances @ self.place)
        return vectors


class Refinement(nn.Module):
    """A vector plus what one hidden layer adds to it, scaled to length 1; initially the layer adds nothing."""

    def __init__(self, dimensions: int) -> None:
        super().__init__()
        self.widen = nn.Linear(dimensions, 2 * dimensions)
        self.narrow = nn.Linear(2 * dimensions, dimensions)
        nn.init.zeros_(self.narrow.weight)
        nn.init.zeros_(self.narrow.bias)

    def forward(self, vectors: Tensor) -> Tensor:
        scale = vectors.shape[-1] ** 0.5
        added: Tensor = self.narrow(functional.gelu(self.widen(scale * vectors))) / scale
        return functional.normalize(vectors + added, dim=-1)


class BiEncoder(nn.Module):
    """An encoder of utterances with a head for contexts and one for replies."""

    def __init__(self, trunk: Any) -> None:
        super().__init__()
        self.trunk = trunk
        dimensions = int(trunk.config.hidden_size)
        self.context = ContextHead(dimensions)
        self.reply = ReplyHead(dimensions)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the vector of each utterance: the mean of its token vectors, scaled to length 1."""
        states = self.trunk(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return functional.normalize(masked_mean(states, attention_mask), dim=-1)


class CrossEncoder(nn.Module):
    """An encoder of context and reply together; ``features`` is the pair's vector for a frozen model."""

    def __init__(self, trunk: Any) -> None:
        super().__init__()
        self.trunk = trunk
        dimensions = int(trunk.config.hidden_size)
        self.gather = nn.Linear(4 * dimensions, dimensions)
        self.head = nn.Linear(dimensions, 1)

    def features(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the vector of a pair before the head: its first token, both means and their product, in one layer."""
        # MPNet has no segments: it tells context and reply apart by the mark between them.
        segments = {} if self.trunk.config.model_type == MPNET else {"token_type_ids": token_type_ids}
        states = self.trunk(input_ids=input_ids, attention_mask=attention_mask, **segments).last_hidden_state
        context = masked_mean(states, attention_mask * (1 - token_type_ids))
        reply = masked_mean(states, attention_mask * token_type_ids)
        gathered: Tensor = self.gather(torch.cat([states[:, 0], context, reply, context * reply], dim=-1))
        return torch.tanh(gathered)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the log-odds of each pair."""
        odds: Tensor = self.head(self.features(input_ids, attention_mask, token_type_ids))
        return odds.squeeze(-1)


def masked_mean(states: Tensor, mask: Tensor) -> Tensor:
    """Return the mean of the states that the mask selects; zeros if it selects none."""
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


def float_networks(folder: Path) -> tuple[BiEncoder, CrossEncoder]:
    """Load both networks of a folder in float32, for further training; needs torch and transformers."""
    card = cards.read_aptness_card(folder)
    bi = BiEncoder(_build_trunk(card.networks["bi"]))
    cross = CrossEncoder(_build_trunk(card.networks["cross"]))
    words = _read_words(folder, card)
    state = {
        name: _read_parameters(folder / name) for name in (cards.UTTERANCE, cards.CONTEXT, cards.REPLY, cards.CROSS)
    }
    bi.load_state_dict({**state[cards.UTTERANCE], **state[cards.CONTEXT], **state[cards.REPLY], WORD_EMBEDDINGS: words})
    cross.load_state_dict({**state[cards.CROSS], WORD_EMBEDDINGS: words.clone()})
    return bi.eval(), cross.eval()


def _build_trunk(shape: Mapping[str, Any]) -> Any:
    """Return a trunk with random weights."""
    from transformers import BertConfig, BertModel, MPNetConfig, MPNetModel

    sizes = {key: value for key, value in shape.items() if key != "model_type"}
    network: Any = BertModel
    if shape.get("model_type") != MPNET:
        return network(BertConfig(**sizes), add_pooling_layer=False)
    network = MPNetModel
    trunk = network(MPNetConfig(**sizes), add_pooling_layer=False)
    embeddings = trunk.embeddings
    for part in (embeddings, embeddings.word_embeddings, embeddings.position_embeddings):
        part.padding_idx = sizes["pad_token_id"]  # from which it counts positions
    return trunk


def _read_parameters(path: Path) -> dict[str, Tensor]:
    """Return the parameters of a graph by name, except for the word embeddings."""
    import onnx
    from onnx import TensorProto, numpy_helper

    model = onnx.load(str(path), load_external_data=False)
    constants = {
        constant.name: numpy_helper.to_array(constant)
        for constant in model.graph.initializer
        if constant.data_location != TensorProto.EXTERNAL
    }
    axes = {
        node.input[0].removesuffix(INT8): node.attribute[0].i
        for node in model.graph.node
        if node.op_type == "DequantizeLinear"
    }
    metadata = next(entry.value for entry in model.metadata_props if entry.key == STATE)
    parameters = {}
    for name, (constant, is_transposed) in orjson.loads(metadata).items():
        values = constants.get(constant)
        if values is None:
            scales = constants[constant + SCALES]
            if constant in axes:
                scales = scales[:, None] if axes[constant] == 0 else scales[None]
            values = constants[constant + INT8].astype(np.float32) * scales
        parameters[name] = torch.from_numpy(np.array(values.T if is_transposed else values))
    return parameters


def _read_words(folder: Path, card: AptnessCard) -> Tensor:
    rows, width = (int(card.networks["bi"][key]) for key in ("vocab_size", "hidden_size"))
    raw = (folder / cards.EMBEDDINGS).read_bytes()
    small = np.frombuffer(raw, np.int8, rows * width).reshape(rows, width)
    scales = np.frombuffer(raw, "<f4", rows, offset=rows * width)
    return torch.from_numpy(small.astype(np.float32) * scales[:, None])
