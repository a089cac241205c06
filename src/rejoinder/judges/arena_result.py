"""What a judge's choices between systems' replies say: about the systems, and about the judge.

A choice is the one made in both orders; where they differ, it is a tie (for the embedded judge, the mean of the
log-odds decides). Intervals are over dialogues (over items, where they name none). The strengths are those of
``rejoinder compare --preferences``.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from rejoinder.judges.answer_summary import describe_cost, describe_summary
from rejoinder.judges.bias import JudgeBias, bias_table, format_percent, measure_bias
from rejoinder.judges.pairs import POINTS, ComparedPair
from rejoinder.metric import Unit
from rejoinder.scoring.texts import JUDGE
from rejoinder.stats.arrays import Floats
from rejoinder.stats.bradley_terry import SHRINKAGE, StrengthRanking, rank_finite, rank_strengths
from rejoinder.stats.interval import Interval, interval_estimate, mean_interval, share_interval
from rejoinder.table import Cell, Estimate, Table, format_count
from rejoinder.types import Item, Preference, Response


class PeopleAgreement(NamedTuple):
    """How often the judge chooses what most people chose, and the longer reply does, where people decided."""

    aspect: str
    n: int
    judge: Interval
    longer: Interval
    lead: Interval  # of the judge over the longer reply


@dataclass(frozen=True)
class Arena:
    """The choices of one judge between the replies of systems."""

    judge: str
    rubric: str
    rubric_digest: str
    pairs: tuple[ComparedPair, ...]
    left_out: Mapping[str, int]  # replies, by reason
    people: tuple[Preference, ...]
    seed: int = 0
    unit: Unit = "reply"  # what the pairs are of
    shared_contexts: int = 0  # pairs of dialogues with earlier replies that are not the systems' own
    answers: Mapping[str, Any] = field(default_factory=dict)  # counts of them
    cost: Mapping[str, Any] | None = None  # of all answers, as in run.json; None for the embedded judge

    @property
    def rater(self) -> str:
        """The rater of the judge's preferences."""
        return JUDGE + self.judge

    @property
    def systems(self) -> list[str]:
        """The systems that were compared."""
        return sorted({reply.system for pair in self.pairs for reply in (pair.first, pair.second)})

    @property
    def ranking(self) -> StrengthRanking:
        """The systems by strength (Bradley-Terry, with Davidson's ties); shrunk where some is infinite."""
        return self._ranking[0]

    @functools.cached_property
    def _ranking(self) -> tuple[StrengthRanking, str | None]:
        return rank_finite(*self._columns, ties="davidson")

    @functools.cached_property
    def ranks(self) -> Mapping[str, tuple[int, int]]:
        """The best and the worst rank that each system may have."""
        shrinkage = SHRINKAGE if self._ranking[1] else 0.0
        return rank_strengths(*self._columns, ties="davidson", shrinkage=shrinkage, seed=self.seed)

    @functools.cached_property
    def bias(self) -> JudgeBias:
        """How much place and length decide."""
        return measure_bias(self.pairs, self.unit)

    @functools.cached_property
    def agreement(self) -> list[PeopleAgreement]:
        """The agreement with people, in each aspect in which they compared the same replies."""
        return [_measure_agreement(aspect, self.pairs, self.people) for aspect in self._people_aspects()]

    def win_rate(self, first: str, second: str) -> Interval:
        """The share of points that a system gets against another; a tie is half a point."""
        points, clusters = [], []
        for pair in self.pairs:
            if {pair.first.system, pair.second.system} == {first, second}:
                points.append(pair.points if pair.first.system == first else 1 - pair.points)
                clusters.append(pair.cluster)
        return share_interval(points, clusters)

    def records(self) -> list[Item | Response | Preference]:
        """The compared replies with their items, and the judge's preferences, each with both orders in its meta."""
        items = {pair.item.id: pair.item for pair in self.pairs}
        responses = {reply.id: reply for pair in self.pairs for reply in (pair.first, pair.second)}
        return [*items.values(), *responses.values(), *self.preferences()]

    def preferences(self) -> list[Preference]:
        """The judge's preferences; none where no answer could be read."""
        return [
            Preference(
                pair.item.id,
                pair.first.id,
                pair.second.id,
                self.rater,
                pair.comparison.choice,
                self.rubric,
                self._describe_pair(pair),
            )
            for pair in self.pairs
            if pair.comparison.choice is not None
        ]

    def table(self) -> Table:
        """One line per system: strength with interval, range of ranks, share of points."""
        rows: list[list[Cell]] = []
        for strength in self.ranking.strengths:
            low, high = self.ranks.get(strength.system, (0, 0))
            ranks = "–" if not low else str(low) if low == high else f"{low} to {high}"
            share = strength.points / strength.n if strength.n else None
            estimate = Estimate(strength.value, strength.low, strength.high)
            rows.append([strength.system, estimate, ranks, share, strength.n])
        title = f"Systems by the preferences of {self.rater}: {self.rubric} (Bradley-Terry)"
        return Table(title, ["system", "strength", "ranks", "points won", "pairs"], rows, self._notes())

    def pair_table(self) -> Table:
        """One line per two systems: the win rate of the first with its interval."""
        rows: list[list[Cell]] = []
        order = [strength.system for strength in self.ranking.strengths] or self.systems
        for first, second in combinations(order, 2):
            rate = self.win_rate(first, second)
            if rate.n:
                rows.append([first, second, interval_estimate(rate), self._tie_share(first, second), rate.n])
        note = "A tie is half a win; 95% intervals over dialogues, or items without one."
        return Table("Win rates", ["system", "against", "win rate", "ties", "pairs"], rows, [note])

    def bias_table(self) -> Table:
        """The judge's own ways: place, orders, length."""
        return bias_table(self.bias, "The judge itself")

    def people_table(self) -> Table | None:
        """The agreement with people beside length alone and a coin; None where people compared none of the pairs."""
        if not self.agreement:
            return None
        rows: list[list[Cell]] = []
        for one in self.agreement:
            rows += [
                [one.aspect, self.rater, interval_estimate(one.judge), one.n],
                [one.aspect, "the longer reply", interval_estimate(one.longer), one.n],
                [one.aspect, "a coin", 0.5, one.n],
            ]
        note = "Pairs that most people decided; a tie of the judge is half right."
        return Table("Agreement with people", ["aspect", "by", "agreement", "pairs"], rows, [note])

    def cost_table(self) -> Table | None:
        """Requests, tokens and cost of all answers; None for the embedded judge."""
        if self.cost is None:
            return None
        names = ("requests", "answered_before", "input_tokens", "output_tokens", "cost")
        row: list[Cell] = [self.rater, *(self.cost[name] for name in names)]
        heads = ["judge", *(name.replace("_", " ") for name in names)]
        return Table("Cost", heads, [row], [describe_cost(self.cost)])

    def tables(self) -> list[Table]:
        """All tables but that of the cost, which is also a note of the first."""
        found = [self.table(), self.pair_table(), self.bias_table(), self.people_table()]
        return [table for table in found if table is not None]

    def sentences(self) -> list[str]:
        """What the choices say, in sentences."""
        said = [self._say_ranking(), *self.bias.sentences()]
        for one in self.agreement:
            way = "more" if one.lead.low > 0 else "less" if one.lead.high < 0 else "not shown to be more or less"
            said.append(
                f"{one.aspect}: it agrees with people in {format_percent(one.judge)} of {one.n:,} pairs; {way} often "
                f"than the longer reply does ({format_percent(one.longer)})."
            )
        return said

    def __str__(self) -> str:
        return "\n\n".join([*(str(table) for table in self.tables()), "\n".join(self.sentences())])

    @property
    def _columns(self) -> tuple[list[str], list[str], list[float], list[tuple[str, str]]]:
        pairs = self.pairs
        systems = [pair.first.system for pair in pairs], [pair.second.system for pair in pairs]
        return *systems, [pair.points for pair in pairs], [pair.cluster for pair in pairs]

    def _describe_pair(self, pair: ComparedPair) -> dict[str, object]:
        if pair.is_equal:
            return {"rubric": self.rubric_digest, "equal": True}
        orders = [pair.comparison.forward, pair.comparison.backward]
        return {"rubric": self.rubric_digest, "orders": orders, "advantage": round(pair.comparison.advantage, 4)}

    def _notes(self) -> list[str]:
        equal, unread = sum(pair.is_equal for pair in self.pairs), sum(math.isnan(pair.points) for pair in self.pairs)
        ties = sum(pair.comparison.choice == "tie" for pair in self.pairs)
        things, places = ("replies", "item") if self.unit == "reply" else ("dialogues", "dialogue name")
        notes = [
            f"{format_count(len(self.pairs), 'pair')} of {things} on "
            f"{format_count(len({pair.item.id for pair in self.pairs}), places)}, each asked in both orders; "
            f"{format_count(ties, 'tie')}, {equal:,} of them equal {things}. These are the preferences of a model, not "
            "of people. A system with strength a is expected to win 1 / (1 + exp(b - a)) of its pairs without ties "
            "against one with strength b; a tie is half a point; [low, high] and ranks: 95% intervals over dialogues, "
            "or items without one."
        ]
        ranking, shrunk = self._ranking
        if ranking.ties is not None and ranking.ties.value:
            notes.append(ranking.ties.sentence())
        if unread:
            notes.append(f"No answer could be read for {format_count(unread, 'pair')}, which are left out.")
        if shrunk or ranking.reason:
            why = f"strengths are shrunk towards 0 (by {SHRINKAGE:g}): {shrunk}" if shrunk else str(ranking.reason)
            notes.append(f"{why[0].upper()}{why[1:]}.")
        if self.shared_contexts:
            notes.append(
                f"In {format_count(self.shared_contexts, 'pair')} both systems answered the same stored context: its "
                "replies are not their own, so that the whole dialogues say little about them."
            )
        if self.left_out:
            reasons = ", ".join(f"{n:,} {reason}" for reason, n in Counter(self.left_out).most_common())
            notes.append(f"Replies left out: {reasons}.")
        notes += [f"{self.rater}: {sentence}." for sentence in describe_summary(self.answers)]
        return notes if self.cost is None else [*notes, f"{self.rater}: {describe_cost(self.cost)}"]

    def _tie_share(self, first: str, second: str) -> float:
        choices = [p.comparison.choice for p in self.pairs if {p.first.system, p.second.system} == {first, second}]
        known = [choice for choice in choices if choice is not None]
        return sum(choice == "tie" for choice in known) / len(known) if known else math.nan

    def _say_ranking(self) -> str:
        strengths = self.ranking.strengths
        if not strengths or any(math.isnan(one.value) for one in strengths):
            return f"{self.rater} gives no order of the systems ({self.ranking.reason or 'no answer could be read'})."
        best = strengths[0]
        if self.ranks.get(best.system, (1, 2)) == (1, 1):
            return f"{self.rater} prefers {best.system} to all others."
        near = [one.system for one in strengths[1:] if self.ranks.get(one.system, (1, 1))[0] == 1]
        others = f" ({', '.join(near)} may be as good)" if near else ""
        return f"{self.rater} has {best.system} first, which may be chance{others}."

    def _people_aspects(self) -> list[str]:
        compared = {frozenset((pair.first.id, pair.second.id)) for pair in self.pairs}
        return list(dict.fromkeys(p.aspect for p in self.people if frozenset((p.first, p.second)) in compared))


