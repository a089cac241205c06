"""Figures 1 to 7 of the IDK paper as small SVG files: histograms of weights, and scores against ratings."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
_LEFT, _TOP, _WIDTH, _HEIGHT = 46, 30, 310, 180
_COLOURS = ("#2f6f9f", "#c8553d")
_BINS = 50
_STYLE = (
    "<style>text{font:11px sans-serif;fill:#333}.y{text-anchor:end}.x,.name{text-anchor:middle}"
    ".grid{stroke:#ddd}.fit{stroke:#c8553d;stroke-width:2}.dots{stroke:#2f6f9f;stroke-opacity:.45;"
    "stroke-width:4;stroke-linecap:round;fill:none}</style>"
)


def draw_weight_histogram(title: str, series: Mapping[str, Values]) -> str:
    """Draw the number of weights of each magnitude, on a logarithmic scale; weights of exactly 0 are left out."""
    logs = {name: np.log10(np.abs(weights[weights != 0])) for name, weights in series.items()}
    every = np.concatenate(list(logs.values()))
    low, high = float(np.floor(every.min())), float(np.ceil(every.max()))
    edges = np.linspace(low, high, _BINS + 1)
    counts = {name: np.histogram(values, edges)[0] for name, values in logs.items()}
    most = max(1, *(int(bin_counts.max()) for bin_counts in counts.values()))
    parts = [_draw_axes((low, high), (0, most), ("log10 of the weight's magnitude", "weights"))]
    step = _WIDTH / _BINS
    for colour, (name, bin_counts) in zip(_COLOURS, counts.items(), strict=False):
        bars = "".join(
            f"M{_LEFT + i * step:.1f} {_TOP + _HEIGHT}v-{_HEIGHT * n / most:.1f}h{step:.1f}v{_HEIGHT * n / most:.1f}z"
            for i, n in enumerate(bin_counts.tolist())
            if n
        )
        parts.append(f'<path d="{bars}" fill="{colour}" fill-opacity=".55"><title>{_escape(name)}</title></path>')
    if len(series) > 1:
        for i, (colour, name) in enumerate(zip(_COLOURS, series, strict=False)):
            y = _TOP + 12 + 16 * i
            parts.append(f'<rect x="{_LEFT + 8}" y="{y - 9}" width="10" height="10" fill="{colour}"/>')
            parts.append(f'<text x="{_LEFT + 24}" y="{y}">{_escape(name)}</text>')
    return _wrap_svg(title, parts)


def draw_idk_scatter(title: str, ratings: Values, scores: Values) -> str:
    """Draw scores, rescaled to the ratings' range, against ratings, with a least-squares line."""
    known = np.isfinite(ratings) & np.isfinite(scores)
    x, y = ratings[known], scores[known]
    low, high = float(x.min()), float(x.max())
    spread = float(np.ptp(y)) or 1.0
    y = low + (high - low) * (y - y.min()) / spread
    noisy = x + np.random.default_rng(0).normal(0, 0.015 * (high - low), len(x))  # so that equal ratings show
    span = (low - 0.05 * (high - low), high + 0.05 * (high - low)) if high > low else (low - 1, high + 1)
    across, up = _to_x(noisy, span), _to_y(y, span)
    dots = "".join(f"M{a:.0f} {b:.0f}h0" for a, b in zip(across, up, strict=True))
    parts = [_draw_axes(span, span, ("people's rating", "IDK, rescaled")), f'<path class="dots" d="{dots}"/>']
    if high > low:
        off = x - x.mean()
        slope = float(off @ (y - y.mean()) / (off @ off))
        ends = np.array([low, high])
        (x1, x2), (y1, y2) = _to_x(ends, span), _to_y(y.mean() + slope * (ends - x.mean()), span)
        parts.append(f'<line class="fit" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')
    return _wrap_svg(title, parts)


def _to_x(values: Values, span: tuple[float, float]) -> list[float]:
    return [_LEFT + _WIDTH * (v - span[0]) / (span[1] - span[0]) for v in values.tolist()]


def _to_y(values: Values, span: tuple[float, float]) -> list[float]:
    return [_TOP + _HEIGHT * (1 - (v - span[0]) / (span[1] - span[0])) for v in values.tolist()]


def _ticks(span: tuple[float, float]) -> Iterator[float]:
    step = next(s for s in (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 10**9) if (span[1] - span[0]) / s <= 6)
    first = int(np.ceil(span[0] / step))
    yield from (i * step for i in range(first, int(np.floor(span[1] / step)) + 1))


def _draw_axes(along: tuple[float, float], upward: tuple[float, float], names: tuple[str, str]) -> str:
    bottom, right = _TOP + _HEIGHT, _LEFT + _WIDTH
    parts = []
    for tick in _ticks(along):
        x = _to_x(np.array([tick]), along)[0]
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{bottom}"/>')
        parts.append(f'<text class="x" x="{x:.1f}" y="{bottom + 15}">{tick:g}</text>')
    for tick in _ticks(upward):
        y = _to_y(np.array([tick]), upward)[0]
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="y" x="{_LEFT - 6}" y="{y + 4:.1f}">{tick:g}</text>')
    parts.append(f'<text class="name" x="{_LEFT + _WIDTH / 2}" y="{bottom + 32}">{_escape(names[0])}</text>')
    parts.append(f'<text x="4" y="{_TOP - 6}">{_escape(names[1])}</text>')
    return "".join(parts)


def _wrap_svg(title: str, parts: Sequence[str]) -> str:
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 372 250" role="img">'
    ground = '<rect width="372" height="250" fill="#fff"/>'
    top = f'<text class="name" x="{_LEFT + _WIDTH / 2}" y="14">{_escape(title)}</text>'
    return f"{head}<title>{_escape(title)}</title>{_STYLE}{ground}{top}{''.join(parts)}</svg>\n"


def _escape(text: str) -> str:
    return html.escape(text)
