"""A judge by name: the embedded language model, or a model behind an endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rejoinder.judges.embedded import EmbeddedJudge
from rejoinder.judges.endpoint import RemoteJudge
from rejoinder.judges.pairs import PairComparison, ResponsePair
from rejoinder.judges.rubric import load_rubric

EMBEDDED = "embedded"


class Judge(Protocol):
    """Whoever can say which of two replies is better."""

    def compare(self, duels: Sequence[ResponsePair]) -> list[PairComparison]:
        """Which of two replies is better, asked in both orders."""
        ...


def open_judge(model: str, rubric: str = "default") -> EmbeddedJudge | RemoteJudge:
    """The judge of that name with a rubric.

    - ``model``: ``embedded``, or what the endpoint calls its model.
    - ``rubric``: the name of a rubric, or its file.

    >>> import rejoinder
    >>> judge = rejoinder.open_judge("embedded")
    """
    found = load_rubric(rubric)
    return EmbeddedJudge(found) if model == EMBEDDED else RemoteJudge(model, found)
