"""Checks for continuous integration: thresholds on means, and no system worse than in an older run by a margin."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rejoinder.comparison.non_inferiority import (
    MIN_COVERAGE,
    Margin,
    Outcome,
    check_non_inferiority,
    choose_margin,
    parse_margins,
)
from rejoinder.comparison.run_pair import RunPair, pair_runs
from rejoinder.errors import RunError, SpecError, nearest
from rejoinder.scoring.result import Scores
from rejoinder.scoring.run import Run, load
from rejoinder.table import Estimate, format_decimal

_MOST_NAMES = 5  # of replies without a score, in one sentence
_CONDITION = re.compile(r"(?P<spec>[^<>]+?)\s*(?:@\s*(?P<system>[^<>=]+?)\s*)?(?P<sign>>=|<=|>|<)\s*(?P<bound>[^<>=]+)")


class CheckCondition(NamedTuple):
    """A threshold as typed: ``METRIC>=NUMBER``, or ``METRIC@SYSTEM>=NUMBER`` for one system's mean."""

    spec: str
    system: str | None
    sign: str
    bound: float


class CheckResult(NamedTuple):
    """The result of one check: whether it passed, and the reason in a sentence.

    ``passed`` is also true of an inconclusive outcome where those are allowed. A comparison with an older run has the
    difference, new minus old, and the margin.
    """

    passed: bool
    reason: str
    outcome: Outcome
    metric: str
    system: str
    difference: Estimate | None = None
    margin: float | None = None
    why: str | None = None  # the last part of the reason


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


def check_condition(scores: Scores, condition: CheckCondition, min_coverage: float = 1.0) -> list[CheckResult]:
    """Whether the mean of the metric meets the condition: for the condition's system, else for each.

    A mean over few of the replies says nothing of the others, so it also fails where less than ``min_coverage`` of them
    has a score.
    """
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
        else:
            reason += _describe_missing(scores, spec, system, min_coverage)
        passed = compare[condition.sign] and not _describe_missing(scores, spec, system, min_coverage)
        results.append(CheckResult(passed, reason, "pass" if passed else "fail", spec, system))
    return results


def _describe_missing(scores: Scores, spec: str, system: str, min_coverage: float) -> str:
    """Return which replies of a system have no score, where they are too many; else an empty text."""
    rows = np.flatnonzero(scores.unit_rows(spec) & (scores.system_codes == list(scores.systems).index(system)))
    missing = rows[np.isnan(scores[spec][rows])]
    n, known = len(rows), len(rows) - len(missing)
    if known >= min_coverage * n:
        return ""
    names = [scores.responses[place] for place in missing[:_MOST_NAMES].tolist()]
    required = "all" if min_coverage == 1 else f"{100 * min_coverage:g}%"
    more = f" and {len(missing) - len(names):,} more" if len(missing) > len(names) else ""
    return (
        f"; only {known:,} of {n:,} {scores.unit_name(spec)} have a score, required {required} (--min-coverage); "
        f"without one: {', '.join(names)}{more}"
    )


def check_no_worse(
    pair: RunPair,
    margins: Mapping[str, Margin],
    min_coverage: float = MIN_COVERAGE,
    allow_inconclusive: bool = False,
) -> list[CheckResult]:
    """Whether no system is worse than in an older run by the margin: item by item, under every metric of the pair."""
    _refuse_changes(pair)
    results = []
    for spec in pair.metrics:
        allowed = choose_margin(pair, spec, margins)
        for system in pair.systems:
            test = check_non_inferiority(pair, spec, system, allowed, min_coverage)
            passed = test.outcome == "pass" or (allow_inconclusive and test.outcome == "inconclusive")
            results.append(
                CheckResult(
                    passed,
                    test.reason + (f" (signatures differ: {pair.differing[spec]})" if spec in pair.differing else ""),
                    test.outcome,
                    spec,
                    system.name,
                    test.difference,
                    allowed.value,
                    test.why,
                )
            )
    return results


def _refuse_changes(pair: RunPair) -> None:
    """Raise an error where the two runs do not ask the same of a system under the same ids.

    Of a whole dialogue only the opening is asked; the later contexts hold the system's own replies.
    """
    if all(pair.is_of_dialogues(spec) for spec in pair.metrics):
        return
    pairing = pair.pairing
    common = len(pairing.new_of_old) + len(pairing.changed)
    reads_references = any("references" in pair.new.scores.facts[spec].needs for spec in pair.metrics)
    for items, what in (
        (pairing.changed, "context"),
        (sorted(pairing.changed_references) if reads_references else (), "references"),
    ):
        if items:
            raise RunError(
                f"the {what} of {len(items):,} of {common:,} items changed under the same id (first: {items[0]!r}), so "
                "the runs cannot be checked against each other; give changed items new ids, or score replies to the "
                "same items"
            )


