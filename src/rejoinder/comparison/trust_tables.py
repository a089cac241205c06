"""The output of ``trust``: its tables, its warnings, and plain advice."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rejoinder.comparison.judgements import describe_raters
from rejoinder.comparison.rated_scores import ORACLE
from rejoinder.comparison.trust import ALPHA, LEVELS, MetricAgreement, Trust
from rejoinder.stats.interval import interval_estimate
from rejoinder.stats.levels import Level
from rejoinder.table import Cell, Table, format_count, format_decimal

FEW = 30  # dialogues: with fewer, the coverage of intervals and tests was not measured
_HEADS: dict[Level, str] = {
    "pooled": "pooled",
    "within_system": "within systems",
    "within_item": "within items",
    "system": "between systems",
}


def metric_agreement_table(trust: Trust) -> Table:
    """One line per metric, then one per baseline, then what people reach."""
    rows = [_make_row(metric) for metric in _sort_metrics(_list_candidates(trust))]
    rows += [
        _make_row(metric, "descriptive: ") for metric in trust.metrics if metric.name in trust.evidence.descriptive
    ]
    rows += [_make_row(metric) for metric in trust.baselines]
    certainty = trust.evidence.certainty
    if certainty is not None:
        rows.append(["people: the truth against the aggregated ratings", certainty.n, certainty.value, *[None] * 4])
    rows.append(["people: one rater against the rest", None, trust.one_rater.value, None, None, None, None])
    rows.append(["people: systems ranked by half of the ratings", None, None, None, None, trust.halves.value, None])
    heads = ["metric", "n", *(_HEADS[level] for level in LEVELS), "pairs right"]
    title = f"Agreement with the ratings of {trust.evidence.aspect!r} ({trust.method})"
    return Table(title, heads, rows, trust_notes(trust))


def _sort_metrics(metrics: Sequence[MetricAgreement]) -> list[MetricAgreement]:
    """The metrics sorted by their agreement within systems, best first."""
    return sorted(metrics, key=lambda m: -_number(m.levels["within_system"].value))


def _number(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def _make_row(agreement: MetricAgreement, kind: str = "") -> list[Cell]:
    name = f"{'baseline: ' if agreement.is_baseline else kind}{agreement.name}"
    cells: list[Cell] = [interval_estimate(agreement.levels[level]) for level in LEVELS]
    return [name, agreement.levels["pooled"].n, *cells, agreement.accuracy.value]


def trust_notes(trust: Trust) -> list[str]:
    """What a reader of the table must know."""
    evidence = trust.evidence
    systems, raters = format_count(len(set(evidence.systems)), "system"), describe_raters(evidence.matrix.raters)
    items, dialogues = format_count(len(set(evidence.items)), "item"), evidence.n_dialogues
    inside, unit = (f" of {dialogues:,} dialogues", "whole dialogues") if evidence.is_clustered else ("", "items")
    rated = f"{format_count(len(evidence), 'rated response')} of {systems} to {items}"
    if evidence.unit == "dialogue":
        rated = f"{format_count(len(evidence), 'rated dialogue')} of {systems}"
        unit = "dialogues"
    notes = [
        f"{rated}{inside if evidence.unit == 'reply' else ''}, {raters}; [low, high]: 95% bootstrap over {unit}.",
        "pooled: all rows; within systems and within items: mean of the correlations inside each; between systems: "
        "correlation of their means; pairs right: share of pairs of replies to one item that the metric puts in the "
        "order of their ratings, counting ties, with the tolerance for ties that suits the metric best.",
    ]
    if dialogues < FEW:
        notes.append(
            f"There are fewer than {FEW} {'dialogues' if evidence.is_clustered else 'items'}: do not trust the "
            "intervals and tests, which need more."
        )
    if evidence.unit == "dialogue":
        notes.append(
            "A metric of whole dialogues counts with its one score per dialogue and system, any other with the mean "
            "over the system's replies in the dialogue; within items: within dialogues of the same id."
        )
    if evidence.unrated:
        left_out = format_count(evidence.unrated, "response" if evidence.unit == "reply" else "dialogue")
        notes.append(f"Left out: {left_out} of the run without a rating in this aspect.")
    notes += [*_undefined_notes(trust), *_people_notes(trust), *_difference_notes(trust), *_shared_family_notes(trust)]
    return notes


def _undefined_notes(trust: Trust) -> list[str]:
    """Why cells are empty, once per reason."""
    reasons: dict[str, list[str]] = {}
    for metric in [*trust.metrics, *trust.baselines]:
        for level in LEVELS:
            reason = metric.levels[level].reason
            if (
                reason
                and math.isnan(metric.levels[level].value)
                and not (metric.name == ORACLE and level == "within_system")
            ):
                reasons.setdefault(f"{_HEADS[level]}: {reason}", []).append(metric.name)
        if metric.accuracy.reason:
            reasons.setdefault(f"pairs right: {metric.accuracy.reason}", []).append(metric.name)
    notes = [f"No value for {reason} ({', '.join(names)})." for reason, names in reasons.items()]
    if any(metric.name == ORACLE for metric in trust.baselines):
        notes.append(
            "'Which system wrote it' gives every reply of a system the system's mean rating, so it has no value within "
            "systems."
        )
    return notes


def _people_notes(trust: Trust) -> list[str]:
    notes = _aggregation_notes(trust)
    if trust.one_rater.reason:
        notes.append(f"One rater against the rest: not available ({trust.one_rater.reason}).")
    if trust.halves.reason:
        notes.append(f"Half of the ratings against the other half: not available ({trust.halves.reason}).")
    else:
        notes.append(f"Half of the ratings against the other half: {format_halves_range(trust)}.")
    if trust.agreement.reason:
        notes.append(f"Agreement of the raters: not available ({trust.agreement.reason}).")
    else:
        notes.append(f"Agreement of the raters: Krippendorff's alpha (ordinal) {trust.agreement.value:.3f}.")
    return notes


def format_halves_range(trust: Trust) -> str:
    """The range of the correlations of single splits; it is not an interval of their mean, which may lie outside."""
    halves = trust.halves
    low, high = format_decimal(halves.low, 3), format_decimal(halves.high, 3)
    return f"mean of {halves.n_splits} random splits, the middle 95% of which lie between {low} and {high}"


def _aggregation_notes(trust: Trust) -> list[str]:
    """How certain the ratings are where they were aggregated."""
    method, certainty = trust.evidence.method, trust.evidence.certainty
    if method is None or certainty is None:
        return []
    start = f"Metrics are compared with ratings aggregated by {method}"
    if math.isnan(certainty.value):
        return [f"{start}; their uncertainty is not available ({certainty.reason})."]
    return [
        f"{start}. Given their uncertainty, the truth itself would have a correlation of {certainty.value:.2f} with "
        "them (Pearson, pooled): do not expect more from any metric."
    ]


def _difference_notes(trust: Trust) -> list[str]:
    """Which metrics are significantly better than which."""
    notes = []
    for level, pairs in trust.differences.items():
        better: dict[str, list[str]] = {}
        for pair in pairs:
            if pair.survives:
                better.setdefault(pair.first, []).append(pair.second)
        better_than = "; ".join(f"{first} better than {', '.join(others)}" for first, others in better.items())
        if pairs:
            what = better_than or "no metric is significantly better than another"
            unit = "dialogues" if trust.evidence.is_clustered else "items"
            how = f"{trust.test} over {unit}, Holm over {format_count(len(pairs), 'pair')}, {ALPHA:g}"
            notes.append(f"{_HEADS[level].capitalize()} ({how}): {what}.")
    return notes


def _shared_family_notes(trust: Trust) -> list[str]:
    return [
        f"Warning: {metric} and the system {system} share the base model {family}; the metric may favour this system."
        for metric, system, family in trust.shared_families
    ]


def trust_advice(trust: Trust) -> str:
    """Plain advice: it recommends no baseline, and names a winner only where a test does."""
    aspect = repr(trust.evidence.aspect)
    if trust.metrics and not _list_candidates(trust):
        return (
            f"The metrics of this run only describe replies, so none can be trusted on {aspect}; score with one that "
            "judges them, such as aptness."
        )
    usable = [m for m in _list_candidates(trust) if not math.isnan(m.levels["pooled"].value)]
    if not usable:
        return f"No metric of this run can be judged on {aspect}; the notes of the table say why."
    several = len(set(trust.evidence.systems)) > 1
    level: Level = "within_system" if several else "pooled"
    reliable = [m for m in usable if m.levels[level].low > 0]
    where = "within systems" if several else "on these replies"
    if not reliable:
        return (
            f"No metric of this run can be trusted to tell good replies from bad ones {where} on {aspect}: "
            "no interval lies above 0. Ask people, or add references or ratings."
        )
    best = max(reliable, key=lambda m: m.levels[level].value)
    advice = f"On {aspect}, {_describe_best(trust, best, usable, level, where)}"
    simple = [*trust.baselines, *(m for m in trust.metrics if m.name in trust.evidence.descriptive)]
    trivial = [b for b in simple if b.levels[level].low > best.levels[level].value]
    if trivial:
        figure = f"{trivial[0].levels[level].value:.2f}"
        advice += f", but {trivial[0].name} alone agrees better ({figure}), so the metric adds nothing here"
    oracle = next(b.levels["pooled"].value for b in trust.baselines if b.name == ORACLE)
    pooled = max(m.levels["pooled"].value for m in usable)
    if several and oracle > pooled:
        advice += (
            f". The pooled figures (at most {pooled:.2f}) stay below what the system's name alone gives "
            f"({oracle:.2f}), so do not read them as the quality of single replies"
        )
    n = trust.evidence.n_dialogues
    if n < FEW:
        count = format_count(n, "dialogue" if trust.evidence.is_clustered else "item")
        advice += f". With only {count}, this is not reliable"
    return advice + "."


def _join_alternatives(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _list_candidates(trust: Trust) -> list[MetricAgreement]:
    """The metrics that could be recommended: a length or another description is none, however well it agrees."""
    return [metric for metric in trust.metrics if metric.name not in trust.evidence.descriptive]


def _describe_best(
    trust: Trust, best: MetricAgreement, usable: Sequence[MetricAgreement], level: Level, where: str
) -> str:
    """How well the best metric agrees, and which others no test tells from it."""
    value, low, high = best.levels[level][:3]
    figures = f"({value:.2f} [{low:.2f}, {high:.2f}])"
    beaten = {pair.second for pair in trust.differences[level] if pair.first == best.name and pair.survives}
    rivals = [m.name for m in usable if m is not best and m.name not in beaten]
    if len(usable) == 1:
        return f"{best.name} agrees with people {where} {figures}"
    if not rivals:
        return f"{best.name} agrees best with people {where} {figures}"
    others = f"{len(rivals)} other metrics" if len(rivals) > 4 else _join_alternatives(rivals)
    return f"{best.name} agrees with people {where} {figures}; no test finds it better than {others}"
