"""How far to trust ``trust`` on conversations. Run: python -m benchmarks.trust_coverage [ROUNDS]

Dialogues have 2, 4 or 6 items with one reply each. Ratings and two metrics are normal; each metric correlates with the
ratings by .5, so neither is better. With a dialogue effect, half of the variance of the ratings and of each metric's
noise is shared by all replies of a dialogue. Two shares are counted: of 95% intervals that hold the true correlation,
and of tests at .05 that call one metric better. Both are taken over dialogues, as ``trust`` does, and over items. The
results go to docs/results/trust-coverage.json and .md.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rejoinder.comparison.trust import make_bootstrap_plan
from rejoinder.stats.arrays import Floats, Ints
from rejoinder.stats.bootstrap import BootstrapPlan, resample_correlations
from rejoinder.stats.correlation import Method
from rejoinder.stats.permutation import Swap, permutation_test
from rejoinder.stats.resampling import ResamplingUnit, bootstrap_p_value
from rejoinder.table import Table, to_markdown

TARGET = Path(__file__).parent.parent / "docs" / "results" / "trust-coverage.json"
SIZES, R, ICC = (2, 4, 6), 0.5, 0.5
RESAMPLES, PERMUTATIONS = 300, 99
COVERED, ALARMS = (0.93, 0.97), 0.065  # the bar


class Cell(NamedTuple):
    """One kind of data, and what is resampled."""

    method: Method
    dialogues: int
    has_effect: bool
    unit: ResamplingUnit = "dialogues"


def cells() -> Iterator[Cell]:
    """Spearman with three numbers of dialogues; with the fewest also over items, and Pearson."""
    for has_effect in (False, True):
        yield from (Cell("spearman", size, has_effect) for size in (30, 60, 150))
        yield Cell("pearson", 30, has_effect)
        yield Cell("spearman", 30, has_effect, "items")


def design(dialogues: int) -> Ints:
    """The dialogue of each reply."""
    return np.repeat(np.arange(dialogues), [SIZES[d % len(SIZES)] for d in range(dialogues)])


def simulate(random: np.random.Generator, dialogues: Ints, icc: float) -> tuple[Floats, dict[str, Floats]]:
    """Ratings, and two metrics that follow them equally well."""

    def values() -> Floats:
        shared = random.normal(size=int(dialogues.max()) + 1)[dialogues]
        return np.asarray(math.sqrt(icc) * shared + math.sqrt(1 - icc) * random.normal(size=len(dialogues)))

    ratings = values()
    return ratings, {name: R * ratings + math.sqrt(1 - R * R) * values() for name in ("first", "second")}


def truth(method: Method) -> float:
    """The correlation of two normal variables whose product-moment correlation is R."""
    if method == "pearson":
        return R
    return 6 / math.pi * math.asin(R / 2) if method == "spearman" else 2 / math.pi * math.asin(R)


def measure(cell: Cell, rounds: int) -> dict[str, Any]:
    """How often intervals hold the truth and tests raise a false alarm in one cell."""
    rows, random, wanted = design(cell.dialogues), np.random.default_rng(0), truth(cell.method)
    covered = bootstrap = permutation = 0
    begun = time.perf_counter()
    for seed in range(rounds):
        ratings, scores = simulate(random, rows, ICC if cell.has_effect else 0.0)
        plan = replace(make_bootstrap_plan(cell.unit == "dialogues", cell.method, RESAMPLES, seed), resample=cell.unit)
        holds, p = _trial(scores, ratings, rows, plan, wanted)
        covered += holds
        bootstrap += p < 0.05
        swap: Swap = "dialogues" if cell.unit == "dialogues" else "items"
        test = permutation_test(
            scores["first"],
            scores["second"],
            ratings,
            dialogues=rows,
            swap=swap,
            method=cell.method,
            n_permutations=PERMUTATIONS,
            seed=seed,
        )
        permutation += test.p <= 0.05
    return {
        **cell._asdict(),
        "covered": round(covered / (2 * rounds), 4),
        "bootstrap_alarms": round(bootstrap / rounds, 4),
        "permutation_alarms": round(permutation / rounds, 4),
        "rounds": rounds,
        "seconds": round(time.perf_counter() - begun),
    }


def _trial(
    scores: dict[str, Floats], ratings: Floats, rows: Ints, plan: BootstrapPlan, wanted: float
) -> tuple[int, float]:
    """How many of both metrics' intervals hold the truth, and the p of the difference between them."""
    done = resample_correlations(scores, ratings, plan, dialogues=rows)
    n_units = int(done.n_units[0])
    holds = 0
    for value, samples in zip(done.values, done.samples.T, strict=True):
        found = plan.interval(float(value), samples, len(ratings), 0, n_units)
        holds += found.low <= wanted <= found.high
    sign = 1.0 if done.values[0] > done.values[1] else -1.0
    return holds, bootstrap_p_value(sign * (done.samples[:, 0] - done.samples[:, 1]), n_units, plan.kind)


def reaches(entry: dict[str, Any]) -> bool:
    """Whether a cell over dialogues reaches the bar; what is resampled by items is there to compare with."""
    alarms = max(entry["bootstrap_alarms"], entry["permutation_alarms"])
    return bool(entry["unit"] != "dialogues" or (COVERED[0] <= entry["covered"] <= COVERED[1] and alarms <= ALARMS))


def page(entries: list[dict[str, Any]]) -> str:
    """The results as a table."""
    rows = [
        [
            one["unit"],
            one["method"],
            str(one["dialogues"]),
            "strong" if one["has_effect"] else "none",
            one["covered"],
            one["bootstrap_alarms"],
            one["permutation_alarms"],
        ]
        for one in entries
    ]
    heads = ["resampled", "correlation", "dialogues", "dialogue effect", "95% intervals that contain the true value"]
    heads += ["false alarms, bootstrap", "false alarms, permutation"]
    notes = [
        f"{entries[0]['rounds']:,} simulations per line, {RESAMPLES} resamples, {PERMUTATIONS} permutations; shares "
        "are exact to about ± .01. `rejoinder trust` resamples dialogues; items are shown for comparison.",
        f"Target for dialogues: {COVERED[0]:g} to {COVERED[1]:g} of the intervals, at most {ALARMS:g} false alarms.",
        "Dialogues have 2, 4 or 6 items with one reply each. Both metrics correlate with the ratings by .5. A strong "
        "effect: replies of one dialogue share half of the variance.",
        "Command: `python -m benchmarks.trust_coverage`.",
    ]
    table = to_markdown(Table("How reliable trust is on conversations", heads, rows)).replace("### ", "# ", 1)
    return "\n".join([table, *(f"- {note}" for note in notes), ""])


def main(rounds: int = 2000) -> int:
    """Simulate every cell and write the results; the exit status says whether the bar was reached."""
    entries = []
    for cell in cells():
        entries.append(measure(cell, rounds))
        print(json.dumps(entries[-1]), flush=True)
        told = [{key: value for key, value in one.items() if key != "seconds"} for one in entries]
        TARGET.write_text(json.dumps(told, indent=1) + "\n")
        TARGET.with_suffix(".md").write_text(page(entries))
    return 0 if all(map(reaches, entries)) else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
