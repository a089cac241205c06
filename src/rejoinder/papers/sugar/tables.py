"""The figures of ``reproduce sugar`` that rankers decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rejoinder.data.questions import DISTRACTORS, INPUTS, RELEVANT, REQUEST, WHOLE
from rejoinder.papers.base import Figure
from rejoinder.papers.loader import load_published
from rejoinder.papers.sugar.measures import SugarMeasures
from rejoinder.papers.sugar.rankers import TFIDF
from rejoinder.selection.ranking.evaluation import RankerStanding, RankingEvaluation
from rejoinder.selection.ranking.fold_means import FoldMean
from rejoinder.selection.ranking.result import MEASURES, NDCG, PRECISION

_PUBLISHED = load_published("sugar")
STEPS = {RELEVANT: "0"} | {n: n for n in DISTRACTORS}
TABLE_4_INPUTS = (REQUEST, RELEVANT, WHOLE)


def list_figures(found: SugarMeasures) -> list[Figure]:
    """All of them, in the order of the page."""
    whole = found.by_input[WHOLE]
    return [
        *table_4(found),
        *figure_5(found, PRECISION),
        *figure_5(found, NDCG),
        *difference_figures(found),
        *breakdown_figures(whole),
        *reading_figures(found),
        *overlap_figures(found),
        *validation_figures(found),
    ]


def table_4(found: SugarMeasures) -> Iterator[Figure]:
    """Systems by input; ties as the paper breaks them in the row that is held against the paper's."""
    table = "Table 4: five folds"
    for system, given, printed in _list_printed_lines():
        if system == TFIDF:
            first = found.as_published[given].measures[PRECISION]
            shared = next(one for one in found.by_input[given].standings if one.ranker == TFIDF)
            yield from _line_figures(table, f"{system}, {given}", first, shared.measures[NDCG], printed)
        else:
            yield Figure(table, f"{system}, {given}", PRECISION, printed["precision"], float("nan"))
            yield Figure(table, f"{system}, {given}", NDCG, printed["ndcg"], float("nan"))
    for name in found.by_input[WHOLE].ranked.rankers:
        told = f"{name}, ties shared" if name == TFIDF else name
        for given in TABLE_4_INPUTS:
            mine = _find_standing(found.by_input[given], name)
            if mine is not None:
                yield from _line_figures(table, f"{told}, {given}", mine.measures[PRECISION], mine.measures[NDCG])


def _list_printed_lines() -> Iterator[tuple[str, str, Mapping[str, float]]]:
    """The lines of the paper's Table 4: system, input, and both measures with their deviations between folds."""
    for system, lines in _PUBLISHED["Table 4"].items():
        for given, line in lines.items():
            yield system, given, line


def figure_5(found: SugarMeasures, measure: str) -> Iterator[Figure]:
    """Systems by number of distractors; of the paper's drawing, what its text and Table 4 say."""
    table = f"Figure 5: {measure} by number of distractors"
    key = "precision" if measure == PRECISION else "ndcg"
    for system, lines in _PUBLISHED["Table 4"].items():
        ends = _PUBLISHED["Figure 5"][measure].get(system, {})
        for given, n in STEPS.items():
            published = lines[given][key] if given == RELEVANT else ends.get(given)
            mine = _find_standing(found.by_input[given], system)
            if mine is not None and measure == PRECISION:
                mine = found.as_published[given]
            if mine is not None or published is not None:
                yield _to_figure(table, system, n, mine and mine.measures[measure], published)
    for name in dict.fromkeys(name for one in found.by_input.values() for name in one.ranked.rankers if name != TFIDF):
        for given, n in STEPS.items():
            mine = _find_standing(found.by_input[given], name)
            if mine is not None:
                yield _to_figure(table, name, n, mine.measures[measure])


