"""Scores of candidates with their grades, and how well scores separate one grade from another."""

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
    """Scores with their grades and questions; candidates without a score are left out and counted.

    ``repeated`` is how many content words each reply repeats from its context.
    """

    scores: Floats
    repeated: Floats
    grades: list[str]
    questions: list[str]
    n_missing: int

    def rows(self, *grades: str) -> Bools:
        """Which rows have one of these grades."""
        return np.array([grade in grades for grade in self.grades], bool)


def collect_graded_scores(questions: Sequence[Question], scores: Sequence[Sequence[float]]) -> GradedScores:
    """Return the scores of all candidates, with their grades as words, in one flat list."""
    rows = [
        (score, str(candidate.grade), question.id, count_repeated_words(question.context, candidate.text))
        for question, line in zip(questions, scores, strict=True)
        for candidate, score in zip(question.candidates, line, strict=True)
        if not math.isnan(score)
    ]
    values, repeats = (np.array([row[column] for row in rows], np.float64) for column in (0, 3))
    n_missing = sum(map(len, scores)) - len(rows)
    graded = GradedScores(values, repeats, [row[1] for row in rows], [row[2] for row in rows], n_missing)
    for grade in (POSITIVE, ADVERSARIAL):
        if not graded.rows(grade).any():
            raise InputError(f"no candidate with a score has the grade {grade!r}; measure on DailyDialog++")
    return graded


def auc_interval(graded: GradedScores, higher: str, lower: str) -> Interval:
    """The probability that a reply of one grade scores above one of another, ties counting half; clustered by question.

    The standard error is that of Obuchowski (1997): each reply counts by how many of the other grade it is above.
    """
    high, low = graded.rows(higher), graded.rows(lower)
    both = np.concatenate([graded.scores[high], graded.scores[low]])
    n, m = int(high.sum()), int(low.sum())
    ranks = midranks(both)
    above = (ranks[:n] - midranks(both[:n])) / m
    below = 1 - (ranks[n:] - midranks(both[n:])) / n
    value = float(above.mean())
    parts = np.concatenate([value + (above - value) * (n + m) / n, value + (below - value) * (n + m) / m])
    names = np.array(graded.questions)
    return mean_interval(parts, [*names[high].tolist(), *names[low].tolist()])._replace(value=value)
