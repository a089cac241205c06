"""Which system people prefer: strengths by Bradley and Terry's model from preferences between two replies to one item.

Intervals are clustered by dialogue (by item, where it names none): what is said of its replies hangs together. Where a
system was never beaten (or never won) there are no strengths; then they are shrunk a little, and the table says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rejoinder.comparison.judgements import AGGREGATE, check_preferences
from rejoinder.errors import InputError
from rejoinder.stats.bradley_terry import POINTS, Ranking, rank_systems
from rejoinder.table import Cell, Estimate, Table
from rejoinder.types import Item, Preference, Record, Response

SHRINKAGE = 0.1


@dataclass(frozen=True)
class PreferenceRanking:
    """The systems in the order of people's preferences in one aspect."""

    aspect: str
    ranking: Ranking
    n_raters: int
    n_items: int
    n_dialogues: int  # items without a dialogue are their own
    n_ties: int
    within_system: int  # preferences between two replies of one system, which say nothing of systems
    shrunk: str | None  # why strengths had to be shrunk, None where they had not

    def table(self) -> Table:
        """A line a system: strength with interval, share of points, judgements."""
        rows: list[list[Cell]] = [
            [one.system, Estimate(one.value, one.low, one.high), one.points / one.n if one.n else None, one.n]
            for one in self.ranking.strengths
        ]
        unit = "dialogues" if self.n_dialogues < self.n_items else "items"
        notes = [
            f"{self.ranking.n:,} preferences of {self.n_raters:,} raters on {self.n_items:,} items, "
            f"{self.n_ties:,} ties; a tie is half a point for each. A system with strength a is expected to get "
            f"1 / (1 + exp(b - a)) points against one with strength b; [low, high]: 95%, {unit} taken as the unit that "
            "varies.",
        ]
        if self.shrunk:
            notes.append(f"Strengths are shrunk towards 0 (by {SHRINKAGE:g}): {self.shrunk}.")
        elif self.ranking.reason:
            notes.append(f"{self.ranking.reason}.")
        if self.within_system:
            notes.append(f"{self.within_system:,} preferences between two replies of one system are left out.")
        title = f"Preferred systems: {self.aspect} (Bradley-Terry)"
        return Table(title, ["system", "strength", "points won", "judgements"], rows, notes)

    def sentence(self) -> str:
        """The ranking in one sentence."""
        strengths = self.ranking.strengths
        if not strengths:
            return f"{self.aspect}: all preferences are between two replies of one system, so none is of systems."
        if any(one.value != one.value for one in strengths):
            return f"{self.aspect}: the preferences give no strengths ({self.ranking.reason})."
        best = strengths[0]
        apart = [one.system for one in strengths[1:] if one.high < best.low]
        if not apart:
            return f"{self.aspect}: people prefer {best.system}, but its interval overlaps with all others'."
        told = f"{self.aspect}: people prefer {best.system}, by intervals that do not overlap, to {', '.join(apart)}"
        near = [one.system for one in strengths[1:] if one.system not in apart]
        return f"{told}; not surely to {', '.join(near)}." if near else f"{told}."


def rank_by_preference(records: Iterable[Record]) -> list[PreferenceRanking]:
    """The ranking of the systems in each aspect in which replies were compared; aggregated preferences do not count.

    - ``records``: a collection, or responses, items and preferences.

    >>> import rejoinder
    >>> rejoinder.rank_by_preference(rejoinder.read("chats.jsonl"))
    []
    """
    records = list(records)
    responses = {record.id: record for record in records if isinstance(record, Response)}
    dialogues = {record.id: record.dialogue for record in records if isinstance(record, Item)}
    by_aspect: dict[str, list[Preference]] = {}
    for record in records:
        if isinstance(record, Preference) and not record.rater.startswith(AGGREGATE):
            by_aspect.setdefault(record.aspect, []).append(record)
    return [_rank_aspect(aspect, given, responses, dialogues) for aspect, given in by_aspect.items()]


def _rank_aspect(
    aspect: str,
    given: Sequence[Preference],
    responses: Mapping[str, Response],
    dialogues: Mapping[str, str | None],
) -> PreferenceRanking:
    for one in given:
        for response in (one.first, one.second):
            if response not in responses:
                raise InputError(
                    f"a preference names the response {response!r}, which is not in the file; add its line, "
                    "for it says whose it is"
                )
    check_preferences(given, {name: response.item for name, response in responses.items()})
    systems = {name: response.system for name, response in responses.items()}
    apart = [one for one in given if systems[one.first] != systems[one.second]]
    names = [systems[one.first] for one in apart], [systems[one.second] for one in apart]
    points, items = [POINTS[one.choice] for one in apart], [one.item for one in apart]
    clusters = [("item", item) if dialogues.get(item) is None else ("dialogue", dialogues[item]) for item in items]
    ranking, shrunk = rank_systems(*names, points, clusters), None
    if ranking.reason and "set shrinkage" in ranking.reason:
        shrunk = ranking.reason.partition("; set shrinkage")[0]
        ranking = rank_systems(*names, points, clusters, shrinkage=SHRINKAGE)
    return PreferenceRanking(
        aspect,
        ranking,
        len({one.rater for one in apart}),
        len(set(items)),
        len(set(clusters)),
        sum(one.choice == "tie" for one in apart),
        len(given) - len(apart),
        shrunk,
    )