def _measure_agreement(aspect: str, pairs: Sequence[ComparedPair], people: Sequence[Preference]) -> PeopleAgreement:
    votes: dict[tuple[str, str], list[float]] = {}
    for preference in people:
        if preference.aspect == aspect:
            points = POINTS[preference.choice]
            votes.setdefault((preference.first, preference.second), []).append(points)
            votes.setdefault((preference.second, preference.first), []).append(1 - points)
    decided: list[tuple[ComparedPair, float]] = []
    for pair in pairs:
        given = votes.get((pair.first.id, pair.second.id), [])
        majority = next((side for side in (1.0, 0.0) if 2 * given.count(side) > len(given)), None)
        if majority is not None and not math.isnan(pair.points):
            decided.append((pair, majority))
    clusters = [pair.cluster for pair, _ in decided]
    side = np.array([2 * majority - 1 for _, majority in decided])
    judge = _right(np.array([2 * pair.points - 1 for pair, _ in decided]), side)
    longer = _right(np.sign([pair.doublings for pair, _ in decided]), side)
    return PeopleAgreement(
        aspect,
        len(decided),
        share_interval(judge, clusters),
        share_interval(longer, clusters),
        mean_interval(judge - longer, clusters),
    )


def _right(advantages: Floats, side: Floats) -> Floats:
    """1 where the sign of an advantage is that of people's choice, and .5 where there is none."""
    right: Floats = (np.sign(advantages) * side + 1) / 2
    return right
