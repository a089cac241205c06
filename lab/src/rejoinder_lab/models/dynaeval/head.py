"""DynaEval's network trained here: the graph network of its authors over the vectors of a frozen encoder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.models.device import count_threads
from rejoinder_lab.models.head.model import Head

if TYPE_CHECKING:
    from torch import Tensor

    from rejoinder_lab.models.dynaeval.network import DynaEvalNetwork


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
        texts = [text for dialogue in dialogues for text in dialogue]
        vectors = torch.from_numpy(self._head.encode(texts, "left"))
        with torch.inference_mode():
            return score_dialogues(self._network, vectors, number_turns(dialogues), past, future).tolist()

    def cut(self, dialogues: Sequence[Sequence[str]]) -> list[bool]:
        """Return which dialogues have a turn that is too long for the encoder."""
        texts = [text for dialogue in dialogues for text in dialogue]
        is_cut = iter(self._head.encoder.truncated(texts))
        return [sum([next(is_cut) for _ in dialogue]) > 0 for dialogue in dialogues]


def number_turns(dialogues: Iterable[Sequence[Any]]) -> list[list[int]]:
    """Return the turns of each dialogue as numbers, counted through all dialogues."""
    numbers = count()
    return [list(islice(numbers, len(dialogue))) for dialogue in dialogues]


def score_dialogues(
    network: DynaEvalNetwork, vectors: Tensor, dialogues: Sequence[Sequence[int]], past: int, future: int
) -> Tensor:
    """Return the score of each dialogue, whose turns are rows of the vectors; dialogues of one length go together."""
    import torch

    by_length: dict[int, list[int]] = defaultdict(list)
    for i, rows in enumerate(dialogues):
        by_length[len(rows)].append(i)
    parts = []
    for length, chosen in by_length.items():
        turns = torch.tensor([dialogues[i] for i in chosen], device=vectors.device)
        speakers = torch.arange(length, device=vectors.device) % 2
        parts.append(network(vectors[turns], speakers, past, future))
    places = torch.tensor([i for chosen in by_length.values() for i in chosen], device=vectors.device)
    return torch.cat(parts)[places.argsort()]


def build_dynaeval_head(settings: Mapping[str, int], weights: Mapping[str, Any]) -> DynaEvalNetwork:
    """Return the network of a card's sizes with weights under the network's own names."""
    try:
        import torch
    except ImportError:
        raise MissingExtraError("torch", "torch", "dynaeval") from None
    from rejoinder_lab.models.dynaeval.network import DynaEvalNetwork, DynaEvalSizes

    try:
        rest = {name: size for name, size in settings.items() if name != "width"}
        network = DynaEvalNetwork(DynaEvalSizes(narrowed=(settings["width"],), **rest))
        network.load_state_dict({name: torch.from_numpy(array).float() for name, array in weights.items()})
    except (KeyError, TypeError, RuntimeError):
        raise InputError("the weights of dynaeval do not fit the sizes on their card; train it again") from None
    return network.eval()
