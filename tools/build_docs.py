"""Writes the parts of the docs that are read off registries and results; ``make docs`` runs it."""

from __future__ import annotations

import re
from pathlib import Path

from rejoinder.reports.listing import metric_table
from rejoinder.table import Table, to_markdown
from tools import layers
from tools.figures import filled

DOCS = Path(__file__).parent.parent / "docs"
TABLES = {"metrics.md": metric_table}


def between_marks(page: str, table: Table) -> str:
    """A page with the table between its two marks."""
    marked = re.compile(r"(<!-- table: made by make docs -->\n).*?(<!-- end of table -->)", re.DOTALL)
    return marked.sub(lambda found: found[1] + to_markdown(table) + found[2], page)


def main() -> None:
    """Rewrite every page that has a table or figures, and the picture of the layers."""
    for name, table in TABLES.items():
        path = DOCS / name
        path.write_text(between_marks(path.read_text(encoding="utf-8"), table()), encoding="utf-8")
    for path in sorted((DOCS / "papers").glob("*.md")):
        path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
    layers.main()


if __name__ == "__main__":
    main()
