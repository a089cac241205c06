"""Which system people prefer, or a judge: strengths by Bradley and Terry's model from choices between two replies.

Ties are a third outcome, by the model of Davidson (1970). Intervals are clustered by dialogue (by item, where it names
none): judgements of its replies are not independent. Where a system was never beaten (or never won) there are no
strengths; then they are shrunk a little, and the table says so. The preferences of a judge (``judge:MODEL``) are ranked
apart from those of people.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from rejoinder.comparison.judgements import AGGREGATE, check_preferences, is_by_judge
from rejoinder.errors import InputError
from rejoinder.stats.bradley_terry import POINTS, SHRINKAGE, StrengthRanking, rank_finite
from rejoinder.table import Cell, Estimate, Table, format_count, join_names
from rejoinder.types import Item, Preference, Record, Response


@dataclass(frozen=True)
class PreferenceRanking:
    """The systems in the order of people's preferences in one aspect, or of a judge's."""

    aspect: str
    ranking: StrengthRanking
    n_raters: int
    n_items: int
    n_dialogues: int  # an item without a dialogue counts as one
    n_ties: int
    within_system: int  # preferences between two replies of one system, which say nothing about systems
    shrunk: str | None  # why strengths had to be shrunk, None if they were not
    judge: str | None = None  # the judge, as the preferences name it; None if they are those of people

    def table(self) -> Table:
        """One line per system: strength with interval, share of points, judgements."""
        rows: list[list[Cell]] = [
            [
                strength.system,
                Estimate(strength.value, strength.low, strength.high),
                strength.points / strength.n if strength.n else None,
                strength.n,
            ]
            for strength in self.ranking.strengths
        ]
        unit = "dialogues" if self.n_dialogues < self.n_items else "items"
        notes = [
            f"{format_count(self.ranking.n, 'preference')} by {format_count(self.n_raters, 'rater')} on "
            f"{format_count(self.n_items, 'item')}, {format_count(self.n_ties, 'tie')}; a tie is half a point for "
            "each. A system with strength a is expected to win 1 / (1 + exp(b - a)) of its judgements without ties "
            f"against one with strength b; [low, high]: 95% interval over {unit}.",
        ]
        if self.ranking.ties is not None and self.ranking.ties.value:
            notes.append(self.ranking.ties.sentence())
        if self.shrunk:
            notes.append(f"Strengths are shrunk towards 0 (by {SHRINKAGE:g}): {self.shrunk}.")
        elif self.ranking.reason:
            notes.append(f"{self.ranking.reason[0].upper()}{self.ranking.reason[1:]}.")
        if self.within_system:
            notes.append(
                f"Left out: {format_count(self.within_system, 'preference')} between two replies of one system."
            )
        if self.judge is not None:
            notes.append("These are the preferences of a model, not of people.")
        whose = "" if self.judge is None else f", by {self.judge}"
        title = f"Preferred systems: {self.aspect}{whose} (Bradley-Terry)"
        return Table(title, ["system", "strength", "points won", "judgements"], rows, notes)

    def sentence(self) -> str:
        """The ranking in one sentence."""
        strengths = self.ranking.strengths
        if not strengths:
            return f"{self.aspect}: all preferences are between two replies of one system, so they do not rank systems."
        if any(strength.value != strength.value for strength in strengths):
            return f"{self.aspect}: the preferences give no strengths ({self.ranking.reason})."
        best, prefer = strengths[0], "people prefer" if self.judge is None else f"{self.judge} prefers"
        beaten = [strength.system for strength in strengths[1:] if strength.high < best.low]
        if not beaten:
            return f"{self.aspect}: {prefer} {best.system}, but its interval overlaps those of all others."
        start = f"{self.aspect}: {prefer} {best.system} to {', '.join(beaten)} (the intervals do not overlap)"
        near = [strength.system for strength in strengths[1:] if strength.system not in beaten]
        return f"{start}; its lead over {join_names(near)} may be chance." if near else f"{start}."


def rank_by_preference(records: Iterable[Record]) -> list[PreferenceRanking]:
    """The ranking of the systems in each aspect in which replies were compared; aggregated preferences are ignored.

    People come first; every judge has rankings of its own.

    - ``records``: a collection, or responses, items and preferences.

    >>> import rejoinder
    >>> rejoinder.comparison.rank_by_preference(rejoinder.read("chats.jsonl"))
    []
    """
    records = list(records)
    responses = {record.id: record for record in records if isinstance(record, Response)}
    dialogues = {record.id: record.dialogue for record in records if isinstance(record, Item)}
    by_rater: dict[tuple[str | None, str], list[Preference]] = {}
    for record in records:
        if isinstance(record, Preference) and not record.rater.startswith(AGGREGATE):
            judge = record.rater if is_by_judge(record) else None
            by_rater.setdefault((judge, record.aspect), []).append(record)
    return [
        replace(_rank_aspect(aspect, preferences, responses, dialogues), judge=judge)
        for (judge, aspect), preferences in sorted(by_rater.items(), key=lambda one: one[0][0] is not None)
    ]


def _rank_aspect(
    aspect: str,
    preferences: Sequence[Preference],
    responses: Mapping[str, Response],
    dialogues: Mapping[str, str | None],
) -> PreferenceRanking:
    for preference in preferences:
        for response in (preference.first, preference.second):
            if response not in responses:
                raise InputError(
                    f"a preference names the response {response!r}, which is not in the file; add its line, "
                    "which names its system"
                )
    check_preferences(preferences, {name: response.item for name, response in responses.items()})
    systems = {name: response.system for name, response in responses.items()}
    between_systems = [
        preference for preference in preferences if systems[preference.first] != systems[preference.second]
    ]
    names = (
        [systems[preference.first] for preference in between_systems],
        [systems[preference.second] for preference in between_systems],
    )
    points, items = (
        [POINTS[preference.choice] for preference in between_systems],
        [preference.item for preference in between_systems],
    )
    clusters = [("item", item) if dialogues.get(item) is None else ("dialogue", dialogues[item]) for item in items]
    ranking, shrunk = rank_finite(*names, points, clusters, ties="davidson")
    return PreferenceRanking(
        aspect,
        ranking,
        len({preference.rater for preference in between_systems}),
        len(set(items)),
        len(set(clusters)),
        sum(preference.choice == "tie" for preference in between_systems),
        len(preferences) - len(between_systems),
        shrunk,
    )
