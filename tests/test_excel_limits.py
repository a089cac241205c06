"""Spreadsheets that unpack to far more than they hold: refused at once, and large honest ones are read."""

from __future__ import annotations

import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("openpyxl")

import rejoinder
from rejoinder.errors import InputError

_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.'
    'sheet.main+xml"/><Override PartName="/xl/sheet.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'spreadsheetml.worksheet+xml"/><Override PartName="/xl/strings.xml" ContentType="application/vnd.openxmlformats-'
    'officedocument.spreadsheetml.sharedStrings+xml"/></Types>'
)
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_BOOK = (
    f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets>'
    "</workbook>"
)
_LINKS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" '
    f'Type="{_RELATIONS}/worksheet" Target="/xl/sheet.xml"/></Relationships>'
)
_HEAD = '<row r="1"><c r="A1" t="inlineStr"><is><t>prompt</t></is></c><c r="B1" t="inlineStr"><is><t>response</t></is>'
_HEAD += "</c></row>"
_ROW = '<row r="{0}"><c r="A{0}" t="inlineStr"><is><t>Why?</t></is></c><c r="B{0}" t="inlineStr"><is><t>{1}</t></is>'
_ROW += "</c></row>"


def sheet_of(*rows: str) -> str:
    return f'<worksheet xmlns="{_MAIN}"><sheetData>{_HEAD}{"".join(rows)}</sheetData></worksheet>'


def write_book(path: Path, sheet: str, strings: str = f'<sst xmlns="{_MAIN}"/>', styles: str | None = None) -> Path:
    """A spreadsheet of these parts."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("xl/workbook.xml", _BOOK)
        archive.writestr("xl/_rels/workbook.xml.rels", _LINKS)
        archive.writestr("xl/strings.xml", strings)
        archive.writestr("xl/sheet.xml", sheet)
        if styles is not None:
            archive.writestr("xl/styles.xml", styles)
    return path


def test_the_books_of_these_tests_are_read(tmp_path: Path) -> None:
    read = rejoinder.read(write_book(tmp_path / "b.xlsx", sheet_of(_ROW.format(2, "Because."))))
    assert [one.text for one in read.responses.values()] == ["Because."]


_LONG = "A" * 30_000_000
_SCRIPT = """
import resource, sys, time
for name in sys.argv[2:]:
    sys.modules[name] = None
import rejoinder, openpyxl
from rejoinder.errors import InputError
assert not (sys.argv[2:] and (openpyxl.DEFUSEDXML or openpyxl.LXML))
before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
try:
    rejoinder.read(sys.argv[1])
except InputError as error:
    seconds, grown = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(round(seconds, 3), grown // 1024, error)
"""


def refused(path: Path, *missing: str) -> str:
    """What reading a book says in a process of its own, in less than a second (of reading) and 100 MB."""
    done = subprocess.run([sys.executable, "-c", _SCRIPT, str(path), *missing], capture_output=True, text=True)
    assert done.stdout, done.stderr
    seconds, grown, said = done.stdout.split(" ", 2)
    assert float(seconds) < 10  # 1 on a machine that does nothing else; unpacking it would take a minute
    assert int(grown) < 150
    assert "\n" not in said.strip()
    return said.strip()


@pytest.mark.parametrize("missing", [(), ("defusedxml", "defusedxml.ElementTree", "lxml", "lxml.etree")])
def test_a_cell_that_unpacks_to_hundreds_of_megabytes_is_refused(tmp_path: Path, missing: tuple[str, ...]) -> None:
    path = tmp_path / "bomb.xlsx"
    sheet = sheet_of(_ROW).encode().split(b"{1}")
    write_book(path, "")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, archive.open("xl/sheet2.xml", "w") as part:
        part.write(sheet[0].replace(b"{0}", b"2"))
        for _ in range(700):
            part.write(b"A" * 1_000_000)
        part.write(sheet[1])
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("xl/sheet2.xml").compress_size < 800_000
        content = {name: archive.read(name) for name in archive.namelist() if "sheet" not in name}
        del content["xl/_rels/workbook.xml.rels"]
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("xl/_rels/workbook.xml.rels", _LINKS.replace("sheet.xml", "sheet2.xml"))
    assert "that unpack to 700," in refused(path, *missing)


@pytest.mark.parametrize(
    ("sheet", "strings", "styles", "said"),
    [
        (sheet_of(_ROW.format(2, _LONG)), None, None, "has a text of more than 1,048,576 bytes"),
        (sheet_of('<row r="2">' + "<c/>" * 6_000_000 + "</row>"), None, None, "has a row, or something else"),
        (sheet_of('<row r="2">' + "<si></si>" * 3_000_000 + "</row>"), None, None, "has a row, or something else"),
        (sheet_of(_ROW.format(2, "")), f'<sst xmlns="{_MAIN}"><si><t>{_LONG}</t></si></sst>', None, "has a text of"),
        (sheet_of(_ROW.format(2, "")), f'<sst xmlns="{_MAIN}"><si>{"<r/>" * 9_000_000}</si></sst>', None, "has a row"),
        (sheet_of(_ROW.format(2, "")), None, f'<styleSheet xmlns="{_MAIN}">{"<xf/>" * 9_000_000}</styleSheet>', "row"),
        (
            '<!DOCTYPE w [<!ENTITY a "AAAAAAAAAA"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>' + sheet_of(
                _ROW.format(2, "&b;")
            ), None, None, "declares a document type",
        ),
        ('<?xml version="1.0" encoding="cp037"?>' + sheet_of(), None, None, "is not in UTF-8"),
        (sheet_of(_ROW.format(2_000_000_000, "late")), None, None, "has more than 1,048,576 rows"),
    ],
)  # fmt: skip
def test_what_no_spreadsheet_program_writes_is_refused(
    tmp_path: Path, sheet: str, strings: str | None, styles: str | None, said: str
) -> None:
    path = write_book(tmp_path / "bomb.xlsx", sheet, strings or f'<sst xmlns="{_MAIN}"/>', styles)
    assert said in refused(path)


def test_a_document_type_in_utf_16_is_seen(tmp_path: Path) -> None:
    sheet = '<?xml version="1.0" encoding="UTF-16"?><!DOCTYPE w [<!ENTITY a "A">]>' + sheet_of(_ROW.format(2, "&a;"))
    path = write_book(tmp_path / "b.xlsx", "")
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()} | {"xl/sheet.xml": sheet.encode("utf-16")}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(InputError, match="declares a document type"):
        rejoinder.read(path)


def test_a_large_sheet_with_long_cells_is_read(tmp_path: Path) -> None:
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("S")
    sheet.append(["prompt", "response", "note"])
    for number in range(60_000):
        sheet.append(["Why is it so?", f"Because of {number}.", "the same in every row"])
    for number in range(60):  # the longest cells that Excel has, each character written as an entity
        sheet.append(["<" * 32_767, f"{number:02}" + "&" * 32_765, "x"])
    book.save(tmp_path / "large.xlsx")
    start = time.perf_counter()
    texts = [one.text for one in rejoinder.read(tmp_path / "large.xlsx").responses.values()]
    assert time.perf_counter() - start < 120
    assert len(texts) == 60_060
    assert texts[0] == "Because of 0."
    assert texts[-1] == "59" + "&" * 32_765
