"""How often the intervals of ``estimate`` hold the truth. Run: python -m benchmarks.estimate_coverage [ROUNDS]

Simulation: two systems reply to 2,000 items in 500 dialogues. Ratings are whole numbers from 1 to 5, of which all are
used, or mostly 5, some 4 and rarely 1; the metric correlates by .7 with them. 20, 50 or 100 replies of each system are
rated, or 10, 20 or 40 dialogues, and the rest is hidden. Published sets: 100 of the ratings are taken as labels, the
rest is hidden, and aptness scores all replies. Two things are measured: the share of 95% intervals that hold the true
value, and how wide they are. The results go to docs/results/estimate.json and .md.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr

import rejoinder
from rejoinder.comparison.rating_scale import choose_scale
from rejoinder.stats.arrays import Floats, Ints
from rejoinder.stats.prediction_powered import Population, powered_mean
from rejoinder.table import Table, to_markdown

TARGET = Path(__file__).parent.parent / "docs" / "results" / "estimate.json"
N, SIZE, R, SHARED = 2000, 4, 0.7, 0.3
RATED = (20, 50, 100)
QUANTITIES = ("mean", "difference", "win rate", "share")
SCALE, SHARE = (1.0, 5.0), (0.0, 1.0)
SCALES = {"mean": SCALE, "difference": (-4.0, 4.0), "win rate": SHARE, "share": SHARE}
FEW = (10 * SIZE, 20 * SIZE, 40 * SIZE)
COVERED, WIDE = 0.93, 0.97  # the bar, and what is more than needed
EVEN = np.repeat(np.arange(N // SIZE), SIZE)
UNEVEN = np.repeat(np.arange(N // SIZE), np.tile((1, 2, 4, 9), N // SIZE // 4))
SHARES = ((0.03, 0.0, 0.0, 0.10), (0.06, 0.0, 0.02, 0.15))  # of the ratings 1 to 4 of two systems, where most are 5


class Condition(NamedTuple):
    """How replies of a dialogue are alike, how the judge is wrong, what is drawn, and what is estimated."""

    name: str
    icc: float = 0.0
    is_biased: bool = False
    drawn: str = "reply"
    population: Population = "these"
    metrics: int = 1
    has_strata: bool = False
    is_skewed: bool = False
    dialogues: Ints = EVEN
    rated: Sequence[int] = RATED


CONDITIONS = (
    Condition("independent replies"),
    Condition("clusters, biased judge", icc=0.5, is_biased=True),
    Condition("clusters, biased judge, future replies", icc=0.5, is_biased=True, population="future"),
    Condition("whole dialogues, biased judge", icc=0.5, is_biased=True, drawn="dialogue", rated=FEW),
    Condition("few dialogues, future replies", icc=0.5, drawn="dialogue", population="future", rated=FEW),
    Condition("known unequal probabilities, biased judge", icc=0.5, is_biased=True, drawn="unequal"),
    Condition("three metrics, clusters, biased judge", icc=0.5, is_biased=True, metrics=3),
    Condition("four strata by the metric, clusters", icc=0.5, has_strata=True, rated=(50, 100, 300)),
    Condition("skewed", is_skewed=True),
    Condition("skewed, clusters, biased judge", is_skewed=True, icc=0.5, is_biased=True),
    Condition("skewed, future replies", is_skewed=True, icc=0.5, population="future"),
    Condition("skewed, known unequal probabilities", is_skewed=True, icc=0.5, drawn="unequal"),
    Condition("skewed, of 200 replies", is_skewed=True, dialogues=EVEN[:200], rated=(20, 50, 100)),
    Condition("skewed, whole dialogues", is_skewed=True, icc=0.5, drawn="dialogue", rated=FEW),
    Condition(
        "skewed, few dialogues, future replies",
        is_skewed=True,
        icc=0.5,
        drawn="dialogue",
        population="future",
        rated=FEW,
    ),
    Condition(
        "skewed, few dialogues of 1 to 9 items, future replies",
        is_skewed=True,
        icc=0.5,
        drawn="dialogue",
        population="future",
        dialogues=UNEVEN,
        rated=FEW,
    ),
)


def simulate(random: np.random.Generator, condition: Condition) -> dict[str, tuple[Floats, Floats]]:
    """Ratings and scores of all rows, for each quantity."""
    dialogues = condition.dialogues
    n, n_dialogues = len(dialogues), int(dialogues.max()) + 1

    def noise() -> Floats:
        shared = random.normal(size=n_dialogues)[dialogues]
        return np.asarray(np.sqrt(condition.icc) * shared + np.sqrt(1 - condition.icc) * random.normal(size=n))

    def both_sides() -> tuple[Floats, Floats]:
        item = noise()
        first, second = (np.sqrt(SHARED) * item + np.sqrt(1 - SHARED) * noise() for _ in range(2))
        return first, second

    def rate(value: Floats, system: int) -> Floats:
        if condition.is_skewed:
            return np.asarray(1.0 + np.searchsorted(np.cumsum(SHARES[system]), ndtr(value)))
        return np.clip(np.round((3.4, 3.1)[system] + value), *SCALE)

    ratings = [rate(value, system) for system, value in enumerate(both_sides())]
    scores = [
        R * (y - y.mean()) / max(y.std(), 1e-9) + np.sqrt(1 - R * R) * e
        for y, e in zip(ratings, both_sides(), strict=True)
    ]
    if condition.is_biased:  # lenient, most so to one system and to some dialogues; whole numbers up to 5
        mild = random.normal(size=n_dialogues)[dialogues]
        scores = [
            np.clip(np.round(shift + 1.2 * f + 0.3 * mild), *SCALE) for shift, f in zip((4.2, 3.6), scores, strict=True)
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
    dialogues, size = condition.dialogues, len(condition.dialogues)
    if condition.drawn == "dialogue":
        return np.flatnonzero(np.isin(dialogues, random.permutation(int(dialogues.max()) + 1)[: n // SIZE])), None
    if condition.drawn == "reply":
        return random.permutation(size)[:n], None
    weights = 1 + 2 * random.random(size)
    probabilities = n * weights / weights.sum()
    order = random.permutation(size)
    ends = np.cumsum(probabilities[order]) - random.random()
    chosen = np.floor(ends) > np.floor(ends - probabilities[order])
    return order[chosen], probabilities


def measure(condition: Condition, rounds: int) -> Iterator[dict[str, Any]]:
    """One entry for each number of ratings and quantity."""
    random = np.random.default_rng([one.name for one in CONDITIONS].index(condition.name))
    dialogues, size = condition.dialogues, len(condition.dialogues)
    ends = np.empty((rounds, len(condition.rated), len(QUANTITIES), 4))
    truth = np.empty((rounds, len(QUANTITIES)))
    begun = time.perf_counter()
    for i in range(rounds):
        rows = simulate(random, condition)
        truth[i] = [rows[name][0].mean() for name in QUANTITIES]
        for j, n in enumerate(condition.rated):
            rated, probabilities = draw(random, n, condition)
            for k, name in enumerate(QUANTITIES):
                y, x = rows[name]
                hidden = np.full(size, np.nan)
                hidden[rated] = y[rated]
                strata = np.argsort(np.argsort(x)) * 4 // size if condition.has_strata else None
                if condition.metrics > 1:  # each with noise of its own
                    x = x[:, None] + random.normal(size=(size, condition.metrics)) * x.std()
                result = powered_mean(
                    hidden,
                    x,
                    conversations=dialogues,
                    units=dialogues if condition.drawn == "dialogue" else None,
                    strata=strata,
                    probabilities=probabilities,
                    population=condition.population,
                    scale=SCALES[name],
                )
                ends[i, j, k] = result.both.low, result.both.high, result.alone.low, result.alone.high
        show_progress(condition.name, i + 1, rounds, begun)
    if condition.population == "future":
        truth[:] = truth.mean(axis=0)
    for j, n in enumerate(condition.rated):
        for k, name in enumerate(QUANTITIES):
            of_what = {"condition": condition.name, "quantity": name, "rated": n, "of": size}
            yield of_what | count(ends[:, j, k], truth[:, k])


def count(ends: Floats, truth: Floats) -> dict[str, Any]:
    """The shares of intervals that hold the truth, by both and by the ratings alone, and their mean widths.

    A missing interval holds nothing; ``narrowest`` is the smallest width of any.
    """
    covered, alone = ((ends[:, a] <= truth) & (truth <= ends[:, a + 1]) for a in (0, 2))
    widths = ends[:, [1, 3]] - ends[:, [0, 2]]
    return {
        "covered": round(float(covered.mean()), 4),
        "covered_alone": round(float(alone.mean()), 4),
        "width": round(float(np.nanmean(widths[:, 0])), 3),
        "width_alone": round(float(np.nanmean(widths[:, 1])), 3),
        "narrowest": round(float(np.nanmin(widths)), 4),
        "rounds": len(ends),
    }


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
    scale: tuple[float, float]
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
    singles = [value for several in values.values() for value in several]
    scale = choose_scale(None, (min(singles), max(singles)))
    good, every = (y >= published.good).astype(np.float64), np.arange(len(y))
    rows = [
        Rows(f"mean {published.aspect}", y, x, every, conversations, scale, 100, "reply"),
        Rows(f"share rated {published.good:g} or more", good, x, every, conversations, SHARE, 100, "reply"),
    ]
    per_item = np.bincount(items)
    if per_item.min() == per_item.max() > 1:
        n = 100 // int(per_item[0])
        rows.append(Rows(f"mean {published.aspect}", y, x, items, conversations, scale, n, "item"))
    if len(scores.systems) > 1 and per_item.min() == len(scores.systems):
        rows += pair_rows(scores.systems, scores.system_codes[places], items, y, x, scale)
    return rows


def pair_rows(systems: Any, codes: Ints, items: Ints, y: Floats, x: Floats, scale: tuple[float, float]) -> list[Rows]:
    """The difference between the first two systems and the win rate, from 50 items with a rating of each."""
    table = {code: {item: i for i, item in enumerate(items) if codes[i] == code} for code in (0, 1)}
    both = sorted(table[0].keys() & table[1].keys())
    first, second = (np.array([table[code][item] for item in both]) for code in (0, 1))
    difference, score, every = y[first] - y[second], x[first] - x[second], np.arange(len(both))
    name = f"{systems[0]} − {systems[1]}"
    wins, width = np.sign(difference) / 2 + 0.5, scale[1] - scale[0]
    return [
        Rows(f"difference {name}", difference, score, every, every, (-width, width), 50, "item"),
        Rows(f"win rate {name}", wins, score, every, every, SHARE, 50, "item"),
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
            result = powered_mean(hidden, rows.x, scale=rows.scale, **options)
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
    return bool(min(entry["covered"], entry["covered_alone"]) >= COVERED and entry["narrowest"] > 0)


def page(entries: list[dict[str, Any]]) -> str:
    """The results as two tables."""
    heads = ["sample", "estimate of", "rated", "of", "95% intervals that contain the true value"]
    heads += ["the same, ratings alone", "mean width", "the same, ratings alone"]

    def make_table(title: str, rows: list[dict[str, Any]], notes: list[str]) -> str:
        keys = ("condition", "quantity", "rated", "of", "covered", "covered_alone", "width", "width_alone")
        return to_markdown(Table(title, heads, [[one[key] for key in keys] for one in rows], notes))

    simulated = [one for one in entries if "correlation" not in one]
    published = [one for one in entries if "correlation" in one]
    missed = sum(not reaches(one) for one in entries)
    wide = sum(one["covered"] > WIDE for one in entries)
    least = min(min(one["covered"], one["covered_alone"]) for one in entries)
    first = [
        f"{entries[0]['rounds']:,} simulations per line; shares are exact to about ± .01. Target: at least "
        f"{COVERED:g}, and no interval without a width. "
        + (f"{missed} of {len(entries)} lines of this page miss it" if missed else "All lines of this page reach it")
        + f"; the smallest share is {least:.3f}. {wide} lines have more than {WIDE:g} by ratings and metric: their "
        "intervals are wider than they need to be, since they allow for replies at the ends of the scale that nobody "
        "rated.",
        "Estimand: the mean over these replies (or items), with finite-population correction; with future replies, the "
        "mean of the process that they come from, clustered by dialogue.",
        "Ratings are whole numbers from 1 to 5, 500 dialogues have four items each (or 1, 2, 4 and 9 in turn), and "
        "the metric correlates .7 with the ratings. Skewed: 87% are 5, 10% are 4 and 3% are 1 (the second system: "
        "77%, 15%, 2% are 3 and 6% are 1). Clusters: replies of one dialogue share half of the variance behind the "
        "ratings; so they do where dialogues are drawn whole: 10, 20 or 40 of them. A biased judge is lenient, most "
        "so to one system and to some dialogues, and gives whole numbers up to 5; it correlates less. Unequal "
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


def main(rounds: int = 2000) -> int:
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
