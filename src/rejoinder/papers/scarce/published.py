"""What SCARCE (Gangal et al. 2021) prints: Tables 1, 2 and 4 and Appendix A."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

# Our columns, and the paper's beside them; OURS stands for SCARCE.
SINGLE, PARAPHRASE_SINGLE, OURS_SINGLE = "SINGLE", "PARAPHRASE-SINGLE", "OURS-SINGLE"
MULTI, PARAPHRASE_MULTI, OURS_MULTI = "MULTI", "PARAPHRASE-MULTI", "OURS-MULTI"
COLUMNS = (SINGLE, PARAPHRASE_SINGLE, OURS_SINGLE, MULTI, PARAPHRASE_MULTI, OURS_MULTI)
COSINE = "sentence cosine (there Skip-Thought)"


class Cell(NamedTuple):
    """One cell of Tables 1 and 4: Spearman's rho and its p from Table 4, Kendall's tau from Table 1."""

    spearman: float
    p: float
    kendall: float


def _parse_row(spearman: str, p: str, kendall: str) -> dict[str, Cell]:
    numbers = zip(*([float(number) for number in part.split()] for part in (spearman, p, kendall)), strict=True)
    return {column: Cell(*cell) for column, cell in zip(COLUMNS, numbers, strict=True)}


TABLE_1_AND_4: Mapping[str, Mapping[str, Cell]] = {
    "BLEU-4": _parse_row(".093 .135 .302 .281 .269 .357", ".04 0 0 0 0 0", ".07 .09 .21 .20 .19 .25"),
    "BLEU-3": _parse_row(".055 .105 .291 .243 .238 .345", ".22 .02 0 0 0 0", ".04 .07 .20 .17 .17 .24"),
    "BLEU-2": _parse_row(".040 .082 .275 .203 .206 .327", ".37 .07 0 0 0 0", ".03 .06 .19 .14 .14 .23"),
    "BLEU-1": _parse_row(".024 .062 .250 .191 .178 .295", ".59 .17 0 0 0 0", ".02 .04 .17 .13 .12 .21"),
    "ROUGE-L": _parse_row(".071 .088 .259 .197 .196 .317", ".11 .05 0 0 0 0", ".05 .06 .18 .14 .14 .22"),
    "METEOR": _parse_row(".106 .094 .243 .227 .217 .299", ".02 .04 0 0 0 0", ".07 .06 .17 .16 .15 .21"),
    "embedding average": _parse_row(
        ".030 .015 .025 .099 .096 .079", ".50 .73 .58 .03 .03 .08", ".02 .01 .02 .07 .07 .05"
    ),
    COSINE: _parse_row("-.003 -.033 .087 .065 .053 .129", ".95 .46 .05 .15 .24 0", "0 -.02 .07 .05 .04 .10"),
    "BERT precision": _parse_row(".270 .279 .378 .319 .322 .407", "0 0 0 0 0 0", ".19 .19 .26 .22 .22 .28"),
    "BERT recall": _parse_row(".096 .094 .240 .232 .212 .304", ".03 .04 0 0 0 0", ".06 .06 .16 .16 .15 .21"),
}

# The rows of Table 2, with Spearman's rho of BLEU-4 and of BERT precision.
WHOLE, SENSE, MATCHED_SENSE = "ours", "common sense only", "common sense only, from knowledge files by matching"
RETRIEVAL_ONLY, FIVE_PER_CENT = "retrieval only", "retrieval only, 5% of the corpus"
NOT_ADAPTED = "without context adaptation"
AS_RELEASED, NOT_WIDE = "retrieval only, 5 and 5 by BM25 as released", "without the wide search"
TABLE_2: Mapping[str, tuple[float, float] | None] = {
    WHOLE: (0.30, 0.38),
    SENSE: (0.24, 0.31),
    MATCHED_SENSE: None,
    RETRIEVAL_ONLY: (0.29, 0.36),
    AS_RELEASED: None,
    FIVE_PER_CENT: (0.17, 0.28),
    NOT_ADAPTED: (0.26, 0.37),
    NOT_WIDE: None,
}

# Appendix A.3: self-BLEU-4 of four references drawn at random; A.2: reference quality by RUBER's unreferenced part.
SELF_BLEU = {"ours": 0.134, "paraphrase": 0.36}
QUALITY = {"single": 0.72, "multi": 0.72, "retrieval": 0.63, "common sense": 0.82}
