"""The tables of held-out dialogues in the SSREM reproduction: Table 2, Figures 3 and 5, sections 6 and 8."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rejoinder.indexes.speakers import SETS
from rejoinder.papers.base import Figure
from rejoinder.papers.ssrem.published import COPIED, KIND_LABELS, KINDS, SET_LABELS
from rejoinder.papers.ssrem.scorers import BOTH, CORPORA, GLOVE, Scorer, UtteranceReading
from rejoinder.papers.ssrem.scores import ANY, LAST, HeldOutScores
from rejoinder.stats.interval import Interval


def similarity_figures(figures: Sequence[Figure]) -> Iterator[Figure]:
    """Table 2: the norm in the paper's way, and the mean cosine, which a set's size does not decide."""
    for figure in figures:
        statistic, _, way = figure.table.partition(": ")
        if statistic.startswith("Frobenius") == way.startswith("GloVe, each set once"):
            yield replace(figure, table=f"Table 2: {figure.table}")


def separation_figures(held: HeldOutScores, readings: Sequence[UtteranceReading]) -> Iterator[Figure]:
    """Section 6: mean scores (Figure 3), standardised gaps, AUCs, and how often the true reply is the first of five."""
    for corpus, shown in CORPORA.items():
        for scorer in _list_scorers(readings):
            found = held[scorer, corpus]
            row = scorer.row
            for name, short in SET_LABELS.items():
                yield to_figure(f"Figure 3: mean score, {shown} test", row, short, found.mean(name))
            table = f"Section 6: true against each set, {shown} test"
            for name in SETS:
                yield to_figure(table, row, f"gap, {SET_LABELS[name]}", found.gap(name), "standardised")
            for name in SETS:
                yield to_figure(table, row, f"AUC, {SET_LABELS[name]}", found.auc(name))
            yield to_figure(table, row, "first of five", found.first(), "chance: .2")


def lead_figures(held: HeldOutScores, readings: Sequence[UtteranceReading]) -> Iterator[Figure]:
    """How much more SSREM tells apart than the others at the same places, by one V."""
    for corpus, shown in CORPORA.items():
        table = f"Section 6: SSREM less the others, {shown} test"
        for reading in readings:
            own = held[Scorer("ssrem", reading), corpus]
            for kind in KINDS[:2]:
                other = held[Scorer(kind, reading), corpus]
                row = f"less {KIND_LABELS[kind]}, {reading.label}"
                for name in SETS:
                    yield to_figure(table, row, f"gap, {SET_LABELS[name]}", own.ahead(other, name))
                yield to_figure(table, row, "first of five", own.more_often(other))


def transfer_figures(held: HeldOutScores, readings: Sequence[UtteranceReading]) -> Iterator[Figure]:
    """Section 7.1 (Figure 5): trained on one corpus, told apart on the other and, beside, on its own."""
    for on in BOTH:
        for test in sorted(BOTH, key=lambda name: name == on):
            table = f"Figure 5: trained on {CORPORA[on]}, {CORPORA[test]} test"
            for reading in readings:
                for kind in KINDS if not reading.shipped else ():
                    scorer = Scorer(kind, reading, (on,))
                    found = held[scorer, test]
                    for name in ("true", "same_conversation", "random"):
                        yield to_figure(table, scorer.row, SET_LABELS[name], found.mean(name))
                    for name in ("same_conversation", "random"):
                        yield to_figure(table, scorer.row, f"gap, {SET_LABELS[name]}", found.gap(name), "standardised")
                        yield to_figure(table, scorer.row, f"AUC, {SET_LABELS[name]}", found.auc(name))


def copying_figures(held: HeldOutScores, readings: Sequence[UtteranceReading]) -> Iterator[Figure]:
    """Section 8: copied utterances of the context against the true reply, trained without and with copies."""
    for corpus, shown in CORPORA.items():
        table = f"Section 8: copying, {shown} test"
        for reading in readings:
            for copies in (False,) if reading.shipped else (False, True):
                for kind in KINDS:
                    found = held[Scorer(kind, reading, copies=copies), corpus]
                    row = f"{KIND_LABELS[kind]}, {reading.label}{', --copies' if copies else ''}"
                    # The paper reads by word averages.
                    printed = COPIED.get(kind) if reading == GLOVE and not copies else None
                    note = "published: Twitter" if printed is not None else ""
                    yield to_figure(table, row, "mean, true", found.mean("true"))
                    yield to_figure(table, row, "mean, copy", found.mean(ANY))
                    yield to_figure(table, row, "copy less true", found.raised(ANY), note, printed)
                    yield to_figure(table, row, "true wins, any copy", found.won(ANY))
                    yield to_figure(table, row, "true wins, last copied", found.won(LAST))
                    yield to_figure(table, row, "AUC, SC", found.auc("same_conversation"))


def _list_scorers(readings: Sequence[UtteranceReading]) -> Iterator[Scorer]:
    for reading in readings:
        yield from (Scorer(kind, reading) for kind in KINDS)


def to_figure(
    table: str, row: str, column: str, found: Interval, note: str = "", published: float | None = None
) -> Figure:
    """A measured figure with its interval."""
    note = "; ".join(filter(None, (note, found.reason)))
    return Figure(table, row, column, published, found.value, found.low, found.high, found.n, note)
