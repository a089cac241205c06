"""Pages that are put together from files beside docs/: the cards of shipped models, the list of results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.docsite.page import DOCS, ROOT, Page

LAB = ROOT / "lab" / "src" / "rejoinder_lab" / "weights"
RESEARCH = LAB / "research"  # a set of weights, with the same models as the core
WEIGHTS = (ROOT / "src" / "rejoinder" / "models" / "weights", LAB, RESEARCH)


def card_pages() -> list[Page]:
    """The card of every model that comes with a package: the page beside its weights, or what its JSON says."""
    folders = [folder for weights in WEIGHTS for folder in weights.iterdir() if folder.is_dir() and folder != RESEARCH]
    return [_card(folder) for folder in sorted(folders, key=lambda folder: (folder.name, folder.parent == RESEARCH))]


def _card(folder: Path) -> Page:
    name, page = folder.name, folder / "README.md"
    if page.is_file():
        text = page.read_text("utf-8")
    else:
        page = folder / f"{name}.json"
        about = json.loads(page.read_text("utf-8"))["about"]
        rows = [f"| {key} | {value} |" for key, value in _flat(about)]
        text = "\n".join(
            [f"# Card: `{name}`", "", f"From [{page.name}]({page.name}).", "", "| | |", "|---|---|", *rows, ""]
        )
    mark = f"{name}-research" if folder.parent == RESEARCH else name
    return Page(page.relative_to(ROOT).as_posix(), f"models/{mark}.html", text, f"Card: {mark}")


def _flat(about: dict[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for key, value in about.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}, ")
        else:
            yield (before + key).replace("_", " "), str(value).replace("|", "\\|")


def result_pages() -> list[Page]:
    """The list of measured tables, then each of them; figures are never typed, commands write these files."""
    pages = [
        Page(f"docs/results/{path.name}", f"results/{path.stem}.html", path.read_text("utf-8"), path.stem)
        for path in sorted((DOCS / "results").glob("*.md"))
    ]
    rows = [
        f"| [{page.title}]({page.label}.md) | {_command(page.text)} | {_tables(page.text)} | [all]({page.label}.json) |"
        for page in pages
    ]
    text = "\n".join(
        [
            "# Results",
            "",
            "Every figure was written by the command beside it, into `docs/results/`: a page to read and a JSON file",
            "with every cell, its interval, its n and what exactly was computed. Speed is in [bench.json](bench.json).",
            "",
            "| page | written by | tables | cells |",
            "|---|---|---:|---|",
            *rows,
            "",
        ]
    )
    return [Page("docs/results/", "results/index.html", text, "All results"), *pages]


def _command(text: str) -> str:
    found = re.search(r"Written by (`[^`]+`)", text)
    return found[1] if found else ""


def _tables(text: str) -> int:
    return len(re.findall(r"^\|[-:| ]+\|$", text, re.MULTILINE))
