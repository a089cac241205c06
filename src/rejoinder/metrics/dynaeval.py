"""DynaEval (Zhang et al. 2021): how good a dialogue is with this reply at its end; runs the authors' checkpoint."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.metric import NAN, Metric
from rejoinder.metrics._context import map_spoken, spoken_turns
from rejoinder.models.dynaeval.model import open_dynaeval
from rejoinder.spec import check_between
from rejoinder.types import Pair


@dataclass(frozen=True)
class DynaEval(Metric):
    """How coherent the context is together with the reply, by the graph network that DynaEval's authors published.

    ``folder`` holds their files (docs/adapters.md). An utterance is joined to ``past`` ones before it and ``future``
    ones after it: 4 and 4, as the authors score; -1 for all. The score has no bounds. NaN without a context.
    """

    folder: str | None = None
    past: int = 4
    future: int = 4

    needs = frozenset({"context"})
    range = (-math.inf, math.inf)
    citation = "Zhang et al. 2021, DynaEval: Unifying Turn and Dialogue Level Evaluation"
    decimals = 4
    large = True

    def __post_init__(self) -> None:
        check_between("dynaeval", "past", self.past, -1, 1000)
        check_between("dynaeval", "future", self.future, -1, 1000)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """The score of each context with its response."""
        return map_spoken(
            pairs, lambda said: open_dynaeval(self.folder).scores(_dialogues(said), self.past, self.future), NAN
        )

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Which pairs hold an utterance of more words than are read."""
        return map_spoken(pairs, lambda said: open_dynaeval(self.folder).cut(_dialogues(said)), False)

    def details(self) -> dict[str, str]:
        """The digest of the authors' files."""
        return {"weights": open_dynaeval(self.folder).digest[:12]}


def _dialogues(pairs: Sequence[Pair]) -> list[list[str]]:
    return [[*(turn.text for turn in spoken_turns(pair)), pair.response.text] for pair in pairs]
