"""Numbers in the docs that look measured and are not marked: ``python -m tools.figures --unmarked`` lists them.

A number looks measured if it has decimals, a percent sign or a unit of speed or memory, and its paragraph or table has
a word for something measured. What is wanted of such a number is a mark (``tools/quotes.py``) or, where docs/results/
has no source for it, words that say where it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.quotes import NUMBER, ROOT

_HIDDEN = re.compile(
    r"```.*?```|<!-- (\w+):.*?<!-- end of \1 -->|<!-- figures of this page.*?-->|`[^`\n]*`|\]\([^)]*\)", re.DOTALL
)
_MARKED = re.compile(rf"{NUMBER}(?: \[{NUMBER}, {NUMBER}\])?%?<!--\d+-->")
_FIGURE = re.compile(
    r"(?<![\w.@+-])[-+−]?(?:\d[\d,]*\.\d+|\.\d+|\d+(?=%)|\d[\d,]*(?= (?:ms|s|GB|MB|times|microseconds|per second)\b))"
    r"(?![\w.]*\d)"
)
_MEASURED = re.compile(
    r"spearman|pearson|kendall|correlat|accuracy|precision|recall|ndcg|\bauc\b|roc curve|kappa|cosine|agree|win rate|"
    r"f1\b|as fast|speed|took|takes|memory|of the time|intervals? contain|false alarm|measured|macro average",
    re.IGNORECASE,
)
# A command, a test, a paper, a setting, or words that say that there is none of these.
_SOURCE = re.compile(
    r"(?:^|`)(?:rejoinder |python -m |make |benchmarks/|tests/|meteor-)|results/|README\.md\)|[Tt]he paper|"
    r"published|Table \d|Figure \d|Appendix|section \d|by hand|single run|[Nn]o command|script|earlier|the card|"
    r"calculat|[Dd]efault",
    re.MULTILINE,
)


class Unmarked(NamedTuple):
    """A number without a mark, and whether its section says where such numbers come from."""

    file: str
    line: int
    number: str
    text: str
    has_source: bool


def list_unmarked(path: Path) -> Iterator[Unmarked]:
    """The unmarked figures of a page in its order."""
    page = path.read_text("utf-8")
    shown = _HIDDEN.sub(_blank, _MARKED.sub(_blank, page))
    raw = page.split("\n")
    for start, end in _blocks(raw):
        if not _MEASURED.search("\n".join(raw[start:end])):
            continue
        has_source = _SOURCE.search("\n".join(raw[slice(*_section(raw, start))])) is not None
        for number, line in enumerate(shown.split("\n")[start:end], start + 1):
            for found in _FIGURE.finditer(line.replace("95%", "   ")):  # the level of intervals
                yield Unmarked(path.relative_to(ROOT).as_posix(), number, found[0], raw[number - 1].strip(), has_source)


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found[0])


def _blocks(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Paragraphs, lists and tables by their lines."""
    start = 0
    for at, line in enumerate([*lines, ""]):
        if not line.strip():
            if at > start:
                yield start, at
            start = at + 1


def _section(lines: list[str], at: int) -> tuple[int, int]:
    """Where the section of a line begins and ends: what is said anywhere in it holds for all of it."""
    heads = [number for number, line in enumerate(lines) if line.startswith("#")]
    before, after = [0, *(head for head in heads if head <= at)], [head for head in heads if head > at]
    return before[-1], (after or [len(lines)])[0]
