"""The pages of docs/results: each is what its figures give, and what needs no model is measured again."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from rejoinder_lab.papers import load_reproduction, reproduction_names
from rejoinder_lab.papers.base import OURS, Figure, Reproduction, reproduction_tables, write_reproduction
from rejoinder_lab.papers.sugar import measures, statistics
from rejoinder_lab.papers.sugar.earlier import list_earlier
from rejoinder_lab.papers.sugar.rankers import TFIDF

from rejoinder.selection.ranking.evaluation import ranker_standings
from rejoinder.selection.ranking.result import NDCG, PRECISION
from rejoinder.table import to_markdown
from tools.paper_index import find_cells, find_example, judge_cell, paper_table, read_inventory

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
PAPERS = ("scarce", "ssrem", "sugar", "idk", "chosen")


def figures_of(name: str) -> list[Figure]:
    rows: list[dict[str, Any]] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return [Figure(**{**row, "measured": float("nan") if row["measured"] is None else row["measured"]}) for row in rows]


NUMBER = re.compile(r"-?\d+\.\d+")


def lines_by_title(page: str) -> dict[str, list[str]]:
    """The lines of each table on a page."""
    blocks = [block.splitlines() for block in ("\n" + page).split("\n### ")[1:]]
    return {block[0]: [line for line in block if line.startswith("|")] for block in blocks}


def is_same(line: str, other: str) -> bool:
    """Whether lines differ at most in the last of four decimals: figures are stored with six."""
    numbers = zip(NUMBER.findall(line), NUMBER.findall(other), strict=False)
    return NUMBER.sub("#", line) == NUMBER.sub("#", other) and all(
        float(one) == pytest.approx(float(two), abs=1.01e-4) for one, two in numbers
    )


# Pages


@pytest.mark.parametrize("name", reproduction_names())
def test_a_page_shows_the_tables_of_its_figures(name: str) -> None:
    page = lines_by_title((RESULTS / f"{name}.md").read_text(encoding="utf-8"))
    tables = reproduction_tables(Reproduction(name, "", figures_of(name)))
    rebuilt = lines_by_title("\n".join(map(to_markdown, tables)))
    assert list(page) == list(rebuilt)
    for title, lines in rebuilt.items():
        assert len(lines) == len(page[title])
        assert all(map(is_same, lines, page[title])), f"{title}: run rejoinder reproduce {name}"


@pytest.mark.parametrize("name", ["scarce-overlap", "distributions"])
def test_a_page_without_models_is_rebuilt_byte_for_byte(name: str, published: Path, tmp_path: Path) -> None:
    for path in write_reproduction(load_reproduction(name).reproduce(), tmp_path):
        assert path.read_bytes() == (RESULTS / path.name).read_bytes(), f"run rejoinder reproduce {name}"


def test_the_counts_of_sugar_are_rebuilt(published: Path) -> None:
    counts = statistics.list_count_figures(statistics.read_sugar_examples())
    tables = {figure.table for figure in counts}
    known = {(f.table, f.row, f.column): f.measured for f in figures_of("sugar") if f.table in tables}
    assert {(f.table, f.row, f.column): round(f.measured, 6) for f in counts} == known


def test_tf_idf_on_sugar_is_rebuilt(published: Path) -> None:
    known = {(f.row, f.column): f for f in figures_of("sugar") if f.table == "Table 4: five folds"}
    (standing,) = ranker_standings(measures._rank_all("u+S", "test").evaluated())
    for measure in (PRECISION, NDCG):
        figure = known[f"{TFIDF}, ties shared, u+S", measure]
        assert [round(v, 6) for v in standing.measures[measure].estimate] == [figure.measured, figure.low, figure.high]


def test_what_was_measured_earlier_is_on_the_page_as_it_was() -> None:
    known = {(f.table, f.row, f.column): f for f in figures_of("sugar")}
    kept = [f for f in list_earlier() if known[f.table, f.row, f.column].note]
    assert kept, "until the rankers are trained again"
    for figure in kept:
        assert known[figure.table, figure.row, figure.column] == figure


# The index of tables and figures


def test_the_index_lists_every_table_and_figure_of_the_papers() -> None:
    inventory = read_inventory()
    assert tuple(inventory) == PAPERS
    counts = {"scarce": (6, 1), "ssrem": (5, 5), "sugar": (5, 6), "idk": (11, 7), "chosen": (10, 2)}
    for paper, (tables, figures) in counts.items():
        names = " ".join(entry["name"] for entry in inventory[paper])
        names = re.sub(r"(Table|Figure)s (\d+) (?:and|to) (\d+)", spelled_out, names)
        assert {int(n) for n in re.findall(r"Table (\d+)", names)} == set(range(1, tables + 1)), paper
        assert {int(n) for n in re.findall(r"Figure (\d+)", names)} == set(range(1, figures + 1)), paper


def spelled_out(numbers: re.Match[str]) -> str:
    return " ".join(f"{numbers[1]} {n}" for n in range(int(numbers[2]), int(numbers[3]) + 1))


def test_a_figure_is_better_only_in_a_column_that_says_what_is() -> None:
    cell = {"column": "Precision@1", "published": 0.5, "measured": 0.6}
    spread = {**cell, "column": "Precision@1, standard deviation"}
    by_column = {"better": {"^Precision@1$": "higher", "copy": "lower"}}
    assert [judge_cell(by_column, one) for one in (cell, spread)] == ["better", "higher"]
    assert judge_cell(by_column, {**cell, "column": "copy minus true"}) == "worse"
    assert [judge_cell({"better": "higher"}, cell), judge_cell({}, cell)] == ["better", "higher"]


def test_the_index_counts_other_encoders_by_themselves() -> None:
    [line] = [one for one in paper_table("scarce").splitlines() if "from our own augmentation" in one]
    assert "the paper's own metrics, 24: 24 worse" in line
    assert "another encoder, 28: " in line
    [entry] = [one for one in read_inventory()["scarce"] if "from our own augmentation" in one["what"]]
    assert {cell["column"] for _, cell in find_cells(entry)} == {"OURS-SINGLE", "OURS-MULTI"}
    assert "BERT precision, one reference and ours | 0.378 | 0.427 [0.337, 0.501] | other encoder |" in paper_table(
        "scarce"
    )


def test_what_was_not_measured_is_not_counted() -> None:
    [line] = [one for one in paper_table("chosen").splitlines() if one.startswith("| Table 3 |")]
    assert line.endswith("|  |  |  |  |  |")


def test_our_network_is_not_compared_with_the_printed_figures_of_idk() -> None:
    assert not [entry["name"] for entry in read_inventory()["idk"] if "better" in entry]
    assert not [f for f in figures_of("idk") if f.column.endswith(OURS) and f.published is not None]


@pytest.mark.parametrize("paper", PAPERS)
def test_what_the_index_shows_is_in_the_results(paper: str) -> None:
    for entry in read_inventory()[paper]:
        assert entry.get("why") or find_cells(entry), f"{entry['name']}: neither measured nor a reason"
        for example in entry.get("examples", ()):
            assert find_example(entry, example), f"{entry['name']}, {example['label']}: change tools/paper_tables.toml"
        for drawing in entry.get("drawings", ()):
            ElementTree.parse(RESULTS / f"{drawing}.svg")
