"""What the figures of ``reproduce scarce`` show for BLEU-4, as sentences."""

from __future__ import annotations

from collections.abc import Sequence

from rejoinder_lab.papers.base import Figure
from rejoinder_lab.papers.loader import load_notes
from rejoinder_lab.papers.scarce import tables
from rejoinder_lab.papers.scarce.measures import CASES
from rejoinder_lab.papers.scarce.sets import (
    MULTI,
    NOT_ADAPTED,
    OURS_MULTI,
    OURS_SINGLE,
    PARAPHRASE_MULTI,
    PARAPHRASE_SINGLE,
    RELEASED_SINGLE,
    SINGLE,
    WHOLE,
)

PARAPHRASE = "paraphrase"  # a row of Appendix A
_NOTES = load_notes("scarce")


def list_part_findings(figures: Sequence[Figure]) -> list[str]:
    """What the figures show for paraphrases and for adaptation, by BLEU-4, as far as they were computed."""
    cells = {(figure.table, figure.row, figure.column): figure for figure in figures}
    first, second = (f"Table {n}: {tables.SPEARMAN}, {CASES[0]}" for n in (1, 2))
    row = "BLEU-4"

    def gain(title: str, way: str = tables.SPEARMAN) -> str:
        return _describe_gain(cells[title, row, f"{way}, {CASES[0]}"])

    found = []
    if (first, row, PARAPHRASE_SINGLE) in cells:
        columns = {
            "one": SINGLE,
            "other": PARAPHRASE_SINGLE,
            "ours": OURS_SINGLE,
            "many": MULTI,
            "more": PARAPHRASE_MULTI,
        }
        values = {name: cells[first, row, column].measured for name, column in columns.items()}
        alike = {
            f"alike_{n}": cells[tables.DIVERSITY, PARAPHRASE, at].measured for n, at in enumerate(tables.SELF_BLEUS)
        }
        raised = gain(tables.gain_title(PARAPHRASE_SINGLE, SINGLE))
        found.append(_NOTES.text("paraphrases", row=row, gain=raised, **values, **alike))
    if (second, NOT_ADAPTED, row) in cells:
        values = {name: cells[second, part, row].measured for name, part in (("ours", WHOLE), ("without", NOT_ADAPTED))}
        gains = {"gain": gain(tables.ADAPTATION_GAIN), "within": gain(tables.ADAPTATION_GAIN, tables.WITHIN)}
        found.append(_NOTES.text("adapted", row=row, **gains, **values))
    return found


def _describe_gain(one: Figure) -> str:
    if one.low is None or one.high is None or one.low != one.low:
        return f"{one.measured:.3f}, without an interval"
    side = "excludes" if one.low > 0 or one.high < 0 else "includes"
    return f"{one.measured:.3f} [{one.low:.3f}, {one.high:.3f}], which {side} zero"


def list_scarce_findings(figures: Sequence[Figure]) -> list[str]:
    """What the figures show for BLEU-4."""
    by_cell = {(figure.table, figure.row, figure.column): figure for figure in figures}
    row = "BLEU-4"

    def rho(way: str, case: str, column: str) -> float:
        return by_cell[f"Table 1: {way}, {case}", row, column].measured

    def gain(case: str, way: str) -> str:
        return _describe_gain(by_cell[tables.gain_title(OURS_SINGLE, SINGLE), row, f"{way}, {case}"])

    columns = {"one": SINGLE, "ours": OURS_SINGLE, "theirs": RELEASED_SINGLE, "many": MULTI, "both": OURS_MULTI}
    return _NOTES.paragraphs(
        "findings",
        row=row,
        **columns,
        **{f"rho_{name}": rho(tables.SPEARMAN, CASES[0], column) for name, column in columns.items()},
        **{f"lower_{name}": rho(tables.SPEARMAN, CASES[1], column) for name, column in columns.items()},
        **{f"within_{name}": rho(tables.WITHIN, CASES[0], column) for name, column in columns.items()},
        **{f"within_lower_{name}": rho(tables.WITHIN, CASES[1], column) for name, column in columns.items()},
        gain=gain(CASES[0], tables.WITHIN),
        lower_gain=gain(CASES[1], tables.WITHIN),
    )
