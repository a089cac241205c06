"""A judge by name: the embedded language model, or a model at an endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rejoinder.judges.embedded import EmbeddedJudge
from rejoinder.judges.endpoint import RemoteJudge
from rejoinder.judges.pairs import PairComparison, ResponsePair
from rejoinder.judges.rubric import Rubric, load_rubric

EMBEDDED = "embedded"


class Judge(Protocol):
    """Anything that can say, by a rubric, which of two replies is better."""

    @property
    def rubric(self) -> Rubric: ...

    def compare(self, pairs: Sequence[ResponsePair]) -> list[PairComparison]:
        """Which of two replies is better, asked in both orders."""
        ...


def open_judge(model: str, rubric: str = "default") -> EmbeddedJudge | RemoteJudge:
    """A judge by name, with a rubric.

    - ``model``: ``embedded``, or the endpoint's name for a model.
    - ``rubric``: the name of a rubric, or a file.

    >>> import rejoinder
    >>> judge = rejoinder.open_judge("embedded")
    """
    loaded = load_rubric(rubric)
    return EmbeddedJudge(loaded) if model == EMBEDDED else RemoteJudge(model, loaded)
