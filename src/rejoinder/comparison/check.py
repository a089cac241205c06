"""Checks for continuous integration: thresholds on means, and no system surely worse than in an older run."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rejoinder.errors import RunError, SpecError, nearest
from rejoinder.scoring.result import Scores
from rejoinder.scoring.run import Run, load
from rejoinder.stats.paired_difference import difference_interval
from rejoinder.table import format_count, format_decimal

_CONDITION = re.compile(r"(?P<spec>[^<>]+?)\s*(?:@\s*(?P<system>[^<>=]+?)\s*)?(?P<sign>>=|<=|>|<)\s*(?P<bound>[^<>=]+)")


class CheckCondition(NamedTuple):
    """A threshold as typed: ``METRIC>=NUMBER``, or ``METRIC@SYSTEM>=NUMBER`` for one system's mean."""

    spec: str
    system: str | None
    sign: str
    bound: float


class CheckResult(NamedTuple):
    """The result of one check: whether it passed, and the reason in a sentence."""

    passed: bool
    reason: str


def parse_condition(text: str) -> CheckCondition:
    """The condition that a text such as ``bleu@bot>=0.2`` states."""
    match = _CONDITION.fullmatch(text.strip())
    try:
        bound = float(match["bound"]) if match else math.nan
    except ValueError:
        bound = math.nan
    if not match or math.isnan(bound):
        raise SpecError(f"{text!r} is not a condition; write METRIC>=NUMBER or METRIC@SYSTEM>=NUMBER, e.g. bleu>=0.1")
    return CheckCondition(match["spec"], match["system"], match["sign"], bound)


def check_condition(scores: Scores, condition: CheckCondition) -> list[CheckResult]:
    """Whether the mean of the metric meets the condition: for the condition's system, else for each."""
    spec = scores.spec(condition.spec)
    if condition.system is not None and condition.system not in scores.systems:
        raise RunError(f"the run has no system {condition.system!r}; {nearest(condition.system, scores.systems)}")
    results = []
    for system in [condition.system] if condition.system else scores.systems:
        mean = scores.mean(spec, system)
        compare = {
            ">=": mean.value >= condition.bound,
            "<=": mean.value <= condition.bound,
            ">": mean.value > condition.bound,
            "<": mean.value < condition.bound,
        }
        estimate = f"{format_decimal(mean.value, 4)} [{format_decimal(mean.low, 4)}, {format_decimal(mean.high, 4)}]"
        reason = f"{spec} of {system} is {estimate}, required {condition.sign} {condition.bound:g}"
        if math.isnan(mean.value):
            reason = f"{spec} of {system} has no scores, required {condition.sign} {condition.bound:g}"
        results.append(CheckResult(compare[condition.sign], reason))
    return results


def check_no_worse(new: Scores, old: Scores, margin: float = 0.0, seed: int = 0) -> list[CheckResult]:
    """Whether no system is surely worse than in an older run: item by item, under every metric that has a direction.

    A system is surely worse where the whole 95% interval of its paired difference lies beyond the margin.
    """
    specs = [s for s in new.metrics if s in old.metrics and new.facts[s].higher_is_better is not None]
    systems = [s for s in new.systems if s in old.systems]
    if not specs or not systems:
        missing = "metric with a direction" if systems else "system"
        raise RunError(f"the two runs have no {missing} in common; compare runs of the same systems and metrics")
    results = []
    for spec in specs:
        if new.metrics[spec] != old.metrics[spec]:
            raise RunError(
                f"the two runs computed {spec} differently ({old.metrics[spec]} before, {new.metrics[spec]} now); "
                "score both with the same version and parameters"
            )
        results += [_check_system_no_worse(new, old, spec, system, margin, seed) for system in systems]
    return results


def _check_system_no_worse(new: Scores, old: Scores, spec: str, system: str, margin: float, seed: int) -> CheckResult:
    now, then = _scores_by_response(new, spec, system), _scores_by_response(old, spec, system)
    common = [key for key in now if key in then]
    sign = 1.0 if new.facts[spec].higher_is_better else -1.0
    values = [[sign * run[key][0] for key in common] for run in (now, then)]
    interval = difference_interval(values[0], values[1], [now[key][1] for key in common], seed=seed)
    if not interval.n:
        return CheckResult(False, f"{spec} of {system}: the two runs have no scored item in common")
    worse = interval.high < -margin if not math.isnan(interval.high) else interval.value < -margin
    change = format_decimal(sign * interval.value, 4, sign="+")
    if not math.isnan(interval.low):
        low, high = sorted((sign * interval.low, sign * interval.high))
        change += f" [{format_decimal(low, 4, sign='+')}, {format_decimal(high, 4, sign='+')}]"
    verdict = "surely worse" if worse else "not surely worse"
    items = format_count(interval.n, "item")
    reason = f"{spec} of {system} changed by {change} on {items}: {verdict} (margin {margin:g})"
    return CheckResult(not worse, reason)


def _scores_by_response(scores: Scores, spec: str, system: str) -> dict[tuple[str, int], tuple[float, int]]:
    """Score and conversation of a system's replies, by item and number of the reply to it."""
    code = list(scores.systems).index(system)
    by_response: dict[tuple[str, int], tuple[float, int]] = {}
    numbers: dict[str, int] = {}
    for i in (scores.system_codes == code).nonzero()[0].tolist():
        item = scores.items[i]
        numbers[item] = numbers.get(item, -1) + 1
        by_response[item, numbers[item]] = (float(scores[spec][i]), int(scores.clusters[i]))
    return by_response


def check(
    run: Scores | Run | str | Path,
    conditions: Sequence[str] = (),
    older: Scores | Run | str | Path | None = None,
    margin: float = 0.0,
    seed: int = 0,
) -> list[CheckResult]:
    """Whether a run passes: one result per condition and system, then one per metric and system of the older run.

    - ``run``: the run folder, or scores.
    - ``conditions``: thresholds such as ``bleu>=0.1``, or ``bleu@bot>=0.1`` for one system.
    - ``older``: a run that this one must not be surely worse than.
    - ``margin``: how much worse than the older run is still allowed.
    - ``seed``: the seed of the resamples.

    >>> import rejoinder
    >>> [result.passed for result in rejoinder.check("RUN", ["meteor@attentive>=0.1"])]
    [True]
    """
    if not conditions and older is None:
        raise SpecError("there is nothing to check; give conditions such as 'METRIC>=NUMBER', or an older run")
    scores = load(run)
    results = [result for text in conditions for result in check_condition(scores, parse_condition(text))]
    return results + (check_no_worse(scores, load(older), margin, seed) if older is not None else [])
