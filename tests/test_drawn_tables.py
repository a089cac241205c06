"""Tables with drawn headings, each read a second time by rules that share no code with the importers."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.drawn_tables import Column, Rules, Table, compare, draw_tables, main, read_with_rejoinder, show_table

TABLES = 300


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_every_rating_reference_and_row_is_read_or_named(tmp_path: Path, seed: int) -> None:
    for package in ("pandas", "pyarrow", "openpyxl"):
        pytest.importorskip(package)
    read = 0
    for table in draw_tables(TABLES // 3, seed):
        found, difference = compare(table, tmp_path)
        assert not difference, f"{difference}\n{show_table(table)}"
        read += not found.refused
    assert read > TABLES // 6


def test_a_difference_is_seen_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = (Column("prompt", "context"), Column("reply", "response"), Column("index", "row number"))
    table = Table(columns, (("Hi?", "Yes.", "1"), ("Where?", "Here.", "2")), "csv")
    assert read_with_rejoinder(table, tmp_path).unused == Rules(table).read().unused == {"index"}
    key = Rules._key
    monkeypatch.setattr(Rules, "_key", lambda *row: ("t", "Another reply.", *key(*row)[2:]))
    assert compare(table, tmp_path)[1].startswith("replies: expected [('t', 'Another reply.'")
    monkeypatch.setattr("benchmarks.drawn_tables.draw_tables", lambda number, seed: [table] * number)
    assert main(["2"]) == 1
    shown = capsys.readouterr().out
    assert "csv \n    prompt | reply\n    'Where?' | 'Here.'\n" in shown
    assert "2 tables: 2 read, 0 refused, 2 differences" in shown
