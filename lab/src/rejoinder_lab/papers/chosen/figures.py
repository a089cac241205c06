"""Figure 2 of the CHOSEN paper as a small SVG file: coefficients as boxes and dots."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence

import numpy as np

_WIDTH, _ROW, _LEFT, _RIGHT, _HEAD = 760, 54, 310, 24, 40
_STYLE = (
    "<style>text{font:12px sans-serif;fill:#333}.grid{stroke:#ddd}.box{fill:#dfe8ef;stroke:#2f6f9f}"
    ".line{stroke:#2f6f9f}.dot{fill:#c8553d;fill-opacity:.6}.y{text-anchor:end}.x{text-anchor:middle}</style>"
)


def draw_boxes(title: str, rows: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> str:
    """Draw one row per name: a box for the first coefficients (quartiles, ends), a dot for each of the second."""
    known = [v for first, second in rows.values() for v in (*first, *second)] or [0.0, 1.0]
    low, high = min(0.0, min(known)), 1.0
    height = _HEAD + _ROW * len(rows) + 44

    def at(value: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * (value - low) / (high - low)

    parts = [f'<text x="{_WIDTH / 2}" y="18" class="x">{html.escape(title)}</text>']
    for tick in np.arange(np.ceil(low * 5) / 5, 1.001, 0.2):
        parts.append(f'<line class="grid" x1="{at(tick):.1f}" x2="{at(tick):.1f}" y1="{_HEAD}" y2="{height - 34}"/>')
        parts.append(f'<text class="x" x="{at(tick):.1f}" y="{height - 18}">{tick:.1f}</text>')
    for place, (name, (first, second)) in enumerate(rows.items()):
        y = _HEAD + _ROW * place + _ROW / 2
        parts.append(f'<text class="y" x="{_LEFT - 10}" y="{y + 4}">{html.escape(name)}</text>')
        parts += _draw_box(first, y, at)
        parts += [f'<circle class="dot" cx="{at(v):.1f}" cy="{y + 14:.1f}" r="4"/>' for v in second]
    parts.append(f'<text x="{_LEFT}" y="{height - 3}">box: random sets; dots: chosen sets</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">'
    ground = f'<rect width="{_WIDTH}" height="{height}" fill="#fff"/>'
    return f"{head}<title>{html.escape(title)}</title>{_STYLE}{ground}{''.join(parts)}</svg>\n"


def _draw_box(values: Sequence[float], y: float, at: Callable[[float], float]) -> list[str]:
    if not values:
        return []
    least, first, middle, third, most = (at(float(v)) for v in np.quantile(values, (0, 0.25, 0.5, 0.75, 1)))
    return [
        f'<line class="line" x1="{least:.1f}" x2="{most:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>',
        f'<rect class="box" x="{first:.1f}" y="{y - 9:.1f}" width="{max(1.0, third - first):.1f}" height="18"/>',
        f'<line class="line" x1="{middle:.1f}" x2="{middle:.1f}" y1="{y - 9:.1f}" y2="{y + 9:.1f}" stroke-width="3"/>',
    ]
