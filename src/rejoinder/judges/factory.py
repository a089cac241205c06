"""A judge by name, the embedded language model or a model at an endpoint, and its verdict on two replies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rejoinder.data.parts import PART_NAMES, read_part
from rejoinder.errors import InputError
from rejoinder.judges.embedded import EmbeddedJudge
from rejoinder.judges.endpoint import RemoteJudge
from rejoinder.judges.material import build_choice_request
from rejoinder.judges.pairs import PairComparison, ResponsePair
from rejoinder.judges.rubric import Rubric, load_rubric
from rejoinder.types import Item, Pair, Response, Turn

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
    >>> judge = rejoinder.judges.open_judge("embedded")
    """
    loaded = load_rubric(rubric)
    return EmbeddedJudge(loaded) if model == EMBEDDED else RemoteJudge(model, loaded)


def compare_pair(
    judge: Judge, context: Sequence[Turn | str] | Item, first: str | Response, second: str | Response
) -> PairComparison:
    """Which of two replies a judge prefers, asked in both orders.

    - ``judge``: a judge, from ``open_judge``.
    - ``context``: the utterances before the replies, oldest first; or an item, of which the judge sees what its rubric
      names.
    - ``first``: a reply, or a response.
    - ``second``: another one.

    >>> import rejoinder
    >>> judge = rejoinder.judges.open_judge("embedded")
    >>> rejoinder.judges.compare_pair(judge, ["How are you?"], "Fine, and you?", "Bananas.").choice
    'first'
    """
    if not isinstance(context, Item):
        context = Item("pair", tuple(Turn(turn) if isinstance(turn, str) else turn for turn in context))
    pairs = [Pair(context, _as_response(reply, context.id)) for reply in (first, second)]
    for part in judge.rubric.needs:
        if not all(read_part(pair, part) for pair in pairs):
            needed = PART_NAMES.get(part, part)
            raise InputError(f"the rubric needs {needed}, which item {context.id!r} lacks; give an item that has it")
    return judge.compare([build_choice_request(judge.rubric, *pairs)])[0]


def _as_response(reply: str | Response, item: str) -> Response:
    return Response(item, item, "system", reply) if isinstance(reply, str) else reply
