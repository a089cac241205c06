"""chrF (Popović 2015): character n-grams, over any number of references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.contract import NAN, Metric
from rejoinder.metrics._characters import Counts, Shared, shared
from rejoinder.metrics._parameters import check_between
from rejoinder.types import Pair


@dataclass(frozen=True)
class Chrf(Metric):
    """How many character n-grams of order 1 to ``order`` reply and reference share, as an F measure.

    This is sacrebleu's sentence score, from 0 to 1: the best over the references, white space left out, upper case kept
    unless ``lowercase``. ``word_order=2`` adds word n-grams (chrF++). ``beta`` says how much more recall weighs than
    precision. NaN without references.
    """

    order: int = 6
    word_order: int = 0
    beta: int = 2
    lowercase: bool = False

    needs = frozenset({"references"})
    citation = "Popović 2015, chrF: character n-gram F-score for automatic MT evaluation"

    def __post_init__(self) -> None:
        check_between("chrf", "order", self.order, 1, 10)
        check_between("chrf", "word_order", self.word_order, 0, 4)
        check_between("chrf", "beta", self.beta, 1, 10)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """The chrF of each response against its item's references."""
        if self.word_order:
            return self._by_sacrebleu(pairs)
        scores = np.full(len(pairs), NAN)
        texts: list[tuple[str, str]] = []
        places: list[int] = []
        for place, pair in enumerate(pairs):
            reply = self._text(pair.response.text)
            for reference in pair.item.references if reply else ():
                if text := self._text(reference.text):
                    texts.append((reply, text))
                    places.append(place)
        if texts:
            np.fmax.at(scores, places, self._f(shared(texts, self.order)))
        return [float(score) for score in scores]

    def _text(self, text: str) -> str:
        return "".join((text.lower() if self.lowercase else text).split())

    def _f(self, counts: Shared) -> NDArray[np.float64]:
        """The F measure of mean precision and mean recall, over the orders that both texts are long enough for."""
        known = (counts.first > 0) & (counts.second > 0)
        orders = known.sum(axis=1)  # never 0: neither text is empty
        precision = _mean(counts.matches, counts.first, known, orders)
        recall = _mean(counts.matches, counts.second, known, orders)
        factor = self.beta**2
        below = factor * precision + recall
        some = precision + recall > 0
        score = np.divide((1 + factor) * precision * recall, below, out=np.zeros(len(below)), where=some)
        return np.minimum(1.0, 100 * score / 100)

    def _by_sacrebleu(self, pairs: Sequence[Pair]) -> list[float]:
        from sacrebleu.metrics.chrf import CHRF

        chrf = CHRF(self.order, self.word_order, self.beta, self.lowercase)
        scores = []
        for pair in pairs:
            references = [r.text for r in pair.item.references if r.text.strip()]
            if references and pair.response.text.strip():
                scores.append(min(1.0, chrf.sentence_score(pair.response.text, references).score / 100))
            else:
                scores.append(NAN)
        return scores

    def details(self) -> dict[str, str]:
        """The version of sacrebleu."""
        from sacrebleu import __version__

        return {"sacrebleu": __version__}


def _mean(matches: Counts, of: Counts, known: NDArray[np.bool_], orders: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean share over the orders that count, added up order by order as sacrebleu does."""
    total = np.zeros(len(matches))
    for n in range(matches.shape[1]):
        total += np.where(known[:, n], matches[:, n] / np.maximum(1, of[:, n]), 0.0)
    mean: NDArray[np.float64] = total / orders
    return mean
