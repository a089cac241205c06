"""What ``trust`` tells a person: its tables, its warnings, and one sentence of plain advice."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rejoinder.comparison.rated_scores import ORACLE
from rejoinder.comparison.trust import ALPHA, LEVELS, MetricAgreement, Trust
from rejoinder.stats.interval import Interval
from rejoinder.stats.levels import Level
from rejoinder.table import Cell, Estimate, Table, format_decimal

FEW = 30  # dialogues: with fewer, intervals and tests were not measured to hold what they promise
_HEADS: dict[Level, str] = {
    "pooled": "pooled",
    "within_system": "within systems",
    "within_item": "within items",
    "system": "between systems",
}


def agreement_table(found: Trust) -> Table:
    """A line a metric, then a line a baseline, then what people reach."""
    rows = [_make_row(one) for one in _sort_metrics(found.metrics)]
    rows += [_make_row(one) for one in found.baselines]
    certainty = found.evidence.certainty
    if certainty is not None:
        rows.append(["people: the truth against the aggregated ratings", certainty.n, certainty.value, *[None] * 4])
    rows.append(["people: one rater against the rest", None, found.one_rater.value, None, None, None, None])
    rows.append(["people: systems ranked by half of the ratings", None, None, None, None, found.halves.value, None])
    heads = ["metric", "n", *(_HEADS[level] for level in LEVELS), "pairs right"]
    title = f"Agreement with the ratings of {found.evidence.aspect!r} ({found.method})"
    return Table(title, heads, rows, trust_notes(found))


def _sort_metrics(metrics: Sequence[MetricAgreement]) -> list[MetricAgreement]:
    """The metrics that agree best within systems first."""
    return sorted(metrics, key=lambda m: -_number(m.levels["within_system"].value))


def _number(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def _make_row(one: MetricAgreement) -> list[Cell]:
    name = f"baseline: {one.name}" if one.is_baseline else one.name
    cells: list[Cell] = [_estimate(one.levels[level]) for level in LEVELS]
    return [name, one.levels["pooled"].n, *cells, one.accuracy.value]


def _estimate(found: Interval) -> Estimate:
    return Estimate(found.value, found.low, found.high)


def trust_notes(found: Trust) -> list[str]:
    """What a reader of the table must know."""
    evidence = found.evidence
    raters = len(evidence.matrix.raters)
    items, dialogues = len(set(evidence.items)), evidence.n_dialogues
    inside, unit = (f" of {dialogues:,} dialogues", "whole dialogues") if evidence.is_clustered else ("", "items")
    told = [
        f"{len(evidence):,} rated responses of {len(set(evidence.systems))} systems to {items:,} items{inside}, "
        f"{raters} {'rater' if raters == 1 else 'raters'}; [low, high]: 95% bootstrap over {unit}.",
        "pooled: all rows; within systems and within items: mean of the correlations inside each; between systems: of "
        "their means; pairs right: share of pairs of replies to one item put in the order of their ratings, ties "
        "counted, with the tolerance for ties that suits the metric best.",
    ]
    if dialogues < FEW:
        told.append(
            f"There are fewer than {FEW} {'dialogues' if evidence.is_clustered else 'items'}: do not trust intervals "
            "and tests, which need more."
        )
    if evidence.unrated:
        told.append(f"{evidence.unrated:,} responses of the run have no rating in this aspect and are left out.")
    told += [*_undefined_notes(found), *_people_notes(found), *_difference_notes(found), *_shared_family_notes(found)]
    return told


def _undefined_notes(found: Trust) -> list[str]:
    """Why a cell is empty, once for each reason."""
    reasons: dict[str, list[str]] = {}
    for one in [*found.metrics, *found.baselines]:
        for level in LEVELS:
            reason = one.levels[level].reason
            if reason and math.isnan(one.levels[level].value) and not (one.name == ORACLE and level == "within_system"):
                reasons.setdefault(f"{_HEADS[level]}: {reason}", []).append(one.name)
        if one.accuracy.reason:
            reasons.setdefault(f"pairs right: {one.accuracy.reason}", []).append(one.name)
    told = [f"No value {reason} ({', '.join(names)})." for reason, names in reasons.items()]
    if any(one.name == ORACLE for one in found.baselines):
        told.append(
            "The oracle gives every reply of a system the system's mean rating, so it has no value within systems."
        )
    return told


def _people_notes(found: Trust) -> list[str]:
    told = _aggregation_notes(found)
    if found.one_rater.reason:
        told.append(f"One rater against the rest: not to be had ({found.one_rater.reason}).")
    if found.halves.reason:
        told.append(f"Half of the ratings against the other half: not to be had ({found.halves.reason}).")
    else:
        told.append(f"Half of the ratings against the other half: {format_halves_range(found)}.")
    if found.agreement.reason:
        told.append(f"Agreement of the raters: not to be had ({found.agreement.reason}).")
    else:
        told.append(f"Agreement of the raters: Krippendorff's alpha (ordinal) {found.agreement.value:.3f}.")
    return told


def format_halves_range(found: Trust) -> str:
    """Where the correlations of single splits lie; this is no interval of their mean, which may lie outside."""
    halves = found.halves
    low, high = format_decimal(halves.low, 3), format_decimal(halves.high, 3)
    return f"mean of {halves.n_splits} random splits, the middle 95% of which lie between {low} and {high}"


def _aggregation_notes(found: Trust) -> list[str]:
    """How sure the ratings are where they were aggregated."""
    method, certainty = found.evidence.method, found.evidence.certainty
    if method is None or certainty is None:
        return []
    told = f"Metrics are held against ratings aggregated by {method}"
    if math.isnan(certainty.value):
        return [f"{told}; how sure these are is not to be had ({certainty.reason})."]
    return [
        f"{told}. By what they say of their own uncertainty, the truth itself would correlate with them by "
        f"{certainty.value:.2f} (Pearson, pooled): expect no more of any metric."
    ]


def _difference_notes(found: Trust) -> list[str]:
    """Which metrics are significantly better than which."""
    told = []
    for level, pairs in found.differences.items():
        better: dict[str, list[str]] = {}
        for pair in pairs:
            if pair.survives:
                better.setdefault(pair.first, []).append(pair.second)
        said = "; ".join(f"{first} better than {', '.join(others)}" for first, others in better.items())
        if pairs:
            what = said or "no metric is significantly better than another"
            unit = "dialogues" if found.evidence.is_clustered else "items"
            how = f"{found.test} over {unit}, Holm over {len(pairs)} pairs, {ALPHA:g}"
            told.append(f"{_HEADS[level].capitalize()} ({how}): {what}.")
    return told


def _shared_family_notes(found: Trust) -> list[str]:
    return [
        f"Beware: {metric} and the system {system} share the base model {family}; the metric may favour its own kin."
        for metric, system, family in found.kin
    ]


def sentence(found: Trust) -> str:
    """One sentence of advice."""
    aspect = repr(found.evidence.aspect)
    usable = [m for m in found.metrics if not math.isnan(m.levels["pooled"].value)]
    if not usable:
        return f"No metric of this run can be judged on {aspect}: see the reasons above."
    oracle = next(b.levels["pooled"].value for b in found.baselines if b.name == ORACLE)
    several = len(set(found.evidence.systems)) > 1
    level: Level = "within_system" if several else "pooled"
    believed = [m for m in usable if m.levels[level].low > 0]
    where = "within systems" if several else "on these replies"
    if not believed:
        return (
            f"No metric of this run can be trusted to tell good replies from bad ones {where} on {aspect}: "
            "every interval reaches down to 0, so ask people, or add references or ratings."
        )
    best = max(believed, key=lambda m: m.levels[level].value)
    at = best.levels[level]
    told = f"On {aspect}, {best.name} agrees best with people {where} ({at.value:.2f} [{at.low:.2f}, {at.high:.2f}])"
    trivial = [b for b in found.baselines if b.levels[level].low > at.value]
    if trivial:
        told += f", yet {trivial[0].name} alone agrees better ({trivial[0].levels[level].value:.2f})"
    top = max(usable, key=lambda m: m.levels["pooled"].value)
    pooled = top.levels["pooled"].value
    if several and oracle > pooled:
        told += (
            f"; the pooled figures (at most {pooled:.2f}) stay below what the system's name gives ({oracle:.2f}), "
            "so do not read them as quality of single replies"
        )
    n = found.evidence.n_dialogues
    if n < FEW:
        told += f"; but {n} {'dialogues' if found.evidence.is_clustered else 'items'} are too few to build on"
    return told + "."
