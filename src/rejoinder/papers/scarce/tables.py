"""Tables 1, 2 and 4 of SCARCE out of scores and ratings, and what our references gain over the human ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rejoinder.papers.base import Figure
from rejoinder.papers.scarce import published
from rejoinder.papers.scarce.measures import CASES, Measure, MeasureScores, RatedResponses
from rejoinder.stats.bootstrap import BootstrapPlan, correlation_difference, correlation_intervals
from rejoinder.stats.correlation import correlate

IN_TABLE_2 = ("BLEU-4", "BERT precision")
SPEARMAN, WITHIN = "Spearman", "Spearman within systems"
CORRELATIONS: Mapping[str, BootstrapPlan] = {
    SPEARMAN: BootstrapPlan(method="spearman"),
    "Kendall": BootstrapPlan(method="kendall"),
    WITHIN: BootstrapPlan(method="spearman", at="within_system"),
    "Kendall within systems": BootstrapPlan(method="kendall", at="within_system"),
}
GAINS = (
    (published.OURS_SINGLE, published.SINGLE),
    (published.PARAPHRASE_SINGLE, published.SINGLE),
    (published.OURS_MULTI, published.MULTI),
)


def table_1(replies: RatedResponses, sets: Mapping[str, MeasureScores]) -> Iterator[Figure]:
    """Table 1: the correlations of every measure with the ratings, pooled and within systems."""
    for case in CASES:
        for way, plan in CORRELATIONS.items():
            for column, scored in sets.items():
                for row, figure in _correlate_rows(replies, scored, case, plan).items():
                    known = published.TABLE_1_AND_4[row][column] if case == CASES[0] and plan.at == "pooled" else None
                    there = getattr(known, plan.method) if known else None
                    yield Figure(f"Table 1: {way}, {case}", row, column, there, *figure)


def table_2(replies: RatedResponses, sets: Mapping[str, MeasureScores]) -> Iterator[Figure]:
    """Table 2: what the parts are worth beside the single human reference."""
    for case in CASES:
        for way in (SPEARMAN, WITHIN):
            for row, scored in sets.items():
                known = published.TABLE_2[row] if case == CASES[0] and way == SPEARMAN else None
                for column, figure in _correlate_rows(replies, scored, case, CORRELATIONS[way]).items():
                    there = known[IN_TABLE_2.index(column)] if known else None
                    yield Figure(f"Table 2: {way}, {case}", row, column, there, *figure)


def table_4(replies: RatedResponses, sets: Mapping[str, MeasureScores]) -> Iterator[Figure]:
    """Table 4: the p of Spearman's rho, every reply counted as if it stood alone."""
    for case in CASES:
        for column, scored in sets.items():
            for row, values in scored.of(case).items():
                there = published.TABLE_1_AND_4[row][column].p if case == CASES[0] else None
                found = correlate(values, replies.ratings, "spearman")
                yield Figure(f"Table 4: p of Spearman, {case}", row, column, there, found.p, n=found.n)


def gain_figures(replies: RatedResponses, sets: Mapping[str, MeasureScores]) -> Iterator[Figure]:
    """By how much further references raise Spearman's rho; both sets see the same resamples."""
    for more, human in GAINS:
        for case in CASES:
            for way in (SPEARMAN, WITHIN):
                for row, values in sets[more].of(case).items():
                    one = correlation_difference(
                        values,
                        sets[human].of(case)[row],
                        replies.ratings,
                        CORRELATIONS[way],
                        systems=replies.systems,
                        items=replies.items,
                    )
                    yield Figure(
                        gain_title(more, human), row, f"{way}, {case}", None, one.value, one.low, one.high, one.n
                    )


def gain_title(more: str, human: str) -> str:
    """The title of a table of gains."""
    return f"Gain of {more} over {human}"


def _correlate_rows(
    replies: RatedResponses, scored: MeasureScores, case: str, plan: BootstrapPlan
) -> dict[str, tuple[float, float, float, int, str]]:
    """Of each row what a figure shows beside the published number: value, interval, n, signature."""
    found = correlation_intervals(scored.of(case), replies.ratings, plan, systems=replies.systems, items=replies.items)
    return {
        row: (one.value, one.low, one.high, one.n, scored.signatures[Measure(case, row)]) for row, one in found.items()
    }
