"""How good a judge is, by people's ratings: within systems, between systems, and whether it only likes length.

What it may be used for is decided by the ends of intervals and by tests, never by the estimates alone. Single replies:
the low end of its agreement within systems reaches ``ENOUGH``, and it agrees better with people than length does.
Systems: it orders them as people do, by an exact permutation test and by the interval over dialogues. What no test
shows is not recommended.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rejoinder.comparison.rated_scores import BASELINES, RatedScores, Values, collect_rated_scores
from rejoinder.comparison.trust import ALPHA, make_bootstrap_plan
from rejoinder.data.collection import Collection
from rejoinder.errors import SpecError
from rejoinder.scoring.result import Scores
from rejoinder.spec import parse_spec
from rejoinder.stats.arrays import NAN, Floats, make_generator
from rejoinder.stats.bootstrap import (
    BootstrapPlan,
    correlation_difference,
    correlation_intervals,
    resample_correlations,
)
from rejoinder.stats.correlation import Method
from rejoinder.stats.interval import Interval, interval_estimate
from rejoinder.table import Cell, Probability, Table, format_count

ENOUGH = 0.3  # agreement within systems at the low end of its interval, for single replies
LENGTH = BASELINES["length"]
_EXACT = 8  # systems up to which every order is tried
_ORDERS = 20_000


class Rival(NamedTuple):
    """A cheap way to score: its own agreement within systems, and how much better the judge agrees."""

    name: str
    within: Interval
    lead: Interval


class SystemOrder(NamedTuple):
    """Kendall's correlation of the judge's and people's means by system, and how likely a random order is as good."""

    n: int
    kendall: Interval
    p: float


@dataclass(frozen=True)
class JudgeQuality:
    """How one judge of a run agrees with the ratings of one aspect."""

    metric: str
    aspect: str
    n: int
    n_dialogues: int
    method: Method
    within: Interval
    within_kendall: Interval  # the same by Kendall's correlation
    length: Rival
    best: Rival | None  # the best metric of the run that is not a judge
    verbosity: Interval  # correlation with length within systems, among replies that people rate alike
    order: SystemOrder

    @property
    def rates_replies(self) -> bool:
        """Whether it may be used for single replies."""
        return self.within.low >= ENOUGH and self.length.lead.low > 0

    @property
    def ranks_systems(self) -> bool:
        """Whether it may be used to rank systems."""
        return self.order.p < ALPHA and self.order.kendall.low > 0

    def sentence(self) -> str:
        """What the judge may be used for, and why, in one sentence."""
        uses = [(self.ranks_systems, "rank systems", self._say_order())]
        uses.append((self.rates_replies, "be used for single replies", self._say_within()))
        parts = [f"may {use} ({why})" for good, use, why in uses if good]
        parts += [f"may not {use}: {why}" for good, use, why in uses if not good]
        return f"{self.metric}, by {self.n:,} ratings of {self.aspect}: {'; '.join(parts)}."

    def _say_within(self) -> str:
        if math.isnan(self.within.value) or math.isnan(self.within.low):
            return f"its agreement within systems is not known ({self.within.reason or 'too few ratings'})"
        value, length = _brief(self.within), _number(self.length.within.value)
        start = f"agreement within systems {value}"
        if self.rates_replies:
            return f"{start}, better than length's {length}"
        if not self.within.low > 0:
            return f"{start} may be none at all"
        if not self.length.lead.low > 0:
            return f"{start} is no better than length's {length}"
        return f"{start} is not shown to reach {_number(ENOUGH)}"

    def _say_order(self) -> str:
        n = self.order.n
        if n < 2:
            return "there is one system" if n else "no system has ratings"
        if math.factorial(min(n, 10)) * ALPHA <= 1:
            return f"{format_count(n, 'rated system')} are too few for any test of their order (4 would do)"
        start = f"Kendall {_brief(self.order.kendall)} over {n} systems, p = {_number(self.order.p, 3)}"
        return start if self.ranks_systems else f"{start} does not show that it orders them as people do"


def measure_judge(
    scores: Scores, data: Collection, judge: str, aspect: str, method: Method, resamples: int, seed: int
) -> JudgeQuality:
    """How a judge of a run agrees with the ratings of one aspect."""
    evidence = collect_rated_scores(scores, data, aspect)
    if judge not in evidence.scores:
        raise SpecError(f"{judge} is not in this run; its metrics are: {', '.join(evidence.scores)}")
    plan = replace(make_bootstrap_plan(evidence.is_clustered, method, resamples, seed), at="within_system")
    judged, length = evidence.scores[judge], evidence.baselines[LENGTH]
    cheap = {
        spec: column
        for spec, column in evidence.scores.items()
        if parse_spec(spec, "metric").name not in ("judge", "length") and spec not in evidence.descriptive
    }
    groups = _group_columns(evidence)
    by_kendall = correlation_intervals({judge: judged}, evidence.mean, replace(plan, method="kendall"), **groups)
    intervals = correlation_intervals({judge: judged, LENGTH: length, **cheap}, evidence.mean, plan, **groups)
    rivals = {
        name: Rival(name, intervals[name], correlation_difference(judged, column, evidence.mean, plan, **groups))
        for name, column in {LENGTH: length, **_choose_best(cheap, intervals)}.items()
    }
    return JudgeQuality(
        judge,
        aspect,
        int((~np.isnan(judged)).sum()),
        evidence.n_dialogues,
        method,
        intervals[judge],
        by_kendall[judge],
        rivals[LENGTH],
        next((rival for name, rival in rivals.items() if name != LENGTH), None),
        _measure_verbosity(evidence, judged, length, plan),
        _measure_order(evidence, judged, replace(plan, at="system", method="kendall")),
    )


