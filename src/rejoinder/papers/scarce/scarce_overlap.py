"""SCARCE (Gangal et al. 2021), Table 1: overlap metrics against ratings under four sets of references.

The published figures are those of the authors' result logs (the paper prints two decimals of them), for Gupta's 500
rated replies. The authors left case as it is: replies are lower-case, retrieved references are not. The lower-cased
variant shows what that does.
"""

from __future__ import annotations

from collections.abc import Sequence

from rejoinder.papers.base import Figure, Reproduction
from rejoinder.papers.scarce.items import INTERVALS, METHODS, SETS, reference_set_figures

SUMMARY = "SCARCE, Table 1: BLEU-1 to 4, ROUGE-L and METEOR on four reference sets, as published and lower-cased"
_CASES = ("case as published", "lower-cased")
_AS_IS = "tokenizer='whitespace', lowercase={lower}"
SPECS = {
    **{f"BLEU-{n}": f"bleu(n={n}, smoothing='epsilon', {_AS_IS})" for n in (1, 2, 3, 4)},
    "ROUGE-L": f"rouge_l(aggregate='coco', {_AS_IS})",
    "METEOR": "meteor",
}
# Row and set -> Spearman, Pearson, Kendall, to four decimals.
PUBLISHED = {
    ("BLEU-1", "SINGLE"): (0.0238, 0.1183, 0.0183),
    ("BLEU-2", "SINGLE"): (0.0404, 0.1950, 0.0293),
    ("BLEU-3", "SINGLE"): (0.0554, 0.1473, 0.0404),
    ("BLEU-4", "SINGLE"): (0.0928, 0.0896, 0.0666),
    ("ROUGE-L", "SINGLE"): (0.0715, 0.1408, 0.0546),
    ("METEOR", "SINGLE"): (0.1064, 0.1871, 0.0745),
    ("BLEU-1", "MULTI"): (0.1909, 0.1790, 0.1340),
    ("BLEU-2", "MULTI"): (0.2033, 0.2248, 0.1418),
    ("BLEU-3", "MULTI"): (0.2428, 0.1908, 0.1715),
    ("BLEU-4", "MULTI"): (0.2806, 0.1468, 0.1971),
    ("ROUGE-L", "MULTI"): (0.1966, 0.2182, 0.1381),
    ("METEOR", "MULTI"): (0.2271, 0.2585, 0.1566),
    ("BLEU-1", "SCARCE-SINGLE"): (0.2499, 0.2261, 0.1738),
    ("BLEU-2", "SCARCE-SINGLE"): (0.2754, 0.2585, 0.1925),
    ("BLEU-3", "SCARCE-SINGLE"): (0.2910, 0.2492, 0.2044),
    ("BLEU-4", "SCARCE-SINGLE"): (0.3021, 0.1110, 0.2124),
    ("ROUGE-L", "SCARCE-SINGLE"): (0.2586, 0.2556, 0.1843),
    ("METEOR", "SCARCE-SINGLE"): (0.2433, 0.2663, 0.1681),
    ("BLEU-1", "SCARCE-MULTI"): (0.2948, 0.2693, 0.2051),
    ("BLEU-2", "SCARCE-MULTI"): (0.3272, 0.2913, 0.2277),
    ("BLEU-3", "SCARCE-MULTI"): (0.3453, 0.2691, 0.2424),
    ("BLEU-4", "SCARCE-MULTI"): (0.3575, 0.1619, 0.2512),
    ("ROUGE-L", "SCARCE-MULTI"): (0.3171, 0.2999, 0.2234),
    ("METEOR", "SCARCE-MULTI"): (0.2994, 0.2994, 0.2075),
}


def reproduce() -> Reproduction:
    """Score the 500 replies under each reference set and correlate with the ratings."""
    figures = []
    for lower in (False, True):
        for column, name in SETS.items():
            rows = {row: spec.format(lower=lower) for row, spec in SPECS.items() if row != "METEOR" or not lower}
            published = {} if lower else {row: PUBLISHED[row, column] for row in rows}
            figures += reference_set_figures(column, name, rows, published, _CASES[lower])
    order = [f"{method}, {case}" for case in _CASES for method in METHODS]
    figures.sort(key=lambda figure: order.index(figure.table))
    notes = [
        INTERVALS,
        _distance(figures, "BLEU"),
        _distance(figures, "ROUGE-L"),
        _distance(figures, "METEOR"),
        "METEOR lower-cases by its own definition, so it has no lower-cased variant; why it differs from the published "
        "figures is told in docs/meteor.md.",
        _case(figures),
    ]
    return Reproduction("scarce-overlap", "SCARCE, Table 1: overlap metrics", figures, notes)


def _distance(figures: Sequence[Figure], row: str) -> str:
    """How far the measured figures of some rows are from the published ones, at most."""
    off = [(abs(f.measured - f.published), f) for f in figures if f.published is not None and f.row.startswith(row)]
    largest, where = max(off, key=lambda pair: pair[0])
    spearman = max(distance for distance, f in off if f.table.startswith("spearman"))
    return (
        f"{row}: at most {largest:.4f} from the published figure ({where.table.partition(',')[0]}, {where.column}), "
        f"at most {spearman:.4f} in Spearman."
    )


def _case(figures: Sequence[Figure]) -> str:
    """What lower-casing does to the gain that SCARCE reports."""
    value = {(f.table, f.row, f.column): f.measured for f in figures}
    shown, lower = (f"spearman, {case}" for case in _CASES)
    row, one, many = "BLEU-4", "SINGLE", "SCARCE-SINGLE"
    return (
        f"Case: {row} on {many} falls from {value[shown, row, many]:.3f} to {value[lower, row, many]:.3f} when "
        f"everything is lower-cased (on {one} from {value[shown, row, one]:.3f} to {value[lower, row, one]:.3f}): "
        "part of the published gain is that retrieved references keep their capitals and replies do not."
    )
