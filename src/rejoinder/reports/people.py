"""Agreement with people for a page: per aspect, the ratings, and how well each metric agrees with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.comparison.trust import MetricAgreement, Trust
from rejoinder.comparison.trust_tables import format_halves_range, metric_agreement_table, trust_advice
from rejoinder.reports.chart import Markup, axis_labels, interval_bar, make_axis
from rejoinder.reports.findings import RunFindings
from rejoinder.reports.leaderboard import Leaderboard, rank_systems_by_rating
from rejoinder.reports.scatter import MAX_DOTS, ScatterDrawing, draw_scatter
from rejoinder.stats.interval import interval_estimate
from rejoinder.stats.levels import Level
from rejoinder.table import Estimate, Table, format_cell, format_count

_MAX_DOTS_IN_ALL = 60_000


@dataclass(frozen=True)
class RatingFact:
    """One fact about the ratings: a name, a value, and a reason or remark."""

    name: str
    value: str
    reason: str = ""


@dataclass(frozen=True)
class ScatterFigure:
    """A drawing with its caption; the drawing is None where nothing can be drawn."""

    metric: str
    svg: Markup | None
    caption: str


@dataclass(frozen=True)
class AgreementBar:
    """How well one metric or baseline agrees with people, at the level that the advice is based on."""

    name: str
    is_baseline: bool
    estimate: Estimate
    svg: Markup | None


@dataclass(frozen=True)
class AspectSection:
    """The section of one aspect."""

    name: str
    sentence: str
    facts: Sequence[RatingFact]
    ratings: Leaderboard
    level: str
    bars: Sequence[AgreementBar]
    labels: Markup | None
    table: Table
    figures: Sequence[ScatterFigure]


def aspect_sections(findings: RunFindings) -> list[AspectSection]:
    """The section of every aspect in the report."""
    charts = max(1, len(findings.trusts) * len(findings.scores.metrics))
    max_dots = max(200, min(MAX_DOTS, _MAX_DOTS_IN_ALL // charts))
    return [_make_section(findings, trust, i, max_dots) for i, trust in enumerate(findings.trusts, start=1)]


def _make_section(findings: RunFindings, trust: Trust, number: int, max_dots: int) -> AspectSection:
    level: Level = "within_system" if len(set(trust.evidence.systems)) > 1 else "pooled"
    bars, labels = _make_bars(trust, level)
    return AspectSection(
        trust.evidence.aspect,
        trust_advice(trust),
        _list_facts(trust),
        rank_systems_by_rating(trust, findings.seed),
        "within systems" if level == "within_system" else "on all replies",
        bars,
        labels,
        metric_agreement_table(trust),
        [
            _make_figure(agreement, trust, f"aspect-{number}-chart-{i}", findings.seed, max_dots)
            for i, agreement in enumerate(trust.metrics, start=1)
        ],
    )


def _list_facts(trust: Trust) -> list[RatingFact]:
    evidence, halves = trust.evidence, trust.halves
    n_ratings = int((~np.isnan(evidence.matrix.values)).sum())
    return [
        RatingFact("rated replies", f"{len(evidence):,}"),
        RatingFact("ratings", f"{n_ratings:,} by {format_count(len(evidence.matrix.raters), 'rater')}"),
        RatingFact("agreement of the raters (Krippendorff's alpha, ordinal)", *_value_or_reason(trust.agreement)),
        RatingFact(f"one rater against the rest ({trust.method.capitalize()})", *_value_or_reason(trust.one_rater)),
        RatingFact(
            "systems ranked by half of the ratings against the other half",
            format_cell(halves.value),
            halves.reason or format_halves_range(trust),
        ),
    ]


def _value_or_reason(statistic: object) -> tuple[str, str]:
    return format_cell(getattr(statistic, "value", math.nan)), getattr(statistic, "reason", None) or ""


def _make_bars(trust: Trust, level: Level) -> tuple[list[AgreementBar], Markup | None]:
    """Metrics, best first, then baselines; 0 is always on the axis."""
    descriptive = trust.evidence.descriptive
    metrics = sorted(
        trust.metrics, key=lambda one: (one.name in descriptive, -_agreement_sort_key(one.levels[level].value))
    )  # what only describes stands after what can be believed
    estimates = {agreement.name: _agreement_estimate(agreement, level) for agreement in [*metrics, *trust.baselines]}
    along = make_axis([0.0, *(end for estimate in estimates.values() for end in estimate)], (-1.0, 1.0))
    bars = []
    for agreement in [*metrics, *trust.baselines]:
        estimate = estimates[agreement.name]
        svg = (
            interval_bar(agreement.name, estimate, along, mark=0.0)
            if along and not math.isnan(estimate.value)
            else None
        )
        bars.append(AgreementBar(agreement.name, agreement.is_baseline, estimate, svg))
    return bars, axis_labels(along) if along else None


def _agreement_sort_key(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def _agreement_estimate(agreement: MetricAgreement, level: Level) -> Estimate:
    return interval_estimate(agreement.levels[level])


def _make_figure(agreement: MetricAgreement, trust: Trust, name: str, seed: int, max_dots: int) -> ScatterFigure:
    evidence = trust.evidence
    lower_is_better = agreement.name in evidence.lower_is_better
    scores = -evidence.scores[agreement.name] if lower_is_better else evidence.scores[agreement.name]
    scatter = draw_scatter(
        name, evidence.mean, scores, (f"mean rating: {evidence.aspect}", agreement.name), seed, max_dots
    )
    if scatter is None:
        return ScatterFigure(agreement.name, None, "No reply has both a rating and a score that can be drawn.")
    return ScatterFigure(agreement.name, scatter.svg, _describe_figure(agreement, trust, scatter, lower_is_better))


def _describe_figure(agreement: MetricAgreement, trust: Trust, scatter: ScatterDrawing, lower_is_better: bool) -> str:
    parts = [format_count(scatter.n, "reply", "replies")]
    if scatter.drawn < scatter.n:
        parts[0] += f", {scatter.drawn:,} of them drawn (a fixed sample; the numbers are for all)"
    if scatter.line is not None:
        parts.append(f"slope {scatter.line.slope:.3g} per rating point")
    parts.append(f"{trust.method.capitalize()} {format_cell(_agreement_estimate(agreement, 'pooled'))} pooled")
    within = _agreement_estimate(agreement, "within_system")
    if not math.isnan(within.value) and len(set(trust.evidence.systems)) > 1:
        parts.append(f"{format_cell(within)} within systems")
    return "; ".join(parts) + (
        " (lower is better: the correlation is with the negative score)." if lower_is_better else "."
    )
