"""A metric's scores against people's ratings, as in Figure 2 of SSREM (Bak and Oh 2020) after Lowe et al. (2017).

A dot is one reply: the rating on the x axis, with a little noise so that equal ratings do not hide each other, the
score on the y axis. The line is the linear regression on the exact ratings.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.escape import escape_html
from rejoinder.reports.chart import ChartAxis, Markup, make_axis, tick_label

Values = NDArray[np.float64]
MAX_DOTS = 2000
_NOISE = 0.3  # times the step between two ratings: the papers' N(0, 0.3) on a scale of whole numbers
_LAYERS = 8  # dots of one path do not darken each other, so they are spread over several paths
_LEFT, _TOP, _WIDTH, _HEIGHT = 44, 22, 308, 190  # of the plot area
_FEW = 400


class RegressionLine(NamedTuple):
    """A regression line."""

    slope: float
    start: float


class ScatterDrawing(NamedTuple):
    """The drawing, the number of replies, how many of them are drawn, and the line (None without one)."""

    svg: Markup
    n: int
    drawn: int
    line: RegressionLine | None


class Plot(NamedTuple):
    """The area of a plot with its two axes."""

    along: ChartAxis
    upward: ChartAxis

    def x(self, value: float) -> float:
        """Where a value is from the left."""
        return _LEFT + _WIDTH * self.along.share(value)

    def y(self, value: float) -> float:
        """Where a value is from the top."""
        return _TOP + _HEIGHT * (1 - self.upward.share(value))

    def svg(self, kind: str, attributes: str, labels: tuple[str, str], inside: str, about: str = "") -> Markup:
        """Return the whole drawing: what it is about, grid, what is inside, and names of the axes."""
        bottom, right, parts = _TOP + _HEIGHT, _LEFT + _WIDTH, []
        for tick in self.along.ticks:
            x = self.x(tick)
            parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}"/>')
            parts.append(f'<text class="x" x="{x:.1f}" y="{bottom + 15}">{tick_label(tick)}</text>')
        for tick in self.upward.ticks:
            y = self.y(tick)
            parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
            parts.append(f'<text class="y" x="{_LEFT - 6}" y="{y + 4:.1f}">{tick_label(tick)}</text>')
        across, up = (escape_html(text if len(text) <= 44 else text[:43] + "…") for text in labels)
        names = f'<text class="name" x="{_LEFT + _WIDTH / 2}" y="{bottom + 34}">{across}</text>'
        names += f'<text class="name up" x="0" y="12">{up}</text>'
        return Markup(
            f'<svg class="{kind}" viewBox="0 0 360 250" {attributes} focusable="false">'
            f"{about}{''.join(parts)}{inside}{names}</svg>"
        )


class PlacedDots(NamedTuple):
    """The dots of a scatter: their rows, where they stand in the plot, and the numbers of all rows that have both."""

    plot: Plot
    rows: list[int]
    across: list[float]
    up: list[float]
    ratings: Values
    scores: Values


def place_dots(ratings: Values, scores: Values, max_dots: int, seed: int) -> PlacedDots | None:
    """Place the rows that have both a rating and a score, or a sample of very many; None without any.

    Ratings are moved a little sideways, so that equal ones do not hide each other.
    """
    rows = np.flatnonzero(np.isfinite(ratings) & np.isfinite(scores))
    x, y = ratings[rows], scores[rows]
    along, upward = make_axis(x.tolist()), make_axis(y.tolist())
    if along is None or upward is None:
        return None
    random = np.random.default_rng(seed)
    sample = np.sort(random.choice(len(rows), max_dots, replace=False)) if len(rows) > max_dots else slice(None)
    noisy = x[sample] + random.normal(0.0, _jitter_scale(x), len(x[sample]))
    plot = Plot(_widen_axis(along, noisy), _widen_axis(upward, y))
    places = list(map(plot.x, noisy.tolist())), list(map(plot.y, y[sample].tolist()))
    return PlacedDots(plot, rows[sample].tolist(), *places, x, y)


def draw_scatter(
    name: str, ratings: Values, scores: Values, labels: tuple[str, str], seed: int = 0, max_dots: int = MAX_DOTS
) -> ScatterDrawing | None:
    """Draw the replies that have both a rating and a score; None where there is nothing that can be drawn.

    ``name`` is an id that is unique on the page, ``labels`` are those of the two axes.
    """
    placed = place_dots(ratings, scores, max_dots, seed)
    if placed is None:
        return None
    n, drawn, x = len(placed.ratings), len(placed.rows), placed.ratings
    line = fit_line(x, placed.scores)
    dots = _draw_dots(placed.across, placed.up)
    inside = f'<g class="dots{" few" if drawn <= _FEW else ""}">{dots}</g>'
    if line is not None:
        inside += _draw_line(line, (float(x.min()), float(x.max())), placed.plot)
    about = (
        f'<title id="{name}-t">{escape_html(labels[1])} against {escape_html(labels[0])}</title>'
        f'<desc id="{name}-d">{n:,} replies{f", slope {line.slope:.3g}" if line else ""}</desc>'
    )
    svg = placed.plot.svg("scatter", f'role="img" aria-labelledby="{name}-t {name}-d"', labels, inside, about)
    return ScatterDrawing(svg, n, drawn, line)


def fit_line(x: Values, y: Values) -> RegressionLine | None:
    """The least-squares line of y on x; None where x does not vary."""
    if len(x) < 2 or np.ptp(x) <= 1e-9 * np.abs(x).max():
        return None
    deviations = x - x.mean()
    slope = float(deviations @ (y - y.mean()) / (deviations @ deviations))
    return RegressionLine(slope, float(y.mean() - slope * x.mean()))


def _jitter_scale(x: Values) -> float:
    """The standard deviation of the noise: small compared with the smallest step between two ratings."""
    steps = np.diff(np.unique(np.round(x, 9)))
    return _NOISE * float(steps.min()) if len(steps) else 0.0


def _widen_axis(axis: ChartAxis, values: Values) -> ChartAxis:
    """The axis with some room at both ends, so that no dot lies on the frame."""
    margin = (axis.high - axis.low) / 40
    return ChartAxis(
        min(axis.low, float(values.min())) - margin, max(axis.high, float(values.max())) + margin, axis.ticks
    )


def _draw_dots(across: list[float], up: list[float]) -> str:
    """Zero-length lines with round ends: the shortest way to write many dots."""
    places = [f"M{x:.1f} {y:.1f}h0" for x, y in zip(across, up, strict=True)]
    layers = ("".join(places[i::_LAYERS]) for i in range(_LAYERS))
    return "".join(f'<path d="{layer}"/>' for layer in layers if layer)


def _draw_line(line: RegressionLine, ends: tuple[float, float], plot: Plot) -> str:
    (x1, x2), (y1, y2) = map(plot.x, ends), (plot.y(line.start + line.slope * x) for x in ends)
    return f'<line class="regression" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'
