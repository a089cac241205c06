"""The measures by kind of question: category and number of the relevant statements, polarity, seen in training."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np

from rejoinder.data.questions import CATEGORIES
from rejoinder.selection.ranking.fold_means import FoldMean, mean_over_folds
from rejoinder.selection.ranking.result import MEASURES, RankingResult
from rejoinder.types import Question

CATEGORY, POLARITY, NUMBER, SEEN = "category", "polarity", "relevant statements", "seen in training"
_NONE = "none given"
QuestionKey: TypeAlias = Callable[[Question], Iterable[str]]


class QuestionGroup(NamedTuple):
    """The questions of one kind, as one ranker ranked them."""

    name: str
    ranker: str
    n: int
    measures: Mapping[str, FoldMean]


def by_category(question: Question) -> Iterable[str]:
    """The categories of the relevant statements; a question may count in several."""
    return {statement.category or _NONE for statement in question.situation if statement.relevant}


def by_polarity(question: Question) -> Iterable[str]:
    """Whether the replies say yes or no, if the question's meta has it."""
    polarity = question.meta.get("polarity")
    return () if polarity is None else (str(polarity),)


def by_number(question: Question) -> Iterable[str]:
    """How many statements are relevant, if that is known."""
    if all(statement.relevant is None for statement in question.situation):
        return ()
    return (str(sum(bool(statement.relevant) for statement in question.situation)),)


def list_ranking_breakdowns(
    ranked: RankingResult, overlap: QuestionKey | None = None, seed: int = 0
) -> dict[str, list[QuestionGroup]]:
    """Return every breakdown with more than one kind of question.

    ``overlap`` returns what part of a question was seen in training (``TrainOverlap.kinds``).
    """
    groups = {
        CATEGORY: break_down_ranking(ranked, by_category, seed),
        POLARITY: break_down_ranking(ranked, by_polarity, seed),
        NUMBER: break_down_ranking(ranked, by_number, seed),
    }
    if overlap is not None:
        groups[SEEN] = break_down_ranking(ranked, overlap, seed)
    return {name: members for name, members in groups.items() if len({group.name for group in members}) > 1}


def break_down_ranking(ranked: RankingResult, key: QuestionKey, seed: int = 0) -> list[QuestionGroup]:
    """Return the measures of each ranker on the questions of each kind."""
    members: dict[str, list[int]] = {}
    for place, question in enumerate(ranked.questions):
        for name in key(question):
            members.setdefault(name, []).append(place)
    groups = []
    for name in sorted(members, key=_group_sort_key):
        places = np.array(members[name], np.int64)
        folds, clusters = ranked.fold_codes[places], ranked.clusters[places]
        for ranker in ranked.rankers:
            # A kind may be rare in a fold, so its questions are pooled over the folds.
            measures = {
                measure: mean_over_folds(
                    ranked.values[measure][ranker][places], np.zeros_like(folds), clusters, seed=seed
                )
                for measure in MEASURES
            }
            groups.append(QuestionGroup(name, ranker, len(places), measures))
    return groups


def _group_sort_key(name: str) -> tuple[int, int, str]:
    """Categories in the paper's order, numbers by size, everything else by name."""
    if name in CATEGORIES:
        return (0, CATEGORIES.index(name), name)
    return (1, int(name), name) if name.isdecimal() else (2, 0, name)
