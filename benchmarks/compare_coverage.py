"""How often ``compare`` errs where differences are skewed. Run: python -m benchmarks.compare_coverage [ROUNDS]

Two systems are equally good on average, but their differences lean to one side: many small gains and a few large
losses. Counted are false alarms (p below .05) and the 95% intervals that hold the true difference, by
``paired_difference``, which ``compare`` uses, and false alarms by sign flips alone. Power is counted for normal
differences that are really there. The results go to docs/results/compare-coverage.json and .md.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.comparison.run_comparison import ALPHA, FLIPS
from rejoinder.stats.arrays import Floats
from rejoinder.stats.paired_difference import paired_difference, sign_flip_test
from rejoinder.table import Table, to_markdown

TARGET = Path(__file__).parent.parent / "docs" / "results" / "compare-coverage.json"
CONVERSATIONS, CLUSTER_SIZE = (8, 20, 80), 4
ALARMS, COVERED = 0.07, 0.93  # the bar
Draw = Callable[[np.random.Generator, int], Floats]

# Draws of a mean of 0 that have a tail on one side. A loss of 5 is 5 standard deviations of the other nine in ten.
SHAPES: dict[str, Draw] = {
    "normal": lambda random, n: random.normal(size=n),
    "exponential": lambda random, n: 1 - random.exponential(size=n),
    "gamma, shape .5": lambda random, n: 0.5 - random.gamma(0.5, size=n),
    "lognormal": lambda random, n: math.exp(0.5) - random.lognormal(size=n),
    "one in ten far worse": lambda random, n: random.normal(size=n) + 0.5 - 5 * (random.random(n) < 0.1),
}
CLUSTERED = ("normal", "exponential")
EFFECTS = {8: (1.0, 1.3), 20: (0.5, 0.68), 80: (0.23, 0.33)}  # normal differences that sign flips find half of, or most


def cells() -> Iterator[dict[str, Any]]:
    """Every kind of differences with every number of conversations."""
    for shape in SHAPES:
        yield from ({"shape": shape, "conversations": n, "items": 1, "effect": 0.0} for n in CONVERSATIONS)
    for shape in CLUSTERED:
        yield from ({"shape": shape, "conversations": n, "items": CLUSTER_SIZE, "effect": 0.0} for n in CONVERSATIONS)
    for n, effects in EFFECTS.items():
        yield from ({"shape": "normal", "conversations": n, "items": 1, "effect": effect} for effect in effects)


def measure(cell: dict[str, Any], rounds: int) -> dict[str, Any]:
    """The shares of one cell: false alarms (or, with an effect, power) and intervals that hold the true difference."""
    random, draw = np.random.default_rng(0), SHAPES[cell["shape"]]
    n, items, effect = cell["conversations"], cell["items"], cell["effect"]
    conversations = np.repeat(np.arange(n), items)
    differ = differ_by_flips = covered = 0
    for seed in range(rounds):
        x = draw(random, n)[conversations] + effect
        if items > 1:  # the items of a conversation share one draw, and each has noise of its own
            x = x + random.normal(size=len(x))
        options: dict[str, Any] = {"clusters": conversations, "n_permutations": FLIPS, "seed": seed}
        paired = paired_difference(x, np.zeros(len(x)), **options)
        differ += paired.p < ALPHA
        covered += paired.low <= effect <= paired.high
        differ_by_flips += sign_flip_test(x, np.zeros(len(x)), **options).p < ALPHA
    return {
        **cell,
        "differ": round(differ / rounds, 4),
        "covered": round(covered / rounds, 4),
        "differ_by_flips": round(differ_by_flips / rounds, 4),
        "rounds": rounds,
    }


def reaches(entry: dict[str, Any]) -> bool:
    """Whether an entry reaches the bar; power has none."""
    return bool(entry["effect"] or (entry["differ"] <= ALARMS and entry["covered"] >= COVERED))


def page(entries: list[dict[str, Any]]) -> str:
    """The results as two tables."""
    alarms, power = ([one for one in entries if bool(one["effect"]) == has_effect] for has_effect in (False, True))
    missed = [f"{one['shape']} at {one['conversations']}" for one in alarms if not reaches(one)]
    rows = [
        [one["shape"], one["conversations"], one["items"], one["differ"], one["differ_by_flips"], one["covered"]]
        for one in alarms
    ]
    heads = ["differences", "conversations", "items in each", "false alarms", "by sign flips alone", "intervals"]
    notes = [
        f"{entries[0]['rounds']:,} simulations per line; shares near .05 are exact to about ± .006. "
        "The true mean difference is 0. Intervals: the share of 95% intervals that contain it.",
        f"Target: at most {ALARMS:g} false alarms and at least {COVERED:g} of the intervals. "
        + (f"Missed: {', '.join(missed)}." if missed else "All lines reach it."),
        "Exponential, gamma (shape .5) and lognormal differences are turned so that the long tail is on the side of "
        "losses. One in ten far worse: normal differences, a tenth of them lower by 5 standard deviations. Items of "
        "one conversation share a draw, and each has normal noise of its own.",
        "Where no conversation of the tail is in the sample, nothing in the sample tells of it: with 8 conversations "
        "and one in ten far worse that is so in 43% of samples. No test knows better without more conversations.",
        "Command: `python -m benchmarks.compare_coverage`.",
    ]
    power_rows = [[f"{one['effect']:g}", one["conversations"], one["differ"], one["differ_by_flips"]] for one in power]
    power_heads = [
        "true difference, in standard deviations",
        "conversations",
        "differences found",
        "by sign flips alone",
    ]
    tables = [
        to_markdown(Table("False alarms", heads, rows, notes)),
        to_markdown(Table("Power, normal differences", power_heads, power_rows)),
    ]
    return "\n".join(["# How reliable compare is", "", *(one.replace("### ", "## ", 1) for one in tables)])


def main(rounds: int = 5_000) -> int:
    """Simulate every cell and write the results; the exit status says whether the bar was reached."""
    entries = []
    begun = time.perf_counter()
    for cell in cells():
        entries.append(measure(cell, rounds))
        print(json.dumps(entries[-1]), f"{time.perf_counter() - begun:.0f} s", flush=True)
    TARGET.write_text(json.dumps(entries, indent=1) + "\n")
    TARGET.with_suffix(".md").write_text(page(entries))
    return 0 if all(map(reaches, entries)) else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
