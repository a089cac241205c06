"""The figures of ``reproduce ssrem``: held-out dialogues (Table 2, Figures 3 and 5, sections 6 and 8), then people.

Tables 4 and 5 are measured on the sets that are here: whole metrics, and f alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rejoinder.indexes.speakers import SETS
from rejoinder.stats.bootstrap import BootstrapPlan
from rejoinder.stats.correlation import Method
from rejoinder.stats.interval import Interval
from rejoinder_lab.papers.base import Figure
from rejoinder_lab.papers.loader import load_published
from rejoinder_lab.papers.own.relevance.measures import ColumnCorrelation, macro_average
from rejoinder_lab.papers.ssrem.rows import METHODS, RatedSet
from rejoinder_lab.papers.ssrem.scorers import CORPORA, GLOVE, KINDS, SEEDS, ComparedScorer, TurnReading, list_compared
from rejoinder_lab.papers.ssrem.scores import COPY, SET_LABELS, HeldOutScores

MEAN = "mean"
TWITTER, MOVIE = "Twitter (Table 4)", "Movie (Table 5)"
# Column -> row -> method -> value, p, and whether only a bound of p is printed.
CORRELATIONS = {TWITTER: load_published("ssrem")["Table 4"], MOVIE: load_published("ssrem")["Table 5"]}
# Section 8: how much higher the mean score of the context's utterances is than that of the true replies.
COPIED = load_published("ssrem")["Section 8"]
TRANSFERS = (("friends", "cornell"), ("cornell", "friends"))
_NAMES: Mapping[Method, str] = {"spearman": "Spearman", "pearson": "Pearson"}
CorrelationsBySet = Mapping[str, Mapping[str, ColumnCorrelation]]  # set -> row -> correlation


def similarity_figures(figures: Sequence[Figure]) -> Iterator[Figure]:
    """Table 2: the norm as in the paper, and the mean cosine, which does not depend on the size of a set."""
    for figure in figures:
        statistic, _, way = figure.table.partition(": ")
        if statistic.startswith("Frobenius") == way.startswith("GloVe, each set once"):
            yield replace(figure, table=f"Table 2: {figure.table}")


def separation_figures(held: HeldOutScores, readings: Sequence[TurnReading]) -> Iterator[Figure]:
    """Section 6: mean scores (Figure 3), standardised gaps, AUCs, and how often the true reply is the first of five."""
    for corpus, label in CORPORA.items():
        for scorer in _list_trained_on(held, readings, corpus):
            scores = held[scorer, corpus]
            row = scorer.row
            for name, short in SET_LABELS.items():
                yield interval_figure(f"Figure 3: mean score, {label} test", row, short, scores.mean(name))
            table = f"Section 6: true replies vs. each set, {label} test"
            for name in SETS:
                yield interval_figure(table, row, f"gap, {SET_LABELS[name]}", scores.gap(name), "standardised")
            for name in SETS:
                yield interval_figure(table, row, f"AUC, {SET_LABELS[name]}", scores.auc(name))
            yield interval_figure(table, row, "first of five", scores.first(), "chance: .2")


def order_figures(held: HeldOutScores, readings: Sequence[TurnReading]) -> Iterator[Figure]:
    """The differences of the three scorers, and of the ranking loss, at the same places, with the same V."""
    for corpus, label in CORPORA.items():
        table = f"Section 6: differences at the same places, {label} test"
        for reading in readings:
            for own, other in list_comparisons(reading) if corpus in reading.on else ():
                if (own, corpus) in held and (other, corpus) in held:
                    row = f"{own.label} minus {other.label}, {reading.label}"
                    first, second = held[own, corpus], held[other, corpus]
                    for name in SETS:
                        yield interval_figure(table, row, f"gap, {SET_LABELS[name]}", first.ahead(second, name))
                    yield interval_figure(table, row, "first of five", first.more_often(second))


def list_comparisons(reading: TurnReading) -> list[tuple[ComparedScorer, ComparedScorer]]:
    """The pairs of scorers whose order the paper claims, and SSREM with the ranking loss against SSREM."""
    ruber, rsrem, ssrem = (ComparedScorer(kind, reading) for kind in KINDS)
    pairs = [(ssrem, rsrem), (rsrem, ruber), (ssrem, ruber)]
    return pairs if reading.shipped else [*pairs, (ComparedScorer("ssrem", reading, ranking=True), ssrem)]


def seed_figures(held: HeldOutScores) -> Iterator[Figure]:
    """The paper's recipe with other random numbers at its start."""
    for corpus, label in CORPORA.items():
        table = f"Section 6: seeds of {GLOVE.label}, {label} test"
        for kind in KINDS:
            for seed in SEEDS:
                if (scorer := ComparedScorer(kind, GLOVE, seed=seed), corpus) in held:
                    scores, row = held[scorer, corpus], f"{scorer.label}, seed {seed}"
                    for name in ("same_conversation", "random"):
                        yield interval_figure(table, row, f"gap, {SET_LABELS[name]}", scores.gap(name), "standardised")
                    yield interval_figure(table, row, "first of five", scores.first(), "chance: .2")


