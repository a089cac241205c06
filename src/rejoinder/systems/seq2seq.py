"""A sequence-to-sequence model as a system: it reads the context and likes the reply that surprises it least."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.systems._contract import System
from rejoinder.systems._likelihood import CITATION, Normalise, check_normalise, minus_loss
from rejoinder.systems._naming import folder_of
from rejoinder.systems._sequence_model import SequenceModel, open_sequence_model
from rejoinder.systems._texts import said, scored
from rejoinder.types import Question


@dataclass(frozen=True)
class Seq2Seq(System):
    """Minus the softmax cross-entropy of each candidate, by the decoder of a transformers folder.

    ``model`` is a folder, a name of the catalog, or one of the hub that is in its local cache. The encoder reads
    ``prefix`` and the turns, with ``separator`` between them (the model's end-of-text mark where there is none given).
    ``normalise='token'`` takes the mean over the tokens, ``'none'`` the sum; ``end`` counts the mark that ends a reply
    as one of them, as the loss that such models are trained with does.
    """

    model: str
    normalise: Normalise = "token"
    end: bool = True
    separator: str | None = None
    prefix: str = ""

    citation = CITATION
    decimals = 4
    alone = True  # what each question gets does not depend on the others

    def __post_init__(self) -> None:
        check_normalise("seq2seq", self.normalise)

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """One score a candidate; a context that is too long for the encoder loses its beginning."""
        return scored(questions, self._scores) if questions else []

    def details(self) -> dict[str, str]:
        """The digest of the model, and how many tokens each side reads."""
        model = self._open()
        return {"digest": model.digest[:12], "window": str(model.window)}

    def _scores(self, asked: Sequence[tuple[Question, str]]) -> list[float]:
        model = self._open()
        requests = [
            model.request([turn.text for turn in said(question)], text, self.separator, self.prefix, self.end)
            for question, text in asked
        ]
        return [minus_loss(values, self.normalise) for values in model.log_probabilities(requests)]

    def _open(self) -> SequenceModel:
        return open_sequence_model(folder_of(self.model, "sequence-model"))
