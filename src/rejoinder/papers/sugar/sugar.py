"""The SUGAR paper (Otani et al. 2023): situated response selection over five folds, and our ranker beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rejoinder.data.dataset_reader import DatasetRow
from rejoinder.data.questions import DISTRACTORS, RELEVANT, REQUEST, WHOLE
from rejoinder.papers.base import Figure, Reproduction
from rejoinder.papers.loader import load_notes
from rejoinder.papers.sugar import statistics, tables
from rejoinder.papers.sugar.figures import draw_bars, draw_curves
from rejoinder.papers.sugar.measures import MEMORY, NEW, SugarMeasures, measure_rankers
from rejoinder.papers.sugar.rankers import OURS, TFIDF, VARIANTS
from rejoinder.selection.ranking.result import NDCG, PRECISION

SUMMARY = "SUGAR: which reply suits a request in a situation, over five folds (Tables 2, 3, 4, Figures 4, 5)"
FLOORS = {REQUEST: 0.70, RELEVANT: 0.86, WHOLE: 0.71, "15": 0.69}
AIMS = {REQUEST: 0.75, RELEVANT: 0.90, WHOLE: 0.785, "15": 0.76}
MOST_LOST = 0.02
_NOTES = load_notes("sugar")


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
        values = _row_precisions(measures, variant.row)
        if variant == OURS and values:
            parts = [
                f"{input_name} {v:.3f} ({_compare_with_target(input_name, v)})"
                for input_name, v in values.items()
                if input_name in FLOORS
            ]
            yield _NOTES.text("precision", values=", ".join(parts))
        last = DISTRACTORS[-1]
        if WHOLE in values and last in values:
            lost = values[WHOLE] - values[last]
            heading = "loss, with a limit" if variant == OURS else "loss"
            verdict = _target_mark(lost <= MOST_LOST)
            yield _NOTES.text(heading, n=last, row=variant.row, loss=lost, limit=MOST_LOST, verdict=verdict)


def _compare_with_target(input_name: str, value: float) -> str:
    minimum, target = FLOORS[input_name], AIMS[input_name]
    return f"minimum {minimum:g}: {_target_mark(value >= minimum)}; target {target:g}: {_target_mark(value >= target)}"


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


def _row_precisions(measures: SugarMeasures, row: str) -> dict[str, float]:
    return {
        input_name: one.measures[PRECISION].estimate.value
        for input_name, evaluation in measures.by_input.items()
        for one in evaluation.standings
        if one.ranker == row
    }


def _target_mark(reached: bool) -> str:
    return "reached" if reached else "MISSED"
