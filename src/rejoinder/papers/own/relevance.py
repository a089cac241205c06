"""Relevance without references: every metric here against people on six rated sets, beside what is published.

Five columns are the test rows of the IDK paper (Berlot-Attwell and Rudzicz 2022), the sixth is Gupta's 500 replies
(Gupta et al. 2019). These rows are an examination: nothing may be chosen by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rejoinder.data.collection import from_lists
from rejoinder.errors import RejoinderError
from rejoinder.metric import parse
from rejoinder.papers.base import Figure, Reproduction
from rejoinder.papers.own.relevance_measures import AUTHORS_ROW, ScoredColumn, correlate, score_rows
from rejoinder.papers.own.relevance_notes import list_notes, list_verdicts
from rejoinder.papers.own.relevance_rows import COLUMNS, read_rows
from rejoinder.papers.own.relevance_tables import WITHIN, pooled_figures, row_figures, spread_figures
from rejoinder.scoring.api import score
from rejoinder.stats.bootstrap import BootstrapPlan

SUMMARY = "relevance metrics on six rated sets (IDK, Tables 2 to 4; Gupta's 500): macro average, worst set, sensitivity"
# What is measured where nothing is named: the metrics that need at most the context. A new one is one more spec.
SPECS = (
    "length",
    "context_overlap",
    "cosine",
    "idk",
    "nsp",
    "aptness",
    "aptness(model='bi')",
    "aptness(model='cross')",
)
DEFAULT_PLAN = BootstrapPlan()


def reproduce(metrics: Sequence[str] | None = None) -> Reproduction:
    """Score the rows of every column and correlate with the ratings; ``metrics`` are specs to take instead of SPECS."""
    specs, absent = split_usable(SPECS) if metrics is None else ([str(parse(spec)) for spec in metrics], [])
    return assemble([score_rows(read_rows(column), specs) for column in COLUMNS], absent)


def split_usable(specs: Sequence[str]) -> tuple[list[str], list[str]]:
    """The specs that can be scored here, and a sentence on each that cannot; tried on a made-up reply."""
    able, absent = [], []
    for spec in specs:
        try:
            metric = parse(spec)
            score(from_lists(["Two of them, yes."], [["Is the green one in stock?"]]), metric)
            able.append(str(metric))
        except RejoinderError as error:
            absent.append(f"Not measured: {spec} ({error}).")
    return able, absent


def assemble(
    scored: Sequence[ScoredColumn], absent: Sequence[str] = (), plan: BootstrapPlan = DEFAULT_PLAN
) -> Reproduction:
    """The figures and notes of columns that have been scored."""
    signatures = scored[0].metrics
    pearson, within = replace(plan, method="pearson"), replace(plan, at="within_system")
    found = {one.rows.column.name: correlate(one, plan) for one in scored}
    figures: list[Figure] = [*pooled_figures(found, signatures, plan), *spread_figures(found, list(signatures), plan)]
    inside = {one.rows.column.name: correlate(one, within) for one in scored if one.has_systems}
    for row in (AUTHORS_ROW, *signatures):
        figures += row_figures(WITHIN, row, inside, signatures.get(row, "the authors' scores of one run"))
    figures += pooled_figures({one.rows.column.name: correlate(one, pearson) for one in scored}, signatures, pearson)
    notes = [*list_notes(scored, plan.n_resamples), *list_verdicts(figures), *absent]
    return Reproduction("relevance", "Relevance on six rated sets", figures, notes)
