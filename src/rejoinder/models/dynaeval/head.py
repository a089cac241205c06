"""DynaEval's network trained here: the graph network of its authors over the vectors of a frozen encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.models.device import count_threads
from rejoinder.models.head.model import Head

if TYPE_CHECKING:
    from rejoinder.models.dynaeval.network import DynaEvalNetwork


class DynaEvalHead:
    """The graph network of a head's folder."""

    def __init__(self, head: Head) -> None:
        self.digest = head.card.digest()
        self._head = head
        self._network = build_dynaeval_head(head.card.settings, head.weights)

    def scores(self, dialogues: Sequence[Sequence[str]], past: int, future: int) -> list[float]:
        """Return the score of each dialogue; two speakers are assumed to alternate."""
        import torch

        torch.set_num_threads(count_threads())
        vectors = iter(self._head.encode([text for dialogue in dialogues for text in dialogue], "left"))
        with torch.inference_mode():
            return [
                float(self._network(*_as_tensors([next(vectors) for _ in dialogue]), past, future))
                for dialogue in dialogues
            ]

    def cut(self, dialogues: Sequence[Sequence[str]]) -> list[bool]:
        """Return which dialogues have a turn that is too long for the encoder."""
        texts = [text for dialogue in dialogues for text in dialogue]
        is_cut = iter(self._head.encoder.truncated(texts))
        return [sum([next(is_cut) for _ in dialogue]) > 0 for dialogue in dialogues]


def _as_tensors(vectors: Sequence[Any]) -> tuple[Any, Any]:
    """Return the vectors of a dialogue's turns and who speaks."""
    import torch

    return torch.from_numpy(np.array(vectors)), torch.arange(len(vectors)) % 2


def build_dynaeval_head(settings: Mapping[str, int], weights: Mapping[str, Any]) -> DynaEvalNetwork:
    """Return the network of a card's sizes with weights under the network's own names."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError("torch", "torch", "dynaeval") from None
    from rejoinder.models.dynaeval.network import DynaEvalNetwork, DynaEvalSizes

    try:
        rest = {name: size for name, size in settings.items() if name != "width"}
        network = DynaEvalNetwork(DynaEvalSizes(narrowed=(settings["width"],), **rest))
        network.load_state_dict({name: torch.from_numpy(array).float() for name, array in weights.items()})
    except (KeyError, TypeError, RuntimeError):
        raise InputError("the weights of dynaeval do not fit the sizes on their card; train it again") from None
    return network.eval()
