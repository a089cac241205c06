"""The SUGAR paper (Otani et al. 2023): situated response selection over five folds, and our ranker beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rejoinder.data.dataset_reader import DatasetRow
from rejoinder.data.questions import DISTRACTORS, RELEVANT, REQUEST, WHOLE
from rejoinder.selection.ranking.result import NDCG, PRECISION
from rejoinder_lab.papers.base import EARLIER, Figure, Reproduction
from rejoinder_lab.papers.loader import load_notes
from rejoinder_lab.papers.sugar import statistics, tables
from rejoinder_lab.papers.sugar.answers import list_seeds, read_variant_answers
from rejoinder_lab.papers.sugar.earlier import add_earlier
from rejoinder_lab.papers.sugar.figures import draw_bars, draw_curves
from rejoinder_lab.papers.sugar.measures import MEMORY, NEW, SugarMeasures, measure_rankers
from rejoinder_lab.papers.sugar.rankers import OURS, OURS_EVERY, TFIDF, VARIANTS

SUMMARY = "SUGAR: which reply suits a request in a situation, over five folds (Tables 2, 3, 4, Figures 4, 5)"
FLOORS = {REQUEST: 0.70, RELEVANT: 0.86, WHOLE: 0.71, "15": 0.69}
AIMS = {REQUEST: 0.75, RELEVANT: 0.90, WHOLE: 0.785, "15": 0.76}
MOST_LOST = 0.02
_NOTES = load_notes("sugar")


def reproduce() -> Reproduction:
    """Count in the files, read the trained rankers' stored answers, and compare."""
    rows = statistics.read_sugar_examples()
    measures = measure_rankers()
    ranked = add_earlier(tables.list_ranker_figures(measures))
    figures = [*statistics.list_count_figures(rows), *tables.candidate_figures(ranked), *ranked]
    return Reproduction(
        "sugar",
        "SUGAR: situated, proactive response selection",
        figures,
        list_sugar_notes(measures, figures),
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
            label = f"{figure.row} ({EARLIER})" if figure.note == EARLIER else figure.row
            rows.setdefault(label, {})[figure.column] = figure.measured
        elif figure.published is not None:
            published.setdefault(f"{figure.row} (published)", {})[figure.column] = figure.published
    return draw_curves(
        f"{measure} by number of distractors", list(tables.STEPS.values()), rows | published, list(published)
    )


def list_sugar_notes(measures: SugarMeasures, figures: Sequence[Figure]) -> list[str]:
    """Sentences with figures, then those without."""
    tied = next(one.ties for one in measures.by_input[REQUEST].standings if one.ranker == TFIDF)
    n = len(measures.by_input[REQUEST].ranked.questions)
    return [
        *_describe_missing(measures, figures),
        _NOTES.text("training candidates"),
        *_describe_trainings(measures),
        *_describe_reached(figures),
        *_describe_shared(measures),
        _NOTES.text("ties", ties=tied, n=n),
        _NOTES.text("statistics"),
        _NOTES.text("folds"),
    ]


def _describe_missing(measures: SugarMeasures, figures: Sequence[Figure]) -> Iterator[str]:
    """How many figures are kept from earlier, and which rankers would have to be trained to measure more."""
    if n_earlier := sum(figure.note == EARLIER for figure in figures):
        yield _NOTES.text("earlier", n=n_earlier)
    if measures.missing:
        yield _NOTES.text("missing", n=len(measures.missing), names=", ".join(one.name for one in measures.missing))


def _describe_trainings(measures: SugarMeasures) -> Iterator[str]:
    """How rankers whose learning rate was chosen were trained."""
    for variant in VARIANTS:
        if not variant.rates or variant in measures.missing:
            continue
        answers = read_variant_answers(variant)
        trials, n = answers.about["trials"], len(list_seeds(answers))
        yield _NOTES.text(
            "rate",
            row=variant.row,
            seeds=f"the scores of {n} seeds are averaged" if n > 1 else "one seed",
            epochs=dict(variant.changes)["epochs"],
            rate=max(trials, key=trials.__getitem__, default="not known"),
            tried=", ".join(f"{rate} {value:.4f}" for rate, value in trials.items()),
        )


def _describe_reached(figures: Sequence[Figure]) -> Iterator[str]:
    """How close each ranker came to the targets, and what distractors cost it."""
    for variant in VARIANTS:
        values = _row_precisions(figures, variant.row)
        if variant in (OURS, OURS_EVERY) or (variant.same_candidates and variant.seeds > 1):
            parts = [
                f"{name} {v:.3f} ({_compare_with_target(name, v)})" for name, v in values.items() if name in FLOORS
            ]
            if parts:
                yield _NOTES.text("precision", row=variant.row, values=", ".join(parts))
        last = DISTRACTORS[-1]
        if WHOLE in values and last in values:
            lost = values[WHOLE] - values[last]
            heading = "loss, with a limit" if variant.kind == OURS.kind else "loss"
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


def _row_precisions(figures: Sequence[Figure], row: str) -> dict[str, float]:
    """The Precision@1 of a ranker by input, as far as it is known, measured now or earlier."""
    tables_of = (tables.SAME_CANDIDATES, tables.FEWER_CANDIDATES)
    return {
        figure.row.removeprefix(f"{row}, "): figure.measured
        for figure in figures
        for input_name in (*tables.TABLE_4_INPUTS, DISTRACTORS[-1])
        if figure.table in tables_of and figure.row == f"{row}, {input_name}" and figure.measured == figure.measured
    }


def _target_mark(reached: bool) -> str:
    return "reached" if reached else "MISSED"