def transfer_figures(held: HeldOutScores, readings: Sequence[TurnReading]) -> Iterator[Figure]:
    """Section 7.1 (Figure 5): scorers measured on a corpus that they were not trained on."""
    for on, test in TRANSFERS:
        table = f"Figure 5: trained on {CORPORA[on]}, {CORPORA[test]} test"
        for scorer in list_transferred(held, readings, on, test):
            scores = held[scorer, test]
            for name in ("true", "same_conversation", "random"):
                yield interval_figure(table, scorer.row, SET_LABELS[name], scores.mean(name))
            for name in ("same_conversation", "random"):
                yield interval_figure(table, scorer.row, f"gap, {SET_LABELS[name]}", scores.gap(name), "standardised")
                yield interval_figure(table, scorer.row, f"AUC, {SET_LABELS[name]}", scores.auc(name))


def list_transferred(
    held: HeldOutScores, readings: Sequence[TurnReading], on: str, test: str
) -> Iterator[ComparedScorer]:
    """The scorers that were trained on one corpus alone and scored another, where all three are there."""
    for reading in readings:
        only = () if reading.on == (on,) else (on,)
        scorers = [ComparedScorer(kind, reading, on=only) for kind in KINDS]
        if all((scorer, test) in held for scorer in scorers):
            yield from scorers


def copying_figures(held: HeldOutScores, readings: Sequence[TurnReading]) -> Iterator[Figure]:
    """Section 8: copied utterances of the context against the true reply, trained without and with copies."""
    for corpus, label in CORPORA.items():
        table = f"Section 8: copying, {label} test"
        for scorer in _list_trained_on(held, readings, corpus, copies=True):
            scores = held[scorer, corpus]
            row = f"{scorer.row}{', --copies' if scorer.copies else ''}"
            # The paper reads by word averages.
            is_papers = scorer.reading == GLOVE and not (scorer.copies or scorer.ranking)
            printed = COPIED.get(scorer.kind) if is_papers else None
            note = "published: Twitter" if printed is not None else ""
            yield interval_figure(table, row, "mean, true", scores.mean("true"))
            yield interval_figure(table, row, "mean, copy", scores.mean(COPY))
            yield interval_figure(table, row, "copy minus true", scores.raised(COPY), note, printed)
            yield interval_figure(table, row, "true wins", scores.won(COPY))
            yield interval_figure(table, row, "AUC, SC", scores.auc("same_conversation"))


def _list_trained_on(
    held: HeldOutScores, readings: Sequence[TurnReading], corpus: str, copies: bool = False
) -> Iterator[ComparedScorer]:
    """The compared scorers whose training includes a corpus; ``copies``: also those with copies as negatives."""
    for reading in readings:
        scorers = list_compared(reading) + ([ComparedScorer("ssrem", reading, copies=True)] if copies else [])
        yield from (one for one in scorers if corpus in reading.on and (one, corpus) in held)


def interval_figure(
    table: str, row: str, column: str, interval: Interval, note: str = "", published: float | None = None
) -> Figure:
    """A measured figure with its interval."""
    note = "; ".join(filter(None, (note, interval.reason)))
    return Figure(table, row, column, published, interval.value, interval.low, interval.high, interval.n, note)


def correlate_all_sets(judged: Sequence[RatedSet], n_resamples: int) -> dict[Method, CorrelationsBySet]:
    """Every row's correlation in every set, by both methods."""
    return {method: {one.name: one.correlations(method, n_resamples) for one in judged} for method in METHODS}


