"""Inline SVG without a style of its own: an axis with round ticks, and an interval drawn on it.

Places along a bar are percentages, so that a bar is as wide as the cell it stands in and its lines stay thin; colours
come from the page, which knows whether it is dark.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable
from dataclasses import dataclass

from rejoinder.table import Estimate, Table

_MIDDLE = 11  # half the height of a bar, in pixels
_MAX_STEPS = 5
# What must not stand in a page as it is: control characters (but for tab and newline) become their pictures, and what
# would turn round the direction of all that follows is only marked.
_REPLACEMENTS = {code: 0x2400 + code for code in range(32) if code not in (9, 10)} | {127: 0x2421}
_REPLACEMENTS |= dict.fromkeys((*range(0x80, 0xA0), 0x202D, 0x202E, 0xFFFE, 0xFFFF), 0xFFFD)


class Markup(str):
    """Finished markup, which a template takes as it is."""

    def __html__(self) -> str:
        """The markup itself (what templates ask a value for before they escape it)."""
        return self


def replace_control_characters(text: str) -> str:
    """A text in which control characters can be seen and direct nothing."""
    return text.translate(_REPLACEMENTS)


def escape_html(text: str) -> str:
    """A text as it may stand inside an element or a quoted attribute."""
    return html.escape(replace_control_characters(text))


def cell_text(cell: Estimate | float) -> str:
    """A number, or an estimate with its interval, as every table shows it."""
    return Table("", (), ()).text(cell)


@dataclass(frozen=True)
class Axis:
    """A stretch of numbers with round ticks, all between its ends."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def share(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high end, and nowhere else."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def make_axis(values: Iterable[float], bounds: tuple[float, float] = (-math.inf, math.inf)) -> Axis | None:
    """The axis from tick to tick that holds all values; None where there are none (or none that can be drawn).

    Where all values are the same, the axis is as long as the bounds, or reaches a little to both sides.
    """
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return None
    low, high = min(known), max(known)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        around = max(0.5, abs(low) / 10)
        finite = all(map(math.isfinite, bounds)) and bounds[0] <= low <= high <= bounds[1] and bounds[0] < bounds[1]
        low, high = bounds if finite else (low - around, high + around)
    if not 1e-200 < high - low < 1e200:
        return None
    step = _tick_step(high - low)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ticks = tuple(float(f"{i * step:.12g}") for i in range(first, last + 1))
    return Axis(ticks[0], ticks[-1], ticks)


def _tick_step(span: float) -> float:
    """The smallest round number that cuts a span into few steps."""
    power: float = 10.0 ** math.floor(math.log10(span / _MAX_STEPS))
    return next((m * power for m in (1, 2, 5) if span / (m * power) <= _MAX_STEPS), 10 * power)


def tick_label(value: float) -> str:
    """A tick's number."""
    return f"{value:g}"


def axis_labels(along: Axis) -> Markup:
    """The numbers of an axis, to stand under its bars."""
    texts = "".join(f'<text x="{_percent(along, t)}" y="14">{tick_label(t)}</text>' for t in along.ticks)
    return Markup(f'<svg class="axis" width="100%" height="18" aria-hidden="true" focusable="false">{texts}</svg>')


def interval_bar(name: str, estimate: Estimate, along: Axis, mark: float | None = None) -> Markup:
    """A dot for the value and a line for its interval, over thin lines at the ticks (a strong one at ``mark``)."""
    grid = "".join(_vertical_line(along, tick, "mark" if tick == mark else "grid") for tick in along.ticks)
    drawn = []
    if not (math.isnan(estimate.low) or math.isnan(estimate.high)):
        low, high = _percent(along, estimate.low), _percent(along, estimate.high)
        drawn.append(f'<line class="interval" x1="{low}" x2="{high}" y1="{_MIDDLE}" y2="{_MIDDLE}"/>')
        drawn += [f'<line class="interval" x1="{x}" x2="{x}" y1="6" y2="16"/>' for x in (low, high)]
    drawn.append(f'<circle class="dot" cx="{_percent(along, estimate.value)}" cy="{_MIDDLE}" r="4.5"/>')
    said = escape_html(f"{name}: {cell_text(estimate)}, drawn from {tick_label(along.low)} to {tick_label(along.high)}")
    head = f'<svg class="bar" width="100%" height="{2 * _MIDDLE}" role="img" aria-label="{said}" focusable="false">'
    return Markup(f"{head}{grid}{''.join(drawn)}</svg>")


def _vertical_line(along: Axis, value: float, kind: str) -> str:
    x = _percent(along, value)
    return f'<line class="{kind}" x1="{x}" x2="{x}" y1="0" y2="{2 * _MIDDLE}"/>'


def _percent(along: Axis, value: float) -> str:
    return f"{100 * along.share(value):.4g}%"
