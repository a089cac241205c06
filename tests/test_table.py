"""One table, every form: the same cells, escaped as each form wants."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from html.parser import HTMLParser

import pytest

from rejoinder import table as module
from rejoinder.escape import unescape_cell
from rejoinder.table import (
    FORMATS,
    Estimate,
    Table,
    format_decimal,
    join_names,
    join_tables,
    list_names,
    to_csv,
    to_json,
)

TABLE = Table(
    "A & B",
    ["name", "n", "score"],
    [["a|b_<c>", 1234, Estimate(0.5, 0.25, 0.75)], ["d", 5, Estimate(math.nan, math.nan, math.nan)], ["é", 6, None]],
    ["50% of it"],
)


def test_a_number_carries_its_interval_and_the_unknown_is_a_dash() -> None:
    assert TABLE.text(Estimate(0.5, 0.25, 0.75)) == "0.500 [0.250, 0.750]"
    assert TABLE.text(Estimate(0.5, math.nan, math.nan)) == "0.500"
    assert TABLE.text(math.nan) == TABLE.text(None) == "–"
    assert TABLE.text(1234) == "1,234"


def test_the_terminal_form_lines_up() -> None:
    lines = str(TABLE).splitlines()
    assert lines[0] == "A & B"
    assert lines[-1] == "50% of it"
    assert len({len(line) for line in lines[3:5]}) == 1


def test_on_a_terminal_long_texts_are_wrapped_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = Table("T", ["a", "b"], [["word " * 40, 1]])
    monkeypatch.setattr(module.sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    shown = str(wide)
    assert max(map(len, shown.splitlines())) <= 60
    assert shown.count("word") == 40


def test_a_table_fits_100_columns_and_splits_no_name_and_no_number() -> None:
    rows = [[f"our-very-own system v{i}", i, *[Estimate(0.123, 0.1, 0.2)] * 6, "A long remark, " * 9] for i in range(3)]
    table = Table("T", ["system", "n", "bleu(n=2)", "b", "c", "d", "e", "f", "remark"], rows)
    lines = str(table).splitlines()
    assert max(map(len, lines)) <= 100
    assert sum("our-very-own system v1" in line for line in lines) == 3  # once in each of three blocks
    assert str(table).count("0.123 [0.100, 0.200]") == 18
    assert sum(line.startswith("system") for line in lines) == 3
    assert str(table).count("remark,") == 27


def test_every_block_begins_with_all_that_names_a_row() -> None:
    rows = [["attack", f"trial {i}", i, *[Estimate(0.123, 0.1, 0.2)] * 6] for i in range(2)]
    lines = str(Table("T", ["kind", "trial", "n", *"abcdef"], rows)).splitlines()
    assert sum(line.startswith("attack  trial 1") for line in lines) == 2
    assert max(map(len, lines)) <= 100


def test_a_name_that_is_too_long_stays_whole() -> None:
    name = "a-system-whose-name-" + "x" * 120
    assert name in str(Table("T", ["system", "mean"], [[name, 1.0]]))


def test_markdown_shows_names_as_they_are() -> None:
    assert "| a\\|b\\_\\<c> | 1,234 | 0.500 [0.250, 0.750] |" in FORMATS["markdown"](TABLE)


def test_html_is_well_formed_and_escaped() -> None:
    shown = FORMATS["html"](TABLE)
    HTMLParser().feed(shown)
    assert "a|b_&lt;c&gt;" in shown
    assert "<c>" not in shown
    assert "A &amp; B" in shown


def test_latex_escapes_what_it_must() -> None:
    shown = FORMATS["latex"](TABLE)
    assert r"a|b\_<c> & 1,234" in shown
    assert r"\begin{tabular}{lrr}" in shown


def test_csv_and_json_keep_the_numbers_whole() -> None:
    rows = list(csv.reader(io.StringIO(FORMATS["csv"](TABLE))))
    assert rows[0] == ["name", "n", "score", "score low", "score high"]
    assert rows[1] == ["a|b_<c>", "1234", "0.5", "0.25", "0.75"]
    assert rows[2] == ["d", "5", "", "", ""]
    assert rows[3] == ["é", "6", "", "", ""]
    found = json.loads(FORMATS["json"](TABLE))["rows"]
    assert found[0]["score"] == {"value": 0.5, "low": 0.25, "high": 0.75}
    assert found[2]["score"] is None


NASTY = "\x1b]0;owned\x07\x1b[2J=1+1|[click](http://x.example)<b>*_\n\rnext\x9b31m"


def test_nothing_in_a_table_steers_a_terminal() -> None:
    shown = str(Table(NASTY, [NASTY], [[NASTY]], [NASTY]))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)
    assert shown.count(r"\u001b]0;owned\u0007") == 4


def test_markdown_holds_no_link_no_html_and_no_line_of_somebody_elses() -> None:
    shown = FORMATS["markdown"](Table(NASTY, [NASTY], [[NASTY]], [NASTY]))
    assert len(shown.splitlines()) == 7
    for text in (r"\](http", r"\<b>", r"\*", r"\_", r"=1+1\|["):
        assert shown.count(text) == 4


def test_csv_holds_no_formula_and_numbers_stay_numbers() -> None:
    cells = ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "'=x", "-0.5", "+1e-5", -0.5, Estimate(-1.0, -2.0, -0.0)]
    rows = list(csv.reader(io.StringIO(FORMATS["csv"](Table("T", ["=head"] * len(cells), [cells])), newline="")))
    assert rows[0][0] == "'=head"
    assert rows[1][:7] == ["'=1+1", "'+x", "'-x", "'@x", "'\tx", "'\rx", "''=x"]
    assert rows[1][7:] == ["-0.5", "+1e-5", "-0.5", "-1.0", "-2.0", "0.0"]
    assert [unescape_cell(cell) for cell in rows[1][:7]] == cells[:7]


def test_a_name_ends_no_comment() -> None:
    latex = FORMATS["latex"](Table("T\n\\input{x}", ["a"], [["b"]], ["n\r\\input{x}"]))
    assert all(line.startswith("%") for line in latex.splitlines() if "input" in line)
    assert join_tables([Table("T\n=1+1", ["a"], [["b"]])], "csv").splitlines()[0] == "# T =1+1"


def test_what_rounds_to_0_has_no_minus_sign() -> None:
    table = Table("t", ["a", "b"], [[-0.0004, Estimate(-0.0001, -0.0006, -0.0)], [-0.0, -0.0005001]])
    assert "-0.000" not in str(table)
    assert table.text(-0.0004) == "0.000"
    assert table.text(-0.0005001) == "-0.001"
    assert table.text(Estimate(-0.0001, -0.0006, 0.0)) == "0.000 [-0.001, 0.000]"
    assert "-0.0," not in to_csv(table)
    assert "-0.0\n" not in to_csv(table)
    assert "-0.0\n" not in to_json(table)
    assert "-0.0," not in to_json(table)
    assert [format_decimal(value, 4, sign="+") for value in (-0.00001, 0.0, -0.1)] == ["+0.0000", "+0.0000", "-0.1000"]
    assert format_decimal(float("inf"), 2) == "inf"


def test_notes_are_wrapped_to_100_columns_and_split_no_name() -> None:
    spec, address = "judge(rubric='is it kind and short', n=3)", "https://example.org/" + "x" * 120
    note = f"{'It is a long story. ' * 4} under {spec} and {spec}: see {address} for {'more and more ' * 9}"
    table = Table("T", ["system"], [["a"]], [note, "Short.", "Two\nlines."])
    lines = str(table).splitlines()
    assert all(len(line) <= 100 or line == address for line in lines)
    assert str(table).count(spec) == 2
    assert address in lines
    assert " ".join(" ".join(lines[5:-3]).split()) == " ".join(note.split())
    assert lines[-3:] == ["Short.", "Two", "lines."]
    assert f"- {' '.join(note.split())}" in " ".join(FORMATS["markdown"](table).split())
    assert json.loads(FORMATS["json"](table))["notes"] == [note, "Short.", "Two\nlines."]


def test_names_in_a_row_and_in_a_sentence() -> None:
    assert list_names(["a", "b", "c"]) == "a, b, c"
    assert list_names([*"abcd"], 2) == "a, b and 2 more"
    assert [join_names(names) for names in (["a"], [*"ab"], [*"abc"], [*"abcdefg"])] == [
        "a",
        "a and b",
        "a, b and c",
        "7 others",
    ]
