"""What is published on the relevance rows, as data, and what was asked of aptness before it was measured.

IDK (Berlot-Attwell and Rudzicz 2022): Table 2 has the prior metrics, Table 3 IDK, Table 4 the ratios of best to worst
Spearman, Table 11 the pretrained BERT NSP. SCARCE (Gangal et al. 2021): the best of Table 1, from the authors' log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

FIVE = ("HUMOD", "USR-TC", "P-DD", "FED-cor", "FED-rel")
GUPTA = "Gupta 500"
SIX = (*FIVE, GUPTA)
Five: TypeAlias = tuple[float, float, float, float, float]


@dataclass(frozen=True)
class PublishedRow:
    """One published row; ``ratio`` is the domain sensitivity as printed (None where none or an infinite one is)."""

    source: str
    spearman: Mapping[str, float]
    pearson: Mapping[str, float]
    ratio: float | None = None


def _make_row(source: str, spearman: Five, pearson: Five, ratio: float | None) -> PublishedRow:
    return PublishedRow(source, dict(zip(FIVE, spearman, strict=True)), dict(zip(FIVE, pearson, strict=True)), ratio)


_PRIOR, _OWN, _NSP = "IDK, Table 2", "IDK, Table 3", "IDK, Table 11"
PUBLISHED = {
    "COS-FT": _make_row(_PRIOR, (0.09, 0.26, -0.02, 0.08, 0.11), (0.10, 0.24, -0.04, 0.04, 0.07), -13.0),
    "COS-MAX-BERT": _make_row(_PRIOR, (0.13, 0.20, 0.03, 0.03, 0.06), (0.10, 0.14, 0.02, 0.01, 0.04), 6.7),
    "COS-NSP-BERT": _make_row(_PRIOR, (0.08, 0.08, 0.30, -0.03, -0.04), (0.06, 0.09, 0.23, -0.01, -0.02), -7.5),
    "NORM-PROB": _make_row(_PRIOR, (0.19, -0.24, 0.65, 0.05, 0.07), (0.16, -0.26, 0.59, 0.06, 0.07), -2.7),
    "FED-CORRECT": _make_row(_PRIOR, (-0.06, -0.08, -0.25, 0.17, 0.15), (-0.04, -0.12, -0.26, 0.17, 0.15), -0.7),
    "FED-RELEVANT": _make_row(_PRIOR, (-0.06, -0.08, -0.26, 0.17, 0.15), (-0.05, -0.12, -0.27, 0.17, 0.15), -0.7),
    "GRADE": _make_row(_PRIOR, (0.61, 0.00, 0.70, 0.12, 0.15), (0.61, 0.03, 0.68, 0.12, 0.15), None),
    "DYNA-EVAL": _make_row(_PRIOR, (0.09, 0.10, 0.00, 0.26, 0.32), (0.10, 0.10, -0.02, 0.27, 0.31), None),
    "NUP-BERT (H)": _make_row(_PRIOR, (0.33, 0.10, 0.62, 0.14, 0.22), (0.37, 0.22, 0.54, 0.21, 0.30), 6.2),
    "NUP-BERT (TC-S)": _make_row(_PRIOR, (0.29, 0.17, 0.58, 0.05, 0.16), (0.35, 0.20, 0.56, 0.12, 0.21), 11.6),
    "NUP-BERT (TC)": _make_row(_PRIOR, (0.30, 0.16, 0.62, 0.06, 0.18), (0.38, 0.21, 0.58, 0.12, 0.23), 10.3),
    "BERT NSP": _make_row(_NSP, (0.59, 0.17, 0.53, 0.12, 0.21), (0.40, 0.25, 0.31, 0.10, 0.18), None),
    "IDK (H)": _make_row(_OWN, (0.58, 0.18, 0.53, 0.15, 0.24), (0.58, 0.24, 0.48, 0.23, 0.29), 3.9),
    "IDK (TC-S)": _make_row(_OWN, (0.58, 0.18, 0.54, 0.15, 0.24), (0.58, 0.22, 0.49, 0.23, 0.29), 3.9),
    "SCARCE-MULTI, BERT precision": PublishedRow("SCARCE, Table 1", {GUPTA: 0.4070}, {GUPTA: 0.3968}),
}
# A metric of ours that is one of those: its row shows their figures beside its own.
SAME = {
    "norm_prob": "NORM-PROB",
    "nsp": "BERT NSP",
    "nup": "NUP-BERT (H)",
    "idk": "IDK (H)",
    "grade": "GRADE",
    "dynaeval": "DYNA-EVAL",
}
# Spearman that aptness was asked to reach, set before it was trained.
FLOORS = dict(zip(SIX, (0.62, 0.28, 0.70, 0.25, 0.31, 0.59), strict=True))
MACRO_FLOOR, WORST_FLOOR = 0.45, 0.25
