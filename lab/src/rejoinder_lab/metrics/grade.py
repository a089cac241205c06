"""GRADE (Huang et al. 2020): how coherent a reply is, by its text and a graph of its keywords."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.errors import SpecError
from rejoinder.metric import NAN, Metric
from rejoinder.metrics._context import map_spoken, spoken_turns
from rejoinder.spec import check_between
from rejoinder.types import Pair
from rejoinder_lab.models.grade.head import GradeHead
from rejoinder_lab.models.grade.model import GradeModel, open_grade


@dataclass(frozen=True)
class Grade(Metric):
    """How coherent a reply is with the last turns of its context, by the texts' vectors and a graph of keywords.

    By default the network is the one in the package, trained here over the vectors of a small encoder. ``folder`` is
    one of your own (``rejoinder train grade``) or has the files of GRADE's authors (docs/adapters.md);
    ``folder='authors'`` looks for the latter in the cache. The last ``turns`` turns of the context are read: two, as in
    the authors' data. The authors' code drops a random fifth of the graph's edges in every run: ``keep`` is the share
    that stays, chosen by ``seed`` and the pair; ``keep=1.0`` keeps all, as ours always does. NaN without a context.
    """

    folder: str | None = None
    turns: int = 2
    keep: float = 0.8
    seed: int = 0

    needs = frozenset({"context"})
    languages = "English"
    citation = (
        "Huang et al. 2020, GRADE: Automatic Graph-Enhanced Coherence Metric for Evaluating Open-Domain Dialogue "
        "Systems"
    )
    decimals = 4
    large = True

    def __post_init__(self) -> None:
        check_between("grade", "turns", self.turns, 1, 1000)
        check_between("grade", "seed", self.seed, 0, 2**32 - 1)
        if type(self.keep) not in (int, float) or not 0 <= self.keep <= 1:
            raise SpecError(f"grade: keep must be a number from 0 to 1, not {self.keep!r}")

    def score(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the coherence of each response with its context."""
        return map_spoken(pairs, lambda spoken: self._open().scores(*self._texts(spoken), self.keep, self.seed), NAN)

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs have more words, tokens or keywords than are read; turns further back do not count."""
        return map_spoken(pairs, lambda spoken: self._open().cut(*self._texts(spoken)), False)

    def details(self) -> dict[str, str]:
        """Return the digest of the network and of what determines its keywords."""
        return {"weights": self._open().digest[:12]}

    def _open(self) -> GradeModel | GradeHead:
        return open_grade(self.folder)

    def _texts(self, pairs: Sequence[Pair]) -> tuple[list[list[str]], list[str]]:
        contexts = [[turn.text for turn in spoken_turns(pair)[-self.turns :]] for pair in pairs]
        return contexts, [pair.response.text for pair in pairs]
