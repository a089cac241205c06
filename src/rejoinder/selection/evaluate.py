"""Everything that is told of a selection, computed once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rejoinder.selection.accuracy import Standing, answered, standings
from rejoinder.selection.breakdown import Group, breakdown, by_grade, by_label, by_source, by_suggestion
from rejoinder.selection.disagreement import Agreement, Disputed, agreement, disputed
from rejoinder.selection.position_bias import Places, is_shuffled, places
from rejoinder.selection.result import Selected
from rejoinder.selection.significance import Difference, differences

MOST = 10  # questions that are listed
LABELLED, SUGGESTED, SOURCE, GRADE = "error label", "suggested error label", "source", "grade"


@dataclass(frozen=True)
class Examined:
    """A selection with what was found of it; ``groups`` by what they go by, only where there is something to tell."""

    selected: Selected
    standings: Sequence[Standing]
    differences: Sequence[Difference]
    groups: Mapping[str, Sequence[Group]]
    places: Sequence[Places]
    shuffled: bool
    disputed: Sequence[Disputed]
    agreement: Agreement
    seed: int

    @property
    def order(self) -> list[str]:
        """The systems that answered, the most accurate first."""
        return answered(self.standings)


def examine(selected: Selected, most: int = MOST, seed: int = 0) -> Examined:
    """Accuracies, differences, breakdowns, places and disputed questions of a selection."""
    found = standings(selected, seed)
    groups = {
        LABELLED: breakdown(selected, by_label),
        SUGGESTED: breakdown(selected, by_suggestion),
        SOURCE: breakdown(selected, by_source),
        GRADE: breakdown(selected, by_grade, only_wrong=False),
    }
    # One source for all, or one grade for the right and one for the wrong: the accuracy says it already.
    for name, few in ((SOURCE, 1), (GRADE, 2)):
        if len({group.name for group in groups[name]}) <= few:
            groups[name] = []
    return Examined(
        selected,
        found,
        differences(selected, answered(found), seed),
        {name: some for name, some in groups.items() if some},
        places(selected),
        is_shuffled(selected),
        disputed(selected, most),
        agreement(selected),
        seed,
    )
