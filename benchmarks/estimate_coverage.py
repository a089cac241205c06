"""How often the intervals of ``estimate`` hold the truth. Run: python -m benchmarks.estimate_coverage [ROUNDS]

Simulation: two systems reply to 2,000 items in 500 dialogues of four. Ratings are whole numbers from 1 to 5; the
metric correlates by .7 with them. 50, 100 or 300 replies of each system are rated, and the rest is hidden. Published
sets: 100 of the ratings are taken as labels, the rest is hidden, and aptness scores all replies. Two things are
measured: the share of 95% intervals that hold the true value, and how wide they are, next to those of the ratings
alone. The results go to docs/results/estimate.json and .md.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import rejoinder
from rejoinder.stats.arrays import Floats, Ints
from rejoinder.stats.prediction_powered import Population, powered_mean
from rejoinder.table import Table, to_markdown

TARGET = Path(__file__).parent.parent / "docs" / "results" / "estimate.json"
N, SIZE, R, SHARED = 2000, 4, 0.7, 0.3
RATED = (50, 100, 300)
QUANTITIES = ("mean", "difference", "win rate", "share")
COVERED, WIDTH = (0.93, 0.97), 0.76  # the bar
DIALOGUES = np.repeat(np.arange(N // SIZE), SIZE)


class Condition(NamedTuple):
    """How replies of a dialogue are alike, how the judge is wrong, what is drawn, and what is estimated."""

    name: str
    icc: float = 0.0
    is_biased: bool = False
    drawn: str = "reply"
    population: Population = "these"
    metrics: int = 1
    has_strata: bool = False


CONDITIONS = (
    Condition("independent replies"),
    Condition("biased judge", is_biased=True),
    Condition("clusters", icc=0.5),
    Condition("clusters, biased judge", icc=0.5, is_biased=True),
    Condition("clusters, biased judge, future replies", icc=0.5, is_biased=True, population="future"),
    Condition("whole dialogues drawn, biased judge", icc=0.5, is_biased=True, drawn="dialogue"),
    Condition("known unequal probabilities, biased judge", icc=0.5, is_biased=True, drawn="unequal"),
    Condition("three metrics, clusters, biased judge", icc=0.5, is_biased=True, metrics=3),
    Condition("four strata by the metric, clusters", icc=0.5, has_strata=True),
)


def simulate(random: np.random.Generator, condition: Condition) -> dict[str, tuple[Floats, Floats]]:
    """Ratings and scores of all rows, for each quantity."""

    def noise() -> Floats:
        shared = random.normal(size=N // SIZE)[DIALOGUES]
        return np.asarray(np.sqrt(condition.icc) * shared + np.sqrt(1 - condition.icc) * random.normal(size=N))

    def both_sides() -> tuple[Floats, Floats]:
        item = noise()
        first, second = (np.sqrt(SHARED) * item + np.sqrt(1 - SHARED) * noise() for _ in range(2))
        return first, second

    ratings = [np.clip(np.round(shift + value), 1, 5) for shift, value in zip((3.4, 3.1), both_sides(), strict=True)]
    scores = [R * (y - y.mean()) / y.std() + np.sqrt(1 - R * R) * e for y, e in zip(ratings, both_sides(), strict=True)]
    if condition.is_biased:  # lenient, most so to one system and to long dialogues; whole numbers up to 5
        long = random.normal(size=N // SIZE)[DIALOGUES]
        scores = [
            np.clip(np.round(shift + 1.2 * f + 0.3 * long), 1, 5) for shift, f in zip((4.2, 3.6), scores, strict=True)
        ]
    difference = ratings[0] - ratings[1]
    return {
        "mean": (ratings[0], scores[0]),
        "difference": (difference, scores[0] - scores[1]),
        "win rate": (np.sign(difference) / 2 + 0.5, scores[0] - scores[1]),
        "share": ((ratings[0] >= 4).astype(np.float64), scores[0]),
    }


def draw(random: np.random.Generator, n: int, condition: Condition) -> tuple[Ints, Floats | None]:
    """The rated rows, and the probabilities of all rows where they are not equal."""
    if condition.drawn == "dialogue":
        return np.flatnonzero(np.isin(DIALOGUES, random.permutation(N // SIZE)[: n // SIZE])), None
    if condition.drawn == "reply":
        return random.permutation(N)[:n], None
    size = 1 + 2 * random.random(N)
    probabilities = n * size / size.sum()
    order = random.permutation(N)
    ends = np.cumsum(probabilities[order]) - random.random()
    chosen = np.floor(ends) > np.floor(ends - probabilities[order])
    return order[chosen], probabilities


def measure(condition: Condition, rounds: int) -> Iterator[dict[str, Any]]:
    """One entry for each number of ratings and quantity."""
    random = np.random.default_rng(CONDITIONS.index(condition))
    found = np.empty((rounds, len(RATED), len(QUANTITIES), 4))
    truth = np.empty((rounds, len(QUANTITIES)))
    begun = time.perf_counter()
    for i in range(rounds):
        rows = simulate(random, condition)
        truth[i] = [rows[name][0].mean() for name in QUANTITIES]
        for j, n in enumerate(RATED):
            rated, probabilities = draw(random, n, condition)
            for k, name in enumerate(QUANTITIES):
                y, x = rows[name]
                hidden = np.full(N, np.nan)
                hidden[rated] = y[rated]
                strata = np.argsort(np.argsort(x)) * 4 // N if condition.has_strata else None
                if condition.metrics > 1:  # each with noise of its own
                    x = x[:, None] + random.normal(size=(N, condition.metrics)) * x.std()
                result = powered_mean(
                    hidden,
                    x,
                    conversations=DIALOGUES,
                    units=DIALOGUES if condition.drawn == "dialogue" else None,
                    strata=strata,
                    probabilities=probabilities,
                    population=condition.population,
                    is_share=name in ("win rate", "share"),
                )
                found[i, j, k] = result.both.low, result.both.high, result.alone.low, result.alone.high
        show_progress(condition.name, i + 1, rounds, begun)
    if condition.population == "future":
        truth[:] = truth.mean(axis=0)
    for j, n in enumerate(RATED):
        for k, name in enumerate(QUANTITIES):
            yield {"condition": condition.name, "quantity": name, "rated": n, "of": N} | count(
                found[:, j, k], truth[:, k]
            )


def count(found: Floats, truth: Floats) -> dict[str, Any]:
    """The shares of intervals that hold the truth, by both and by the ratings alone, and the ratio of their widths."""
    covered, alone = ((found[:, a] <= truth) & (truth <= found[:, a + 1]) for a in (0, 2))
    width = (found[:, 1] - found[:, 0]).mean() / (found[:, 3] - found[:, 2]).mean()
    shares = {"covered": round(float(covered.mean()), 4), "covered_alone": round(float(alone.mean()), 4)}
    return {**shares, "width": round(float(width), 3), "rounds": len(found)}


def show_progress(name: str, done: int, rounds: int, begun: float) -> None:
    """Say how far a part is, every 200 rounds."""
    if done % 200 == 0 or done == rounds:
        print(f"{name}: {done:,} of {rounds:,}, {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)


class PublishedSet(NamedTuple):
    """A published set: its name, the aspect, and what counts as good."""

    title: str
    dataset: str
    aspect: str
    good: float


SETS = (
    PublishedSet("HUMOD", "idk/humod", "relevance", 4.0),
    PublishedSet("FED", "fed/turn", "overall", 3.0),
    PublishedSet("Gupta", "gupta/single", "appropriate", 4.0),
)


class Rows(NamedTuple):
    """What is estimated from a set: one value and score per row, and what is drawn together."""

    what: str
    y: Floats
    x: Floats
    units: Ints
    conversations: Ints
    is_share: bool
    n_units: int  # drawn
    drawn: str


def read_rows(published: PublishedSet) -> list[Rows]:
    """The quantities of a published set, with 100 ratings each."""
    data = rejoinder.read(f"dataset:{published.dataset}")
    scores = rejoinder.score(data, "aptness")
    values: dict[str, list[float]] = {}
    for rating in data.ratings:
        if rating.aspect == published.aspect and rating.response:
            values.setdefault(rating.response, []).append(rating.value)
    places = np.array([i for i, name in enumerate(scores.responses) if name in values])
    y = np.array([np.mean(values[scores.responses[i]]) for i in places])
    x, conversations = scores["aptness"][places], scores.clusters[places]
    items = np.unique([scores.items[i] for i in places], return_inverse=True)[1]
    good, every = (y >= published.good).astype(np.float64), np.arange(len(y))
    rows = [
        Rows(f"mean {published.aspect}", y, x, every, conversations, False, 100, "reply"),
        Rows(f"share rated {published.good:g} or more", good, x, every, conversations, True, 100, "reply"),
    ]
    per_item = np.bincount(items)
    if per_item.min() == per_item.max() > 1:
        n = 100 // int(per_item[0])
        rows.append(Rows(f"mean {published.aspect}", y, x, items, conversations, False, n, "item"))
    if len(scores.systems) > 1 and per_item.min() == len(scores.systems):
        rows += pair_rows(scores.systems, scores.system_codes[places], items, y, x)
    return rows


def pair_rows(systems: Any, codes: Ints, items: Ints, y: Floats, x: Floats) -> list[Rows]:
    """The difference between the first two systems and the win rate, from 50 items with a rating of each."""
    table = {code: {item: i for i, item in enumerate(items) if codes[i] == code} for code in (0, 1)}
    both = sorted(table[0].keys() & table[1].keys())
    first, second = (np.array([table[code][item] for item in both]) for code in (0, 1))
    difference, score, every = y[first] - y[second], x[first] - x[second], np.arange(len(both))
    name = f"{systems[0]} − {systems[1]}"
    wins = np.sign(difference) / 2 + 0.5
    return [
        Rows(f"difference {name}", difference, score, every, every, False, 50, "item"),
        Rows(f"win rate {name}", wins, score, every, every, True, 50, "item"),
    ]


def measure_set(published: PublishedSet, rounds: int) -> Iterator[dict[str, Any]]:
    """One entry for each quantity of a published set."""
    for rows in read_rows(published):
        random, found, begun = np.random.default_rng(0), np.empty((rounds, 4)), time.perf_counter()
        n_units = int(rows.units.max()) + 1
        n_rated = 0
        for i in range(rounds):
            rated = np.isin(rows.units, random.permutation(n_units)[: rows.n_units])
            n_rated = int(rated.sum())
            hidden = np.where(rated, rows.y, np.nan)
            options: dict[str, Any] = {"units": rows.units, "conversations": rows.conversations}
            result = powered_mean(hidden, rows.x, is_share=rows.is_share, **options)
            found[i] = result.both.low, result.both.high, result.alone.low, result.alone.high
            show_progress(f"{published.title}, {rows.what}", i + 1, rounds, begun)
        about: dict[str, Any] = {"condition": f"{published.title}, drawn by {rows.drawn}", "quantity": rows.what}
        about |= {
            "rated": n_rated,
            "of": len(rows.y),
            "correlation": round(float(np.corrcoef(rows.x, rows.y)[0, 1]), 3),
        }
        yield about | count(found, np.full(rounds, rows.y.mean()))


def reaches(entry: dict[str, Any]) -> bool:
    """Whether an entry reaches the bar."""
    must_be_narrow = entry["condition"] == "independent replies" and entry["rated"] == 100
    narrow = not (must_be_narrow and entry["quantity"] in ("mean", "difference")) or entry["width"] <= WIDTH
    return bool(COVERED[0] <= entry["covered"] <= COVERED[1] and narrow)


def page(entries: list[dict[str, Any]]) -> str:
    """The results as two tables."""
    heads = ["sample", "estimate of", "rated", "of", "95% intervals that contain the true value"]
    heads += ["the same, ratings alone", "width, ratings alone = 1"]

    def make_table(title: str, rows: list[dict[str, Any]], notes: list[str]) -> str:
        keys = ("condition", "quantity", "rated", "of", "covered", "covered_alone", "width")
        return to_markdown(Table(title, heads, [[one[key] for key in keys] for one in rows], notes))

    simulated = [one for one in entries if "correlation" not in one]
    published = [one for one in entries if "correlation" in one]
    missed = sum(not reaches(one) for one in entries)
    first = [
        f"{entries[0]['rounds']:,} simulations per line; shares are exact to about ± .007. Target: {COVERED[0]:g} to "
        f"{COVERED[1]:g}; the width of means and differences of 100 independent ratings at most {WIDTH:g}. "
        + (f"{missed} of {len(entries)} lines of this page miss it." if missed else "All lines of this page reach it."),
        "Estimand: the mean over these 2,000 replies (or items), with finite-population correction; with future "
        "replies, the mean of the process that they come from, clustered by dialogue.",
        "Ratings are whole numbers from 1 to 5, 500 dialogues have four items each, and the metric correlates .7 with "
        "the ratings. Clusters: replies of one dialogue share half of the variance. A biased judge is lenient, most so "
        "to one system and to long dialogues, and gives whole numbers up to 5; it correlates less. Unequal "
        "probabilities: the largest is three times the smallest. Three metrics: each with noise of its own. With "
        "strata by the metric, the ratings alone use it too, so less is left to gain.",
        "Command: `python -m benchmarks.estimate_coverage`.",
    ]
    second = ["100 ratings are taken as labels, the others are hidden; aptness scores all replies."]
    second.append("Estimand: the mean over all replies of the set, with finite-population correction.")
    second += [
        f"{one['condition']}, {one['quantity']}: aptness correlates {one['correlation']:.2f} with people."
        for one in published
    ]
    pages = [make_table("Simulated ratings", simulated, first)]
    pages += [make_table("Published sets", published, second)] if published else []
    return "\n".join(["# How reliable estimate is", "", *(one.replace("### ", "## ", 1) for one in pages)])


def main(rounds: int = 4000) -> int:
    """Measure every part and write the results; the exit status says whether the bar was reached."""
    entries: list[dict[str, Any]] = []
    parts: list[Callable[[], Iterator[dict[str, Any]]]] = [
        *(lambda one=one: measure_set(one, rounds) for one in SETS),
        *(lambda one=one: measure(one, rounds) for one in CONDITIONS),
    ]
    for part in parts:
        for entry in part():
            entries.append(entry)
            print(json.dumps(entry), flush=True)
    TARGET.write_text(json.dumps(entries, indent=1) + "\n")
    TARGET.with_suffix(".md").write_text(page(entries))
    return 0 if all(map(reaches, entries)) else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
