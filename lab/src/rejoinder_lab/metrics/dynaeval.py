"""DynaEval (Zhang et al. 2021): how good a dialogue is that ends with this reply, trained here or by its authors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.metric import NAN, Metric
from rejoinder.metrics._context import map_spoken, spoken_turns
from rejoinder.spec import check_between
from rejoinder.types import Pair
from rejoinder_lab.models.dynaeval.head import DynaEvalHead
from rejoinder_lab.models.dynaeval.model import DynaEvalModel, open_dynaeval


@dataclass(frozen=True)
class DynaEval(Metric):
    """How coherent the context and the reply are as one dialogue, by DynaEval's graph network.

    By default the network is the one in the package, trained here over the vectors of a small encoder. ``folder`` is
    one of your own (``rejoinder train dynaeval``) or has the files of DynaEval's authors (docs/adapters.md);
    ``folder='authors'`` looks for the latter in the cache. A turn is connected to ``past`` turns before it and
    ``future`` turns after it: 4 and 4, as the authors score; -1 for all. The score is unbounded. NaN without a context.
    """

    folder: str | None = None
    past: int = 4
    future: int = 4

    needs = frozenset({"context"})
    range = (-math.inf, math.inf)
    languages = "English"
    citation = "Zhang et al. 2021, DynaEval: Unifying Turn and Dialogue Level Evaluation"
    decimals = 4
    large = True

    def __post_init__(self) -> None:
        check_between("dynaeval", "past", self.past, -1, 1000)
        check_between("dynaeval", "future", self.future, -1, 1000)

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the score of each context with its response."""
        return map_spoken(
            pairs,
            lambda spoken: self._open().scores(_pair_dialogues(spoken), self.past, self.future),
            NAN,
        )

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs contain a turn of more words or tokens than are read."""
        return map_spoken(pairs, lambda spoken: self._open().cut(_pair_dialogues(spoken)), False)

    def details(self) -> dict[str, str]:
        """Return the digest of the network, or of the authors' files."""
        return {"weights": self._open().digest[:12]}

    def _open(self) -> DynaEvalModel | DynaEvalHead:
        return open_dynaeval(self.folder)


def _pair_dialogues(pairs: Sequence[Pair]) -> list[list[str]]:
    return [[*(turn.text for turn in spoken_turns(pair)), pair.response.text] for pair in pairs]
