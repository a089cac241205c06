"""Relevance without references: metrics compared with people on six rated sets, beside published figures.

Five columns are the test rows of the IDK paper (Berlot-Attwell and Rudzicz 2022), the sixth is Gupta's 500 replies
(Gupta et al. 2019). These rows are for the final measurement only: nothing may be chosen by them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rejoinder.comparison.rated_scores import ORACLE
from rejoinder.data.collection import from_lists
from rejoinder.errors import RejoinderError
from rejoinder.metric import parse
from rejoinder.scoring.api import score
from rejoinder.stats.bootstrap import BootstrapPlan
from rejoinder_lab.papers.base import Figure, Reproduction
from rejoinder_lab.papers.loader import load_notes
from rejoinder_lab.papers.own.relevance.lengths import length_figures
from rejoinder_lab.papers.own.relevance.measures import (
    AUTHORS_ROW,
    ScoredColumn,
    correlate_column,
    score_relevance_rows,
)
from rejoinder_lab.papers.own.relevance.rows import COLUMNS, GUPTA, read_relevance_rows
from rejoinder_lab.papers.own.relevance.tables import (
    FLOORS,
    MACRO,
    MACRO_FLOOR,
    OVER_SIX,
    TABLES,
    WITHIN,
    WORST,
    WORST_FLOOR,
    column_spread_figures,
    pooled_figures,
    row_figures,
)
from rejoinder_lab.papers.own.relevance.teachers import add_teacher_scores

SUMMARY = "relevance metrics on six rated sets (IDK, Tables 2 to 4; Gupta's 500): macro average, worst set, sensitivity"
# The set of weights that comes with the lab, and the default one where a page stands on that of the lab.
RESEARCH_SPECS, PERMISSIVE_SPECS = (
    (
        f"aptness(weights='{name}')",
        f"aptness(weights='{name}', model='bi')",
        f"aptness(weights='{name}', model='cross')",
    )
    for name in ("research", "permissive")
)
# What is measured where nothing is named. Only Gupta's replies have references; a new metric is one more spec.
SPECS = (
    "length",
    "context_overlap",
    "cosine",
    "idk",
    "nsp",
    "aptness",
    "aptness(model='bi')",
    "aptness(model='cross')",
    *RESEARCH_SPECS,
    "grade",
    "dynaeval",
    "bert_ruber(part='unreferenced')",
    "usl_h",
    "usr",
    "adem",
    "bert_ruber",
    "moverscore",
    "sentence_cosine",
    "ubleu",
)
DEFAULT_PLAN = BootstrapPlan()
_NOTES = load_notes("own/relevance")
_OWN = (
    "cosine",
    "idk",
    "nsp",
    "grade",
    "dynaeval",
    "usl_h",
    "usr",
    "adem",
    "sentence_cosine",
)  # metrics of ours that are not quite what was published under the name


def reproduce(metrics: Sequence[str] | None = None) -> Reproduction:
    """Score the rows of every column and correlate with the ratings; ``metrics`` are specs to use instead of SPECS."""
    specs, absent = split_usable(SPECS) if metrics is None else ([str(parse(spec)) for spec in metrics], [])
    scored = [score_relevance_rows(read_relevance_rows(column), specs) for column in COLUMNS]
    return assemble_relevance(add_teacher_scores(scored), absent)


def split_usable(specs: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the specs that can be scored here, tried on a made-up reply, and a sentence on each that cannot."""
    able, absent = [], []
    for spec in specs:
        try:
            metric = parse(spec)
            score(from_lists(["Two of them, yes."], [["Is the green one in stock?"]]), metric)
            able.append(str(metric))
        except RejoinderError as error:
            absent.append(_NOTES.text("not measured", spec=spec, error=error))
    return able, absent


def assemble_relevance(
    scored: Sequence[ScoredColumn], absent: Sequence[str] = (), plan: BootstrapPlan = DEFAULT_PLAN
) -> Reproduction:
    """The figures and notes of columns that have been scored."""
    signatures = {**scored[0].metrics, **scored[0].stored_by}
    pearson, within = replace(plan, method="pearson"), replace(plan, at="within_system")
    pooled = {one.rows.column.name: correlate_column(one, plan) for one in scored}
    figures: list[Figure] = [
        *pooled_figures(pooled, signatures, plan),
        *column_spread_figures(pooled, list(signatures), plan),
    ]
    inside = {one.rows.column.name: correlate_column(one, within) for one in scored if one.has_systems}
    for row in (AUTHORS_ROW, *signatures):
        figures += row_figures(WITHIN, row, inside, signatures.get(row, "the authors' scores of one run"))
    figures += pooled_figures(
        {one.rows.column.name: correlate_column(one, pearson) for one in scored}, signatures, pearson
    )
    figures += length_figures(scored, plan)
    notes = [*list_relevance_notes(scored, plan.n_resamples), *list_verdicts(figures), *absent]
    return Reproduction("relevance", "Relevance on six rated sets", figures, notes)


def list_relevance_notes(scored: Sequence[ScoredColumn], resamples: int) -> Iterator[str]:
    """How the figures were measured."""
    yield _NOTES.text("intervals", resamples=resamples)
    yield from _NOTES.paragraphs("method")
    joined = [f"{one.rows.column.name} {one.rows.n_joined} of {len(one.evidence)}" for one in scored if one.has_systems]
    yield _NOTES.text("systems", sets=", ".join(joined))
    yield from (_NOTES.text(f"own version of {spec}") for spec in _OWN if spec in scored[0].metrics)
    if scored[0].stored:
        yield _NOTES.text("teachers")
    for spec in scored[0].metrics:
        missing = {one.rows.column.name: sum(map(math.isnan, one.evidence.scores[spec])) for one in scored}
        if "references" in parse(spec).needs:
            yield _NOTES.text("references", spec=spec)
        elif any(missing.values()):
            columns = ", ".join(f"{name} {n}" for name, n in missing.items() if n)
            yield _NOTES.text("missing scores", spec=spec, columns=columns)


def list_verdicts(figures: Sequence[Figure]) -> Iterator[str]:
    """The oracle, the worst columns, and aptness compared with its minimum values."""
    tables = (TABLES["spearman"], TABLES["spearman"] + OVER_SIX)
    by_cell = {(f.row, f.column): f for f in figures if f.table in tables}
    oracle = by_cell.get((ORACLE, GUPTA))
    if oracle is not None:
        yield _NOTES.text("oracle", value=oracle.measured, column=GUPTA)
    lowest = [f"{f.note.partition(';')[0]} of {row}" for (row, column), f in by_cell.items() if column == WORST]
    yield _NOTES.text("worst column", columns=", ".join(lowest))
    floors = {**FLOORS, MACRO: MACRO_FLOOR, WORST: WORST_FLOOR}
    values = ", ".join(f"{column} {floor:.2f}" for column, floor in floors.items())
    yield _NOTES.text("floors", floors=values)
    for row in dict.fromkeys(row for row, _ in by_cell if row.partition("(")[0] == "aptness"):
        missed = [
            f"{column} ({by_cell[row, column].measured:.3f}, minimum {floor:.2f})"
            for column, floor in floors.items()
            if not by_cell[row, column].measured >= floor
        ]
        if missed:
            yield _NOTES.text("floors missed", row=row, columns=", ".join(missed))
        else:
            yield _NOTES.text("floors reached", row=row)
