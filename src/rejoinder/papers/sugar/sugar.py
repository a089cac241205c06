"""The SUGAR paper (Otani et al. 2023): situated response selection over five folds, and our ranker beside it."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from math import ceil, floor

from rejoinder.data.dataset_reader import DatasetRow
from rejoinder.data.questions import DISTRACTORS, RELEVANT, REQUEST, WHOLE
from rejoinder.papers.base import Figure, Reproduction
from rejoinder.papers.loader import load_notes
from rejoinder.papers.sugar import statistics, tables
from rejoinder.papers.sugar.measures import MEMORY, NEW, SugarMeasures, measure_rankers
from rejoinder.papers.sugar.rankers import OURS, TFIDF, VARIANTS
from rejoinder.selection.ranking.result import NDCG, PRECISION

SUMMARY = "SUGAR: which reply suits a request in a situation, over five folds (Tables 2, 3, 4, Figures 4, 5)"
FLOORS = {REQUEST: 0.70, RELEVANT: 0.86, WHOLE: 0.71, "15": 0.69}
AIMS = {REQUEST: 0.75, RELEVANT: 0.90, WHOLE: 0.785, "15": 0.76}
MOST_LOST = 0.02
_NOTES = load_notes("sugar")
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 640, 360, 56, 190, 36, 44
_COLOURS = ("#2f6f9f", "#c8553d", "#4f8a5b", "#8a5a9f", "#b58a2b", "#3b9c9c", "#a23b72", "#555555")
_STEP = 0.05  # between two lines of the grid
_STYLE = (
    "<style>text{font:12px sans-serif;fill:#333}.grid{stroke:#ddd}.bar{fill:#2f6f9f}.x{text-anchor:middle}"
    ".y{text-anchor:end}.line{fill:none;stroke-width:2}.published{stroke-dasharray:5 4}</style>"
)


def reproduce() -> Reproduction:
    """Count in the files, read the trained rankers' answers from the cache, and compare."""
    rows = statistics.read_sugar_examples()
    measures = measure_rankers()
    figures = [*statistics.list_count_figures(rows), *tables.list_ranker_figures(measures)]
    return Reproduction(
        "sugar",
        "SUGAR: situated, proactive response selection",
        figures,
        list_sugar_notes(measures),
        {
            "figure-4": _draw_grades(rows),
            "figure-5": _draw_curve(figures, PRECISION),
            "figure-5-ndcg": _draw_curve(figures, NDCG),
        },
    )


def _draw_grades(rows: Sequence[DatasetRow]) -> str:
    counts = {", ".join(map(str, kind)): n for kind, n in statistics.grade_counts(rows).most_common()}
    return draw_bars("Examples by number of Bad, Acceptable and Best candidates", counts)


def _draw_curve(figures: Sequence[Figure], measure: str) -> str:
    """One line per measured ranker; of the published ones, the end points that the paper's text gives."""
    in_table = [figure for figure in figures if figure.table == f"Figure 5: {measure} by number of distractors"]
    rows: dict[str, dict[str, float]] = {}
    published: dict[str, dict[str, float]] = {}
    for figure in in_table:
        if figure.measured == figure.measured:
            rows.setdefault(figure.row, {})[figure.column] = figure.measured
        elif figure.published is not None:
            published.setdefault(f"{figure.row} (published)", {})[figure.column] = figure.published
    return draw_curves(
        f"{measure} by number of distractors", list(tables.STEPS.values()), rows | published, list(published)
    )


def list_sugar_notes(measures: SugarMeasures) -> list[str]:
    """Sentences with figures, then those without."""
    tied = next(one.ties for one in measures.by_input[REQUEST].standings if one.ranker == TFIDF)
    n = len(measures.by_input[REQUEST].ranked.questions)
    return [
        *_describe_missing(measures),
        *_describe_reached(measures),
        *_describe_shared(measures),
        _NOTES.text("ties", ties=tied, n=n),
        _NOTES.text("statistics"),
        _NOTES.text("folds"),
    ]


def _describe_missing(measures: SugarMeasures) -> Iterator[str]:
    if measures.missing:
        names = ", ".join(measures.missing[:4]) + (" and others" if len(measures.missing) > 4 else "")
        yield _NOTES.text("missing", n=len(measures.missing), names=names)


def _describe_reached(measures: SugarMeasures) -> Iterator[str]:
    """How close our ranker came to its targets, and what distractors cost each ranker."""
    for variant in VARIANTS:
        values = _precisions(measures, variant.row)
        if variant == OURS and values:
            parts = [
                f"{input_name} {v:.3f} ({_compare(input_name, v)})"
                for input_name, v in values.items()
                if input_name in FLOORS
            ]
            yield _NOTES.text("precision", values=", ".join(parts))
        last = DISTRACTORS[-1]
        if WHOLE in values and last in values:
            lost = values[WHOLE] - values[last]
            heading = "loss, with a limit" if variant == OURS else "loss"
            verdict = _mark(lost <= MOST_LOST)
            yield _NOTES.text(heading, n=last, row=variant.row, loss=lost, limit=MOST_LOST, verdict=verdict)


def _compare(input_name: str, value: float) -> str:
    minimum, target = FLOORS[input_name], AIMS[input_name]
    return f"minimum {minimum:g}: {_mark(value >= minimum)}; target {target:g}: {_mark(value >= target)}"


def _describe_shared(measures: SugarMeasures) -> Iterator[str]:
    counts, texts = measures.shared, {one.ranker: one.measures[PRECISION].estimate.value for one in measures.texts}
    yield _NOTES.text(
        "shared texts",
        examples=counts.examples,
        questions=counts.questions,
        requests=counts.requests,
        distractor=counts.distractor,
        offered=counts.reference_offered,
        new=NEW,
        new_precision=texts[NEW],
        memory=MEMORY,
        memory_precision=texts[MEMORY],
    )


def _precisions(measures: SugarMeasures, row: str) -> dict[str, float]:
    return {
        input_name: one.measures[PRECISION].estimate.value
        for input_name, evaluation in measures.by_input.items()
        for one in evaluation.standings
        if one.ranker == row
    }


def _mark(reached: bool) -> str:
    return "reached" if reached else "MISSED"


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
