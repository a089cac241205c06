"""What the texts of candidates give away by themselves, since folds share them: no request and no situation is read.

The distractors of a test question are references of other examples, most of them training examples; the reference
itself seldom is. So who only asks which candidates were references in training can rule many out, and who goes by the
grades that a text had in training is led astray.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from statistics import mean

from rejoinder.papers.sugar import folds as known
from rejoinder.selection.ranking.evaluation import Standing, standings, together
from rejoinder.selection.ranking.measures import gains_of
from rejoinder.selection.ranking.result import Ranked
from rejoinder.text.normalise import same_words

NEW = "references of training come last"
REMEMBERED = "the higher a text was graded in training, the earlier it comes"


def texts_alone() -> list[Standing]:
    """Both rules on all folds."""
    folds = {}
    for fold in known.FOLDS:
        rules = {NEW: _new(fold), REMEMBERED: _remembered(fold)}
        of = known.questions(fold, "test")
        scores = {
            name: [tuple(rule(same_words(c.text)) for c in question.candidates) for question in of]
            for name, rule in rules.items()
        }
        folds[fold] = Ranked(of, "u", scores)
    return standings(together(folds).evaluated())


def _new(fold: int) -> Callable[[str], float]:
    references = known.training_of(fold).references
    return lambda text: -float(text in references)


def _remembered(fold: int) -> Callable[[str], float]:
    grades: Mapping[str, list[float]] = defaultdict(list)
    for question in known.questions(fold, "train"):
        for candidate, gain in zip(question.candidates, gains_of(question), strict=True):
            grades[same_words(candidate.text)].append(gain)
    means = {text: mean(of) for text, of in grades.items()}
    return lambda text: means.get(text, 0.0)