def correlation_figures(whole: Mapping[Method, CorrelationsBySet], judged: Sequence[RatedSet]) -> Iterator[Figure]:
    """Tables 4 and 5: whole metrics against people, the printed figures in columns of their own; then p-values."""
    rows = list(judged[0].scores)
    for method in METHODS:
        table = f"Tables 4 and 5: {_NAMES[method]}, whole metrics"
        for row in rows:
            for column, printed in CORRELATIONS.items():
                if (name := _find_printed_row(row)) in printed:
                    yield Figure(table, row, column, printed[name][method]["value"], math.nan)
            yield from _row_figures(table, row, whole[method], method)
        table = f"Tables 4 and 5: p of {_NAMES[method]}, whole metrics"
        for row in rows:
            for column, printed in CORRELATIONS.items():
                if (name := _find_printed_row(row)) in printed:
                    p = printed[name][method]["p"]
                    note = f"printed as < {p}" if printed[name][method].get("p_is_bound") else ""
                    yield Figure(table, row, column, p, math.nan, note=note)
            for one in judged:
                yield Figure(table, row, one.name, None, one.p(row, method))
    for row in rows:
        for one in judged:
            yield Figure("Figures 2 and 4: coefficient of the regression line", row, one.name, None, one.slope(row))


def alone_figures(correlations: Mapping[Method, CorrelationsBySet], judged: Sequence[RatedSet]) -> Iterator[Figure]:
    """f alone against people on the six columns; then p-values."""
    for method in METHODS:
        for row in judged[0].scores:
            yield from _row_figures(f"f alone: {_NAMES[method]}", row, correlations[method], method)
    for method in METHODS:
        for row in judged[0].scores:
            for one in judged:
                yield Figure(f"f alone: p of {_NAMES[method]}", row, one.name, None, one.p(row, method))


def people_order_figures(
    title: str, correlations: CorrelationsBySet, readings: Sequence[TurnReading]
) -> Iterator[Figure]:
    """How much more one scorer agrees with people than another, by Spearman, on the same resamples."""
    for reading in readings:
        for own, other in list_comparisons(reading):
            row = f"{own.label} minus {other.label}, {reading.label}"
            for column, of_set in correlations.items():
                one = mean_difference({column: of_set}, own.row, other.row, "spearman")
                yield interval_figure(title, row, column, one)
            yield interval_figure(title, row, MEAN, mean_difference(correlations, own.row, other.row, "spearman"))


def range_figures(
    bounds: Mapping[str, Sequence[float]],
    now: CorrelationsBySet,
    before: CorrelationsBySet,
    scorers: Sequence[ComparedScorer],
) -> Iterator[Figure]:
    """Section 3.2: the range of g on training dialogues, and h with g's upper bound as it was (1) and as it is."""
    table = "Section 3.2: range of g, and Spearman of h (mean of the sets) before and after"
    for scorer in scorers:
        low, high = bounds[scorer.name]
        yield Figure(table, scorer.row, "lowest g", None, low)
        yield Figure(table, scorer.row, "highest g", None, high)
        for column, correlations in (("h, highest g 1", before), ("h", now)):
            yield interval_figure(table, scorer.row, column, mean_correlation(correlations, scorer.row, "spearman"))


def mean_correlation(correlations: CorrelationsBySet, row: str, method: Method) -> Interval:
    """A row's mean correlation over the sets."""
    each = [of_set[row] for of_set in correlations.values()]
    return macro_average(each, BootstrapPlan(method=method, n_resamples=len(each[0].samples)))


def mean_difference(correlations: CorrelationsBySet, first: str, second: str, method: Method) -> Interval:
    """How much larger a row's mean correlation over the sets is than another's, on the same resamples."""
    pairs = [(of_set[first], of_set[second]) for of_set in correlations.values()]
    each = [
        ColumnCorrelation(a.interval._replace(value=a.interval.value - b.interval.value), a.samples - b.samples)
        for a, b in pairs
    ]
    return macro_average(each, BootstrapPlan(method=method, n_resamples=len(each[0].samples)))


def _row_figures(table: str, row: str, correlations: CorrelationsBySet, method: Method) -> Iterator[Figure]:
    for column, rows in correlations.items():
        yield interval_figure(table, row, column, rows[row].interval)
    yield interval_figure(table, row, MEAN, mean_correlation(correlations, row, method))


def _find_printed_row(row: str) -> str:
    """The printed row that belongs to a row: the paper averages word vectors."""
    name, _, reading = row.partition(", ")
    return name if reading in ("", GLOVE.label) else ""