def difference_figures(found: SugarMeasures) -> Iterator[Figure]:
    """Every pair of rankers on every input."""
    for measure in MEASURES:
        table = f"Differences in {measure}: rankers swapped request by request"
        for given in INPUTS:
            for one in found.by_input[given].differences:
                if one.measure == measure:
                    row = f"{one.second} minus {one.first}, {given}"
                    value, low, high = one.difference
                    yield Figure(table, row, "difference", None, -value, -high, -low, one.n)
                    yield Figure(table, row, "p (Holm)", None, one.corrected, n=one.n)


def breakdown_figures(found: RankingEvaluation) -> Iterator[Figure]:
    """Both measures by kind of question, with the whole situation."""
    for name, parts in found.parts.items():
        table = f"By {name}, {found.ranked.given}"
        for part in parts:
            for measure in MEASURES:
                told = part.measures[measure]
                value, low, high = told.estimate
                column = f"{part.ranker}: {measure}"
                yield Figure(table, f"{part.name} ({part.n})", column, None, value, low, high, told.n)


def reading_figures(found: SugarMeasures) -> Iterator[Figure]:
    """Which statements rankers read, against those that matter and against chance."""
    table = "Statements read vs. statements that matter"
    for given in (WHOLE, *DISTRACTORS):
        for one in found.by_input[given].readings:
            row = f"{one.ranker}, for {one.candidate}, {given}"
            yield Figure(table, row, "read", None, one.read, n=one.n)
            pairs = zip(("precision", "recall", "F1"), (one.precision, one.recall, one.f1), one.chance, strict=True)
            for name, estimate, chance in pairs:
                yield Figure(table, row, name, None, *estimate, one.n)
                yield Figure(table, row, f"{name} by chance", None, chance, n=one.n)


def overlap_figures(found: SugarMeasures) -> Iterator[Figure]:
    """What test questions share with the training split of their fold, and what that gives away."""
    table = "Test questions of all folds: what was seen in training"
    counts = found.shared
    told = {
        "the same example": counts.examples,
        "the request": counts.requests,
        "the reference, as a reference": counts.reference,
        "the reference, as a candidate": counts.reference_offered,
        "a distractor, as a reference": counts.distractor,
        "all distractors, as references": counts.all_distractors,
        "a distractor, as a candidate": counts.distractor_offered,
    }
    for row, n in told.items():
        yield Figure(table, row, "questions", None, n, n=counts.questions)
        yield Figure(table, row, "share", None, n / counts.questions, n=counts.questions)
    table = "What the texts alone give away (neither request nor situation is read)"
    for one in found.texts:
        for measure in MEASURES:
            yield _to_figure(table, one.ranker, measure, one.measures[measure])


def validation_figures(found: SugarMeasures) -> Iterator[Figure]:
    """The same measures on the validation splits, by which rankers were chosen."""
    table = "Validation splits"
    for given in INPUTS:
        for one in found.validation[given]:
            for measure in MEASURES:
                yield _to_figure(table, f"{one.ranker}, {given}", measure, one.measures[measure])


def _find_standing(found: RankingEvaluation, name: str) -> RankerStanding | None:
    return next((one for one in found.standings if one.ranker == name), None)


def _line_figures(
    table: str, row: str, precision: FoldMean, ndcg: FoldMean, published: Mapping[str, float] | None = None
) -> Iterator[Figure]:
    printed = published or {}
    yield _to_figure(table, row, PRECISION, precision, printed.get("precision"))
    yield Figure(table, row, "Precision@1, standard deviation", printed.get("precision_deviation"), precision.deviation)
    yield _to_figure(table, row, NDCG, ndcg, printed.get("ndcg"))
    yield Figure(table, row, "nDCG@3, standard deviation", printed.get("ndcg_deviation"), ndcg.deviation)


def _to_figure(table: str, row: str, column: str, found: FoldMean | None, published: float | None = None) -> Figure:
    if found is None:
        return Figure(table, row, column, published, float("nan"))
    return Figure(table, row, column, published, *found.estimate, found.n)
