"""The embedded language model as a system: ``causal`` with a fixed model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.judges.embedded import MODEL_NAME
from rejoinder.systems._base import System
from rejoinder.systems._likelihood import CITATION, Normalise, check_normalise
from rejoinder.systems.causal import Causal
from rejoinder.types import Question


@dataclass(frozen=True)
class Embedded(System):
    """SmolLM2-135M as a ``causal`` system; ``rejoinder models get smollm2-135m`` downloads it."""

    normalise: Normalise = "token"
    end: bool = False

    citation = CITATION
    decimals = 4
    alone = True  # the scores of a question do not depend on the others
    large = True

    def __post_init__(self) -> None:
        check_normalise("embedded", self.normalise)

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """Return one score per candidate."""
        return self._causal().score(questions)

    def details(self) -> dict[str, str]:
        """Return the model's name, its digest, and how it reads turns."""
        return {"model": MODEL_NAME, **self._causal().details()}

    def _causal(self) -> Causal:
        return Causal(MODEL_NAME, self.normalise, self.end)
