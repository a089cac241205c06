"""GRADE trained here: graph attention over keywords beside the vectors of a frozen encoder (Huang et al. 2020).

What differs from the authors' network: a frozen encoder of context and reply stands for the fine-tuned BERT, keywords
are words of ConceptNet without a tagger, and the attention is the usual one, over the edges that there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.models.device import count_threads
from rejoinder_lab.models.grade.concepts import ConceptGraph
from rejoinder_lab.models.head.model import Head
from rejoinder_lab.models.head.pairs import encode_contexts, join_features

if TYPE_CHECKING:
    from rejoinder_lab.models.grade.head_network import GradeHeadNetwork

_BATCH = 256


class GradeHead:
    """The network of a head's folder, with its keywords."""

    def __init__(self, head: Head) -> None:
        self.digest = head.card.digest()
        self._head = head
        self._concepts = ConceptGraph(tuple(head.card.settings["concepts"]))
        self._network = self._build_network()

    def scores(self, contexts: Sequence[Sequence[str]], replies: Sequence[str], keep: float, seed: int) -> list[float]:
        """Return the coherence of each pair; all edges are kept."""
        import torch

        torch.set_num_threads(count_threads())
        vectors = encode_contexts(self._head.encoder, contexts), self._head.encode(replies)
        rows = torch.from_numpy(join_features(*vectors))
        nodes, edges = stack_graphs(self._concepts, contexts, replies)
        with torch.inference_mode():
            parts = [
                self._network(rows[i : i + _BATCH], nodes[i : i + _BATCH], edges[i : i + _BATCH])
                for i in range(0, len(rows), _BATCH)
            ]
        return [float(value) for part in parts for value in part]

    def cut(self, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> list[bool]:
        """Return which pairs have a turn that is too long for the encoder."""
        texts = [[*context, reply] for context, reply in zip(contexts, replies, strict=True)]
        is_cut = iter(self._head.encoder.truncated([text for of_pair in texts for text in of_pair]))
        return [sum([next(is_cut) for _ in of_pair]) > 0 for of_pair in texts]

    def _build_network(self) -> GradeHeadNetwork:
        try:
            import torch
        except ImportError:
            raise MissingExtraError("torch", "torch", "grade") from None
        from rejoinder_lab.models.grade.head_network import GradeHeadNetwork

        weights = {name: torch.from_numpy(array).float() for name, array in self._head.weights.items()}
        try:
            sizes = len(weights["utterance.bias"]), len(weights["joint.bias"]), weights["keywords"].shape[1]
            network = GradeHeadNetwork(self._concepts.listed, self._head.encoder.dimensions, *sizes)
            network.load_state_dict(weights)
        except (KeyError, RuntimeError):
            raise InputError("the weights of grade do not fit its keywords and encoder; train it again") from None
        return network.eval()


def stack_graphs(concepts: ConceptGraph, contexts: Sequence[Sequence[str]], replies: Sequence[str]) -> tuple[Any, Any]:
    """Return the nodes and edges of pairs as tensors."""
    import torch

    before = np.stack([concepts.context_nodes(context) for context in contexts])
    after = np.stack([concepts.reply_nodes(reply) for reply in replies])
    nodes, edges = map(torch.from_numpy, concepts.graphs(before, after))
    return nodes, edges
