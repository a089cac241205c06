"""What the IDK paper printed of trained metrics (Berlot-Attwell and Rudzicz 2022, Tables 3, 5 and 7 to 11), as data.

Each cell is a mean over three runs and its standard deviation; prior metrics that are not trained stand in
``_relevance_published``. A row of Tables 5 and 9 is named by what it has: the training set, L1, the negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rejoinder.papers.own.relevance_published import FIVE

SPEARMAN, PEARSON = "S", "P"
TEST = tuple(f"{column} {kind}" for column in FIVE for kind in (SPEARMAN, PEARSON))
VALID = tuple(f"{column} {kind}" for column in ("HUMOD", "USR-TC") for kind in (SPEARMAN, PEARSON))


class PrintedFigure(NamedTuple):
    """A printed figure, and its deviation over runs where there is one."""

    mean: float
    deviation: float | None = None


def _parse_trained(columns: tuple[str, ...], text: str) -> dict[str, dict[str, PrintedFigure]]:
    """Rows of ``name: mean deviation mean deviation ...``."""
    found = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, cells = line.rpartition(":")
        numbers = [float(cell) for cell in cells.split()]
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        found[name] = dict(zip(columns, (PrintedFigure(*pair) for pair in pairs), strict=True))
    return found


def _parse_untrained(columns: tuple[str, ...], text: str) -> dict[str, dict[str, PrintedFigure]]:
    """Rows of ``name: value value ...``."""
    found = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, cells = line.rpartition(":")
        values = (PrintedFigure(float(cell)) for cell in cells.split())
        found[name] = dict(zip(columns, values, strict=True))
    return found


PrintedRows = Mapping[str, Mapping[str, PrintedFigure]]

# Tables 2 (the first three), 3 and 11; the last row has one run.
TABLE_11: PrintedRows = _parse_trained(
    TEST,
    """
    NUP-BERT (H): .33 .02 .37 .02 .10 .02 .22 .01 .62 .04 .54 .02 .14 .04 .21 .03 .22 .01 .30 .01
    NUP-BERT (TC-S): .29 .02 .35 .03 .17 .03 .20 .04 .58 .05 .56 .04 .05 .04 .12 .01 .16 .04 .21 .01
    NUP-BERT (TC): .30 .01 .38 .00 .16 .02 .21 .02 .62 .05 .58 .04 .06 .01 .12 .02 .18 .02 .23 .01
    IDK (H): .58 .00 .58 .00 .18 .00 .24 .00 .53 .00 .48 .01 .15 .00 .23 .00 .24 .00 .29 .00
    IDK (TC-S): .58 .00 .58 .00 .18 .00 .22 .00 .54 .01 .49 .01 .15 .00 .23 .00 .24 .00 .29 .00
    IDK-ICS (H): .55 .01 .53 .00 .25 .01 .27 .00 .44 .01 .39 .00 .16 .00 .22 .00 .22 .00 .30 .00
    IDK-ICS (TC-S): .58 .00 .47 .00 .17 .00 .27 .00 .52 .00 .36 .00 .14 .00 .16 .00 .22 .00 .24 .00
    IDK-OK (H): .58 .00 .59 .00 .15 .00 .23 .00 .49 .00 .47 .00 .11 .00 .19 .00 .19 .00 .26 .00
    IDK-OK (TC-S): .59 .00 .59 .00 .18 .00 .24 .00 .52 .00 .46 .00 .15 .00 .23 .00 .23 .00 .29 .00
    """,
) | _parse_untrained(TEST, "BERT NSP: .59 .40 .17 .25 .53 .31 .12 .10 .21 .18")

TABLE_5: PrintedRows = _parse_trained(
    TEST,
    """
    H, L1, idk: .58 .00 .58 .00 .18 .00 .24 .00 .53 .00 .48 .01 .15 .00 .23 .00 .24 .00 .29 .00
    H, idk: .42 .06 .42 .05 .24 .00 .25 .00 .29 .06 .32 .03 .14 .00 .17 .01 .21 .01 .19 .02
    H, L1, random: .61 .00 .61 .00 .12 .00 .21 .01 .55 .00 .52 .01 .09 .00 .19 .01 .17 .00 .26 .01
    H, random: .60 .00 .61 .00 .18 .00 .26 .01 .54 .00 .50 .01 .10 .02 .11 .02 .14 .02 .09 .03
    TC-S, L1, idk: .58 .00 .58 .00 .18 .00 .22 .00 .54 .01 .49 .01 .15 .00 .23 .00 .24 .00 .29 .00
    TC-S, idk: .36 .04 .34 .05 .17 .01 .11 .01 .34 .03 .32 .04 .14 .00 .15 .01 .21 .00 .17 .01
    TC-S, L1, random: .59 .01 .54 .03 .18 .04 .27 .02 .52 .03 .43 .05 .14 .01 .21 .00 .22 .01 .29 .01
    TC-S, random: .35 .07 .41 .01 .13 .10 .21 .03 .23 .10 .27 .11 .05 .06 .11 .03 .12 .12 .18 .04
    """,
)

TABLE_9: PrintedRows = _parse_trained(
    TEST,
    """
    H, L1, idk: .59 .01 .55 .02 .17 .01 .28 .01 .54 .03 .44 .02 .13 .02 .21 .01 .21 .01 .30 .00
    H, idk: .15 .05 .19 .06 .19 .01 .25 .02 .10 .04 .17 .05 .10 .02 .11 .02 .14 .02 .09 .03
    H, L1, random: .45 .24 .42 .21 .14 .04 .23 .10 .39 .21 .34 .14 .11 .02 .18 .06 .20 .02 .25 .08
    H, random: .61 .00 .60 .01 .17 .00 .23 .01 .55 .01 .53 .01 .14 .00 .20 .02 .22 .00 .27 .02
    TC-S, L1, idk: .32 .44 .25 .55 .12 .06 .10 .24 .24 .47 .21 .46 .10 .04 .10 .14 .17 .07 .14 .21
    TC-S, idk: .27 .11 .26 .10 .16 .02 .14 .03 .22 .12 .22 .09 .13 .01 .15 .01 .19 .02 .17 .02
    TC-S, L1, random: -.20 .69 -.20 .65 -.03 .17 -.05 .29 -.18 .62 -.19 .54 -.05 .18 -.07 .26 -.08 .27 -.09 .35
    TC-S, random: .18 .20 .18 .06 .04 .07 .09 .17 .10 .07 .07 .06 .02 .10 .08 .07 .00 .10 .12 .10
    """,
)

TABLE_8: PrintedRows = _parse_untrained(
    VALID,
    """
    COS-FT: .08 .08 .27 .17
    COS-MAX-BERT: .08 .05 .18 .19
    COS-NSP-BERT: .06 .09 .23 .25
    NORM-PROB: .27 .25 -.29 -.30
    FED-CORRECT: -.10 -.09 -.14 -.15
    FED-RELEVANT: -.10 -.09 -.14 -.16
    GRADE: .64 .64 .02 .00
    DYNA-EVAL: .14 .15 -.05 -.06
    """,
) | _parse_trained(
    VALID,
    """
    NUP-BERT (H): .37 .01 .38 .00 .38 .02 .39 .01
    NUP-BERT (TC-S): .32 .01 .36 .02 .38 .04 .41 .04
    NUP-BERT (TC): .33 .02 .37 .02 .45 .07 .44 .02
    """,
)

TABLE_10: PrintedRows = _parse_trained(
    VALID,
    """
    H_Rand3750_bce: .58 .00 .57 .01 .46 .00 .43 .02
    H_Rand3750: .58 .00 .58 .00 .46 .00 .45 .02
    H_IDK_L1: .56 .01 .53 .02 .45 .03 .44 .02
    H_IDK_L2: .55 .00 .55 .01 .44 .00 .44 .00
    H_Rand3750_L1: .42 .22 .40 .20 .44 .00 .45 .01
    H_Rand3750_L2: .56 .00 .55 .01 .45 .00 .44 .02
    H_Rand3750_bce_L1: .58 .00 .58 .00 .45 .00 .46 .00
    H_Rand3750_bce_L2: .57 .00 .56 .00 .45 .00 .42 .00
    H_IDK_bce_L1: .57 .00 .56 .00 .42 .01 .41 .00
    H_IDK_bce_L2: .50 .01 .51 .01 .39 .00 .42 .00
    H_IDK_bce: .39 .05 .40 .05 .36 .02 .34 .00
    H_IDK: .15 .05 .19 .06 .09 .05 .21 .05
    TC-S_IDK_L1: .29 .43 .23 .53 .39 .07 .41 .07
    TC-S_IDK_L2: .54 .01 .55 .01 .43 .01 .44 .00
    TC-S_IDK_bce_L1: .57 .00 .56 .00 .43 .00 .40 .00
    TC-S_IDK_bce_L2: .47 .02 .48 .01 .41 .00 .39 .01
    TC-S_IDK_bce: .35 .04 .33 .05 .40 .01 .31 .01
    TC-S_IDK: .25 .10 .24 .10 .34 .05 .36 .03
    TC-S_Rand3750_L1: -.19 .67 -.20 .63 -.13 .52 -.14 .50
    TC-S_Rand3750_L2: -.33 .27 -.32 .26 -.45 .02 -.43 .02
    TC-S_Rand3750_bce_L1: .56 .01 .52 .03 .44 .03 .40 .02
    TC-S_Rand3750_bce_L2: .04 .55 .09 .56 -.26 .27 -.23 .31
    TC-S_Rand3750_bce: .31 .05 .36 .03 .16 .29 .18 .26
    TC-S_Rand3750: .15 .17 .11 .02 -.14 .24 -.06 .27
    """,
)

# Table 4 where Table 11's rows are named otherwise (Appendix J; the last is printed without a name).
RATIOS = {"IDK-ICS (H)": 3.44, "IDK-ICS (TC-S)": 4.14, "IDK-OK (H)": 5.27, "IDK-OK (TC-S)": 3.93}

# Table 7: accuracy of BERT's next-sentence head with its whole feature, and with 7 of its 768 dimensions.
TABLE_7 = {"Brown": (0.857, 0.856), "Gutenberg": (0.753, 0.755), "Webtext": (0.654, 0.682)}
KEPT = 7
