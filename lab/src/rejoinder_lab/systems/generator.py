"""A generator trained by rejoinder as a system: it prefers the most likely reply (Sato et al. 2020, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rejoinder.errors import MissingExtraError
from rejoinder.systems import System
from rejoinder.types import Question


@dataclass(frozen=True)
class Generator(System):
    """Minus the softmax cross-entropy per token of each candidate, by a folder of ``rejoinder train generator``."""

    folder: str

    citation = "Sato et al. 2020, Evaluating Dialogue Generation Systems via Response Selection"
    decimals = 4
    alone = True
    over_http = False

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """Return one score per candidate; NaN for an empty candidate."""
        contexts = [[turn.text for turn in question.context] for question in questions]
        replies = [[candidate.text for candidate in question.candidates] for question in questions]
        return [[-loss for loss in losses] for losses in self._open().losses(contexts, replies)]

    def details(self) -> dict[str, str]:
        """Return the digest of the generator's folder."""
        return {"digest": self._open().digest[:12]}

    def _open(self) -> Any:
        try:
            from rejoinder_lab.models.generator.model import open_generator
        except ImportError as error:
            raise MissingExtraError(error.name or "torch", "torch", "a generator") from None
        return open_generator(self.folder)
