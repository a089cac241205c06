"""GRADE's network (Huang et al. 2020) as its authors released it: BERT over the texts, graph attention over keywords.

Two oddities of the released code affect its scores and are reproduced. The attention lists its pairs of nodes in
another order than it reads them, so that the score of the edge (p, q) comes from two other nodes. And missing edges
take part in the softmax with a score of 0, which runs over the attending nodes rather than the attended ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertConfig, BertModel

from rejoinder.models.translation.checkpoint import fill_network, weight_shape

_LINEAR = {
    "near": "linear_onehop_weight",
    "far": "linear_twohop_weight",
    "topic": "linear1",
    "utterance": "linear2_1",
    "joint": "linear3",
    "last": "linear4_1",
    "score": "linear5",
}
_BERT = {
    "embeddings.word_embeddings.weight": "word_embedder._embedding",
    "embeddings.token_type_embeddings.weight": "segment_embedder._embedding",
    "embeddings.position_embeddings.weight": "position_embedder._embedding",
    "embeddings.LayerNorm": "encoder.input_normalizer",
    "pooler.dense": "pooler.0",
}
_BERT_LAYER = {
    "attention.self.query": "self_attns.{}.Q_dense",
    "attention.self.key": "self_attns.{}.K_dense",
    "attention.self.value": "self_attns.{}.V_dense",
    "attention.output.dense": "self_attns.{}.O_dense",
    "attention.output.LayerNorm": "poswise_layer_norm.{}",
    "intermediate.dense": "poswise_networks.{}._layers.0",
    "output.dense": "poswise_networks.{}._layers.2",
    "output.LayerNorm": "output_layer_norm.{}",
}


def grade_weight_name(name: str) -> str:
    """Return the name of one of our parameters in the authors' checkpoint."""
    first, _, rest = name.partition(".")
    if first == "bert":
        return f"bert_encoder.{_bert_name(rest)}"
    if first == "keywords":
        return "word_embedder._embedding"
    if first == "attention":
        layer, _, head, part = rest.split(".")
        return f"gat_{int(layer) + 1}.heads.{head}.{'W' if part == 'project' else 'a'}"
    if first == "whole":
        layer, part = rest.split(".")
        return f"linear0_{int(layer) + 1}._linear_layer.{part}"
    return f"{_LINEAR[first]}._linear_layer.{rest}"


def _bert_name(name: str) -> str:
    if name in _BERT:
        return _BERT[name]
    module, _, part = name.rpartition(".")
    if module in _BERT:
        return f"{_BERT[module]}.{part}"
    _, _, layer, inner = module.split(".", 3)
    return f"encoder.{_BERT_LAYER[inner].format(layer)}.{part}"


LAYERS = 3  # of graph attention
_HEAD_SIZE = 64  # dimension of an attention head, in BERT of every size


@dataclass(frozen=True)
class GradeSizes:
    """The sizes of the network, from the shapes of the weights."""

    tokens: int
    positions: int
    hidden: int
    inner: int
    layers: int
    keywords: int
    dimensions: int
    nodes: int
    heads: int
    topic: int
    joint: int
    last: int


