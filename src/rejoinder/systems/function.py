"""A user's own function as a system: ``./mine.py:name`` takes a context and candidates and returns numbers."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rejoinder.errors import InputError, RejoinderError, SpecError, brief, nearest
from rejoinder.metric import NAN
from rejoinder.systems._base import System
from rejoinder.systems._texts import distinct_texts, place_scores, spoken_question_turns
from rejoinder.types import Question
from rejoinder.user_file import load_user_file

_NAME = "score"  # of the function, if the path has none


@dataclass(frozen=True)
class Function(System):
    """The scores that ``name(context, candidates)`` of a Python file returns: one per candidate, higher is better.

    Both parameters are lists of texts. Each distinct candidate comes once, in an order that depends only on the texts.
    None and NaN mean no score.
    """

    path: str

    citation = "the user's own"
    alone = True  # the scores of a question do not depend on the others
    over_http = False

    def __post_init__(self) -> None:
        if not self._file.endswith(".py"):
            raise SpecError(f"function: path must be FILE.py:NAME, not {self.path!r}")

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        """Return one score per candidate."""
        user_function = self._function()
        return [self._score_question(user_function, question) for question in questions]

    def details(self) -> dict[str, str]:
        """Return the digest of the file and of what it imports from its folder."""
        return {"file": load_user_file(self._file, "system").digest}

    @property
    def _file(self) -> str:
        return self.path.partition(":")[0]

    def _function(self) -> Callable[..., Any]:
        return _load_function(self._file, self.path.partition(":")[2] or _NAME)

    def _score_question(self, user_function: Callable[..., Any], question: Question) -> list[float]:
        texts = distinct_texts(question)
        if not texts:
            return place_scores(question, {})
        where = f"{self.path}, question {question.id}"
        try:
            result = user_function([turn.text for turn in spoken_question_turns(question)], list(texts))
            values = result.tolist() if hasattr(result, "tolist") else list(result)
        except RejoinderError:
            raise
        except Exception as error:
            raise InputError(f"{where}: {type(error).__name__}: {error}") from error
        if not isinstance(values, list) or len(values) != len(texts):
            summary = f"{len(values)} value{'s' * (len(values) != 1)}" if isinstance(values, list) else brief(values)
            raise InputError(
                f"{where}: returned {summary} for {len(texts)} candidates; it must return a list with one score each"
            )
        return place_scores(
            question, {text: _function_score(value, where) for text, value in zip(texts, values, strict=True)}
        )


def _function_score(value: Any, where: str) -> float:
    if value is None:
        return NAN
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"{where}: returned {brief(value)}; a score must be a number (NaN for no score)")
    if math.isinf(value):
        raise InputError(f"{where}: returned {value}; a score must be a finite number (NaN for no score)")
    return float(value)


def _load_function(file: str, name: str) -> Callable[..., Any]:
    """Return a function of a file as it is now."""
    module = load_user_file(file, "system").module
    functions = {key: value for key, value in vars(module).items() if callable(value) and not key.startswith("_")}
    if name not in functions:
        raise SpecError(f"{file}: has no function {name!r}; {nearest(name, functions)}; name one with {file}:NAME")
    function: Callable[..., Any] = functions[name]
    return function
