"""A trained ranker as a system (SUGAR): it prefers the reply that fits the request in its situation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rejoinder.systems._base import System
from rejoinder.types import Question

if TYPE_CHECKING:
    from rejoinder.models.ranker.model import RankerModel


@dataclass(frozen=True)
class Ranker(System):
    """The score of each candidate by a ranker of `rejoinder train ranker`, or by the one that comes with the package.

    The package's ranker reads the few statements that matter to the request and are similar to the candidate; it reads
    all of a situation of up to eight statements. A blank candidate has no score.
    """

    folder: str | None = None

    citation = "Otani et al. 2023, A Textual Dataset for Situated Proactive Response Selection; this package"
    decimals = 4
    alone = True

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """Return one score per candidate."""
        return [ranking.scores for ranking in self._model().rank(questions)]

    def used(self, questions: Sequence[Question]) -> list[list[tuple[int, ...]]] | None:
        """Return the statements that were read for each candidate."""
        return self._model().used(questions)

    def details(self) -> dict[str, str]:
        """Return the digest of the networks."""
        return {"ranker": self._model().digest[:12]}

    def _model(self) -> RankerModel:
        from rejoinder.models.ranker.model import open_ranker

        return open_ranker(self.folder)
