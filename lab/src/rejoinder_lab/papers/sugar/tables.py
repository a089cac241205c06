"""The figures of ``reproduce sugar`` that are about rankers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rejoinder.data.questions import DISTRACTORS, INPUTS, RELEVANT, REQUEST, WHOLE
from rejoinder.selection.ranking.evaluation import RankerStanding, RankingEvaluation
from rejoinder.selection.ranking.fold_means import FoldMean
from rejoinder.selection.ranking.result import MEASURES, NDCG, PRECISION
from rejoinder_lab.papers.base import NOT_MEASURED, Figure
from rejoinder_lab.papers.loader import load_published
from rejoinder_lab.papers.sugar.measures import SHIPPED_FOLD, SugarMeasures
from rejoinder_lab.papers.sugar.rankers import TFIDF, VARIANTS

_PUBLISHED = load_published("sugar")
STEPS = {RELEVANT: "0"} | {n: n for n in DISTRACTORS}
TABLE_4_INPUTS = (REQUEST, RELEVANT, WHOLE)
TABLE_4 = "Table 4: five folds"
SAME_CANDIDATES = "Table 4, the paper's training candidates: our rankers as the paper trains, beside its best"
FEWER_CANDIDATES = (
    "Table 4, fewer training candidates: our rankers, trained without those that are references of held-out questions"
)


def list_ranker_figures(measures: SugarMeasures) -> list[Figure]:
    """Return all figures, in the order of the page."""
    whole = measures.by_input[WHOLE]
    return [
        *sugar_table_4(measures),
        *sugar_figure_5(measures, PRECISION),
        *sugar_figure_5(measures, NDCG),
        *difference_figures(measures),
        *breakdown_figures(whole),
        *reading_figures(measures),
        *overlap_figures(measures),
        *sugar_validation_figures(measures),
        *shipped_figures(measures),
    ]


def sugar_table_4(measures: SugarMeasures) -> Iterator[Figure]:
    """Systems by input; in the rows compared with the paper, ties are broken as in the paper."""
    table = TABLE_4
    for system, input_name, printed in _list_printed_lines():
        if system == TFIDF:
            first = measures.as_published[input_name].measures[PRECISION]
            shared = next(one for one in measures.by_input[input_name].standings if one.ranker == TFIDF)
            yield from _line_figures(table, f"{system}, {input_name}", first, shared.measures[NDCG], printed)
        else:
            row, note = f"{system}, {input_name}", f"{NOT_MEASURED}, since their checkpoints are only at a model hub"
            yield Figure(table, row, PRECISION, printed["precision"], float("nan"), note=note)
            yield Figure(table, row, NDCG, printed["ndcg"], float("nan"), note=note)
    for name in measures.by_input[WHOLE].ranked.rankers:
        label = f"{name}, ties shared" if name == TFIDF else name
        for input_name in TABLE_4_INPUTS:
            standing = _find_standing(measures.by_input[input_name], name)
            if standing is not None:
                yield from _line_figures(
                    table, f"{label}, {input_name}", standing.measures[PRECISION], standing.measures[NDCG]
                )
    for variant in measures.missing:
        for input_name in TABLE_4_INPUTS:
            for measure in MEASURES:
                row, note = f"{variant.row}, {input_name}", f"{NOT_MEASURED}, since their answers are not stored"
                yield Figure(table, row, measure, None, float("nan"), note=note)


def candidate_figures(figures: Sequence[Figure]) -> Iterator[Figure]:
    """The trained rankers of both kinds apart, those trained as in the paper beside its best figure for the input."""
    known = {(figure.row, figure.column): figure for figure in figures if figure.table == TABLE_4}
    known |= {
        (f"{figure.row}, {figure.column}", PRECISION): figure
        for figure in figures
        if figure.table == _figure_5(PRECISION) and figure.column == DISTRACTORS[-1]
    }
    for variant in VARIANTS:
        for input_name in (*TABLE_4_INPUTS, DISTRACTORS[-1]):
            figure = known.get((f"{variant.row}, {input_name}", PRECISION))
            if figure is not None:
                table = SAME_CANDIDATES if variant.same_candidates else FEWER_CANDIDATES
                published = _find_best_published(input_name) if variant.same_candidates else None
                yield replace(
                    figure, table=table, row=f"{variant.row}, {input_name}", column=PRECISION, published=published
                )


def _find_best_published(input_name: str) -> float:
    """The highest Precision@1 that the paper prints for an input."""
    rows = _PUBLISHED["Table 4"].values()
    if input_name in TABLE_4_INPUTS:
        return max(float(lines[input_name]["precision"]) for lines in rows)
    return max(float(ends[input_name]) for ends in _PUBLISHED["Figure 5"][PRECISION].values())


def _list_printed_lines() -> Iterator[tuple[str, str, Mapping[str, float]]]:
    """The lines of the paper's Table 4: system, input, and both measures with their deviations between folds."""
    for system, lines in _PUBLISHED["Table 4"].items():
        for input_name, line in lines.items():
            yield system, input_name, line


