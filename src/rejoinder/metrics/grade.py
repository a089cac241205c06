"""GRADE (Huang et al. 2020): how coherent a reply is, by BERT and a graph of keywords; runs the authors' checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.errors import SpecError
from rejoinder.metric import NAN, Metric
from rejoinder.metrics._context import map_spoken, spoken_turns
from rejoinder.models.grade.model import open_grade
from rejoinder.spec import check_between
from rejoinder.types import Pair


@dataclass(frozen=True)
class Grade(Metric):
    """How coherent a reply is with the last turns of its context, by the network of GRADE's authors.

    ``folder`` contains their files (docs/adapters.md). The last ``turns`` turns of the context are read: two, as in the
    authors' data. The released code drops a random fifth of the graph's edges in every run: ``keep`` is the share that
    stays, chosen by ``seed`` and the pair; ``keep=1.0`` keeps all. NaN without a context.
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
        return map_spoken(
            pairs, lambda spoken: open_grade(self.folder).scores(*self._texts(spoken), self.keep, self.seed), NAN
        )

    def cut(self, pairs: Sequence[Pair]) -> list[bool]:
        """Return which pairs have more words, tokens or keywords than are read; turns further back do not count."""
        return map_spoken(pairs, lambda spoken: open_grade(self.folder).cut(*self._texts(spoken)), False)

    def details(self) -> dict[str, str]:
        """Return the digest of the authors' files and of the files that determine the keywords."""
        return {"weights": open_grade(self.folder).digest[:12]}

    def _texts(self, pairs: Sequence[Pair]) -> tuple[list[list[str]], list[str]]:
        contexts = [[turn.text for turn in spoken_turns(pair)[-self.turns :]] for pair in pairs]
        return contexts, [pair.response.text for pair in pairs]
