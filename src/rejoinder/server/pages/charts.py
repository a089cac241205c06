"""Charts of the pages as inline SVG: histograms whose bars are links, scores against ratings, reliability diagrams.

Colours come from the style sheet, which knows whether the page is dark or printed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.escape import escape_html
from rejoinder.reports.chart import ChartAxis, Markup, make_axis, tick_label
from rejoinder.table import format_count

Values = NDArray[np.float64]
SERIES = 8  # colours; further systems share the last one
_BINS = 20
_WIDTH, _HEIGHT, _FOOT = 400, 84, 18  # of a histogram, and of the labels under it
_LEFT, _TOP, _ACROSS, _UP = 44, 22, 308, 190  # of the area of a plot
_NOISE = 0.3  # times the smallest step between two ratings
_BANDS, _MIN_BAND = 10, 5  # of a reliability diagram, and replies in a band
_Z = 1.96


class LinkTarget(NamedTuple):
    """The link of a dot, and its description."""

    address: str
    about: str


class ReliabilityBand(NamedTuple):
    """A band of scores: its ends, its replies, their mean score, and their mean rating with its 95% interval."""

    low: float
    high: float
    n: int
    score: float
    rating: float
    error: float


class ReliabilityDiagram(NamedTuple):
    """The drawing, its bands, and the mean distance from the diagonal where score and rating share a scale."""

    svg: Markup
    bands: Sequence[ReliabilityBand]
    distance: float | None


def draw_histogram(
    name: str,
    label: str,
    values: Values,
    axis: ChartAxis,
    link: Callable[[float, float], str],
    drag: str,
    series: int = 0,
) -> Markup:
    """Draw how the values of a column are distributed; a bar links to its replies.

    ``drag`` is the address of all of them, in which a script replaces the range of the column.
    """
    known = values[np.isfinite(values)]
    counts, edges = np.histogram(known, bins=_BINS, range=(axis.low, axis.high))
    tallest = max(1, int(counts.max()))
    step = _WIDTH / _BINS
    bars = []
    for number, count in enumerate(counts.tolist()):
        if count:
            low, high, height = float(edges[number]), float(edges[number + 1]), max(2.0, _HEIGHT * count / tallest)
            about = escape_html(f"{low:.3g} to {high:.3g}: {format_count(count, 'reply', 'replies')}")
            bars.append(
                f'<a href="{escape_html(link(low, high))}" tabindex="-1" aria-label="{about}">'
                f'<rect x="{number * step + 1:.1f}" y="{_HEIGHT - height:.1f}" width="{step - 2:.1f}" '
                f'height="{height:.1f}"><title>{about}</title></rect></a>'
            )
    ticks = "".join(
        f'<text x="{_WIDTH * axis.share(tick):.1f}" y="{_HEIGHT + 14}" '
        f'class="{"first" if tick == axis.ticks[0] else "last" if tick == axis.ticks[-1] else "tick"}">'
        f"{tick_label(tick)}</text>"
        for tick in axis.ticks
    )
    return Markup(
        f'<svg class="histogram series-{series}" viewBox="0 0 {_WIDTH} {_HEIGHT + _FOOT}" role="group" '
        f'aria-label="{escape_html(label)}: {format_count(len(known), "reply", "replies")}" focusable="false" '
        f'data-low="{axis.low!r}" data-high="{axis.high!r}" data-name="{escape_html(name)}" '
        f'data-drag="{escape_html(drag)}">'
        f'<line class="base" x1="0" x2="{_WIDTH}" y1="{_HEIGHT}" y2="{_HEIGHT}"/>{"".join(bars)}{ticks}</svg>'
    )


class _Plot(NamedTuple):
    """The area of a plot with its two axes."""

    along: ChartAxis
    upward: ChartAxis

    def x(self, value: float) -> float:
        return _LEFT + _ACROSS * self.along.share(value)

    def y(self, value: float) -> float:
        return _TOP + _UP * (1 - self.upward.share(value))

    def svg(self, kind: str, labels: tuple[str, str], about: str, inside: str) -> Markup:
        """Return the whole drawing: grid, names of the axes, and what is inside."""
        bottom, right, parts = _TOP + _UP, _LEFT + _ACROSS, []
        for tick in self.along.ticks:
            x = self.x(tick)
            parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}"/>')
            parts.append(f'<text class="x" x="{x:.1f}" y="{bottom + 15}">{tick_label(tick)}</text>')
        for tick in self.upward.ticks:
            y = self.y(tick)
            parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<text class="y" x="{_LEFT - 6}" y="{y + 4:.1f}">{tick_label(tick)}</text>')
        across, up = (escape_html(text if len(text) <= 44 else text[:43] + "…") for text in labels)
        names = f'<text class="name" x="{_LEFT + _ACROSS / 2}" y="{bottom + 34}">{across}</text>'
        names += f'<text class="name up" x="0" y="12">{up}</text>'
        role = "group" if "<a " in inside else "img"
        return Markup(
            f'<svg class="{kind}" viewBox="0 0 360 250" role="{role}" aria-label="{escape_html(about)}" '
            f'focusable="false">{"".join(parts)}{inside}{names}</svg>'
        )


def draw_scatter(
    ratings: Values,
    scores: Values,
    series: NDArray[np.int64],
    labels: tuple[str, str],
    targets: Callable[[int], LinkTarget],
    max_dots: int,
    seed: int = 0,
) -> tuple[Markup, int] | None:
    """Draw scores against ratings, one colour per system, and return how many dots there are; None without any.

    Ratings are moved a little sideways, so that equal ones do not hide each other; a sample is drawn of very many.
    """
    known = np.flatnonzero(np.isfinite(ratings) & np.isfinite(scores))
    along, upward = make_axis(ratings[known].tolist()), make_axis(scores[known].tolist())
    if along is None or upward is None:
        return None
    random = np.random.default_rng(seed)
    sample = np.sort(random.choice(known, max_dots, replace=False)) if len(known) > max_dots else known
    steps = np.diff(np.unique(np.round(ratings[known], 9)))
    noisy = ratings[sample] + random.normal(0.0, _NOISE * float(steps.min()) if len(steps) else 0.0, len(sample))
    plot = _Plot(_widen(along, noisy), _widen(upward, scores[sample]))
    dots = []
    for place, rating in zip(sample.tolist(), noisy.tolist(), strict=True):
        to = targets(place)
        about = escape_html(to.about)
        dots.append(
            f'<a href="{escape_html(to.address)}" tabindex="-1" aria-label="{about}"><circle class="series-'
            f'{min(int(series[place]), SERIES - 1)}" cx="{plot.x(rating):.1f}" cy="{plot.y(float(scores[place])):.1f}" '
            f'r="4"><title>{about}</title></circle></a>'
        )
    about = f"{labels[1]} against {labels[0]}, {format_count(len(known), 'reply', 'replies')}"
    return plot.svg("scatter", labels, about, f'<g class="dots">{"".join(dots)}</g>'), len(sample)


def _widen(axis: ChartAxis, values: Values) -> ChartAxis:
    """The axis with some room at both ends, so that no dot lies on the frame."""
    margin = (axis.high - axis.low) / 40
    low, high = min(axis.low, float(values.min())) - margin, max(axis.high, float(values.max())) + margin
    return ChartAxis(low, high, axis.ticks)


def draw_reliability(
    scores: Values, ratings: Values, bounds: tuple[float, float], labels: tuple[str, str]
) -> ReliabilityDiagram | None:
    """Draw the mean rating of replies in bands of their score; None where there are too few rated replies.

    Where a score lies between 0 and 1, ratings are moved to that scale, from the lowest rating to the highest: the
    diagonal is then where a score of .7 means seven tenths of the way to the best rating.
    """
    known = np.isfinite(scores) & np.isfinite(ratings)
    x, y = scores[known], ratings[known]
    if len(x) < 2 * _MIN_BAND or np.ptp(y) == 0 or np.ptp(x) == 0:
        return None
    is_share = bounds == (0.0, 1.0)
    y = (y - y.min()) / np.ptp(y) if is_share else y
    bands = _cut_bands(x, y)
    axis = ChartAxis(0.0, 1.0, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)) if is_share else None
    ends = [end for band in bands for end in (band.rating - band.error, band.rating + band.error)]
    along, upward = axis or make_axis(x.tolist()), axis or make_axis(ends)
    if along is None or upward is None:
        return None
    plot = _Plot(along, upward)
    parts = [_diagonal(plot)] if is_share else []
    points = " ".join(f"{plot.x(band.score):.1f},{plot.y(band.rating):.1f}" for band in bands)
    parts.append(f'<polyline class="curve" points="{points}"/>')
    for band in bands:
        at, low, high = plot.x(band.score), plot.y(band.rating - band.error), plot.y(band.rating + band.error)
        parts.append(f'<line class="interval" x1="{at:.1f}" x2="{at:.1f}" y1="{low:.1f}" y2="{high:.1f}"/>')
        about = f"{band.low:.3g} to {band.high:.3g}: {band.n} replies, mean rating {band.rating:.3g}"
        parts.append(
            f'<circle class="dot" cx="{at:.1f}" cy="{plot.y(band.rating):.1f}" r="4"><title>{about}</title></circle>'
        )
    distance = sum(band.n * abs(band.rating - band.score) for band in bands) / len(x) if is_share else None
    svg = plot.svg("scatter reliability", labels, f"mean rating in {len(bands)} bands of {labels[0]}", "".join(parts))
    return ReliabilityDiagram(svg, bands, distance)


def _diagonal(plot: _Plot) -> str:
    return f'<line class="regression" x1="{plot.x(0)}" y1="{plot.y(0)}" x2="{plot.x(1)}" y2="{plot.y(1)}"/>'


def _cut_bands(x: Values, y: Values) -> list[ReliabilityBand]:
    """Bands with about as many replies each; equal scores stay together."""
    order = np.argsort(x, kind="stable")
    x, y = x[order], y[order]
    n_bands = max(2, min(_BANDS, len(x) // _MIN_BAND))
    cuts = {0, len(x)}
    for number in range(1, n_bands):
        cuts.add(int(np.searchsorted(x, x[len(x) * number // n_bands], side="left")))
    bands = []
    edges = sorted(cuts)
    for start, end in itertools.pairwise(edges):
        part = y[start:end]
        spread = float(part.std(ddof=1)) / math.sqrt(len(part)) if len(part) > 1 else 0.0
        means = float(x[start:end].mean()), float(part.mean())
        bands.append(ReliabilityBand(float(x[start]), float(x[end - 1]), end - start, *means, _Z * spread))
    return bands
