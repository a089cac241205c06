"""Answers of trained networks, stored with a paper: scores per question and candidate, without any text.

A file ``answers/NAME.jsonl.gz`` in the paper's folder, or in ``<cache>/answers/PAPER``, where users put theirs. The
first line says whose answers they are, with a digest of what was asked; each further line is a list of a key (strings),
the scores, and where a paper has more to say, that. Scores have nine digits, as many as a 32-bit number has.

Papers whose scores have another shape store one JSON object beside their modules; ``read_stored`` and ``write_stored``
are for those.
"""

from __future__ import annotations

import gzip
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import orjson

from rejoinder.errors import InputError
from rejoinder.files import atomic_write
from rejoinder.metric import NAN
from rejoinder.paths import cache_home

VERSION = 1
_PAPERS = Path(__file__).parent
Key: TypeAlias = tuple[str, ...]


class AnswerLine(NamedTuple):
    """The scores of one question's candidates, and what else was answered."""

    scores: tuple[float, ...]
    more: Any = None


@dataclass(frozen=True)
class StoredAnswers:
    """The answers of a network, or of several that belong together.

    - ``name``: whose answers they are, as the file is called.
    - ``asked``: the digest of what was asked.
    - ``about``: signatures, commands, versions.
    - ``lines``: by key, such as fold, split and question.
    """

    name: str
    asked: str
    about: Mapping[str, Any]
    lines: Mapping[Key, AnswerLine]


def stored_answers_path(paper: str, name: str, shipped: bool = False) -> Path:
    """The file of some answers: in the cache, or the one that comes with the package."""
    folder = _PAPERS / paper / "answers" if shipped else cache_home() / "answers" / paper
    return folder / f"{name}.jsonl.gz"


def find_stored_answers(paper: str, name: str) -> Path | None:
    """Return the file of some answers, a user's own before the package's; None if there is neither."""
    places = (stored_answers_path(paper, name), stored_answers_path(paper, name, shipped=True))
    return next((path for path in places if path.is_file()), None)


def write_stored_answers(path: Path, answers: StoredAnswers) -> None:
    """Write answers; the same answers give the same bytes."""
    head = {"version": VERSION, "name": answers.name, "asked": answers.asked, "about": answers.about}
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(orjson.dumps(head, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SORT_KEYS))
        for key, (scores, more) in sorted(answers.lines.items()):
            line = [key, [_shorten(score) for score in scores], *([] if more is None else [more])]
            file.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


def read_stored_answers(path: Path, name: str, asked: str) -> StoredAnswers:
    """Read answers; raise an error if they are somebody else's or answers to something else."""
    try:
        head, *lines = gzip.decompress(path.read_bytes()).splitlines()
        facts = orjson.loads(head)
        answers = StoredAnswers(facts["name"], facts["asked"], facts["about"], dict(map(_read_line, lines)))
        version = facts["version"]
    except (OSError, EOFError, ValueError, KeyError, TypeError, IndexError):
        raise InputError(f"{path}: has no stored answers; compute them again") from None
    if (version, answers.name, answers.asked) != (VERSION, name, asked):
        raise InputError(f"{path}: has answers by another network or to other questions; delete it")
    if len(answers.lines) != len(lines):
        raise InputError(f"{path}: has two answers to a question; compute them again")
    return answers


def write_stored(path: Path, content: object, sort_keys: bool = False) -> None:
    """Write one JSON value, compressed; the same content gives the same bytes."""
    with atomic_write(path) as file:
        file.write(orjson.dumps(content, option=orjson.OPT_SORT_KEYS if sort_keys else 0))


def read_stored(path: Path, remedy: str) -> Any:
    """Read what ``write_stored`` wrote; an error says that it cannot be read, and what to do."""
    try:
        return orjson.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, ValueError):
        raise InputError(f"{path}: cannot be read; {remedy}") from None


def _shorten(score: float) -> float | None:
    return None if math.isnan(score) else float(f"{score:.9g}")


def _read_line(line: bytes) -> tuple[Key, AnswerLine]:
    key, scores, *more = orjson.loads(line)
    numbers = tuple(NAN if score is None else float(score) for score in scores)
    return tuple(map(str, key)), AnswerLine(numbers, more[0] if more else None)