class GraphAttention(nn.Module):
    """One layer of graph attention, as released."""

    def __init__(self, dimensions: int, heads: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList(AttentionHead(dimensions, dimensions // heads) for _ in range(heads))

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        """Map (rows, nodes, dimensions) and (rows, nodes, nodes) to (rows, nodes, dimensions)."""
        return torch.cat([head(nodes, edges) for head in self.heads], dim=-1)


class AttentionHead(nn.Module):
    """One head: which nodes a node takes its new vector from."""

    def __init__(self, dimensions: int, width: int) -> None:
        super().__init__()
        self.project = nn.Parameter(torch.zeros(dimensions, width))
        self.compare = nn.Parameter(torch.zeros(2 * width, 1))

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        """Return the nodes' new vectors, (rows, nodes, width)."""
        projected = nodes @ self.project
        n, width = projected.shape[1:]
        order = torch.arange(n)
        # First every node n times in a row, then all of them n times; two neighbours in this sequence make one pair.
        line = torch.cat([order.repeat_interleave(n), order.repeat(n)])
        first = (projected @ self.compare[:width]).squeeze(-1)
        second = (projected @ self.compare[width:]).squeeze(-1)
        scores = functional.leaky_relu(first[:, line[0::2]] + second[:, line[1::2]], 0.2).view(-1, n, n)
        weights = torch.softmax(torch.where(edges > 0, scores * edges, 0.0), dim=1)
        return weights @ projected


class GradeNetwork(nn.Module):
    """The score of a pair from its tokens and the graph of its keywords."""

    def __init__(self, sizes: GradeSizes) -> None:
        super().__init__()
        s = sizes
        config = BertConfig(
            vocab_size=s.tokens,
            hidden_size=s.hidden,
            num_hidden_layers=s.layers,
            num_attention_heads=max(1, s.hidden // _HEAD_SIZE),
            intermediate_size=s.inner,
            max_position_embeddings=s.positions,
        )
        bert: Any = BertModel
        self.bert = bert(config)
        self.keywords = nn.Embedding(s.keywords, s.dimensions)
        line = s.nodes * s.dimensions
        self.near = nn.Linear(line, s.dimensions)
        self.far = nn.Linear(line, s.dimensions)
        self.attention = nn.ModuleList(GraphAttention(s.dimensions, s.heads) for _ in range(LAYERS))
        self.whole = nn.ModuleList(nn.Linear(line, s.dimensions) for _ in range(LAYERS))
        self.topic = nn.Linear(s.dimensions, s.topic)
        self.utterance = nn.Linear(s.hidden, s.topic)
        self.joint = nn.Linear(2 * s.topic, s.joint)
        self.last = nn.Linear(s.joint, s.last)
        self.score = nn.Linear(s.last, 1)

    def forward(self, tokens: Mapping[str, Tensor], graph: Mapping[str, Tensor]) -> Tensor:
        """Return the coherence of each pair, from 0 to 1."""
        topic = functional.elu(self.topic(self.graph(**graph)))
        utterance = self.utterance(self.bert(**tokens).pooler_output)
        joint = functional.elu(self.joint(torch.cat([utterance, topic], dim=-1)))
        logits: Tensor = self.score(functional.elu(self.last(joint))).squeeze(-1)
        return torch.sigmoid(logits)

    def graph(self, ids: Tensor, lengths: Tensor, near: Tensor, far: Tensor, edges: Tensor) -> Tensor:
        """Return the vector of a graph: the sum over all positions, with padding, divided by the length without it."""
        nodes = self.keywords(ids)
        # One linear layer over the concatenated neighbours of all nodes: the same vector is added to every node.
        nodes = nodes + self.near(near.flatten(1)).unsqueeze(1) + self.far(far.flatten(1)).unsqueeze(1)
        for attention, whole in zip(self.attention, self.whole, strict=True):
            nodes = functional.elu(whole(nodes.flatten(1)).unsqueeze(1) + attention(nodes, edges))
        vector: Tensor = nodes.sum(1) / lengths.unsqueeze(1)
        return vector


def load_grade_network(weights: Mapping[str, Any], path: Path) -> GradeNetwork:
    """Return the network of the authors' checkpoint; raise if a weight is missing or has another shape."""
    network = GradeNetwork(read_grade_sizes(weights, path))
    filled: GradeNetwork = fill_network(
        network, weights, {name: grade_weight_name(name) for name in network.state_dict()}, path
    )
    return filled


def read_grade_sizes(weights: Mapping[str, Any], path: Path) -> GradeSizes:
    """Return the sizes of a checkpoint's network."""

    def shape(name: str) -> tuple[int, ...]:
        return weight_shape(weights, name, path)

    tokens, hidden = shape("bert_encoder.word_embedder._embedding")
    keywords, dimensions = shape("word_embedder._embedding")
    return GradeSizes(
        tokens,
        shape("bert_encoder.position_embedder._embedding")[0],
        hidden,
        shape("bert_encoder.encoder.poswise_networks.0._layers.0.weight")[0],
        _count_modules(weights, "bert_encoder.encoder.self_attns.", 3),
        keywords,
        dimensions,
        shape("linear0_1._linear_layer.weight")[1] // dimensions,
        max(1, _count_modules(weights, "gat_1.heads.", 2)),
        shape("linear1._linear_layer.weight")[0],
        shape("linear3._linear_layer.weight")[0],
        shape("linear4_1._linear_layer.weight")[0],
    )


def _count_modules(weights: Mapping[str, Any], prefix: str, place: int) -> int:
    return len({name.split(".")[place] for name in weights if name.startswith(prefix)})
