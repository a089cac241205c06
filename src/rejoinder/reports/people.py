"""Agreement with people as a page shows it: per aspect, what they said, how far each metric follows, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.comparison.trust import MetricAgreement, Trust
from rejoinder.comparison.trust_tables import agreement_table, format_halves_range, sentence
from rejoinder.reports.chart import Markup, axis_labels, cell_text, interval_bar, make_axis
from rejoinder.reports.findings import Findings
from rejoinder.reports.leaderboard import Leaderboard, rating_leaderboard
from rejoinder.reports.scatter import MAX_DOTS, Scatter, draw_scatter
from rejoinder.stats.levels import Level
from rejoinder.table import Estimate, Table, format_count

_MAX_DOTS_IN_ALL = 60_000


@dataclass(frozen=True)
class RatingFact:
    """Something about the ratings in a word, a number and, where there is none, the reason."""

    name: str
    value: str
    reason: str = ""


@dataclass(frozen=True)
class ScatterFigure:
    """A drawing with what stands under it; the drawing is None where nothing can be drawn."""

    metric: str
    svg: Markup | None
    caption: str


@dataclass(frozen=True)
class AgreementBar:
    """How far one metric or baseline follows people, at the level that the advice goes by."""

    name: str
    is_baseline: bool
    estimate: Estimate
    svg: Markup | None


@dataclass(frozen=True)
class AspectSection:
    """One aspect's part of the page."""

    name: str
    sentence: str
    facts: Sequence[RatingFact]
    ratings: Leaderboard
    level: str
    bars: Sequence[AgreementBar]
    labels: Markup | None
    table: Table
    figures: Sequence[ScatterFigure]


def aspect_sections(findings: Findings) -> list[AspectSection]:
    """Every aspect that is reported on."""
    charts = max(1, len(findings.trusts) * len(findings.scores.metrics))
    most = max(200, min(MAX_DOTS, _MAX_DOTS_IN_ALL // charts))
    return [_make_section(findings, found, i, most) for i, found in enumerate(findings.trusts, start=1)]


def _make_section(findings: Findings, found: Trust, number: int, most: int) -> AspectSection:
    level: Level = "within_system" if len(set(found.evidence.systems)) > 1 else "pooled"
    bars, labels = _make_bars(found, level)
    return AspectSection(
        found.evidence.aspect,
        sentence(found),
        _list_facts(found),
        rating_leaderboard(found, findings.seed),
        "within systems" if level == "within_system" else "on all replies",
        bars,
        labels,
        agreement_table(found),
        [
            _make_figure(one, found, f"aspect-{number}-chart-{i}", findings.seed, most)
            for i, one in enumerate(found.metrics, start=1)
        ],
    )


def _list_facts(found: Trust) -> list[RatingFact]:
    evidence, halves = found.evidence, found.halves
    given = int((~np.isnan(evidence.matrix.values)).sum())
    return [
        RatingFact("rated replies", f"{len(evidence):,}"),
        RatingFact("ratings", f"{given:,} by {format_count(len(evidence.matrix.raters), 'rater', 'raters')}"),
        RatingFact("agreement of the raters (Krippendorff's alpha, ordinal)", *_value_or_reason(found.agreement)),
        RatingFact(f"one rater against the rest ({found.method.capitalize()})", *_value_or_reason(found.one_rater)),
        RatingFact(
            "systems ranked by half of the ratings against the other half",
            cell_text(halves.value),
            halves.reason or format_halves_range(found),
        ),
    ]


def _value_or_reason(found: object) -> tuple[str, str]:
    return cell_text(getattr(found, "value", math.nan)), getattr(found, "reason", None) or ""


def _make_bars(found: Trust, level: Level) -> tuple[list[AgreementBar], Markup | None]:
    """Metrics, best first, then baselines; 0 is always on the axis."""
    metrics = sorted(found.metrics, key=lambda one: -_number(one.levels[level].value))
    estimates = {one.name: _estimate(one, level) for one in [*metrics, *found.baselines]}
    along = make_axis([0.0, *(end for estimate in estimates.values() for end in estimate)], (-1.0, 1.0))
    bars = []
    for one in [*metrics, *found.baselines]:
        estimate = estimates[one.name]
        svg = interval_bar(one.name, estimate, along, mark=0.0) if along and not math.isnan(estimate.value) else None
        bars.append(AgreementBar(one.name, one.is_baseline, estimate, svg))
    return bars, axis_labels(along) if along else None


def _number(value: float) -> float:
    return -math.inf if math.isnan(value) else value


def _estimate(one: MetricAgreement, level: Level) -> Estimate:
    found = one.levels[level]
    return Estimate(found.value, found.low, found.high)


def _make_figure(one: MetricAgreement, found: Trust, name: str, seed: int, most: int) -> ScatterFigure:
    evidence = found.evidence
    turned = one.name in evidence.turned
    scores = -evidence.scores[one.name] if turned else evidence.scores[one.name]
    drawn = draw_scatter(name, evidence.mean, scores, (f"mean rating: {evidence.aspect}", one.name), seed, most)
    if drawn is None:
        return ScatterFigure(one.name, None, "No reply has both a rating and a score that can be drawn.")
    return ScatterFigure(one.name, drawn.svg, _describe_figure(one, found, drawn, turned))


def _describe_figure(one: MetricAgreement, found: Trust, drawn: Scatter, turned: bool) -> str:
    told = [format_count(drawn.n, "reply", "replies")]
    if drawn.drawn < drawn.n:
        told[0] += f", {drawn.drawn:,} of them drawn (a fixed sample; the numbers are of all)"
    if drawn.line is not None:
        told.append(f"slope {drawn.line.slope:.3g} a rating point")
    told.append(f"{found.method.capitalize()} {cell_text(_estimate(one, 'pooled'))} pooled")
    within = _estimate(one, "within_system")
    if not math.isnan(within.value) and len(set(found.evidence.systems)) > 1:
        told.append(f"{cell_text(within)} within systems")
    return "; ".join(told) + (" (lower is better: the correlation is of the score turned round)." if turned else ".")
