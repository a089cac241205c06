"""Everything that is reported of a selection, computed once, with the questions on which systems disagree most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rejoinder.selection.accuracy import (
    SystemDifference,
    SystemStanding,
    differences,
    list_answering_systems,
    standings,
)
from rejoinder.selection.breakdown import CandidateGroup, breakdown, by_grade, by_label, by_source, by_suggestion
from rejoinder.selection.position_bias import PlaceShares, is_shuffled, places
from rejoinder.selection.result import SelectionResult


class DisputedQuestion(NamedTuple):
    """A question with who got it right, and whom each candidate convinced (a tie convinces by halves)."""

    place: int
    share: float
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    convinced: tuple[tuple[str, ...], ...]


class SystemAgreement(NamedTuple):
    """How many questions all systems that answered got right, and none; ``none`` holds their places."""

    n: int
    all_right: int
    none: tuple[int, ...]


def disputed(selected: SelectionResult, most: int = 10) -> list[DisputedQuestion]:
    """The questions whose points are nearest to half of the systems; of equal ones, those with more opinions first."""
    if len(selected.systems) < 2:
        return []
    descriptions = (_describe_dispute(selected, place) for place in range(len(selected.questions)))
    disputes = [dispute for dispute in descriptions if dispute is not None]
    disputes.sort(
        key=lambda dispute: (-dispute.share * (1 - dispute.share), -sum(map(bool, dispute.convinced)), dispute.place)
    )
    return disputes[:most]


def _describe_dispute(selected: SelectionResult, place: int) -> DisputedQuestion | None:
    points = {system: float(selected.points[system][place]) for system in selected.systems}
    answered = {system: value for system, value in points.items() if value == value}
    if len(answered) < 2 or not 0 < sum(answered.values()) < len(answered) or len(set(answered.values())) == 1:
        return None
    convinced = tuple(
        tuple(system for system in answered if candidate in selected.chosen[system][place])
        for candidate in range(len(selected.questions[place].candidates))
    )
    right = tuple(system for system, value in answered.items() if value == 1)
    wrong = tuple(system for system, value in answered.items() if value == 0)
    return DisputedQuestion(place, sum(answered.values()) / len(answered), right, wrong, convinced)


def agreement(selected: SelectionResult) -> SystemAgreement:
    """On how many questions all systems that answered were right, and on which none was."""
    table = np.stack(list(selected.points.values()))
    answered = ~np.isnan(table)
    answered_by_any = answered.any(axis=0)
    all_right = answered_by_any & (np.where(answered, table, 1) == 1).all(axis=0)
    none = answered_by_any & (np.where(answered, table, 0) == 0).all(axis=0)
    return SystemAgreement(int(answered_by_any.sum()), int(all_right.sum()), tuple(np.flatnonzero(none).tolist()))


MAX_LISTED = 10  # questions that are listed
ERROR_LABEL, SUGGESTED_LABEL, SOURCE, GRADE = "error label", "suggested error label", "source", "grade"


@dataclass(frozen=True)
class SelectionEvaluation:
    """A selection with what was found of it; ``groups`` by what they go by, only where there is something to tell."""

    selected: SelectionResult
    standings: Sequence[SystemStanding]
    differences: Sequence[SystemDifference]
    groups: Mapping[str, Sequence[CandidateGroup]]
    places: Sequence[PlaceShares]
    shuffled: bool
    disputed: Sequence[DisputedQuestion]
    agreement: SystemAgreement
    seed: int

    @property
    def order(self) -> list[str]:
        """The systems that answered, the most accurate first."""
        return list_answering_systems(self.standings)


def evaluate_selection(selected: SelectionResult, most: int = MAX_LISTED, seed: int = 0) -> SelectionEvaluation:
    """Accuracies, differences, breakdowns, places and disputed questions of a selection.

    - ``selected``: what systems selected, from ``select``.
    - ``most``: how many disputed questions are listed.
    - ``seed``: the seed of the resamples.

    >>> import rejoinder
    >>> run = rejoinder.select("testset.jsonl", ["tfidf"], "selected-by-words")
    >>> 0 <= rejoinder.evaluate_selection(run.selected).standings[0].accuracy.value <= 1
    True
    """
    by_accuracy = standings(selected, seed)
    groups = {
        ERROR_LABEL: breakdown(selected, by_label),
        SUGGESTED_LABEL: breakdown(selected, by_suggestion),
        SOURCE: breakdown(selected, by_source),
        GRADE: breakdown(selected, by_grade, only_wrong=False),
    }
    # One source for all, or one grade for the right and one for the wrong: the accuracy says it already.
    for name, few in ((SOURCE, 1), (GRADE, 2)):
        if len({group.name for group in groups[name]}) <= few:
            groups[name] = []
    return SelectionEvaluation(
        selected,
        by_accuracy,
        differences(selected, list_answering_systems(by_accuracy), seed),
        {name: members for name, members in groups.items() if members},
        places(selected),
        is_shuffled(selected),
        disputed(selected, most),
        agreement(selected),
        seed,
    )
