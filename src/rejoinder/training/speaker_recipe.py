"""The recipe of a scorer: all that decides it, beside the dialogues and V."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, get_args

from rejoinder.errors import InputError
from rejoinder.models.speaker_network import Kind
from rejoinder.models.speaker_scorer import View
from rejoinder.models.speaker_vectors import open_utterance_vectors
from rejoinder.training.speaker_losses import Loss
from rejoinder.training.speaker_steps import Pace

_FEW = 100  # numbers a vector


@dataclass(frozen=True)
class ScorerRecipe:
    """All that decides a scorer, beside the dialogues and V."""

    kind: Kind = "ssrem"
    seed: int = 0
    epochs: int = 6
    loss: Loss | None = None  # classification; for ruber margin
    copies: bool = False  # a turn of the context as one more negative
    temperature: float = 0.25  # of the classification; the paper's is 1
    views: tuple[View, ...] = (View(1.0, 1), View(0.6, 6), View(1.0, 40))
    scale: float = 3.0  # of the identity that M begins with
    rate: float = 1e-3
    pull: float = 1.0  # of the weights back to their start, with each step times the rate
    batch: int = 512
    patience: int = 2

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"a scorer is one of {', '.join(get_args(Kind))}, not {self.kind!r}")
        if self.loss is None:
            object.__setattr__(self, "loss", "margin" if self.kind == "ruber" else "classification")
        allowed = {"ssrem": ("classification", "ranking"), "rsrem": ("classification",), "ruber": ("margin",)}[
            self.kind
        ]
        if self.loss not in allowed:
            raise InputError(f"{self.kind} is trained with the loss {' or '.join(allowed)}, not {self.loss!r}")

    def plain(self) -> dict[str, Any]:
        """As a card says it."""
        return {**asdict(self), "views": [list(view) for view in self.views]}

    @property
    def pace(self) -> Pace:
        """How the training steps."""
        return Pace(self.epochs, self.batch, self.rate, self.pull, self.patience, self.seed)


def recipe_of(kind: Kind, encoder: str, **chosen: Any) -> ScorerRecipe:
    """The recipe of a scorer over some V, with what is chosen otherwise; short vectors are learned faster."""
    few = {"rate": 3e-3, "pull": 0.0} if open_utterance_vectors(encoder).dimensions <= _FEW else {}
    return ScorerRecipe(kind, **{**few, **chosen})
