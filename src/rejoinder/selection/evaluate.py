"""The evaluation of a selection: everything that reports show, with the questions on which systems disagree most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rejoinder.selection.accuracy import (
    AccuracyDifference,
    AccuracyStanding,
    accuracy_differences,
    accuracy_standings,
    list_answering_systems,
)
from rejoinder.selection.breakdown import (
    CandidateGroup,
    break_down_accuracy,
    by_grade,
    by_label,
    by_source,
    by_suggestion,
)
from rejoinder.selection.position_bias import PlaceShares, are_places_shuffled, measure_place_shares
from rejoinder.selection.result import SelectionResult


class DisputedQuestion(NamedTuple):
    """A question, which systems got it right or wrong, and which systems selected each candidate.

    Systems that gave it a share of a point are in neither ``right`` nor ``wrong``.
    """

    place: int
    share: float
    right: tuple[str, ...]
    wrong: tuple[str, ...]
    convinced: tuple[tuple[str, ...], ...]


class SystemAgreement(NamedTuple):
    """How many questions every answering system got right; ``none`` holds the places of those that no system did."""

    n: int
    all_right: int
    none: tuple[int, ...]


def find_disputed_questions(selected: SelectionResult, most: int = 10) -> list[DisputedQuestion]:
    """The questions with a share of right systems nearest to a half; of equal ones, those with more choices first."""
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


def count_system_agreement(selected: SelectionResult) -> SystemAgreement:
    """Count the questions that all answering systems got right, and find those that none did."""
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
    """A selection and its evaluation; ``groups`` has the breakdowns by name, without those that say nothing new."""

    selected: SelectionResult
    standings: Sequence[AccuracyStanding]
    differences: Sequence[AccuracyDifference]
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
    """Compute the accuracies, differences, breakdowns, places and disputed questions of a selection.

    - ``selected``: what systems selected, from ``select``.
    - ``most``: the largest number of disputed questions to list.
    - ``seed``: the seed for resampling.

    >>> import rejoinder
    >>> run = rejoinder.select("testset.jsonl", ["tfidf"], "selected-by-words")
    >>> 0 <= rejoinder.selection.evaluate_selection(run.selected).standings[0].accuracy.value <= 1
    True
    """
    by_accuracy = accuracy_standings(selected, seed)
    groups = {
        ERROR_LABEL: break_down_accuracy(selected, by_label),
        SUGGESTED_LABEL: break_down_accuracy(selected, by_suggestion),
        SOURCE: break_down_accuracy(selected, by_source),
        GRADE: break_down_accuracy(selected, by_grade, only_wrong=False),
    }
    # A single source, or one grade for right and one for wrong candidates: the accuracy already says it all.
    for name, few in ((SOURCE, 1), (GRADE, 2)):
        if len({group.name for group in groups[name]}) <= few:
            groups[name] = []
    return SelectionEvaluation(
        selected,
        by_accuracy,
        accuracy_differences(selected, list_answering_systems(by_accuracy), seed),
        {name: members for name, members in groups.items() if members},
        measure_place_shares(selected),
        are_places_shuffled(selected),
        find_disputed_questions(selected, most),
        count_system_agreement(selected),
        seed,
    )
