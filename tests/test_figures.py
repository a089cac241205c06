"""The docs quote what docs/results has: every marked figure, and where the others come from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.figures import filled
from tools.quotes import ROOT, Quote, QuoteError, documents, fill_quotes, read_quote, read_sources, write_like
from tools.unmarked import list_unmarked

PAGES = documents()
SOURCES = "<!-- figures of this page\n1 = {}\n-->\n"
KAPPA = "chosen > Table 1: Fleiss' kappa of the released scores > six classes > kappa"


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


def test_another_figure_is_noticed_and_rewritten() -> None:
    page = f"Kappa is .5<!--1--> here.\n\n{SOURCES.format(KAPPA)}"
    assert fill_quotes(page) == page.replace(".5<", ".2<")


def test_an_interval_comes_with_its_figure() -> None:
    filled_page = fill_quotes(f"It is .500 [.400, .600]<!--1-->.\n\n{SOURCES.format(KAPPA)}")
    assert re.search(r"It is \.\d{3} \[\.\d{3}, \.\d{3}\]<!--1-->", filled_page)
    assert ".400" not in filled_page


@pytest.mark.parametrize(
    ("old", "value", "new"),
    [
        (".26", 0.4649, ".46"),
        ("0.26", 0.4649, "0.46"),
        (".075", 0.0745, ".075"),
        ("1.00", 0.984, ".98"),
        ("29", 30.5, "31"),
        ("980", 1942.2, "1,942"),
        ("+.012", -0.0032, "-.003"),
        ("-.01", -0.0001, ".00"),
        ("−.01", -0.25, "−.25"),
    ],
)
def test_a_figure_keeps_the_form_in_which_it_was_typed(old: str, value: float, new: str) -> None:
    assert write_like(old, value, bare=not old.startswith("0")) == new


def test_sources_can_be_combined() -> None:
    published = read_quote(f"{KAPPA} > published").value
    assert read_quote(f"{KAPPA} > published -- {KAPPA}").value == pytest.approx(published - read_quote(KAPPA).value)
    assert read_quote(f"{KAPPA} > published * 100").value == pytest.approx(100 * published)
    assert read_quote(f"2 // {KAPPA} > published ++ 1").value == pytest.approx(2 / published + 1)
    assert read_quote("smallest of trust-coverage > unit=items > covered") < read_quote(
        "largest of trust-coverage > unit=items > covered"
    )
    assert isinstance(read_quote("gate > noise > conversations=80 > no_drop > pass"), Quote)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nowhere > x", "has no nowhere.json"),
        ("chosen > no such table > x", "has 0 figures"),
        ("trust-coverage > covered", "has 10 figures"),
    ],
)
def test_a_source_that_is_gone_is_named(source: str, said: str) -> None:
    with pytest.raises(QuoteError, match=said):
        fill_quotes(f".5<!--1-->\n\n{SOURCES.format(source)}")


def test_a_mark_needs_a_source_and_a_number() -> None:
    with pytest.raises(QuoteError, match="but not both"):
        fill_quotes(".5<!--1--> and .6<!--2-->\n\n" + SOURCES.format(KAPPA))
    with pytest.raises(QuoteError, match="does not follow a number"):
        fill_quotes("half<!--1-->\n\n" + SOURCES.format(KAPPA))


def test_a_number_without_mark_or_source_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.unmarked.ROOT", tmp_path)
    page = tmp_path / "x.md"
    page.write_text(
        "# X\n\nSpearman is .41, with .52<!--1--> before; `code .3`.\n\n## Y\n\n`make bench`: accuracy .7\n"
    )
    assert [(one.line, one.number, one.has_source) for one in list_unmarked(page)] == [
        (3, ".41", False),
        (7, ".7", True),
    ]


def test_no_mark_reaches_a_reader() -> None:
    pytest.importorskip("markdown_it", reason="the site needs rejoinder[docs]")
    from tools.docsite.markdown import render
    from tools.docsite.page import Page

    text = (ROOT / "docs" / "guide.md").read_text("utf-8")
    html = render(Page("docs/guide.md", "guide.html", text), str, lambda _: None).html
    assert "<!--" not in html
    assert "figures of this page" not in html
