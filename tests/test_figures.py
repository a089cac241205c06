"""The docs quote what docs/results has: every marked figure, and where the others come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.figures import filled
from tools.quotes import ROOT, documents, read_sources
from tools.unmarked import list_unmarked

PAGES = documents()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_quoted_figure_is_that_of_the_results(page: Path) -> None:
    text = page.read_text("utf-8")
    assert filled(text) == text, f"{page.name} quotes a figure that docs/results does not have: run make figures"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_number_that_looks_measured_is_marked_or_says_where_it_comes_from(page: Path) -> None:
    wrong = [f"{one.file}:{one.line}: {one.number}" for one in list_unmarked(page) if not one.has_source]
    assert not wrong, "mark them (tools/quotes.py), or name the command, the paper or the lack of both:\n" + "\n".join(
        wrong
    )


def test_most_pages_with_results_have_marks() -> None:
    marked = {page.name for page in PAGES if read_sources(page.read_text("utf-8"))}
    assert {"guide.md", "scale.md", "ssrem.md", "ranking.md", "augmenting.md", "meteor.md"} <= marked


def test_no_mark_reaches_a_reader() -> None:
    pytest.importorskip("markdown_it", reason="the site needs rejoinder[docs]")
    from tools.docsite.markdown import render
    from tools.docsite.page import Page

    text = (ROOT / "docs" / "guide.md").read_text("utf-8")
    html = render(Page("docs/guide.md", "guide.html", text), str, lambda _: None).html
    assert "<!--" not in html
    assert "figures of this page" not in html
