"""Figures 2 to 5 of the SSREM paper as small SVG files: a row of panels, points with error bars or scores by rating."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.stats.interval import Interval

Values = NDArray[np.float64]
_LEFT, _TOP, _WIDTH, _HEIGHT = 40, 44, 210, 160  # of a panel
_ACROSS, _DOWN = 262, 234  # from one panel to the next
_HEAD, _KEY = 20, 22
_COLOURS = {"true": "#1b1b1b", "SC": "#c8553d", "SP": "#d99a2b", "SS": "#4f8f5b", "Rand": "#2f6f9f"}
_NOISE = 0.3  # of the ratings, for show, as in the paper
_STYLE = (
    "<style>text{font:11px sans-serif;fill:#333}.y{text-anchor:end}.x,.name{text-anchor:middle}.grid{stroke:#ddd}"
    ".fit{stroke:#c8553d;stroke-width:2}.dots{stroke:#2f6f9f;stroke-opacity:.4;stroke-width:3.5;"
    "stroke-linecap:round;fill:none}</style>"
)
Span = tuple[float, float]


class ScatterCloud(NamedTuple):
    """The replies of one panel."""

    ratings: Values
    scores: Values
    slope: float


def draw_points(title: str, panels: Mapping[str, Mapping[str, Mapping[str, Interval]]]) -> str:
    """Draw panels of groups (scorers), with a point and interval for the true replies and each set, on one scale."""
    series = list(
        dict.fromkeys(name for groups in panels.values() for intervals in groups.values() for name in intervals)
    )
    known = [
        i
        for groups in panels.values()
        for intervals in groups.values()
        for i in intervals.values()
        if not np.isnan(i.value)
    ]
    ends = [v for i in known for v in (i.value, i.low, i.high) if not np.isnan(v)] or [0.0, 1.0]
    room = 0.06 * (max(ends) - min(ends)) or 0.1
    span = (min(ends) - room, max(ends) + room)
    parts = [_draw_legend(series)]
    for place, (name, groups) in enumerate(panels.items()):
        x, y = _panel_corner(place, len(panels))
        parts += [_draw_grid(x, y, span), _draw_text(x + _WIDTH / 2, y - 8, name)]
        step = _WIDTH / len(groups)
        for number, (group, intervals) in enumerate(groups.items()):
            middle = x + (number + 0.5) * step
            parts.append(_draw_text(middle, y + _HEIGHT + 15, group, "x"))
            gap = step / (len(series) + 1)
            for i, one in enumerate(series):
                if one in intervals and not np.isnan(intervals[one].value):
                    parts.append(_draw_point(middle + (i - (len(series) - 1) / 2) * gap, y, span, intervals[one], one))
    return _wrap_svg(title, parts, len(panels))


def draw_scatters(title: str, panels: Mapping[str, ScatterCloud]) -> str:
    """Draw panels of scores by rating; the line is fitted to the original ratings, the dots have noise added."""
    parts = []
    for place, (name, cloud) in enumerate(panels.items()):
        x, y = _panel_corner(place, len(panels))
        slope = "none" if np.isnan(cloud.slope) else f"{cloud.slope:.3f}"
        parts.append(_draw_text(x + _WIDTH / 2, y - 8, f"{name}, coeff: {slope}"))
        known = np.isfinite(cloud.ratings) & np.isfinite(cloud.scores)
        if known.any():
            parts += _draw_cloud(x, y, cloud.ratings[known], cloud.scores[known], cloud.slope)
    return _wrap_svg(title, parts, len(panels))


def _draw_cloud(x: float, y: float, ratings: Values, scores: Values, slope: float) -> Iterator[str]:
    along = (float(ratings.min()) - 3 * _NOISE, float(ratings.max()) + 3 * _NOISE)
    room = 0.05 * float(np.ptp(scores)) or 0.1
    span = (float(scores.min()) - room, float(scores.max()) + room)
    noisy = np.clip(ratings + np.random.default_rng(0).normal(0, _NOISE, len(ratings)), *along)

    def at(value: float) -> float:
        return x + _WIDTH * (value - along[0]) / (along[1] - along[0])

    yield _draw_grid(x, y, span)
    for tick in range(int(np.ceil(along[0])), int(np.floor(along[1])) + 1):
        yield _draw_text(at(tick), y + _HEIGHT + 15, f"{tick}", "x")
    dots = "".join(f"M{at(a):.0f} {_to_y(y, b, span):.0f}h0" for a, b in zip(noisy, scores, strict=True))
    yield f'<path class="dots" d="{dots}"/>'
    if not np.isnan(slope):
        ends = float(ratings.min()), float(ratings.max())
        (x1, y1), (x2, y2) = ((at(e), _to_y(y, scores.mean() + slope * (e - ratings.mean()), span)) for e in ends)
        yield f'<line class="fit" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _draw_point(x: float, top: float, span: Span, interval: Interval, name: str) -> str:
    colour = _COLOURS.get(name, "#777")
    y = _to_y(top, interval.value, span)
    bar = ""
    if not (np.isnan(interval.low) or np.isnan(interval.high)):
        low, high = _to_y(top, interval.low, span), _to_y(top, interval.high, span)
        bar = f'<path d="M{x:.1f} {low:.1f}V{high:.1f}M{x - 3:.1f} {low:.1f}h6M{x - 3:.1f} {high:.1f}h6"/>'
    tooltip = html.escape(f"{name}: {interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]")
    dot = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{colour}"/>'
    return f'<g stroke="{colour}" fill="none"><title>{tooltip}</title>{bar}{dot}</g>'


def _panels_per_row(panels: int) -> int:
    """The number of panels per row."""
    return 2 if panels == 4 else min(panels, 3)


def _panel_corner(place: int, panels: int) -> tuple[float, float]:
    """The top left corner of a panel's plot."""
    down, across = divmod(place, _panels_per_row(panels))
    return _LEFT + _ACROSS * across, _HEAD + _KEY + _TOP - 20 + _DOWN * down


