"""The candidates of questions in the order of a ranker, as lines of a file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from rejoinder.files import whole_file
from rejoinder.selection.answers import Line
from rejoinder.selection.ranking.result import Ranked


def order_of(scores: Line) -> list[int]:
    """The places of the candidates, the highest score first; equal ones as in the file, those without a score last."""
    return sorted(range(len(scores)), key=lambda place: (math.isnan(scores[place]), -scores[place], place))


def lines(ranked: Ranked) -> Iterator[dict[str, Any]]:
    """A line a question and ranker.

    ``order`` has the places of the candidates as the file has them, counted from 0; ``texts`` are in that order, while
    ``scores`` and ``used`` are in the file's.
    """
    for name in ranked.rankers:
        used = ranked.used.get(name)
        for number, question in enumerate(ranked.questions):
            scores = ranked.scores[name][number]
            order = order_of(scores)
            yield {
                "question": question.id,
                "ranker": name,
                "input": ranked.given,
                "order": order,
                "texts": [question.candidates[place].text for place in order],
                "scores": [None if math.isnan(score) else score for score in scores],
                "used": None if used is None else used[number],
            }


def write_ranked(ranked: Ranked, path: str | Path) -> int:
    """Write all lines, and say how many."""
    count = 0
    with whole_file(path) as file:
        for line in lines(ranked):
            file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
            count += 1
    return count
