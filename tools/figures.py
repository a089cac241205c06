"""Every figure that the docs quote from docs/results/: ``make figures`` writes them anew into the pages.

A page of a paper holds marks, between which tables are written:

    <!-- figures: RESULTS; TABLE; ROW | ROW; COLUMN | COLUMN -->  ...  <!-- end of figures -->
    <!-- verdicts: RESULTS -->  ...  <!-- end of verdicts -->
    <!-- paper: NAME -->  ...  <!-- end of paper -->

Single figures have marks of their own (``tools/quotes.py``). ``python -m tools.figures --unmarked`` lists numbers that
look measured and have none (``tools/unmarked.py``).
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from tools.paper_index import paper_table
from tools.quotes import ROOT, QuoteError, documents, fill_quotes
from tools.unmarked import list_unmarked

RESULTS = Path(__file__).parent.parent / "docs" / "results"
_OURS = ", ours"  # as in rejoinder_lab/papers/base.py


def filled(page: str) -> str:
    """A page with everything between its marks, and every marked figure, as docs/results/ has it today."""
    page = fill_quotes(page)
    page = re.sub(
        r"(<!-- figures: ([^;]+); ([^;]+); ([^;]+); ([^;]+?) -->\n).*?(<!-- end of figures -->)",
        lambda found: found[1] + table(found[2], found[3], found[4].split(" | "), found[5].split(" | ")) + found[6],
        page,
        flags=re.DOTALL,
    )
    page = re.sub(
        r"(<!-- paper: (\S+) -->\n).*?(<!-- end of paper -->)",
        lambda found: found[1] + paper_table(found[2]) + found[3],
        page,
        flags=re.DOTALL,
    )
    return re.sub(
        r"(<!-- verdicts: (\S+) -->\n).*?(<!-- end of verdicts -->)",
        lambda found: found[1] + verdicts(found[2]) + found[3],
        page,
        flags=re.DOTALL,
    )


def table(results: str, title: str, rows: list[str], columns: list[str]) -> str:
    """Some cells of a results file as Markdown: what was printed, what was measured and its interval."""
    cells = {
        (cell["row"], cell["column"]): cell
        for cell in json.loads((RESULTS / f"{results}.json").read_text("utf-8"))
        if cell["table"] == title
    }
    unknown = [name for name in [*rows, *columns] if not any(name in key for key in cells)]
    if unknown:
        raise KeyError(f"docs/results/{results}.json has neither row nor column {unknown[0]!r} in {title!r}")
    # A column that is empty in all rows (no figure was printed, or none could be measured) is left out.
    shown = [
        (column, kind)
        for column in columns
        for kind in ("published", "measured")
        if any(cells.get((row, column), {}).get(kind) is not None for row in rows)
    ]
    heads = [_head(column, kind, columns) for column, kind in shown]
    lines = ["| | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(shown)]
    for row in rows:
        lines += [
            f"| {row} | " + " | ".join(_cell(cells.get((row, column), {}), kind) for column, kind in shown) + " |"
        ]
    return "\n".join(["", *lines, "", ""])


def _head(column: str, kind: str, columns: list[str]) -> str:
    """A column of the authors' own figures is theirs where ours stands beside it, as on the results pages."""
    if column.endswith(_OURS):
        return f"{column.removesuffix(_OURS)}: ours"
    return f"{column}: {'theirs' if kind == 'measured' and column + _OURS in columns else kind}"


def verdicts(results: str) -> str:
    """What a results page says of each claim, without the numbers, which stand there."""
    page = (RESULTS / f"{results}.md").read_text("utf-8")
    verdict = (
        "confirmed in part|confirmed by order|confirmed|refuted by order|refuted|undecided"
        "|cannot be decided before the networks are trained to the end|cannot be decided"
    )
    found = re.findall(rf"^- (.+?): ({verdict})\b", page, re.MULTILINE)
    return "\n".join(
        ["", "| claim | measured here |", "|---|---|", *(f"| {_plain(c)} | {v} |" for c, v in found), "", ""]
    )


def _plain(claim: str) -> str:
    return claim.replace("|", "\\|")


def _cell(cell: dict[str, Any], kind: str) -> str:
    value = cell.get(kind)
    if value is None:
        return "–"
    interval = kind == "measured" and cell["low"] is not None
    return f"{value:.2f} [{cell['low']:.2f}, {cell['high']:.2f}]" if interval else f"{value:.2f}"


def main() -> int:
    """Write the figures, or list the numbers without marks."""
    return _print_unmarked() if "--unmarked" in sys.argv[1:] else write_figures()


def write_figures() -> int:
    """Write every page that quotes a figure; 1 if a source is gone, which is named, and whose page stays as it is."""
    wrong = 0
    for path in documents():
        page = path.read_text("utf-8")
        try:
            if (new := filled(page)) != page:
                path.write_text(new, "utf-8")
                print(f"{path.relative_to(ROOT)}: written")
        except (QuoteError, KeyError) as error:
            wrong += 1
            print(f"{path.relative_to(ROOT)}: {error}", file=sys.stderr)
    return 1 if wrong else 0


def _print_unmarked() -> int:
    found = [one for path in documents() for one in list_unmarked(path)]
    for one in found:
        print(f"{one.file}:{one.line}: {one.number}{'' if one.has_source else ' (nothing says where it comes from)'}")
    print(f"{len(found)} numbers without a mark, {sum(not one.has_source for one in found)} of them without a source")
    return 0


if __name__ == "__main__":
    sys.exit(main())
