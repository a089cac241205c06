"""DynaEval's network (Zhang et al. 2021) as its authors released it: a graph over the utterances of a dialogue.

Every utterance sends messages to those around it. A message is weighted by the sender's attention over its neighbours
and multiplied by a matrix that depends on who speaks and whether it goes forward or back. The released code has no
activation between its two convolutions, and its score is unbounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rejoinder.models.translation.checkpoint import fill_network, weight_shape

_SPEAKERS = 2
_RELATIONS = 2 * _SPEAKERS**2  # who sends, who receives, forward or back


@dataclass(frozen=True)
class DynaEvalSizes:
    """The sizes of the network, from the shapes of the weights."""

    sentence: int
    narrowed: tuple[int, ...]
    bases: int
    first: int
    second: int
    hidden: int


class DynaEvalNetwork(nn.Module):
    """The score of a dialogue from the vectors of its utterances."""

    def __init__(self, sizes: DynaEvalSizes) -> None:
        super().__init__()
        widths = (sizes.sentence, *sizes.narrowed)
        width = widths[-1]
        self.narrow = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(widths))
        self.order = nn.LSTM(width, width // 2, num_layers=2, bidirectional=True, batch_first=True)
        self.attention = nn.Parameter(torch.zeros(width, width))
        self.bases = nn.Parameter(torch.zeros(sizes.bases, width, sizes.first))
        self.mixture = nn.Parameter(torch.zeros(_RELATIONS, sizes.bases))
        self.own = nn.Parameter(torch.zeros(width, sizes.first))
        self.bias = nn.Parameter(torch.zeros(sizes.first))
        self.others = nn.Parameter(torch.zeros(sizes.first, sizes.second))
        self.itself = nn.Linear(sizes.first, sizes.second)
        self.hidden = nn.Linear(width + sizes.second, sizes.hidden)
        self.score = nn.Linear(sizes.hidden, 1)

    def forward(self, utterances: Tensor, speakers: Tensor, past: int, future: int) -> Tensor:
        """Return the scores of dialogues of one length, (dialogues, utterances, dimensions), by who speaks (0 or 1)."""
        for layer in self.narrow:
            utterances = layer(utterances)
        states = self.order(utterances)[0]
        edges = neighbour_mask(len(speakers), past, future).to(states.device)
        weights = self._weights(states, past, future) * edges  # [dialogue, sender, receiver]
        graph = self._relational(states, weights, speakers)
        graph = edges.T @ graph @ self.others + self.itself(graph)
        hidden = torch.relu(self.hidden(torch.cat([states, graph], dim=-1))).mean(1)
        score: Tensor = self.score(hidden).squeeze(-1)
        return score

    def _weights(self, states: Tensor, past: int, future: int) -> Tensor:
        """Return how much a sender gives to each utterance in its window; 0 if the window is empty.

        In the released code -1, which means "all" for the edges, is used as a number here: the window loses the sender.
        """
        scores = states @ self.attention @ states.transpose(1, 2)
        in_window = offset_mask(states.shape[1], -past, future).to(states.device)
        weights = torch.softmax(scores.masked_fill(~in_window, -torch.inf), dim=2)
        return torch.where(in_window, weights, 0.0)

    def _relational(self, states: Tensor, weights: Tensor, speakers: Tensor) -> Tensor:
        """The first convolution: the sum of the messages over all edges, plus the utterance's own part."""
        position = torch.arange(len(speakers), device=states.device)
        is_back = (position[:, None] >= position[None, :]).long()  # an utterance to itself counts as going back
        relation = (speakers[:, None] * _SPEAKERS + speakers[None, :]) * 2 + is_back
        matrices = torch.einsum("rb,bio->rio", self.mixture, self.bases)
        outgoing = torch.einsum("dni,rio->dnro", states, matrices)  # what each would send over each relation
        messages = outgoing[:, position[:, None], relation] * weights.unsqueeze(-1)
        return messages.sum(1) + states @ self.own + self.bias


def offset_mask(n: int, low: int, high: int) -> Tensor:
    """Return which positions are from ``low`` to ``high`` after each position."""
    position = torch.arange(n)
    distance = position[None, :] - position[:, None]
    return (distance >= low) & (distance <= high)


def neighbour_mask(n: int, past: int, future: int) -> Tensor:
    """Return 1 where an utterance sends to another: up to ``past`` before and ``future`` after it, all for -1."""
    return offset_mask(n, -n if past == -1 else -past, n if future == -1 else future).float()


def load_dynaeval_network(weights: Mapping[str, Any], path: Path) -> DynaEvalNetwork:
    """Return the network of the authors' checkpoint; raise if a weight is missing or has another shape."""
    network = DynaEvalNetwork(read_dynaeval_sizes(weights, path))
    filled: DynaEvalNetwork = fill_network(
        network, weights, {name: dynaeval_weight_name(name) for name in network.state_dict()}, path
    )
    return filled


def read_dynaeval_sizes(weights: Mapping[str, Any], path: Path) -> DynaEvalSizes:
    """Return the sizes of a checkpoint's network."""
    first, sentence = weight_shape(weights, "ds_1.weight", path)
    narrowed: tuple[int, ...] = (first,)
    if "ds_2.weight" in weights:  # an earlier version of the released code narrows twice
        narrowed = (first, weight_shape(weights, "ds_2.weight", path)[0])
    bases, _, width = weight_shape(weights, "gcn.conv1.basis", path, 3)
    second = weight_shape(weights, "gcn.conv2.weight", path)[1]
    return DynaEvalSizes(sentence, narrowed, bases, width, second, weight_shape(weights, "clf.lin1.weight", path)[0])


_NAMES = {
    "attention": "edge_att.weight",
    "bases": "gcn.conv1.basis",
    "mixture": "gcn.conv1.att",
    "own": "gcn.conv1.root",
    "bias": "gcn.conv1.bias",
    "others": "gcn.conv2.weight",
}
_MODULES = {"order": "rnn.rnn", "itself": "gcn.conv2.lin", "hidden": "clf.lin1", "score": "clf.lin2"}


def dynaeval_weight_name(name: str) -> str:
    """Return the name of one of our parameters in the authors' checkpoint."""
    if name in _NAMES:
        return _NAMES[name]
    first, _, rest = name.partition(".")
    if first == "narrow":
        layer, part = rest.split(".")
        return f"ds_{int(layer) + 1}.{part}"
    return f"{_MODULES[first]}.{rest}"
