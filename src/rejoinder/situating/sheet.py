"""The sheet on which people grade candidates: that of ``selection.sheet``, with goal and situation before the rest."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from rejoinder.selection.sheet import write_sheet
from rejoinder.types import Question, Turn

RATERS = 3


def write_grading_sheet(questions: Sequence[Question], path: str | Path, raters: int = RATERS) -> int:
    """Write a sheet for so many raters, each with a column, and say how many rows it has."""
    return write_sheet([_shown(question) for question in questions], path, raters)


def _shown(question: Question) -> Question:
    told = [Turn(one.text, "situation") for one in question.situation]
    if isinstance(goal := question.meta.get("goal"), str):
        told.insert(0, Turn(goal, "goal"))
    return dataclasses.replace(question, context=(*told, *question.context))
