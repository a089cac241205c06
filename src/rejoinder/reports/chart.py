"""Inline SVG without its own style: an axis with round ticks, and an interval drawn on it.

Positions along a bar are percentages, so that a bar is as wide as its cell and its lines stay thin; colours come from
the page, which knows whether it is dark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rejoinder.escape import escape_html
from rejoinder.table import Estimate, format_cell

_MIDDLE = 11  # half the height of a bar, in pixels
_MAX_STEPS = 5


class Markup(str):
    """Finished markup, which a template does not escape."""

    def __html__(self) -> str:
        """The markup itself (templates call this before they escape a value)."""
        return self


@dataclass(frozen=True)
class ChartAxis:
    """A range of numbers with round ticks, all within it."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """The position of a value, from 0 at the low end to 1 at the high end."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def make_axis(values: Iterable[float], bounds: tuple[float, float] = (-math.inf, math.inf)) -> ChartAxis | None:
    """An axis from tick to tick that holds all values; None where there are none (or none that can be drawn).

    Where all values are the same, the axis covers the bounds, or a little to both sides.
    """
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return None
    low, high = min(known), max(known)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        margin = max(0.5, abs(low) / 10)
        finite = all(map(math.isfinite, bounds)) and bounds[0] <= low <= high <= bounds[1] and bounds[0] < bounds[1]
        low, high = bounds if finite else (low - margin, high + margin)
    if not 1e-200 < high - low < 1e200:
        return None
    step = _tick_step(high - low)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(float(f"{i * step:.12g}") for i in range(first, last + 1))
    return ChartAxis(ticks[0], ticks[-1], ticks)


def _tick_step(span: float) -> float:
    """The smallest round number that divides a span into few steps."""
    power: float = 10.0 ** math.floor(math.log10(span / _MAX_STEPS))
    return next((m * power for m in (1, 2, 5) if span / (m * power) <= _MAX_STEPS), 10 * power)


def tick_label(value: float) -> str:
    """The label of a tick."""
    return f"{value:g}"


def axis_labels(axis: ChartAxis) -> Markup:
    """The numbers of an axis, to go under its bars."""
    texts = "".join(f'<text x="{_axis_percent(axis, t)}" y="14">{tick_label(t)}</text>' for t in axis.ticks)
    return Markup(f'<svg class="axis" width="100%" height="18" aria-hidden="true" focusable="false">{texts}</svg>')


def interval_bar(name: str, estimate: Estimate, axis: ChartAxis, mark: float | None = None) -> Markup:
    """A dot for the value and a line for its interval, over thin lines at the ticks (a strong one at ``mark``)."""
    grid = "".join(_vertical_line(axis, tick, "mark" if tick == mark else "grid") for tick in axis.ticks)
    parts = []
    if not (math.isnan(estimate.low) or math.isnan(estimate.high)):
        low, high = _axis_percent(axis, estimate.low), _axis_percent(axis, estimate.high)
        parts.append(f'<line class="interval" x1="{low}" x2="{high}" y1="{_MIDDLE}" y2="{_MIDDLE}"/>')
        parts += [f'<line class="interval" x1="{x}" x2="{x}" y1="6" y2="16"/>' for x in (low, high)]
    parts.append(f'<circle class="dot" cx="{_axis_percent(axis, estimate.value)}" cy="{_MIDDLE}" r="4.5"/>')
    label = escape_html(
        f"{name}: {format_cell(estimate)}, drawn from {tick_label(axis.low)} to {tick_label(axis.high)}"
    )
    head = f'<svg class="bar" width="100%" height="{2 * _MIDDLE}" role="img" aria-label="{label}" focusable="false">'
    return Markup(f"{head}{grid}{''.join(parts)}</svg>")


def _vertical_line(axis: ChartAxis, value: float, kind: str) -> str:
    x = _axis_percent(axis, value)
    return f'<line class="{kind}" x1="{x}" x2="{x}" y1="0" y2="{2 * _MIDDLE}"/>'


def _axis_percent(axis: ChartAxis, value: float) -> str:
    return f"{100 * axis.share(value):.4g}%"
