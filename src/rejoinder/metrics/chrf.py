"""chrF (Popović 2015): character n-grams, over any number of references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.contract import NAN, Metric
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
