"""SCARCE (Gangal et al. 2021), Table 1: overlap metrics against ratings under four sets of references.

The published figures are those of the authors' result logs (the paper prints two decimals of them), for Gupta's 500
rated replies. The authors left case as it is: replies are lower-case, retrieved references are not. The lower-cased
variant shows what that does.
"""

from __future__ import annotations

from collections.abc import Sequence

from rejoinder_lab.papers.base import Figure, Reproduction
from rejoinder_lab.papers.loader import load_notes, load_published
from rejoinder_lab.papers.scarce.measures import CASES, METHODS, SETS, WITHIN_TABLE, reference_set_figures
from rejoinder_lab.papers.scarce.released import describe_released, read_released

SUMMARY = "SCARCE, Table 1: BLEU-1 to 4, ROUGE-L and METEOR on four reference sets, as published and lower-cased"
_NOTES = load_notes("scarce")
_AS_IS = "tokenizer='whitespace', lowercase={lower}"
SPECS = {
    **{f"BLEU-{n}": f"bleu(n={n}, smoothing='epsilon', {_AS_IS})" for n in (1, 2, 3, 4)},
    "ROUGE-L": f"rouge_l(aggregate='coco', {_AS_IS})",
    "METEOR": "meteor",
}


def reproduce() -> Reproduction:
    """Score the 500 replies under each reference set and correlate with the ratings."""
    figures = []
    for lower in (False, True):
        for column, name in SETS.items():
            rows = {row: spec.format(lower=lower) for row, spec in SPECS.items() if row != "METEOR" or not lower}
            published = {} if lower else load_published("scarce")["Table 1, result logs"]
            figures += reference_set_figures(column, name, rows, published, CASES[lower], within=True)
    order = [f"{method}, {case}" for case in CASES for method in (*METHODS, WITHIN_TABLE)]
    figures.sort(key=lambda figure: order.index(figure.table))
    notes = [
        _NOTES.text("intervals"),
        _describe_distance(figures, "BLEU"),
        _describe_distance(figures, "ROUGE-L"),
        _describe_distance(figures, "METEOR"),
        _NOTES.text("METEOR"),
        _describe_case_effect(figures),
        _describe_lists(figures),
    ]
    return Reproduction("scarce-overlap", "SCARCE, Table 1: overlap metrics", figures, notes)


def _describe_distance(figures: Sequence[Figure], row: str) -> str:
    """The largest distance of the measured figures of some rows from the published ones."""
    off = [(abs(f.measured - f.published), f) for f in figures if f.published is not None and f.row.startswith(row)]
    largest, where = max(off, key=lambda pair: pair[0])
    spearman = max(distance for distance, f in off if f.table.startswith("spearman"))
    method = where.table.partition(",")[0]
    return _NOTES.text("distance", row=row, largest=largest, method=method, column=where.column, spearman=spearman)


def _describe_case_effect(figures: Sequence[Figure]) -> str:
    """The effect of lower-casing on the gain that SCARCE reports."""
    value = {(f.table, f.row, f.column): f.measured for f in figures}
    as_published, lower = (f"spearman, {case}" for case in CASES)
    row, one, many = "BLEU-4", "SINGLE", "SCARCE-SINGLE"
    return _NOTES.text(
        "case",
        row=row,
        many=many,
        many_shown=value[as_published, row, many],
        many_lower=value[lower, row, many],
        one=one,
        one_shown=value[as_published, row, one],
        one_lower=value[lower, row, one],
    )


def _describe_lists(figures: Sequence[Figure]) -> str:
    """What the authors' lists hold, and what they are worth where the system does not help."""
    value = {(f.table, f.row, f.column): f.measured for f in figures}
    row, many = "BLEU-4", "SCARCE-SINGLE"
    within, lower = (value[f"{WITHIN_TABLE}, {case}", row, many] for case in CASES)
    counts = describe_released(list(read_released().values()))
    return _NOTES.text("released", counts=counts, row=row, many=many, within=within, lower=lower)
