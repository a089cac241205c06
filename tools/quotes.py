"""Figures in prose and in hand-made tables, read from docs/results/.

A figure that a page quotes is followed by a number in a comment, as a footnote would be, and the page ends with where
each comes from:

    BLEU-4 rises from .09<!--1--> to .26 [.18, .34]<!--2-->.

    <!-- figures of this page
    1 = scarce > Table 1: Spearman, case as published > BLEU-4 > SINGLE
    2 = scarce > Table 1: Spearman, case as published > BLEU-4 > OURS-SINGLE
    -->

A source is a file of docs/results/, then what its entries must have (a value, where ``...`` stands for its beginning or
end, or KEY=VALUE), then a key where it is not "measured". ``smallest of`` and ``largest of`` go before a source that
fits several entries; ``A ++ B``, ``A -- B`` and ``A // B`` are sum, difference and ratio, where A may be a number;
``* 100`` at the end turns a share into percent. Decimals, signs and the zero before the point stay as they were typed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from functools import lru_cache
from operator import add, sub, truediv
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "results"
NUMBER = r"[-+−]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)"
_QUOTED = re.compile(rf"(?<![\w.])({NUMBER})(?: \[({NUMBER}), ({NUMBER})\])?(%?)<!--(\d+)-->")
_SOURCES = re.compile(r"<!-- figures of this page\n(.*?)-->\n?", re.DOTALL)
_REMARKS = ("note", "against")  # what an entry says beside its name
_SIGNS: dict[str, Callable[[float, float], float]] = {" ++ ": add, " -- ": sub, " // ": truediv}
_RANGES: dict[str, Callable[[list[float]], float]] = {"smallest of ": min, "largest of ": max}


class QuoteError(Exception):
    """A quoted figure whose source is not there, or is no single number."""


class Quote(NamedTuple):
    """A number with its interval, where it has one."""

    value: float
    low: float | None = None
    high: float | None = None


def documents() -> list[Path]:
    """The pages whose figures are looked after: the README and docs/ without what commands write."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs" / "papers").glob("*.md"))]


def read_sources(page: str) -> dict[str, str]:
    """The sources at the end of a page by their numbers."""
    found = _SOURCES.search(page)
    return dict(line.split(" = ", 1) for line in found[1].splitlines()) if found else {}


def fill_quotes(page: str) -> str:
    """A page with every quoted figure as docs/results/ has it today."""
    sources = read_sources(page)
    numbers = set(re.findall(r"<!--(\d+)-->", page))
    if numbers != set(sources):
        raise QuoteError(f"figures {sorted(numbers ^ set(sources), key=int)} have a mark or a source, but not both")
    bare = any(found[1].lstrip("+-−").startswith(".") for found in _QUOTED.finditer(page))
    filled, count = _QUOTED.subn(lambda found: _fill(found, sources[found[5]], bare), page)
    if count != len(re.findall(r"<!--\d+-->", page)):
        raise QuoteError("a mark does not follow a number")
    return filled


def _fill(found: re.Match[str], source: str, bare: bool) -> str:
    quote = read_quote(source)
    text = write_like(found[1], quote.value, bare)
    if found[2]:
        if quote.low is None or quote.high is None:
            raise QuoteError(f"{source!r} has no interval")
        text += f" [{write_like(found[2], quote.low, bare)}, {write_like(found[3], quote.high, bare)}]"
    return f"{text}{found[4]}<!--{found[5]}-->"


def write_like(old: str, value: float, bare: bool = False) -> str:
    """A number with the decimals and the signs of another; ``bare`` leaves out the zero before the point."""
    decimals = len(old.partition(".")[2])
    rounded = Decimal(repr(round(value, 9))).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)
    text = f"{abs(rounded) if rounded == 0 else rounded:{'+' if old[0] == '+' else ''},f}"
    if bare and not old.lstrip("+-−").startswith("0"):
        text = re.sub(r"^([-+]?)0\.", r"\1.", text)
    return text.replace("-", "−") if old[0] == "−" else text


def read_quote(source: str) -> Quote:
    """What a source says."""
    source, _, factor = source.partition(" * ")
    if factor:
        return Quote(*(None if number is None else number * float(factor) for number in read_quote(source)))  # type: ignore[arg-type]
    for sign, combine in _SIGNS.items():
        first, found, second = source.partition(sign)
        if found:
            return Quote(combine(read_quote(first).value, read_quote(second).value))
    if re.fullmatch(NUMBER, source):
        return Quote(float(source))
    for words, choose in _RANGES.items():
        if source.startswith(words):
            return Quote(choose([quote.value for quote in _read_all(source.removeprefix(words))]))
    quotes = _read_all(source)
    if len(quotes) != 1:
        raise QuoteError(f"docs/results has {len(quotes)} figures for {source!r}; name one that is there")
    return quotes[0]


def _read_all(source: str) -> list[Quote]:
    name, *steps = source.split(" > ")
    found = [read_results(name)]
    for step in steps:
        found = [inner for outer in found for inner in _step(outer, step)]
    return [quote for one in found if (quote := _quote(one)) is not None]


@lru_cache(maxsize=32)
def read_results(name: str) -> Any:
    """A file of docs/results/."""
    path = RESULTS / f"{name}.json"
    if not path.is_file():
        raise QuoteError(f"docs/results has no {name}.json")
    return json.loads(path.read_text("utf-8"))


def _step(outer: Any, step: str) -> Iterator[Any]:
    """Into an object by a key; among entries those that have a value, or what stands under a key of theirs."""
    if isinstance(outer, dict):
        if step in outer:
            yield outer[step]
        elif _fits(outer, step):
            yield outer
    elif isinstance(outer, list):
        for entry in outer:
            yield from _step(entry, step)


def _fits(entry: dict[str, Any], step: str) -> bool:
    key, equals, wanted = step.partition("=")
    if equals and key in entry:
        return _is_like(str(entry[key]), wanted)
    return any(_is_like(str(value), step) for key, value in entry.items() if key not in _REMARKS)


def _is_like(value: str, wanted: str) -> bool:
    if wanted.startswith("..."):
        return value.endswith(wanted[3:])
    return value.startswith(wanted[:-3]) if wanted.endswith("...") else value == wanted


def _quote(found: Any) -> Quote | None:
    if isinstance(found, int | float):
        return Quote(found)
    if isinstance(found, dict) and found.get("measured") is not None:
        return Quote(found["measured"], found.get("low"), found.get("high"))
    return None
