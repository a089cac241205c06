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
from rejoinder.selection.ranking.evaluation import RankerStanding, merge_folds, standings
from rejoinder.selection.ranking.measures import get_gains
from rejoinder.selection.ranking.result import RankingResult
from rejoinder.text.normalise import normalise_text

NEW = "references of training come last"
MEMORY = "the higher a text was graded in training, the earlier it comes"


def rank_by_texts() -> list[RankerStanding]:
    """Both rules on all folds."""
    folds = {}
    for fold in known.FOLDS:
        rules = {NEW: _make_new_rule(fold), MEMORY: _make_memory_rule(fold)}
        of = known.questions(fold, "test")
        scores = {
            name: [tuple(rule(normalise_text(c.text)) for c in question.candidates) for question in of]
            for name, rule in rules.items()
        }
        folds[fold] = RankingResult(of, "u", scores)
    return standings(merge_folds(folds).evaluated())


def _make_new_rule(fold: int) -> Callable[[str], float]:
    references = known.read_train_overlap(fold).references
    return lambda text: -float(text in references)


def _make_memory_rule(fold: int) -> Callable[[str], float]:
    grades: Mapping[str, list[float]] = defaultdict(list)
    for question in known.questions(fold, "train"):
        for candidate, gain in zip(question.candidates, get_gains(question), strict=True):
            grades[normalise_text(candidate.text)].append(gain)
    means = {text: mean(of) for text, of in grades.items()}
    return lambda text: means.get(text, 0.0)
