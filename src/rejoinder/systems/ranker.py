"""A trained ranker as a system (SUGAR): the reply that fits the request in its situation."""

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
    """The score of each candidate by a ranker that `rejoinder train ranker` wrote, or by the one of the package.

    The shipped one reads the few statements that matter to the request and are like the candidate; of a situation of up
    to eight statements it reads all. A candidate without a word has no score.
    """

    folder: str | None = None

    citation = "Otani et al. 2023, A Textual Dataset for Situated Proactive Response Selection; this package"
    decimals = 4
    alone = True

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """One score a candidate."""
        return [ranking.scores for ranking in self._model().rank(questions)]

    def used(self, questions: Sequence[Question]) -> list[list[tuple[int, ...]]] | None:
        """The statements that were read for each candidate."""
        return self._model().used(questions)

    def details(self) -> dict[str, str]:
        """The digest of the networks."""
        return {"ranker": self._model().digest[:12]}

    def _model(self) -> RankerModel:
        from rejoinder.models.ranker.model import open_ranker

        return open_ranker(self.folder)