def sugar_figure_5(measures: SugarMeasures, measure: str) -> Iterator[Figure]:
    """Systems by number of distractors; published values are those that the paper's text and Table 4 give."""
    table = _figure_5(measure)
    key = "precision" if measure == PRECISION else "ndcg"
    for system, lines in _PUBLISHED["Table 4"].items():
        ends = _PUBLISHED["Figure 5"][measure].get(system, {})
        for input_name, n in STEPS.items():
            published = lines[input_name][key] if input_name == RELEVANT else ends.get(input_name)
            standing = _find_standing(measures.by_input[input_name], system)
            if standing is not None and measure == PRECISION:
                standing = measures.as_published[input_name]
            if standing is not None or published is not None:
                yield _to_figure(table, system, n, standing and standing.measures[measure], published)
    for name in dict.fromkeys(
        name for one in measures.by_input.values() for name in one.ranked.rankers if name != TFIDF
    ):
        for input_name, n in STEPS.items():
            standing = _find_standing(measures.by_input[input_name], name)
            if standing is not None:
                yield _to_figure(table, name, n, standing.measures[measure])


def difference_figures(measures: SugarMeasures) -> Iterator[Figure]:
    """Every pair of rankers on every input."""
    for measure in MEASURES:
        table = f"Differences in {measure}: rankers swapped request by request"
        for input_name in INPUTS:
            for one in measures.by_input[input_name].differences:
                if one.measure == measure:
                    row = f"{one.second} minus {one.first}, {input_name}"
                    value, low, high = one.difference
                    yield Figure(table, row, "difference", None, -value, -high, -low, one.n)
                    yield Figure(table, row, "p (Holm)", None, one.corrected, n=one.n)


def breakdown_figures(evaluation: RankingEvaluation) -> Iterator[Figure]:
    """Both measures by kind of question, with the whole situation."""
    for name, parts in evaluation.parts.items():
        table = f"By {name}, {evaluation.ranked.input}"
        for part in parts:
            for measure in MEASURES:
                fold_mean = part.measures[measure]
                value, low, high = fold_mean.estimate
                column = f"{part.ranker}: {measure}"
                yield Figure(table, f"{part.name} ({part.n})", column, None, value, low, high, fold_mean.n)


def reading_figures(measures: SugarMeasures) -> Iterator[Figure]:
    """Which statements rankers read, compared with those that matter and with chance."""
    table = "Statements read vs. statements that matter"
    for input_name in (WHOLE, *DISTRACTORS):
        for one in measures.by_input[input_name].readings:
            row = f"{one.ranker}, for {one.candidate}, {input_name}"
            yield Figure(table, row, "read", None, one.read, n=one.n)
            pairs = zip(("precision", "recall", "F1"), (one.precision, one.recall, one.f1), one.chance, strict=True)
            for name, estimate, chance in pairs:
                yield Figure(table, row, name, None, *estimate, one.n)
                yield Figure(table, row, f"{name} by chance", None, chance, n=one.n)


def overlap_figures(measures: SugarMeasures) -> Iterator[Figure]:
    """What test questions share with the training split of their fold, and what that gives away."""
    table = "Test questions of all folds: what was seen in training"
    counts = measures.shared
    numbers = {
        "the same example": counts.examples,
        "the request": counts.requests,
        "the reference, as a reference": counts.reference,
        "the reference, as a candidate": counts.reference_offered,
        "a distractor, as a reference": counts.distractor,
        "all distractors, as references": counts.all_distractors,
        "a distractor, as a candidate": counts.distractor_offered,
    }
    for row, n in numbers.items():
        yield Figure(table, row, "questions", None, n, n=counts.questions)
        yield Figure(table, row, "share", None, n / counts.questions, n=counts.questions)
    table = "What the texts alone give away (neither request nor situation is read)"
    for one in measures.texts:
        for measure in MEASURES:
            yield _to_figure(table, one.ranker, measure, one.measures[measure])


def sugar_validation_figures(measures: SugarMeasures) -> Iterator[Figure]:
    """The same measures on the validation splits, by which rankers were chosen."""
    table = "Validation splits"
    for input_name in INPUTS:
        for one in measures.validation[input_name]:
            for measure in MEASURES:
                yield _to_figure(table, f"{one.ranker}, {input_name}", measure, one.measures[measure])


def shipped_figures(measures: SugarMeasures) -> Iterator[Figure]:
    """The package's ranker on the test split of its own fold, which it has not seen."""
    table = f"The package's ranker, on the test split of fold {SHIPPED_FOLD} alone"
    for input_name, standings in measures.shipped.items():
        for one in standings:
            label = f"{one.ranker}, ties shared" if one.ranker == TFIDF else one.ranker
            for measure in MEASURES:
                yield _to_figure(table, f"{label}, {input_name}", measure, one.measures[measure])


def _figure_5(measure: str) -> str:
    return f"Figure 5: {measure} by number of distractors"


def _find_standing(evaluation: RankingEvaluation, name: str) -> RankerStanding | None:
    return next((one for one in evaluation.standings if one.ranker == name), None)


def _line_figures(
    table: str, row: str, precision: FoldMean, ndcg: FoldMean, published: Mapping[str, float] | None = None
) -> Iterator[Figure]:
    printed = published or {}
    yield _to_figure(table, row, PRECISION, precision, printed.get("precision"))
    yield Figure(table, row, "Precision@1, standard deviation", printed.get("precision_deviation"), precision.deviation)
    yield _to_figure(table, row, NDCG, ndcg, printed.get("ndcg"))
    yield Figure(table, row, "nDCG@3, standard deviation", printed.get("ndcg_deviation"), ndcg.deviation)


def _to_figure(table: str, row: str, column: str, fold_mean: FoldMean | None, published: float | None = None) -> Figure:
    if fold_mean is None:
        return Figure(table, row, column, published, float("nan"))
    return Figure(table, row, column, published, *fold_mean.estimate, fold_mean.n)