def choose_checked_metrics(pair: RunPair, names: Sequence[str] | None) -> RunPair:
    """Return the pair with the metrics that can get worse: those with a direction."""
    specs = [spec for spec in pair.metrics if pair.higher_is_better(spec) is not None]
    if names is not None and len(specs) < len(pair.metrics):
        plain = next(spec for spec in pair.metrics if spec not in specs)
        raise SpecError(f"{plain} has no direction: neither more nor less of it is worse; leave it out")
    if not specs:
        raise RunError(
            "the two runs have no metric with a direction in common; score both with a metric such as aptness"
        )
    for spec, reason in pair.left_out.items():
        facts = pair.old.scores.facts.get(spec)
        if facts is not None and facts.higher_is_better is not None:  # what the old run measured is not dropped unseen
            raise RunError(f"{reason}, or name the metrics to check (-m {specs[0]})")
    return replace(pair, metrics=specs)


def check(
    run: Scores | Run | str | Path,
    conditions: Sequence[str] = (),
    older: Scores | Run | str | Path | None = None,
    margin: float | str | Sequence[str] | Mapping[str, float | str] | None = None,
    *,
    metrics: Sequence[str] | None = None,
    systems: Sequence[str] | None = None,
    min_coverage: float | None = None,
    allow_inconclusive: bool = False,
    ignore_signatures: bool = False,
) -> list[CheckResult]:
    """Whether a run passes: one result per condition and system, then one per metric and system of the older run.

    - ``run``: the run folder, or scores.
    - ``conditions``: thresholds such as ``bleu>=0.1``, or ``bleu@bot>=0.1`` for one system.
    - ``older``: a run that this one must not be worse than by the margin.
    - ``margin``: how much worse than the older run is still allowed: a number, a share of the metric's range such as
      ``5%`` (the default), or either by metric; a metric without a finite range needs a number.
    - ``metrics``: compare with the older run under these metrics only; ``rating:ASPECT`` stands for people's ratings.
    - ``systems``: compare these systems only.
    - ``min_coverage``: the least share, from 0 to 1, that must have a score: of the replies of a system for a condition
      (by default 1, all of them), of the older run's scored items for the comparison with it (by default 0.95).
    - ``allow_inconclusive``: whether too few data to tell count as passed.
    - ``ignore_signatures``: compare with the older run although a metric's signatures differ.

    >>> import rejoinder
    >>> [result.passed for result in rejoinder.check("RUN", ["meteor@attentive>=0.1"])]
    [True]
    >>> [result.outcome for result in rejoinder.check("RUN", older="old", metrics=["meteor"])]
    ['pass', 'pass', 'pass', 'pass']
    """
    if not conditions and older is None:
        raise SpecError("there is nothing to check; give conditions such as 'METRIC>=NUMBER', or an older run")
    _check_share(min_coverage)
    parsed = [parse_condition(text) for text in conditions]
    scores = load(run)
    results = [
        result
        for condition in parsed
        for result in check_condition(scores, condition, 1.0 if min_coverage is None else min_coverage)
    ]
    if older is None:
        return results
    min_coverage = MIN_COVERAGE if min_coverage is None else min_coverage
    pair = choose_checked_metrics(pair_runs(older, run, metrics, systems, ignore_signatures), metrics)
    results += check_no_worse(pair, parse_margins(margin, pair.metrics), min_coverage, allow_inconclusive)
    lost = pair.only_old_systems if systems is None and min_coverage > 0 else ()
    return results + [
        CheckResult(False, f"{name}: the new run has no replies of this system of the old run", "fail", "", name)
        for name in lost
    ]


def _check_share(min_coverage: float | None) -> None:
    if min_coverage is None or (isinstance(min_coverage, float | int) and 0 <= min_coverage <= 1):
        return
    raise SpecError(f"the least coverage is a share from 0 to 1, not {min_coverage}; write 0.95 for 95%")


def assert_no_worse(
    new: Scores | Run | str | Path,
    old: Scores | Run | str | Path,
    metrics: Sequence[str] | None = None,
    margin: float | str | Mapping[str, float | str] | None = None,
    *,
    systems: Sequence[str] | None = None,
    min_coverage: float = MIN_COVERAGE,
    allow_inconclusive: bool = False,
    ignore_signatures: bool = False,
) -> None:
    """Fail a test where a run is worse than an older one, or where there are too few data to tell.

    - ``new``: the run folder, or scores.
    - ``old``: the run that it must not be worse than by the margin.
    - ``metrics``: only these metrics; by default, all that both runs have and that have a direction.
    - ``margin``: how much worse is still allowed: a number, a share of the metric's range such as ``5%`` (the default),
      or either by metric.
    - ``systems``: only these systems.
    - ``min_coverage``: the least share of the old run's scored items that must have a score in the new run.
    - ``allow_inconclusive``: whether too few data to tell are accepted.
    - ``ignore_signatures``: whether a metric whose signatures differ is compared all the same.

    >>> import rejoinder
    >>> rejoinder.assert_no_worse("RUN", "old", metrics=["meteor"], margin=0.02)
    """
    __tracebackhide__ = True  # pytest shows the test that failed, not this function
    results = check(
        new,
        (),
        old,
        margin,
        metrics=metrics,
        systems=systems,
        min_coverage=min_coverage,
        allow_inconclusive=allow_inconclusive,
        ignore_signatures=ignore_signatures,
    )
    failed = [f"{result.outcome}: {result.reason}" for result in results if not result.passed]
    if failed:
        raise AssertionError("\n".join(failed))
