"""A non-inferiority test: is a new run worse than an old one by less than a margin, under one metric, for one system?

The difference is new minus old on the items that both answered, turned so that negative is worse. Its 95% interval
allows for conversations and for skewed differences (``skewed_mean_interval``). The outcome is

- pass, where the interval lies above minus the margin: worse by less than the margin, if at all;
- fail, where it does not and lies below 0: surely worse, perhaps by more than the margin;
- inconclusive, where it holds both 0 and minus the margin: there are too few replies to tell.

A loss may also consist of few replies that fail outright, and a small sample can miss all of them. If a share of the
replies drops to the lowest score, the mean drops by that share of its distance from the lowest score. A drop that the
sample does show leaves less of the margin for such failures, so fewer of them are enough to exceed it. So a pass also
needs as many conversations as would show one of the failures that add up to the rest of the margin in 97.5% of
samples, unless the new run is surely better. Replies that did not change at all need no test.

All systems and metrics must pass. That is an intersection-union test (Berger 1982): the chance that all of several
tests pass although one should not is at most the chance that this one passes, so the level needs no correction.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.comparison.run_pair import RunPair, SystemPair
from rejoinder.errors import RunError, SpecError
from rejoinder.stats.interval import Interval, skewed_mean_interval
from rejoinder.table import Estimate, format_count, format_decimal

Outcome: TypeAlias = Literal["pass", "fail", "inconclusive"]
Margin: TypeAlias = float | str
DEFAULT_MARGIN = "5%"
MIN_COVERAGE = 0.95
ALPHA = 0.025  # one-sided: the lower end of a 95% interval
_LARGE = 0.25  # of the distance between the old mean and the lowest score: a margin that a reader should notice


class ChosenMargin(NamedTuple):
    """A margin in the unit of its metric, and how it was chosen."""

    value: float
    text: str


class NonInferiority(NamedTuple):
    """The outcome for one system under one metric, and why; ``difference`` is new minus old, as the metric counts."""

    outcome: Outcome
    why: str
    reason: str
    difference: Estimate
    n: int
    n_conversations: int
    coverage: float


def parse_margins(
    margin: Margin | Sequence[str] | Mapping[str, Margin] | None, specs: Sequence[str]
) -> dict[str, Margin]:
    """Return the margin of each metric that has its own, and under '' that of all others.

    A sequence holds texts as typed: ``0.02`` or ``5%`` for all metrics, ``bleu=0.01`` for one.
    """
    if margin is None:
        return {}
    if isinstance(margin, float | int | str):
        margin = {"": margin}
    elif not isinstance(margin, Mapping):
        parts = [text.rpartition("=") for text in margin]
        margin = {spec.strip(): value for spec, _, value in parts}
    for spec in margin:
        if spec and spec not in specs:
            raise SpecError(f"there is a margin for {spec!r}, which is not checked; checked: {', '.join(specs)}")
    return dict(margin)


def choose_margin(pair: RunPair, spec: str, margins: Mapping[str, Margin]) -> ChosenMargin:
    """Return the margin of a metric in its own unit: as given for it, as given for all, or 5% of its range."""
    low, high = pair.range(spec)
    text = str(margins.get(spec, margins.get("", DEFAULT_MARGIN))).strip()
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise SpecError(f"{text!r} is not a margin; write a number that is not negative, or a share such as 5%")
    if not text.endswith("%"):
        return ChosenMargin(value, f"{value:g}")
    if not math.isfinite(high - low):
        raise RunError(
            f"{spec} has no finite range, so {text} of it is not a margin; say how much worse is still allowed: "
            f"--margin '{spec}=NUMBER'"
        )
    if high == low:
        raise RunError(f"all values of {spec} are {low:g}, so {text} of its range is 0; give a number: --margin NUMBER")
    share = value / 100 * (high - low)
    return ChosenMargin(share, f"{share:g}, {text} of the range")


def check_non_inferiority(
    pair: RunPair, spec: str, system: SystemPair, margin: ChosenMargin, min_coverage: float = MIN_COVERAGE
) -> NonInferiority:
    """Return whether one system is worse than before by less than the margin, under one metric."""
    scores = pair.scores(spec, system)
    sign = -1.0 if pair.higher_is_better(spec) is False else 1.0
    known = np.isfinite(scores.old) & np.isfinite(scores.new)
    old, new = sign * scores.old[known], sign * scores.new[known]
    clusters = [cluster for cluster, is_known in zip(scores.clusters, known.tolist(), strict=True) if is_known]
    n_old = len(pair.old_items(spec, system))
    coverage = len(old) / n_old if n_old else 0.0
    interval = skewed_mean_interval(new - old, clusters)
    floor = sign * pair.range(spec)[0 if sign > 0 else 1]
    if not math.isfinite(floor):
        floor = float(min(old.min(initial=math.inf), new.min(initial=math.inf)))
    loss = float(old.mean()) - floor if len(old) else math.nan
    outcome: Outcome = "fail"
    if not len(old):
        why = "the two runs have no scored item in common"
    elif coverage < min_coverage:
        share = f"{len(old):,} of {n_old:,} items of the old run have a score now ({coverage:.1%})"
        why = f"{share}, required {min_coverage:.0%}"
    elif np.array_equal(old, new) and pair.is_unchanged(system):
        outcome, why = "pass", "no reply changed"
    else:
        outcome, why = _decide(interval, margin.value, loss)
        why = why.replace("conversation", pair.cluster)
        if margin.value > _LARGE * loss > 0:
            whole = "the old mean" if floor == 0 and sign > 0 else "the most that the old run can lose"
            why += f"; note that the margin is {margin.value / loss:.0%} of {whole}"
    ends = sorted((sign * interval.low, sign * interval.high))
    difference = Estimate(sign * interval.value, *ends)
    reason = _describe(pair, spec, system, difference, margin, len(old), why)
    return NonInferiority(outcome, why, reason, difference, len(old), interval.n_clusters, coverage)


def count_conversations_needed(margin: float, loss: float, drop: float = 0.0) -> int:
    """Return how many conversations show at least one of the outright failures that would add up to the margin.

    ``loss`` is what a reply loses on average if it fails outright, ``drop`` what all replies have lost anyway. With
    fewer conversations, a drop of the margin that consists of this drop and of such failures is missed by chance in
    more than 2.5% of samples.
    """
    if not 0 <= drop < margin < loss:
        return 2
    return max(2, math.ceil(math.log(ALPHA) / math.log1p(-(margin - drop) / (loss - drop))))


def _decide(interval: Interval, margin: float, loss: float) -> tuple[Outcome, str]:
    low, high, n = interval.low, interval.high, interval.n_clusters
    if math.isnan(low):
        return "inconclusive", f"{format_count(n, 'conversation')} {'is' if n == 1 else 'are'} too few to tell"
    drop = max(0.0, -interval.value)
    needed = count_conversations_needed(margin, loss, drop)
    if low > -margin and (n >= needed or low > 0):
        return "pass", "better" if low > 0 else "worse by less than the margin" + (", if at all" if high >= 0 else "")
    if low > -margin:
        besides = " on top of this drop" if n >= count_conversations_needed(margin, loss) else ""
        return "inconclusive", f"{n:,} conversations cannot rule out rare failures{besides}; {needed:,} can"
    if high < 0:
        return "fail", f"surely worse, {'perhaps' if high > -margin else 'and'} by more than the margin"
    return "inconclusive", f"too few conversations to tell{_suggest(interval, margin, loss)}"


def _suggest(interval: Interval, margin: float, loss: float) -> str:
    """How many conversations would do if nothing got worse: the interval shrinks with the root of their number."""
    width, n = interval.high - interval.low, interval.n_clusters
    if margin <= 0 or not math.isfinite(width):
        return ""
    enough = max(count_conversations_needed(margin, loss), math.ceil(n * (width / 2 / margin) ** 2))
    return f" ({n:,}; about {enough:,} are enough if nothing got worse)"


def _describe(
    pair: RunPair, spec: str, system: SystemPair, difference: Estimate, margin: ChosenMargin, n: int, why: str
) -> str:
    if not n:
        return f"{spec} of {system.name}: {why}"
    change = format_decimal(difference.value, 4, sign="+")
    if not math.isnan(difference.low):
        low, high = (format_decimal(end, 4, sign="+") for end in (difference.low, difference.high))
        change += f" [{low}, {high}]"
    items = format_count(n, "item") + (" paired by context" if pair.pairing.by_context else "")
    if pair.pairing.unknown:
        why += f"; {pair.pairing.unknown}"
    return f"{spec} of {system.name} changed by {change} on {items} (margin {margin.text}): {why}"
