"""A metric's scores against people's ratings, as in Figure 2 of SSREM (Bak and Oh 2020) after Lowe et al. (2017).

A dot is one reply: the rating on the x axis, with a little noise so that equal ratings do not hide each other, the
score on the y axis. The line is the linear regression on the exact ratings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


class LinkTarget(NamedTuple):
    """The link of a dot, and its description."""

    address: str
    about: str


def draw_scatter(
    name: str,
    ratings: Values,
    scores: Values,
    labels: tuple[str, str],
    seed: int = 0,
    max_dots: int = MAX_DOTS,
    targets: Sequence[LinkTarget] | None = None,
) -> ScatterDrawing | None:
    """Draw the replies that have both a rating and a score; None where there is nothing that can be drawn.

    ``name`` is an id that is unique on the page, ``labels`` are those of the two axes, ``targets`` (one per reply) turn
    the dots into links.
    """
    known = np.isfinite(ratings) & np.isfinite(scores)
    x, y = ratings[known], scores[known]
    random = np.random.default_rng(seed)
    sample = np.sort(random.choice(len(x), max_dots, replace=False)) if len(x) > max_dots else np.arange(len(x))
    noisy = x[sample] + random.normal(0.0, _jitter_scale(x), len(sample))
    x_axis, y_axis = make_axis(x.tolist()), make_axis(y.tolist())
    if x_axis is None or y_axis is None:
        return None
    x_axis, y_axis = _widen_axis(x_axis, noisy), _widen_axis(y_axis, y)
    line = fit_line(x, y)
    across, up = _x_positions(x_axis, noisy.tolist()), _y_positions(y_axis, y[sample].tolist())
    places = np.flatnonzero(known)[sample].tolist()
    dots = _draw_dots(across, up) if targets is None else _draw_links(across, up, [targets[i] for i in places])
    parts = [_draw_grid(x_axis, y_axis), f'<g class="dots{" few" if len(sample) <= _FEW else ""}">{dots}</g>']
    if line is not None:
        parts.append(_draw_line(line, (float(x.min()), float(x.max())), x_axis, y_axis))
    description = f"{len(x):,} replies" + (f", slope {line.slope:.3g}" if line else "")
    head = (
        f'<svg class="scatter" viewBox="0 0 360 250" role="{"img" if targets is None else "group"}" '
        f'aria-labelledby="{name}-t {name}-d" focusable="false">'
        f'<title id="{name}-t">{escape_html(labels[1])} against {escape_html(labels[0])}</title>'
        f'<desc id="{name}-d">{description}</desc>'
    )
    return ScatterDrawing(Markup(f"{head}{''.join(parts)}{_draw_labels(labels)}</svg>"), len(x), len(sample), line)


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


def _x_positions(along: ChartAxis, values: Iterable[float]) -> list[float]:
    return [_LEFT + _WIDTH * along.share(value) for value in values]


def _y_positions(upward: ChartAxis, values: Iterable[float]) -> list[float]:
    return [_TOP + _HEIGHT * (1 - upward.share(value)) for value in values]


def _draw_dots(across: list[float], up: list[float]) -> str:
    """Zero-length lines with round ends: the shortest way to write many dots."""
    places = [f"M{x:.1f} {y:.1f}h0" for x, y in zip(across, up, strict=True)]
    layers = ("".join(places[i::_LAYERS]) for i in range(_LAYERS))
    return "".join(f'<path d="{layer}"/>' for layer in layers if layer)


def _draw_links(across: list[float], up: list[float], targets: Sequence[LinkTarget]) -> str:
    """Dots that can be clicked; the keyboard skips them, because the page has a list next to them."""
    return "".join(
        f'<a href="{escape_html(to.address)}" tabindex="-1" aria-label="{escape_html(to.about)}">'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"><title>{escape_html(to.about)}</title></circle></a>'
        for x, y, to in zip(across, up, targets, strict=True)
    )


def _draw_line(line: RegressionLine, ends: tuple[float, float], along: ChartAxis, upward: ChartAxis) -> str:
    (x1, x2), (y1, y2) = _x_positions(along, ends), _y_positions(upward, [line.start + line.slope * x for x in ends])
    return f'<line class="regression" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _draw_grid(along: ChartAxis, upward: ChartAxis) -> str:
    bottom, right = _TOP + _HEIGHT, _LEFT + _WIDTH
    parts = []
    for tick, x in zip(along.ticks, _x_positions(along, along.ticks), strict=True):
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(f'<text class="x" x="{x:.1f}" y="{bottom + 15}">{tick_label(tick)}</text>')
    for tick, y in zip(upward.ticks, _y_positions(upward, upward.ticks), strict=True):
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="y" x="{_LEFT - 6}" y="{y + 4:.1f}">{tick_label(tick)}</text>')
    return "".join(parts)


def _draw_labels(labels: tuple[str, str]) -> str:
    across, up = (escape_html(text if len(text) <= 44 else text[:43] + "…") for text in labels)
    return (
        f'<text class="name" x="{_LEFT + _WIDTH / 2}" y="{_TOP + _HEIGHT + 34}">{across}</text>'
        f'<text class="name up" x="0" y="12">{up}</text>'
    )
