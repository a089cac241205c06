"""How often the gate lets a worse run pass. Run: python -m benchmarks.gate_simulation [ROUNDS]

Two runs of one system answer the same items. In the new run the mean drops by exactly the margin (5% of the range from
0 to 1), or stays the same, under several kinds of differences; ``check`` is asked each time whether the new run is no
worse. False passes are passes at a true drop of the margin; power is the share of passes where nothing got worse. Two
more cells leave out a tenth of the items, or change a context: no such run may pass. The results go to
docs/results/gate.json and .md.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rejoinder.comparison.check import check
from rejoinder.data.collection import collect
from rejoinder.errors import RunError
from rejoinder.scoring.result import MetricFacts, Scores, ScoresBuilder
from rejoinder.stats.arrays import Floats, Ints
from rejoinder.table import Cell, Table, to_markdown
from rejoinder.types import Item, Record, Response, Turn

TARGET = Path(__file__).parent.parent / "docs" / "results" / "gate.json"
MARGIN, MEAN, NOISE = 0.05, 0.8, 0.15
FALSE_PASSES = 0.05  # the bar
SPEC = "simulated"
FACTS = {SPEC: MetricFacts(SPEC, (0.0, 1.0), True, frozenset())}


class GateCase(NamedTuple):
    """One kind of differences, and how many conversations there are."""

    kind: str
    conversations: int
    replies: int = 1  # per conversation


KINDS = {
    "noise": "every reply a little worse or better (normal, standard deviation 0.15)",
    "dialogues": "the same, and the three replies of a conversation share half of the variance",
    "skewed": "every reply a little worse, some much (exponential)",
    "binary": "replies are right or wrong: 7.5% become wrong, 2.5% right",
    "failures": "6.25% of the replies fail outright, the others stay the same",
    "noise and failures": "6.25% of the replies fail outright, the others are a little worse or better",
    "drop and failures": "2.5% of the range lost by all replies, the rest by outright failures",
}


def cases() -> Iterator[GateCase]:
    """Every kind with few and with many conversations."""
    for kind in KINDS:
        for n in (20, 80, 200, 500):
            yield GateCase(kind, n, 3 if kind == "dialogues" else 1)


def simulate(case: GateCase, drop: float, random: np.random.Generator) -> tuple[Floats, Floats, Ints]:
    """Old scores, new scores whose mean is lower by the drop, and the conversation of each."""
    rows = np.repeat(np.arange(case.conversations), case.replies)
    old = np.full(len(rows), MEAN)
    noise = NOISE * random.normal(size=len(rows))
    if case.kind == "dialogues":
        noise = np.sqrt(0.5) * (noise + NOISE * random.normal(size=case.conversations)[rows])
    if case.kind in ("noise", "dialogues"):
        return old, old - drop + noise, rows
    if case.kind == "skewed":
        return old, old - (drop * random.exponential(size=len(rows)) if drop else noise), rows
    if case.kind == "binary":
        old = (random.random(len(rows)) < MEAN).astype(np.float64)
        change = random.random(len(rows))
        wrong, right = drop * 1.5 / MEAN, drop * 0.5 / (1 - MEAN)
        return old, np.where(old == 1, 1.0 * (change >= wrong), 1.0 * (change < right)), rows
    overall = 0.025 if case.kind == "drop and failures" and drop else 0.0
    failed = random.random(len(rows)) < (drop - overall) / (MEAN - overall)
    kept = old - overall + (0.0 if case.kind == "failures" else noise / 3)
    return old, np.where(failed, 0.0, kept), rows


def make_scores(values: Floats, rows: Ints, texts: str, answered: Ints | None = None, changed: bool = False) -> Scores:
    """A run with these scores, and texts that differ from those of the other run."""
    known = range(len(rows)) if answered is None else answered.tolist()
    builder = ScoresBuilder()
    records: list[Record] = []
    for i in known:
        context = "Another question?" if changed and i == known[0] else f"Question {i}?"
        records += [Item(f"i{i}", (Turn(context),), dialogue=f"d{rows[i]}"), Response(f"r{i}", f"i{i}", "bot", texts)]
        builder.add(f"r{i}", f"i{i}", "bot", f"d{rows[i]}")
    column = values if answered is None else values[answered]
    return builder.build(FACTS, {SPEC: column}, {}, {}, data=collect(records))


def run_gate(case: GateCase, drop: float, random: np.random.Generator, templates: tuple[Scores, Scores]) -> str:
    """The outcome of one simulated pair of runs."""
    old, new, _ = simulate(case, drop, random)
    runs = [replace(run, values={SPEC: column}) for run, column in zip(templates, (old, new), strict=True)]
    return check(runs[1], older=runs[0], margin=MARGIN)[0].outcome


def measure(case: GateCase, rounds: int) -> dict[str, Any]:
    """The shares of outcomes at a drop of the margin, and without a drop."""
    random = np.random.default_rng(0)
    rows = simulate(case, 0.0, random)[2]
    templates = make_scores(np.zeros(len(rows)), rows, "Old."), make_scores(np.zeros(len(rows)), rows, "New.")
    begun = time.perf_counter()
    shares: dict[str, Any] = {}
    for name, drop in (("at_margin", MARGIN), ("no_drop", 0.0)):
        outcomes = [run_gate(case, drop, random, templates) for _ in range(rounds)]
        shares[name] = {one: round(outcomes.count(one) / rounds, 4) for one in ("pass", "fail", "inconclusive")}
    return {**case._asdict(), **shares, "rounds": rounds, "seconds": round(time.perf_counter() - begun)}


def measure_damage(rounds: int) -> dict[str, Any]:
    """How many runs with a tenth of the items unanswered, or with one changed context, get past the gate."""
    random = np.random.default_rng(1)
    case = GateCase("noise", 100)
    uncovered = changed = 0
    for _ in range(rounds):
        old, new, rows = simulate(case, 0.0, random)
        answered = np.sort(random.permutation(len(rows))[: len(rows) * 9 // 10])
        before = make_scores(old, rows, "Old.")
        results = check(make_scores(new + 0.3, rows, "New.", answered), older=before, margin=MARGIN)
        uncovered += all(one.passed for one in results)
        try:
            check(make_scores(new + 0.3, rows, "New.", changed=True), older=before, margin=MARGIN)
            changed += 1
        except RunError:
            pass
    return {"kind": "damage", "rounds": rounds, "passes_uncovered": uncovered, "passes_changed_context": changed}


def reaches(entry: dict[str, Any]) -> bool:
    """Whether a cell reaches the bar."""
    if entry["kind"] == "damage":
        return not entry["passes_uncovered"] and not entry["passes_changed_context"]
    return bool(entry["at_margin"]["pass"] <= FALSE_PASSES)


def page(entries: list[dict[str, Any]]) -> str:
    """The results as a table."""
    rows: list[list[Cell]] = [
        [
            KINDS[one["kind"]],
            one["conversations"],
            one["at_margin"]["pass"],
            one["at_margin"]["fail"],
            one["no_drop"]["pass"],
            one["no_drop"]["fail"],
        ]
        for one in entries
        if one["kind"] != "damage"
    ]
    heads = ["differences", "conversations", "drop of the margin: false passes", "it fails"]
    heads += ["no drop: it passes", "false fails"]
    rounds = entries[0]["rounds"]
    notes = [
        f"{rounds:,} simulations per line and drop, so shares are exact to about ± "
        f"{1.96 * (0.05 * 0.95 / rounds) ** 0.5:.3f} near 5%; what neither passes nor fails is inconclusive.",
        f"Margin {MARGIN:g}; scores from 0 to 1 with an old mean of {MEAN:g}. Target: at most {FALSE_PASSES:.0%} false "
        "passes.",
        "Without a drop, differences that consist of losses only are replaced by noise, or by no change at all.",
        "An overall drop together with rare failures is the hardest kind: a small sample can miss the failures, and "
        "the rest alone is within the margin. So the drop that a sample shows is taken off the margin before the "
        "conversations are counted that would show such a failure; that costs some passes near the least number.",
    ]
    for one in entries:
        if one["kind"] == "damage":
            notes.append(
                f"Of {one['rounds']:,} better runs that leave a tenth of the items unanswered, "
                f"{one['passes_uncovered']} passed; of as many with a changed context, {one['passes_changed_context']}."
            )
    notes.append("Command: `python -m benchmarks.gate_simulation`.")
    table = to_markdown(Table("How often the gate lets a worse run pass", heads, rows)).replace("### ", "# ", 1)
    return "\n".join([table, *(f"- {note}" for note in notes), ""])


def main(rounds: int = 2000) -> int:
    """Simulate every cell and write the results; the exit status says whether the bar was reached."""
    entries: list[dict[str, Any]] = []
    for case in cases():
        entries.append(measure(case, rounds))
        print(json.dumps(entries[-1]), flush=True)
    entries.append(measure_damage(max(1, rounds // 10)))
    print(json.dumps(entries[-1]), flush=True)
    stored = [{key: value for key, value in one.items() if key != "seconds"} for one in entries]
    TARGET.write_text(json.dumps(stored, indent=1) + "\n")
    TARGET.with_suffix(".md").write_text(page(entries))
    return 0 if all(map(reaches, entries)) else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
