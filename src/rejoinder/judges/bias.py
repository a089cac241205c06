"""How much the place and the length of a reply decide a judge's choice between two.

Both orders of every pair are asked, so the place has no effect on the choices between systems; it costs ties. Intervals
are over dialogues (over items, where they name none).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.judges.pairs import POINTS, ComparedPair, PairComparison
from rejoinder.metric import Unit
from rejoinder.stats.interval import Interval, interval_estimate, share_interval
from rejoinder.stats.pair_effects import estimate_pair_effects
from rejoinder.table import Cell, Table
from rejoinder.types import Choice


@dataclass(frozen=True)
class JudgeBias:
    """How much the place and the length of a reply decide a judge's choice.

    ``first`` is the share of answers without ties that chose the reply shown first, ``same`` the share of pairs with
    the same choice in both orders, ``longer`` how often the longer reply wins (a tie is half a win). ``odds`` are those
    of the longer reply per doubling of its length, for replies of equally strong systems, whichever is shown first.
    """

    first: Interval
    same: Interval
    longer: Interval
    odds: Interval
    unit: Unit = "reply"

    def sentences(self) -> list[str]:
        """The biases in sentences; what the intervals do not show is said as such."""
        found = []
        if not math.isnan(self.first.value):
            way = (
                "prefers the place shown first"
                if self.first.low > 0.5
                else "prefers the place shown second"
                if self.first.high < 0.5
                else "shows no preference for a place"
            )
            found.append(
                f"It {way}: the {self.unit} shown first is chosen in {format_percent(self.first)} of the answers "
                f"without ties, and both orders agree in {format_percent(self.same)} of the pairs."
            )
        if not math.isnan(self.longer.value):
            odds = "" if math.isnan(self.odds.value) else f" (odds x {_plain(self.odds)} per doubling of its length)"
            found.append(f"It prefers the longer {self.unit} in {format_percent(self.longer)} of the pairs{odds}.")
        return found


def measure_bias(pairs: Sequence[ComparedPair], unit: Unit = "reply") -> JudgeBias:
    """The biases of a judge, from pairs about which it was asked."""
    asked = [pair for pair in pairs if not pair.is_equal]
    both = [p for p in asked if p.comparison.forward is not None and p.comparison.backward is not None]
    answers = [(p, c, shown) for p in both for c, shown in zip(_shown(p.comparison), (1.0, -1.0), strict=True)]
    decided = [(pair, choice) for pair, choice, _ in answers if choice != "tie"]
    doublings = {(pair.first.id, pair.second.id): pair.doublings for pair in asked}
    unequal = [pair for pair in asked if doublings[pair.first.id, pair.second.id]]
    longer = [pair.points if doublings[pair.first.id, pair.second.id] > 0 else 1 - pair.points for pair in unequal]
    effects = estimate_pair_effects(
        [(p.first if shown > 0 else p.second).system for p, _, shown in answers],
        [(p.second if shown > 0 else p.first).system for p, _, shown in answers],
        [POINTS[choice] for _, choice, _ in answers],
        {
            "place": np.ones(len(answers)),
            "length": [shown * doublings[p.first.id, p.second.id] for p, _, shown in answers],
        },
        [pair.cluster for pair, *_ in answers],
    )["length"]
    return JudgeBias(
        share_interval([float(choice == "first") for _, choice in decided], [pair.cluster for pair, _ in decided]),
        share_interval(
            [float(p.comparison.forward == p.comparison.backward) for p in both], [pair.cluster for pair in both]
        ),
        share_interval(longer, [pair.cluster for pair in unequal]),
        effects._replace(value=_exp(effects.value), low=_exp(effects.low), high=_exp(effects.high)),
        unit,
    )


def bias_table(bias: JudgeBias, title: str) -> Table:
    """One line per bias, beside what a judge without it would show."""
    rows: list[list[Cell]] = [
        [f"chooses the {bias.unit} shown first", interval_estimate(bias.first), 0.5, bias.first.n],
        ["same choice in both orders", interval_estimate(bias.same), 1.0, bias.same.n],
        [f"prefers the longer {bias.unit}", interval_estimate(bias.longer), None, bias.longer.n],
        ["odds of the longer, per doubling", interval_estimate(bias.odds), None, bias.odds.n],
    ]
    notes = [f"No odds of the longer {bias.unit}: {bias.odds.reason}."] if bias.odds.reason else []
    return Table(title, ["what", "share or odds", "without bias", "n"], rows, notes)


def _shown(comparison: PairComparison) -> tuple[Choice, Choice]:
    """What was chosen in each order, as the place in which it was shown."""
    turned: dict[Choice, Choice] = {"first": "second", "second": "first", "tie": "tie"}
    return comparison.forward or "tie", turned[comparison.backward or "tie"]


def _exp(value: float) -> float:
    return math.exp(min(value, 700.0))


def format_percent(interval: Interval) -> str:
    """A share with its interval, in percent."""
    if math.isnan(interval.low):
        return f"{interval.value:.0%}"
    return f"{interval.value:.0%} [{100 * interval.low:.0f}, {100 * interval.high:.0f}]"


def _plain(interval: Interval) -> str:
    return f"{interval.value:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
