"""A system asked by an engine: some questions at a time, by workers that open the system once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rejoinder.data.objects import to_object
from rejoinder.data.schema import Place, from_object
from rejoinder.engines import request_counts
from rejoinder.engines.contract import Engine, Work
from rejoinder.engines.ordering import in_order
from rejoinder.selection.answering import Line, ask
from rejoinder.systems import System, parse_system
from rejoinder.types import Question

_PLACE = Place("questions", 0)


class SystemWorker:
    """A system by its spec."""

    def __init__(self, spec: str) -> None:
        self._system = parse_system(spec)

    def compute(self, task: Sequence[Any]) -> list[Any]:
        """The scores of some questions, as texts, for JSON has no NaN and no infinity; and failed requests."""
        questions = [record for record in (from_object(one, _PLACE) for one in task) if isinstance(record, Question)]
        report: dict[str, Any] = {}
        with request_counts.reporting(report):
            lines = ask(self._system, questions)
        return [[[repr(score) for score in line] for line in lines], report]

    def close(self) -> None:
        """There is nothing to let go of."""


def ask_parts(
    system: System, parts: Sequence[Sequence[Question]], engine: Engine | None
) -> Iterator[tuple[Sequence[Question], list[Line]]]:
    """Every part with its lines, in order; one at a time here, or several by an engine."""
    if engine is None or engine.workers < 2 or len(parts) < 2:
        for some in parts:
            yield some, ask(system, some)
        return
    work = Work("rejoinder.selection.asking:SystemWorker", (str(system),))
    tasks = ([to_object(question) for question in some] for some in parts)
    for some, (lines, report) in zip(parts, in_order(engine.compute(work, tasks)), strict=True):
        request_counts.add(report)
        yield some, [tuple(float(score) for score in line) for line in lines]
