"""The site that ``make docs`` builds: whole, linked, reachable, loading nothing from elsewhere, and easy to read."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

pytest.importorskip("markdown_it", reason="the site needs rejoinder[docs]")
pytest.importorskip("pygments", reason="the site needs rejoinder[docs]")

from rejoinder.cli import program
from tools.docsite.api import SOURCE, dotted, is_public
from tools.docsite.build import build, sections
from tools.docsite.links import Seen, look, problems
from tools.docsite.markdown import render, slug
from tools.docsite.needs import commands, notes
from tools.docsite.page import ROOT, Page, SiteError
from tools.screenshots import REPORTED, SERVED


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built once."""
    folder = tmp_path_factory.mktemp("site") / "site"
    build(folder)
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Seen]:
    """What the pages of the site hold."""
    return look(site)


def test_every_link_and_anchor_leads_somewhere(site: Path) -> None:
    assert problems(site) == []


def test_every_page_is_in_the_navigation_of_the_first(site: Path, pages: dict[str, Seen]) -> None:
    assert set(pages) == {link.partition("#")[0] for link in pages["index.html"].links if link.endswith(".html")}


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for path in site.rglob("*"):
        if path.suffix in {".html", ".css", ".js"} and path.name != "search-index.js":
            loaded = re.findall(r"""(?:src=|@import|url\(|<link[^>]+href=)["']?(https?:|//)""", path.read_text("utf-8"))
            assert not loaded, path
    assert "default-src 'none'" in (site / "index.html").read_text("utf-8")


def test_every_command_has_a_page_with_its_options(site: Path) -> None:
    for name in program.list_commands(None):  # type: ignore[arg-type]
        page = (site / "commands" / f"{name}.html").read_text("utf-8")
        command = program.get_command(None, name)  # type: ignore[arg-type]
        for param in command.params if command else []:
            longest = max(param.opts, key=len)
            assert param.param_type_name == "argument" or getattr(param, "hidden", False) or longest in page


def test_every_public_module_is_in_the_reference(site: Path) -> None:
    for path in (SOURCE / "rejoinder").rglob("*.py"):
        if is_public(path):
            package = dotted(path.parent / "__init__.py")
            page = (site / "api" / f"{package}.html").read_text("utf-8")
            assert f">{dotted(path)}" in page, dotted(path)


def test_every_shipped_model_has_a_card(site: Path) -> None:
    for folder in (SOURCE / "rejoinder" / "models" / "weights").iterdir():
        if folder.is_dir():
            assert (site / "models" / f"{folder.name}.html").is_file()


def test_every_page_is_a_whole_document(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = path.read_text("utf-8")
        assert page.count("<h1") == 1, path
        assert '<html lang="en">' in page
        levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", page)]
        assert all(after <= before + 1 for before, after in pairwise(levels)), f"{path}: {levels}"
        assert not re.search(r"<img(?![^>]*alt=\"[^\"]+\")", page), f"{path} has a picture without words"


def test_the_site_can_be_searched(site: Path) -> None:
    text = (site / "search-index.js").read_text("utf-8")
    index = json.loads(text.removeprefix("window.searchIndex = ").removesuffix(";\n"))
    found = [address for heading, _, address, _ in index if heading == "Choosing a metric, and reading it"]
    assert found == ["guide.html"]


def test_guides_stand_before_commands_and_modules() -> None:
    titles = [section.title for section in sections()]
    assert titles[0] == "Start"
    assert titles.index("Score and compare") < titles.index("Reference") < titles.index("Commands")
    assert titles[-1] == "Python modules"


def test_every_guide_can_be_reached_by_a_question() -> None:
    text = (ROOT / "docs" / "questions.md").read_text("utf-8")
    asked = [line for line in text.splitlines() if line.startswith("### ")]
    assert len(asked) == len(set(asked)) > 20
    by_title = {section.title: section for section in sections()}
    for title in ("Score and compare", "People"):
        for page in by_title[title].pages:
            name = page.source.rpartition("/")[2]
            assert f"({name}" in text or name in {"python.md", "annotating_server.md"}, name


def test_pictures_are_small_shown_and_can_be_taken_again() -> None:
    pictures = sorted((ROOT / "docs").glob("*.png"))
    assert {picture.name for picture in pictures} == {*REPORTED, "annotating.png", *SERVED}
    assert sum(picture.stat().st_size for picture in pictures) < 1_000_000
    pages = "".join(page.read_text("utf-8") for page in (ROOT / "docs").glob("*.md"))
    assert all(f"]({picture.name})" in pages for picture in pictures)


def test_the_same_docs_give_the_same_bytes(site: Path, tmp_path: Path) -> None:
    build(tmp_path / "again")
    for path in sorted(site.rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (tmp_path / "again" / path.relative_to(site)).read_bytes(), path


def test_a_folder_that_is_no_site_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SiteError, match="holds something else"):
        build(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="x">A</h1><a href="b.html">b</a><a href="#y">y</a><a href="a.html#x">x</a>'
    )
    assert problems(tmp_path) == ["a.html: b.html leads nowhere", "a.html: #y has no such place"]


def test_something_loaded_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<script src="https://example.org/x.js"></script>')
    assert problems(tmp_path) == ["a.html: https://example.org/x.js is loaded from elsewhere"]


def test_html_in_a_page_ends_the_build_and_comments_vanish() -> None:
    page = Page("docs/x.md", "x.html", "# X\n\n<!-- a comment -->\n\ntext\n")
    assert "comment" not in render(page, str, lambda _: None).html
    with pytest.raises(SiteError, match="HTML of its own"):
        render(Page("docs/x.md", "x.html", "# X\n\n<b>loud</b>\n"), str, lambda _: None)


def test_texts_of_docstrings_are_shown_as_they_are() -> None:
    made = Page("site/x", "x.html", "# X\n\na <b> c & <script>alert(1)</script>\n", made=True)
    assert "<script>" not in render(made, str, lambda _: None).html


def test_anchors_are_those_of_code_hosts() -> None:
    taken: dict[str, int] = {}
    assert [slug(text, taken) for text in ("What it is, really?", "`norm_prob`", "Score", "Score")] == [
        "what-it-is-really",
        "norm_prob",
        "score",
        "score-1",
    ]


def test_what_a_block_needs_is_said_under_it() -> None:
    block = "rejoinder score chats.jsonl\nrejoinder models get minilm   # fetches\n"
    assert commands(block) == ["rejoinder score chats.jsonl", "rejoinder models get minilm   # fetches"]
    assert notes("", block) == ["Command 2 needs the network."]
    assert notes("python", "import rejoinder") == []
