"""What was measured on a cluster, as a page of the docs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

_HEAD = """# A cluster compared with one process

Written by `python -m benchmarks.cluster` on a real Ray cluster of node processes on one machine ({cores} cores, Python
{python}, Ray {ray}): a head that computes nothing, and nodes of one core each.
"""


def write_page(entries: Sequence[dict[str, Any]], target: Path) -> None:
    """Write the page."""
    parts = {part: [e for e in entries if e["part"] == part] for part in ("machine", "same", "kills", "speed")}
    text = [_HEAD.format(**parts["machine"][0])]
    if parts["same"]:
        engines = list(dict.fromkeys(e["engine"] for e in parts["same"]))
        found = {(e["command"], e["engine"]): "the same" if e["same"] else "**different**" for e in parts["same"]}
        rows = [[name, *(found[name, one] for one in engines)] for name in dict.fromkeys(c for c, _ in found)]
        text += ["## Output bytes, compared with one process\n", _table(["command", *engines], rows)]
    if parts["kills"]:
        text += ["## Killed at random moments\n", _table(_KILLS, map(_killed, _groups(parts["kills"])))]
    if parts["speed"]:
        rows = [[str(e["nodes"]), ", ".join(map(str, e["seconds"]))] for e in parts["speed"] if "nodes" in e]
        last = parts["speed"][-1]
        told = f"Fastest vs. fastest: {last['speedup']} times as fast (target: at least {last['at least']}).\n"
        text += ["## Scoring limited by an encoder\n", _table(["nodes of one core", "seconds"], rows), told]
    target.write_text("\n".join(text))


_KILLS = ["killed", "command", "times", "while running", "same result as undisturbed", "runs needed", "tasks restarted"]


def _groups(entries: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    keys = dict.fromkeys((e["killed"], e["command"]) for e in entries)
    return [[e for e in entries if (e["killed"], e["command"]) == key] for key in keys]


def _killed(some: Sequence[dict[str, Any]]) -> list[str]:
    first = some[0]
    counts = [len(some), sum(e["in time"] for e in some), sum(e["same"] for e in some)]
    runs = "/".join(map(str, sorted({e["runs"] for e in some})))
    again = sum(e["retries"] or 0 for e in some)
    return [first["killed"], first["command"], *map(str, counts), runs, str(again)]


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
