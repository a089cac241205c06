"""Writes the parts of the docs that are read off registries and results; ``make docs`` runs it."""

from __future__ import annotations

import re
from pathlib import Path

from rejoinder.reports.listing import metric_table
from rejoinder.table import Table, to_markdown
from tools import layers, licences
from tools.figures import write_figures
from tools.languages import language_table

DOCS = Path(__file__).parent.parent / "docs"
# Page and mark: the table between the two marks of that name.
TABLES = {
    ("metrics.md", "table"): metric_table,
    ("languages.md", "languages"): language_table,
    ("licences.md", "libraries"): licences.library_table,
    ("licences.md", "models"): licences.model_table,
}


def between_marks(page: str, mark: str, table: Table) -> str:
    """A page with the table between its two marks."""
    marked = re.compile(rf"(<!-- {mark}: made by make docs -->\n).*?(<!-- end of {mark} -->)", re.DOTALL)
    return marked.sub(lambda found: found[1] + to_markdown(table) + found[2], page)


def main() -> None:
    """Rewrite every page that has a table or figures, and the picture of the layers."""
    for (name, mark), table in TABLES.items():
        path = DOCS / name
        path.write_text(between_marks(path.read_text(encoding="utf-8"), mark, table()), encoding="utf-8")
    layers.main()
    if write_figures():
        raise SystemExit(1)


if __name__ == "__main__":
    main()
