"""The torch module of GRADE trained here."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

_LAYERS = 2


class GradeHeadNetwork(nn.Module):
    """The coherence of pairs from the features of their texts and the graphs of their keywords."""

    def __init__(self, neighbours: Any, dimensions: int, utterance: int, hidden: int, topic: int) -> None:
        super().__init__()
        self.neighbours: Tensor
        self.register_buffer("neighbours", torch.from_numpy(neighbours), persistent=False)  # (keywords + 1, most)
        self.keywords = nn.Parameter(torch.zeros(len(neighbours), topic))  # 0 is no keyword
        self.near, self.far = nn.Linear(topic, topic), nn.Linear(topic, topic)
        self.project = nn.ModuleList(nn.Linear(topic, topic, bias=False) for _ in range(_LAYERS))
        self.attend = nn.ModuleList(nn.Linear(topic, 2, bias=False) for _ in range(_LAYERS))
        self.utterance = nn.Linear(3 * dimensions, utterance)
        self.joint = nn.Linear(utterance + topic, hidden)
        self.score = nn.Linear(hidden, 1)

    def forward(self, rows: Tensor, nodes: Tensor, edges: Tensor) -> Tensor:
        """Return (pairs,) numbers from 0 to 1, of rows (pairs, features), nodes (pairs, n) and edges (pairs, n, n)."""
        joint = torch.cat([torch.tanh(self.utterance(rows)), self.topic(nodes, edges)], dim=-1)
        scores: Tensor = torch.sigmoid(self.score(torch.tanh(self.joint(joint)))).squeeze(-1)
        return scores

    def topic(self, nodes: Tensor, edges: Tensor) -> Tensor:
        """Return the mean over the keywords of each graph, after attention; zeros without keywords."""
        around = self.neighbours[nodes]
        states = self.keywords[nodes] + self.near(self._mean(around)) + self.far(self._mean(self.neighbours[around]))
        for project, attend in zip(self.project, self.attend, strict=True):
            states = functional.elu(attend_edges(project(states), attend, edges))
        is_node = (nodes > 0).unsqueeze(-1).float()
        mean: Tensor = (states * is_node).sum(1) / is_node.sum(1).clamp(min=1)
        return mean

    def _mean(self, numbers: Tensor) -> Tensor:
        """Return the mean vector of the keywords along all but the first two dimensions; zeros without any."""
        flat = numbers.flatten(2)
        known = (flat > 0).unsqueeze(-1).float()
        mean: Tensor = (self.keywords[flat] * known).sum(2) / known.sum(2).clamp(min=1)
        return mean


def attend_edges(states: Tensor, attend: nn.Module, edges: Tensor) -> Tensor:
    """Return for each node the mean of its neighbours by attention times the weight of the edge (Veličković 2018)."""
    sender, receiver = attend(states).unbind(-1)
    scores = functional.leaky_relu(receiver.unsqueeze(2) + sender.unsqueeze(1), 0.2)
    raised = torch.exp(scores - scores.amax(dim=-1, keepdim=True)) * edges
    weights = raised / raised.sum(-1, keepdim=True).clamp(min=1e-9)
    return weights @ states
