"""Accuracy by kind of candidate: by error label, by source, by grade.

A group is a set of candidates that share one of these. For each group and system: the accuracy on the questions that
offer such a candidate, and how often the system selected it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from rejoinder.selection.accuracy import proportion_estimate
from rejoinder.selection.result import SelectionResult
from rejoinder.stats.arrays import NAN
from rejoinder.table import Estimate
from rejoinder.types import Candidate

GroupKey: TypeAlias = Callable[[Candidate], Iterable[str]]


class CandidateGroup(NamedTuple):
    """One group and one system; ``blind`` is how often a random choice would select such a candidate."""

    name: str
    system: str
    n: int
    unanswered: int
    accuracy: Estimate
    selected: Estimate
    blind: float


def by_label(candidate: Candidate) -> Iterable[str]:
    """The error labels that people gave or accepted."""
    return candidate.labels


def by_suggestion(candidate: Candidate) -> Iterable[str]:
    """The error labels that rules suggest and nobody has accepted."""
    labels = candidate.meta.get("suggested_labels", ())
    return [str(label) for label in labels] if isinstance(labels, list | tuple) else ()


def by_source(candidate: Candidate) -> Iterable[str]:
    """The source that found or wrote the candidate."""
    return () if candidate.source is None else (candidate.source,)


def by_grade(candidate: Candidate) -> Iterable[str]:
    """The grade, if it is a word."""
    return (candidate.grade,) if isinstance(candidate.grade, str) else ()


def break_down_accuracy(selected: SelectionResult, key: GroupKey, only_wrong: bool = True) -> list[CandidateGroup]:
    """Return every group of candidates for every system; by default, only wrong candidates form groups."""
    members: dict[str, list[frozenset[int]]] = {}
    empty = [frozenset[int]()] * len(selected.questions)
    for number, question in enumerate(selected.questions):
        for place, candidate in enumerate(question.candidates):
            if only_wrong and place in selected.right[number]:
                continue
            for name in key(candidate):
                places = members.setdefault(name, list(empty))
                places[number] |= {place}
    return [
        _measure_group(selected, name, places, system)
        for name, places in sorted(members.items())
        for system in selected.systems
    ]


def _measure_group(
    selected: SelectionResult, name: str, members: Sequence[frozenset[int]], system: str
) -> CandidateGroup:
    offering = np.array([bool(places) for places in members])
    points, clusters = selected.points[system][offering], selected.clusters[offering]
    selected_shares, chance_shares = [], []
    for number in np.flatnonzero(offering).tolist():
        places, group_places = selected.chosen[system][number], members[number]
        selected_shares.append(len(group_places.intersection(places)) / len(places) if places else NAN)
        chance_shares.append(len(group_places) / len(selected.questions[number].candidates))
    unanswered = int(np.isnan(points).sum())
    return CandidateGroup(
        name,
        system,
        len(points) - unanswered,
        unanswered,
        proportion_estimate(points, clusters),
        proportion_estimate(selected_shares, clusters),
        float(np.mean(chance_shares)),
    )