def _group_columns(evidence: RatedScores) -> dict[str, Sequence[object]]:
    return {"systems": evidence.systems, "items": evidence.items, "dialogues": evidence.dialogues.tolist()}


def _choose_best(cheap: Mapping[str, Values], intervals: Mapping[str, Interval]) -> dict[str, Values]:
    """The metric with the highest agreement; none where none has any."""
    known = [name for name in cheap if not math.isnan(intervals[name].value)]
    best = max(known, key=lambda name: intervals[name].value, default=None)
    return {} if best is None else {best: cheap[best]}


def _measure_verbosity(evidence: RatedScores, judged: Values, length: Values, plan: BootstrapPlan) -> Interval:
    """The partial correlation of the judge's scores with length, given people's ratings, on resampled dialogues."""
    known = np.flatnonzero(~np.isnan(judged) & ~np.isnan(length)).tolist()
    groups = {name: [column[i] for i in known] for name, column in _group_columns(evidence).items()}
    people = evidence.mean[known]
    by_people = resample_correlations({"judge": judged[known], "length": length[known]}, people, plan, **groups)
    by_length = resample_correlations({"judge": judged[known]}, length[known], plan, **groups)
    value = _partial(by_length.values[0], by_people.values[0], by_people.values[1])
    samples = _partial(by_length.samples[:, 0], by_people.samples[:, 0], by_people.samples[:, 1])
    return plan.interval(float(value), samples, len(known), len(judged) - len(known), int(by_people.n_units[0]))


def _partial(xy: Floats | float, xz: Floats | float, yz: Floats | float) -> Floats:
    """The correlation of x and y with that of z removed."""
    with np.errstate(invalid="ignore", divide="ignore"):
        rest = np.sqrt((1 - np.square(xz)) * (1 - np.square(yz)))
        partial: Floats = np.where(rest > 1e-9, (np.asarray(xy) - np.asarray(xz) * np.asarray(yz)) / rest, NAN)
    return partial


def _measure_order(evidence: RatedScores, judged: Values, plan: BootstrapPlan) -> SystemOrder:
    known = np.flatnonzero(~np.isnan(judged)).tolist()
    names = sorted({evidence.systems[i] for i in known})
    rows = {name: [i for i in known if evidence.systems[i] == name] for name in names}
    kendall = correlation_intervals({"judge": judged}, evidence.mean, plan, **_group_columns(evidence))["judge"]
    own, people = (np.array([column[rows[name]].mean() for name in names]) for column in (judged, evidence.mean))
    return SystemOrder(len(names), kendall, _permutation_p(own, people, plan.seed) if len(names) > 1 else NAN)


def _permutation_p(first: Floats, second: Floats, seed: int) -> float:
    """The share of orders of the systems that agree with people at least as well as the judge's."""
    signs = [np.sign(means[:, None] - means[None, :]) for means in (first, second)]
    n = len(first)
    if n <= _EXACT:
        orders = np.array(list(itertools.permutations(range(n))))
    else:
        random = make_generator(seed)
        orders = np.array([np.arange(n), *(random.permutation(n) for _ in range(_ORDERS))])
    agreement = np.array([(signs[0][np.ix_(order, order)] * signs[1]).sum() for order in orders])
    return float((agreement >= (signs[0] * signs[1]).sum()).mean())


def quality_table(qualities: Sequence[JudgeQuality]) -> Table:
    """One line per judge and aspect."""
    heads = [
        "judge",
        "aspect",
        "ratings",
        "within systems",
        "Kendall within",
        "length",
        "lead over length",
        "best other metric",
    ]
    heads += ["lead over it", "length beyond people's", "between systems", "p"]
    rows: list[list[Cell]] = []
    for one in qualities:
        best: list[Cell] = [None, None]
        if one.best is not None:
            best = [f"{one.best.name} {_number(one.best.within.value)}", interval_estimate(one.best.lead)]
        row: list[Cell] = [one.metric, one.aspect, one.n, interval_estimate(one.within)]
        row.append(interval_estimate(one.within_kendall))
        row += [one.length.within.value, interval_estimate(one.length.lead), *best]
        rows.append(
            [*row, interval_estimate(one.verbosity), interval_estimate(one.order.kendall), Probability(one.order.p)]
        )
    notes = [
        "within systems: the mean over systems of Spearman's correlation with people's mean ratings inside each, and "
        "Kendall's beside it, which is usually lower; lead: the judge's correlation minus the other's; length beyond "
        "people's: the correlation of the judge's scores with length among replies that people rate alike (0: length "
        "makes no difference); between systems: Kendall's correlation of the systems' means, and the share p of random "
        "orders that are as good. 95% intervals over dialogues.",
    ]
    return Table("Judges and people", heads, rows, notes, decimals=2)


def _brief(interval: Interval) -> str:
    return f"{_number(interval.value)} [{_number(interval.low)}, {_number(interval.high)}]"


def _number(value: float, decimals: int = 2) -> str:
    """A number as sentences show it: without the zero before the point."""
    return f"{value:.{decimals}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{decimals}f}"
