"""Scores of candidates with their grades, and how well scores tell one grade from another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import Bools, Floats
from rejoinder.stats.correlation import midranks
from rejoinder.stats.interval import Interval, mean_interval
from rejoinder.text.similarity import count_repeated_words
from rejoinder.types import Question

POSITIVE, ADVERSARIAL = "positive", "adversarial"


class GradedScores(NamedTuple):
    """Scores with the grade and the question of each; those without a score are left out and counted.

    ``repeated`` is how many content words each reply has from its context.
    """

    scores: Floats
    repeated: Floats
    grades: list[str]
    questions: list[str]
    n_missing: int

    def rows(self, *grades: str) -> Bools:
        """Which rows have one of some grades."""
        return np.array([grade in grades for grade in self.grades], bool)


def collect_graded_scores(questions: Sequence[Question], scores: Sequence[Sequence[float]]) -> GradedScores:
    """The scores of candidates that have a grade in words, in one row."""
    rows = [
        (score, str(one.grade), question.id, count_repeated_words(question.context, one.text))
        for question, of_question in zip(questions, scores, strict=True)
        for one, score in zip(question.candidates, of_question, strict=True)
        if not math.isnan(score)
    ]
    values, again = (np.array([row[column] for row in rows], np.float64) for column in (0, 3))
    n_missing = sum(map(len, scores)) - len(rows)
    found = GradedScores(values, again, [row[1] for row in rows], [row[2] for row in rows], n_missing)
    for grade in (POSITIVE, ADVERSARIAL):
        if not found.rows(grade).any():
            raise InputError(f"no candidate with a score has the grade {grade!r}; measure on DailyDialog++")
    return found


def auc_interval(found: GradedScores, higher: str, lower: str) -> Interval:
    """How probable it is that a reply of one grade is above one of another, ties half, clustered by question.

    The standard error is that of Obuchowski (1997): each reply counts by how many of the other grade it is above.
    """
    high, low = found.rows(higher), found.rows(lower)
    both = np.concatenate([found.scores[high], found.scores[low]])
    n, m = int(high.sum()), int(low.sum())
    ranks = midranks(both)
    above = (ranks[:n] - midranks(both[:n])) / m
    below = 1 - (ranks[n:] - midranks(both[n:])) / n
    value = float(above.mean())
    parts = np.concatenate([value + (above - value) * (n + m) / n, value + (below - value) * (n + m) / m])
    names = np.array(found.questions)
    return mean_interval(parts, [*names[high].tolist(), *names[low].tolist()])._replace(value=value)
