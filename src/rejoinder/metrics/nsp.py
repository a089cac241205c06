"""NSP: the probability that the reply follows, by a pretrained next-sentence head (Devlin et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.metric import NAN, Metric
from rejoinder.metrics._context import join_context, map_spoken, spoken_turns
from rejoinder.models import aptness_card as card
from rejoinder.models.aptness.model import AptnessModel, open_aptness
from rejoinder.models.bert.next_sentence import NextSentence, open_next_sentence
from rejoinder.models.encoder.factory import find_encoder_folder
from rejoinder.types import Pair


@dataclass(frozen=True)
class Nsp(Metric):
    """The probability that the reply follows the context, by a network head trained to predict exactly that.

    ``model='bert-base-uncased'`` (or a folder, or ``hf:NAME``) is BERT's next-sentence head, as in the paper: the
    context is one text, its turns joined by spaces. ``'aptness'`` is the cross-encoder shipped with the package, a
    head of the same shape trained on replies, without its calibration. A context that is too long loses its beginning,
    a reply its end. NaN without a context.
    """

    model: str = "aptness"

    needs = frozenset({"context"})
    languages = "model"
    citation = (
        "Devlin et al. 2019, BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding; as BERT "
        "NSP in Berlot-Attwell and Rudzicz 2022, Relevance in Dialogue: Is Less More?"
    )
    decimals = 4
    large = True

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the probability of each response."""
        return map_spoken(pairs, self._probabilities, NAN)

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs have more tokens than are read."""
        model = self._open_model()
        if isinstance(model, AptnessModel):
            return model.cut(*_split_spoken_pairs(pairs), "cross")
        return model.truncated(*_join_contexts(pairs))

    def details(self) -> dict[str, str]:
        """Return the digest of the network."""
        return {"weights": self._open_model().digest[:12]}

    def _probabilities(self, pairs: Sequence[Pair]) -> list[float]:
        model = self._open_model()
        if isinstance(model, AptnessModel):
            probabilities = 1 / (1 + np.exp(-np.clip(model.cross_scores(*_split_spoken_pairs(pairs)), -60, 60)))
        else:
            probabilities = model.probabilities(*_join_contexts(pairs))
        return [float(value) for value in probabilities]

    def _open_model(self) -> AptnessModel | NextSentence:
        folder, mark = find_encoder_folder(self.model)
        if mark == card.CARD_FILE:
            return open_aptness(folder)
        return open_next_sentence(folder, self.model)


def _split_spoken_pairs(pairs: Sequence[Pair]) -> tuple[list[list[str]], list[str]]:
    return [[turn.text for turn in spoken_turns(pair)] for pair in pairs], [pair.response.text for pair in pairs]


def _join_contexts(pairs: Sequence[Pair]) -> tuple[list[str], list[str]]:
    return [join_context(pair) for pair in pairs], [pair.response.text for pair in pairs]
