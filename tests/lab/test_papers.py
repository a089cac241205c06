"""What the folders of the papers hold besides code: printed figures and sentences, and the pages written from them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from string import Formatter
from types import SimpleNamespace

import pytest
from rejoinder_lab import papers
from rejoinder_lab.papers import load_reproduction, loader, reproduction_names
from rejoinder_lab.papers.base import NOT_MEASURED, Figure, Reproduction, write_reproduction
from rejoinder_lab.papers.loader import PaperNotes, load_notes, load_published

import rejoinder

ROOT = Path(__file__).parents[2]
PAPERS = ROOT / "lab" / "src" / "rejoinder_lab" / "papers"
RESULTS = ROOT / "docs" / "results"
FOLDERS = sorted(path.parent.relative_to(PAPERS).as_posix() for path in PAPERS.rglob("notes.md"))


def folder_of(name: str) -> str:
    """The folder of a reproduction's module."""
    return Path(load_reproduction(name).__file__ or "").parent.relative_to(PAPERS).as_posix()


def is_made_from(line: str, template: str) -> bool:
    """Whether a line is the sentence of a template, whatever figures fill it: its words come one after the other."""
    parts = [(text, name is not None) for text, name, _, _ in Formatter().parse(template)]
    at, filled = 0, False
    for text, then_filled in parts:
        found = line.find(text, at + filled) if filled else at if line.startswith(text, at) else -1
        if found < 0:
            return False
        at, filled = found + len(text), then_filled
    if filled:
        return at < len(line)
    return at == len(line) or (len(parts) > 1 and line.endswith(parts[-1][0]))


def test_a_section_has_paragraphs_and_their_lines_may_be_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "notes.md").write_text("# Title\n\n## one\n\nA line\nand {n:,} more.\n\n## two\n\nFirst.\n\nSecond.\n")
    monkeypatch.setattr(loader, "_PAPERS", tmp_path.parent)
    notes = load_notes.__wrapped__(tmp_path.name)
    assert notes.text("one", n=1000) == "A line and 1,000 more."
    assert notes.paragraphs("two") == ["First.", "Second."]
    with pytest.raises(ValueError, match="too many values"):
        notes.text("two")
    (tmp_path / "notes.md").write_text("## one\n\nA.\n\n## one\n\nB.\n")
    with pytest.raises(ValueError, match="two sections have the heading 'one'"):
        load_notes.__wrapped__(tmp_path.name)


def test_a_page_names_the_models_behind_its_figures_with_licence_and_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure() -> Reproduction:
        rejoinder.score(["Fine."], contexts=[["How are you?"]], metrics=["idk", "length"])
        return Reproduction("tiny", "Tiny", [Figure("t", "r", "c", None, 0.5)])

    module = SimpleNamespace(reproduce=measure, __name__="rejoinder_lab.papers.idk.idk")
    monkeypatch.setattr(papers, "load_reproduction", lambda name: module)
    made = papers.reproduce("idk")
    assert [(use.name, use.weights) for use in made.models] == [("aptness", "research"), ("idk", "research")]
    write_reproduction(made, tmp_path)
    (line,) = [line for line in (tmp_path / "tiny.md").read_text().splitlines() if line.startswith("Models")]
    shown = [f"{use.name} (weights research, CC BY-NC-SA 4.0, {use.digest})" for use in made.models]
    assert line == f"Models, with licence and digest: {'; '.join(shown)}."
    monkeypatch.setenv("REJOINDER_WEIGHTS", "permissive")  # a user's choice comes first
    assert {use.weights for use in papers.reproduce("idk").models} == {"permissive"}
    write_reproduction(replace(made, models=()), tmp_path)
    assert "Models" not in (tmp_path / "tiny.md").read_text()


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_section_is_printed_by_the_code(folder: str) -> None:
    code = "".join(path.read_text(encoding="utf-8") for path in (PAPERS / folder).glob("*.py"))
    sections = load_notes(folder).sections
    assert all(sections.values()), "a heading without a sentence"
    unused = [
        heading for heading in sections if f'"{heading}"' not in code and not heading.startswith("own version of ")
    ]
    assert not unused


@pytest.mark.parametrize("name", reproduction_names())
def test_every_sentence_on_a_page_is_one_of_the_notes(name: str) -> None:
    page = (RESULTS / f"{name}.md").read_text(encoding="utf-8")
    notes: list[PaperNotes] = [load_notes(folder_of(name)), load_notes("own/relevance")]
    templates = [text for one in notes for texts in one.sections.values() for text in texts]
    lines = [line.removeprefix("- ") for line in page.splitlines() if line.startswith("- ")]
    lines = [line for line in lines if not line.startswith(f"{NOT_MEASURED}: ")]  # below a table
    assert lines
    assert not [line for line in lines if not any(is_made_from(line, template) for template in templates)]


@pytest.mark.parametrize("path", sorted(PAPERS.rglob("published.json")), ids=lambda path: path.parent.name)
def test_printed_figures_are_keyed_by_where_they_are_printed(path: Path) -> None:
    printed = load_published(path.parent.relative_to(PAPERS).as_posix())
    assert printed == json.loads(path.read_text(encoding="utf-8"))
    assert all(re.match(r"(Table|Figure|Section|Appendix) ", key) for key in printed)