def _to_y(top: float, value: float, span: Span) -> float:
    return top + _HEIGHT * (1 - (value - span[0]) / (span[1] - span[0]))


def _draw_grid(x: float, y: float, span: Span) -> str:
    """The grid and its numbers."""
    size = span[1] - span[0]
    step = next(
        s for s in (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 1e9) if size / s <= 7
    )
    parts = []
    for i in range(int(np.ceil(span[0] / step)), int(np.floor(span[1] / step)) + 1):
        at = _to_y(y, i * step, span)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x + _WIDTH:.1f}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(_draw_text(x - 5, at + 4, f"{round(i * step, 3):g}", "y"))
    return "".join(parts)


def _draw_legend(series: Sequence[str]) -> str:
    parts = []
    for i, name in enumerate(series):
        x, colour = _LEFT + 60 * i, _COLOURS.get(name, "#777")
        parts.append(f'<circle cx="{x}" cy="{_HEAD + 8}" r="4" fill="{colour}"/>')
        parts.append(f'<text x="{x + 9}" y="{_HEAD + 12}">{html.escape(name)}</text>')
    return "".join(parts)


def _draw_text(x: float, y: float, text: str, kind: str = "name") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{html.escape(text)}</text>'


def _wrap_svg(title: str, parts: Sequence[str], panels: int) -> str:
    width = _ACROSS * _panels_per_row(panels)
    height = _HEAD + _KEY + _DOWN * -(-panels // _panels_per_row(panels)) + 4
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">'
    ground = f'<rect width="{width}" height="{height}" fill="#fff"/>'
    top = _draw_text(width / 2, 14, title)
    return f"{head}<title>{html.escape(title)}</title>{_STYLE}{ground}{top}{''.join(parts)}</svg>\n"
