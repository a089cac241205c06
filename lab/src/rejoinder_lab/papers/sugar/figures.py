"""Figures 4 and 5 of the SUGAR paper as small SVG files: bars, and lines over numbers of distractors."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from math import ceil, floor

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 640, 360, 56, 190, 36, 44
_COLOURS = ("#2f6f9f", "#c8553d", "#4f8a5b", "#8a5a9f", "#b58a2b", "#3b9c9c", "#a23b72", "#555555")
_STEP = 0.05  # between two lines of the grid
_STYLE = (
    "<style>text{font:12px sans-serif;fill:#333}.grid{stroke:#ddd}.bar{fill:#2f6f9f}.x{text-anchor:middle}"
    ".y{text-anchor:end}.line{fill:none;stroke-width:2}.published{stroke-dasharray:5 4}</style>"
)


def draw_bars(title: str, counts: Mapping[str, int]) -> str:
    """Draw one bar per name, the longest first, with its number."""
    row, left, height = 34, 110, 44 + 34 * len(counts)
    most = max(counts.values(), default=1)
    parts = [f'<text x="{_WIDTH / 2}" y="20" class="x">{html.escape(title)}</text>']
    for place, (name, n) in enumerate(counts.items()):
        y, wide = 36 + row * place, (_WIDTH - left - 70) * n / most
        parts.append(f'<text class="y" x="{left - 10}" y="{y + 16}">{html.escape(name)}</text>')
        parts.append(f'<rect class="bar" x="{left}" y="{y}" width="{wide:.1f}" height="22"/>')
        parts.append(f'<text x="{left + wide + 6:.1f}" y="{y + 16}">{n:,}</text>')
    return _wrap_svg(title, height, parts)


def draw_curves(
    title: str, steps: Sequence[str], rows: Mapping[str, Mapping[str, float]], dashed: Sequence[str]
) -> str:
    """Draw one line per name over the steps; ``dashed`` are published ones, of which only some steps are known."""
    known = [value for points_of_row in rows.values() for value in points_of_row.values()]
    first, last = (floor(min(known) / _STEP), ceil(max(known) / _STEP)) if known else (0, round(1 / _STEP))
    low, high = first * _STEP, max(last, first + 1) * _STEP

    def x(step: str) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * steps.index(step) / max(1, len(steps) - 1)

    def y(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    parts = [f'<text x="{_WIDTH / 2}" y="20" class="x">{html.escape(title)}</text>']
    for tick in (n * _STEP for n in range(first, max(last, first + 1) + 1)):
        end = _WIDTH - _RIGHT
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{end}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')
        parts.append(f'<text class="y" x="{_LEFT - 8}" y="{y(tick) + 4:.1f}">{tick:.2f}</text>')
    for step in steps:
        parts.append(f'<text class="x" x="{x(step):.1f}" y="{_HEIGHT - 22}">{html.escape(step)}</text>')
    parts.append(f'<text class="x" x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 5}">distractors</text>')
    if dashed:
        parts.append(f'<text x="{_WIDTH - _RIGHT + 16}" y="{_HEIGHT - 22}">dashed: published (the text</text>')
        parts.append(f'<text x="{_WIDTH - _RIGHT + 16}" y="{_HEIGHT - 7}">gives only the dots)</text>')
    for place, (name, points_of_row) in enumerate(rows.items()):
        colour, kind = _COLOURS[place % len(_COLOURS)], "line published" if name in dashed else "line"
        points = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in points_of_row.items())
        parts.append(f'<polyline class="{kind}" stroke="{colour}" points="{points}"/>')
        parts += [
            f'<circle cx="{x(s):.1f}" cy="{y(v):.1f}" r="3.5" fill="{colour}"/>' for s, v in points_of_row.items()
        ]
        at = _TOP + 18 * place
        parts.append(f'<rect x="{_WIDTH - _RIGHT + 16}" y="{at}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{_WIDTH - _RIGHT + 34}" y="{at + 10}">{html.escape(name)}</text>')
    return _wrap_svg(title, _HEIGHT, parts)


def _wrap_svg(title: str, height: float, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height:g}" role="img">'
    ground = f'<rect width="{_WIDTH}" height="{height:g}" fill="#fff"/>'
    return f"{head}<title>{html.escape(title)}</title>{_STYLE}{ground}{''.join(parts)}</svg>\n"
