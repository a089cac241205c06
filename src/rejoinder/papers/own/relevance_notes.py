"""The sentences under the relevance tables: how it was measured, what is missing, which floors were missed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rejoinder.comparison.rated_scores import ORACLE
from rejoinder.papers.base import Figure
from rejoinder.papers.own.relevance_measures import AUTHORS_ROW, ScoredColumn
from rejoinder.papers.own.relevance_published import FLOORS, GUPTA, MACRO_FLOOR, WORST_FLOOR
from rejoinder.papers.own.relevance_tables import MACRO, OVER_SIX, TABLES, WORST

_METHOD = (
    "Intervals: 95% bootstrap (bias-corrected and expanded), {resamples:,} resamples within each column by whole "
    "dialogue where it is known (USR, FED, Gupta), else by context. FED-cor and FED-rel rate the same replies and are "
    "drawn together. The interval of the worst column is that column's own."
)
_ROWS = (
    "The first five columns are the test rows of IDK: lower-case, turns run together, so a context is one utterance; a "
    "context of more than 512 tokens has lost its end. Gupta's contexts have their turns.",
    "Scores count with larger meaning better; a metric without a direction (length, context_overlap) counts as it is.",
    "Published, and not measured here where no measured figure stands beside it: IDK, Tables 2, 3 and 11 (mean of "
    "three runs where trained) and 4 (best over worst, there infinite for "
    "GRADE and DYNA-EVAL, whose worst is 0); SCARCE, Table 1, with four human references and augmented ones, the only "
    "row that sees references. The means of five are of the two decimals that are printed.",
    f"{AUTHORS_ROW}: measured is what the scores of one of the authors' runs, published with the rows, give here.",
    "Best over worst is 1 for a metric that works equally well everywhere; a negative one is worse than any positive.",
)
# Rows that are not what their published figures are of.
_OURS = {
    "cosine": "cosine is of the two sentence vectors by the encoder of aptness.",
    "idk": "idk is the package's, trained on films with vectors of aptness's cross-encoder; published beside it is the "
    "one on BERT's.",
    "nsp": "nsp is the head of aptness's cross-encoder before calibration, so but for rounding it ranks replies as "
    "aptness(model='cross') does; published beside it is BERT's.",
}


def list_notes(scored: Sequence[ScoredColumn], resamples: int) -> Iterator[str]:
    """How the figures came about."""
    yield _METHOD.format(resamples=resamples)
    yield from _ROWS
    joined = [f"{one.rows.column.name} {one.rows.n_joined} of {len(one.evidence)}" for one in scored if one.has_systems]
    yield (
        f"Rows whose system is known: {', '.join(joined)} (USR and FED by joining reply, context and mean rating with "
        "the sets that name it); the other columns do not say, or have one system. Within systems: the mean over them."
    )
    yield from (said for spec, said in _OURS.items() if spec in scored[0].metrics)
    for spec in scored[0].metrics:
        missing = {one.rows.column.name: sum(map(math.isnan, one.evidence.scores[spec])) for one in scored}
        if any(missing.values()):
            shown = ", ".join(f"{name} {n}" for name, n in missing.items() if n)
            yield f"{spec} has no score for some rows, which are left out: {shown}."


def list_verdicts(figures: Sequence[Figure]) -> Iterator[str]:
    """The oracle, and aptness held against its floors."""
    mine = (TABLES["spearman"], TABLES["spearman"] + OVER_SIX)
    found = {(f.row, f.column): f for f in figures if f.table in mine}
    oracle = found.get((ORACLE, GUPTA))
    if oracle is not None:
        yield f"An oracle that knows only which system wrote the reply reaches {oracle.measured:.3f} on {GUPTA}."
    lowest = [f"{f.note.partition(';')[0]} of {row}" for (row, column), f in found.items() if column == WORST]
    yield f"The worst column is {', '.join(lowest)}."
    floors = {**FLOORS, MACRO: MACRO_FLOOR, WORST: WORST_FLOOR}
    shown = ", ".join(f"{column} {floor:.2f}" for column, floor in floors.items())
    yield f"Floors asked of aptness before it was trained, in Spearman: {shown}."
    for row in dict.fromkeys(row for row, _ in found if row.partition("(")[0] == "aptness"):
        missed = [
            f"{column} ({found[row, column].measured:.3f}, floor {floor:.2f})"
            for column, floor in floors.items()
            if not found[row, column].measured >= floor
        ]
        yield f"{row} misses the floor of {', '.join(missed)}." if missed else f"{row} reaches every floor."
