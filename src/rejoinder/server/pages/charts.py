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
from rejoinder.reports.scatter import Plot, place_dots
from rejoinder.table import format_count

Values = NDArray[np.float64]
SERIES = 8  # colours; further systems share the last one
_BINS = 20
_WIDTH, _HEIGHT, _FOOT = 400, 84, 18  # of a histogram, and of the labels under it
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


def draw_scatter(
    ratings: Values,
    scores: Values,
    series: NDArray[np.int64],
    labels: tuple[str, str],
    targets: Callable[[int], LinkTarget],
    max_dots: int,
    seed: int = 0,
) -> tuple[Markup, int] | None:
    """Draw scores against ratings, one colour per system, and return how many dots there are; None without any."""
    placed = place_dots(ratings, scores, max_dots, seed)
    if placed is None:
        return None
    dots = []
    for row, x, y in zip(placed.rows, placed.across, placed.up, strict=True):
        to = targets(row)
        about = escape_html(to.about)
        dots.append(
            f'<a href="{escape_html(to.address)}" tabindex="-1" aria-label="{about}"><circle class="series-'
            f'{min(int(series[row]), SERIES - 1)}" cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{about}</title></circle></a>'
        )
    about = escape_html(f"{labels[1]} against {labels[0]}, {format_count(len(placed.ratings), 'reply', 'replies')}")
    inside = f'<g class="dots">{"".join(dots)}</g>'
    return placed.plot.svg("scatter", f'role="group" aria-label="{about}"', labels, inside), len(dots)


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
    plot = Plot(along, upward)
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
    label = escape_html(f"mean rating in {len(bands)} bands of {labels[0]}")
    svg = plot.svg("scatter reliability", f'role="img" aria-label="{label}"', labels, "".join(parts))
    return ReliabilityDiagram(svg, bands, distance)


def _diagonal(plot: Plot) -> str:
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
