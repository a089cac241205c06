"""A project: what people are asked about which data, how often, in which order, and how their attention is checked.

It is read from a TOML file (``read_project``, in ``project_file.py``); docs/annotating.md explains every key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rejoinder.annotation.unit import AnswerOption, FormName

NOTICE = (
    "The texts that you see may come from real conversations. Do not copy them elsewhere, do not try to find out who "
    "wrote them, and tell the owner of this project if you see a name, an address, a number or anything else that "
    "identifies a person. About you, this site stores the name that your link was made for, your answers and how long "
    "they took."
)


@dataclass(frozen=True, slots=True)
class ProjectAspect:
    """What is asked: a name, a question, and the options (numbers or words of a scale; empty for texts)."""

    name: str
    question: str
    options: tuple[AnswerOption, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectCheck:
    """A question whose answer is known: a gold question, an attention check or a part of the exercise.

    Either ``of`` is the id of a response, question or item in the data, or ``payload`` holds the check's own texts.
    ``answer`` is as written in the file: by aspect the accepted value, a list of them, or a table of them by reply.
    ``place`` is its position in the file, for errors.
    """

    answer: Mapping[str, Any] = field(hash=False)
    of: str | None = None
    payload: Mapping[str, Any] | None = field(default=None, hash=False)
    explanation: str = ""
    place: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class RaterExercise:
    """What a rater does first: ``needed`` of the questions must be answered correctly in one of ``attempts``."""

    questions: tuple[ProjectCheck, ...] = ()
    needed: int = 0
    attempts: int = 2


@dataclass(frozen=True, slots=True)
class Project:
    """What people are asked, about what, and how.

    A count of 0 means no limit (``units_per_rater``, ``stop_after``), all (``replies_per_unit``,
    ``pairs_per_item``) or one block of all units (``block``).
    """

    name: str
    title: str
    form: FormName
    data: tuple[str, ...]  # files, or dataset:NAME
    database: str
    aspects: tuple[ProjectAspect, ...]
    instructions: str = ""
    notice: str = NOTICE
    contact: str = ""
    completion: str = ""  # where a rater may go at the end: a link or a code
    raters_per_unit: int = 3
    units_per_rater: int = 0
    replies_per_unit: int = 1
    pairs_per_item: int = 0
    seed: int = 0
    block: int = 0
    minimum_seconds: float = 0.0
    lease_minutes: float = 30.0
    redact: frozenset[str] = frozenset()
    labels: tuple[str, ...] = ()
    ties: bool = True
    comments: bool = False
    longest_text: int = 2000
    checks_every: int = 10
    stop_after: int = 0
    gold: tuple[ProjectCheck, ...] = ()
    attention: tuple[ProjectCheck, ...] = ()
    exercise: RaterExercise = RaterExercise()
    path: Path | None = field(default=None, compare=False)


def is_url(database: str) -> bool:
    """Whether a database is given as a URL rather than a file."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", database) is not None
