"""What people would say of all replies, from few ratings and many scores, with an interval that holds.

Ratings of some replies of a run and a metric's scores of all of them give, for each system, the mean rating, its
difference from another system, how often it wins, and the share of its replies that are rated so high; by the ratings
alone, by the metric alone, and by both (``stats.prediction_powered``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.comparison.rated_sample import RatedSample, encode_units, read_ratings, take_sample
from rejoinder.comparison.sample_strata import label_strata, merge_small_strata
from rejoinder.data.collection import Collection
from rejoinder.errors import InputError, nearest
from rejoinder.scoring.reader import load_data
from rejoinder.scoring.result import Scores
from rejoinder.scoring.run import Run, load
from rejoinder.stats.arrays import Floats, Ints
from rejoinder.stats.interval import interval_estimate
from rejoinder.stats.prediction_powered import Population, PoweredMean, powered_mean
from rejoinder.table import Cell, Table, format_count

Quantity: TypeAlias = Literal["mean", "difference", "win rate", "share"]
_MANY = 4  # systems: of more, only means are estimated unless the user names systems


class PoweredEstimate(NamedTuple):
    """One quantity of one system or two: by the metric alone, and by the ratings alone and both (``powered``)."""

    quantity: Quantity
    name: str
    metric_alone: float
    powered: PoweredMean

    @property
    def bias(self) -> float:
        """How far the metric alone is from the estimate by both."""
        return self.metric_alone - self.powered.both.value


@dataclass(frozen=True)
class PoweredEstimates:
    """What the ratings of one aspect and the scores of the metrics say together."""

    sample: RatedSample
    metrics: Sequence[str]
    estimates: Sequence[PoweredEstimate]
    population: Population
    is_mapped: bool  # whether the metric was put on the scale of the ratings
    warnings: Sequence[str]

    def table(self) -> Table:
        """One line per quantity."""
        rows: list[list[Cell]] = [
            [
                one.name,
                one.powered.alone.n,
                one.powered.n_rows,
                interval_estimate(one.powered.alone),
                one.metric_alone,
                one.bias,
                interval_estimate(one.powered.both),
                _round(one.powered.effective_n),
                _round(one.powered.effective_n - one.powered.alone.n),
                one.powered.tuning,
            ]
            for one in self.estimates
        ]
        heads = ["estimate of", "rated", "replies", "ratings alone", "metric alone", "its bias", "both"]
        heads += ["effective ratings", "ratings saved", "lambda"]
        title = f"Ratings of {self.sample.aspect!r} with {' + '.join(self.metrics)}"
        return Table(title, heads, rows, _make_notes(self))


def _round(value: float) -> int | None:
    return round(value) if math.isfinite(value) else None


def estimate(
    run: Scores | Run | str | Path,
    metrics: Sequence[str] | str,
    ratings: Collection | str | Path | None = None,
    *,
    aspect: str | None = None,
    systems: Sequence[str] = (),
    above: float | None = None,
    strata: str | None = None,
    population: Population = "these",
    tuning: float | None = None,
    assume_random: bool = False,
    level: float = 0.95,
) -> PoweredEstimates:
    """Estimate what people would say of all replies of a run, from ratings of some and a metric's scores of all.

    - ``run``: the run folder, or scores with their data.
    - ``metrics``: one metric of the run or several, whose best linear combination is fitted by cross-fitting.
    - ``ratings``: the ratings, where they are not in the run folder: a file (JSONL, or CSV with the columns
      ``response`` and ``rating``), or a collection.
    - ``aspect``: the aspect that was rated; optional where there is only one.
    - ``systems``: only these systems.
    - ``above``: also estimate the share of replies rated this or more.
    - ``strata``: groups of known size: ``meta.KEY``, a metric (four equal parts by its scores), or ``system``, which
      adds the mean over all systems.
    - ``population``: the mean over ``these`` replies, or over ``future`` replies in conversations like these.
    - ``tuning``: lambda, how far the metric is used: 0 not at all, 1 is plain PPI; by default what is best (PPI++).
    - ``assume_random``: believe that the rated replies are a random sample although they look chosen.
    - ``level``: of the intervals.

    >>> import rejoinder
    >>> estimates = rejoinder.estimate("RUN", "aptness", aspect="appropriate", population="future")
    >>> sorted({one.quantity for one in estimates.estimates})
    ['difference', 'mean', 'win rate']
    """
    scores = load(run)
    data = _find_data(run, scores)
    specs = [scores.spec(one) for one in ([metrics] if isinstance(metrics, str) else metrics)]
    if not specs:
        raise InputError(f"name a metric of the run: {', '.join(scores.facts)}")
    if tuning is not None and not 0 <= tuning <= 1:
        raise InputError(f"lambda must lie between 0 and 1, not {tuning:g}")
    records = None if ratings is None else list(ratings) if isinstance(ratings, Collection) else read_ratings(ratings)
    sample = take_sample(scores, data, records, aspect, specs)
    _refuse_chosen(sample, run, specs, assume_random)
    frame = _Frame(scores, data, sample, specs, strata, population, tuning, level, [])
    chosen = _choose_systems(scores, sample, systems)
    estimates = [frame.estimate_system(system) for system in chosen]
    if above is not None:
        estimates += [frame.estimate_share(system, above) for system in chosen]
    if strata == "system" and len(chosen) > 1:
        estimates.insert(0, frame.estimate_all(chosen))
    if len(chosen) <= _MANY or systems:
        for a, b in itertools.combinations(chosen, 2):
            estimates += frame.estimate_pair(a, b)
    else:
        frame.warnings.append(f"Differences of more than {_MANY} systems are left out; name two or more with --system.")
    warnings = [*_warn_of_sample(sample, assume_random), *dict.fromkeys(frame.warnings)]
    return PoweredEstimates(sample, specs, estimates, population, frame.is_mapped, warnings)


def _find_data(run: Scores | Run | str | Path, scores: Scores) -> Collection:
    if isinstance(run, Scores):
        return run.data if isinstance(run.data, Collection) else load_data(run.data) if run.data else Collection()
    return load_data(run.folder if isinstance(run, Run) else run)


def _choose_systems(scores: Scores, sample: RatedSample, wanted: Sequence[str]) -> list[str]:
    for name in wanted:
        if name not in scores.systems:
            raise InputError(f"no system of the run is called {name!r}; {nearest(name, scores.systems)}")
    rated = set(scores.system_codes[~np.isnan(sample.ratings)].tolist())
    chosen = [name for code, name in enumerate(scores.systems) if code in rated and (not wanted or name in wanted)]
    if not chosen:
        raise InputError(f"no reply of {' or '.join(wanted)} was rated; choose other systems")
    return chosen


def _refuse_chosen(sample: RatedSample, run: object, specs: Sequence[str], assume_random: bool) -> None:
    if sample.differences and not assume_random:
        folder = run.folder if isinstance(run, Run) else run if isinstance(run, str | Path) else "RUN"
        raise InputError(
            f"{folder}: the rated replies are no random sample of the run, they differ from the others in "
            f"{' and '.join(sample.differences)}, so an estimate for all would be wrong; draw some with: rejoinder "
            f"next {folder} --for estimate -n 100 -o next.jsonl (or, if they were drawn at random, add --assume-random)"
        )


def _warn_of_sample(sample: RatedSample, assume_random: bool) -> list[str]:
    if sample.differences:
        return [
            "Warning: the rated replies were taken for a random sample (--assume-random), but differ from the others "
            f"in {' and '.join(sample.differences)}. If they were chosen in any way, these intervals do not hold."
        ]
    if sample.is_marked or assume_random or not np.isnan(sample.ratings).any():
        return []
    return [
        "Nothing says that the rated replies were drawn at random; they do not differ visibly from the others. The "
        "intervals hold only if they were."
    ]


@dataclass(frozen=True)
class _Frame:
    """The replies of a run with ratings, scores and strata, from which each quantity takes its rows."""

    scores: Scores
    data: Collection
    sample: RatedSample
    specs: Sequence[str]
    strata: str | None
    population: Population
    tuning: float | None
    level: float
    warnings: list[str]

    @property
    def is_mapped(self) -> bool:
        """Whether the metric's scores are not on the scale of the ratings."""
        facts, (least, most) = self.scores.facts[self.specs[0]], self.sample.range
        low, high = facts.range
        is_same = math.isfinite(low) and math.isfinite(high) and low <= least and most <= high
        wide = is_same and 2 * (most - least) >= high - low
        return len(self.specs) > 1 or facts.higher_is_better is False or not wide

    @property
    def columns(self) -> Floats:
        """The scores, one column per metric."""
        return np.stack([self.scores[spec] for spec in self.specs], axis=1)

    @property
    def predicted(self) -> Floats:
        """What the metric alone says, on the scale of the ratings: its score, or one line through all rated replies."""
        x, y = self.columns, self.sample.ratings
        if not self.is_mapped:
            return x[:, 0]
        known = ~np.isnan(y) & np.isfinite(x).all(axis=1)
        if known.sum() < len(self.specs) + 2:
            return np.full(len(y), math.nan)
        design = np.concatenate([np.ones((len(x), 1)), x], axis=1)
        fitted = np.linalg.lstsq(design[known], y[known], rcond=None)[0]
        return np.asarray(design @ fitted)

    def estimate_system(self, system: str) -> PoweredEstimate:
        """The mean rating of a system's replies."""
        rows = self._rows([system])
        return self._estimate("mean", system, rows, self.sample.ratings[rows], _mean(self.predicted[rows]))

    def estimate_share(self, system: str, above: float) -> PoweredEstimate:
        """The share of a system's replies that are rated so high."""
        rows = self._rows([system])
        y, predicted = self.sample.ratings[rows], self.predicted[rows]
        values = np.where(np.isnan(y), math.nan, (y >= above).astype(np.float64))
        alone = _mean(np.where(np.isnan(predicted), math.nan, predicted >= above))
        return self._estimate("share", f"{system}: share rated {above:g} or more", rows, values, alone)

    def estimate_all(self, systems: Sequence[str]) -> PoweredEstimate:
        """The mean rating over the replies of all systems."""
        rows = self._rows(systems)
        return self._estimate("mean", "all systems", rows, self.sample.ratings[rows], _mean(self.predicted[rows]))

    def estimate_pair(self, first: str, second: str) -> list[PoweredEstimate]:
        """How much better the first is rated for the same items, and how often."""
        sides = [self._by_item(system) for system in (first, second)]
        items = [item for item in sides[0] if item in sides[1]]
        if not any(all(_is_rated(self.sample.ratings[side[item]]) for side in sides) for item in items):
            self.warnings.append(f"No item has ratings of both {first} and {second}: they are not compared.")
            return []
        rows = np.array([sides[0][item][0] for item in items], dtype=np.int64)
        y, predicted = (
            [np.array([_mean(values[side[item]], strict=strict) for item in items]) for side in sides]
            for values, strict in ((self.sample.ratings, True), (self.predicted, False))
        )
        x = [np.array([_column_means(self.columns[side[item]]) for item in items]) for side in sides]
        inclusion = self._pair_inclusion(sides, items)
        estimates = []
        quantities: list[tuple[Quantity, str, Callable[[Floats], Floats]]] = [
            ("difference", f"{first} − {second}", lambda difference: difference),
            ("win rate", f"{first} beats {second}", lambda difference: np.sign(difference) / 2 + 0.5),
        ]
        for quantity, name, score in quantities:
            alone = _mean(score(predicted[0] - predicted[1]))
            estimates.append(self._estimate(quantity, name, rows, score(y[0] - y[1]), alone, x[0] - x[1], inclusion))
        return estimates

    def _rows(self, systems: Sequence[str]) -> Ints:
        codes = [list(self.scores.systems).index(system) for system in systems]
        return np.flatnonzero(np.isin(self.scores.system_codes, codes))

    def _by_item(self, system: str) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for i in self._rows([system]).tolist():
            places.setdefault(self.scores.items[i], []).append(i)
        return places

    def _pair_inclusion(self, sides: Sequence[dict[str, list[int]]], items: Sequence[str]) -> Floats | None:
        """The probability that both replies were drawn: together with their item, or each by itself."""
        p = self.sample.probabilities
        if p is None:
            return None
        both = [np.array([p[side[item][0]] for item in items]) for side in sides]
        return np.asarray(both[0] * both[1] if self.sample.drawn == "reply" else np.minimum(both[0], both[1]))

    def _estimate(
        self,
        quantity: Quantity,
        name: str,
        rows: Ints,
        y: Floats,
        alone: float,
        x: Floats | None = None,
        inclusion: Floats | None = None,
    ) -> PoweredEstimate:
        sample = self.sample
        if x is None:
            x = self.columns[rows]
            inclusion = None if sample.probabilities is None else sample.probabilities[rows]
        if inclusion is not None:
            inclusion = self._allow_for_unrated(inclusion, y, name)
        is_pair = quantity in ("difference", "win rate")
        units = encode_units(self.scores, "item" if is_pair and sample.drawn == "reply" else sample.drawn)[rows]
        strata = None
        if self.strata is not None and not (self.strata == "system" and name != "all systems"):
            labels = label_strata(self.scores, self.data, self.strata)[rows]
            strata, merged = merge_small_strata(labels, units, ~np.isnan(y))
            if merged:
                self.warnings.append(f"{name}: {merged} strata had fewer than 2 ratings and were put with others.")
        powered = powered_mean(
            y,
            x,
            units=units,
            conversations=self.scores.clusters[rows],
            strata=strata,
            probabilities=inclusion,
            tuning=self.tuning,
            calibrate=self.tuning is None or self.is_mapped,
            population=self.population,
            is_share=quantity in ("win rate", "share"),
            level=self.level,
        )
        if powered.reason:
            self.warnings.append(f"{name}: {powered.reason}.")
        return PoweredEstimate(quantity, name, alone, powered)

    def _allow_for_unrated(self, inclusion: Floats, y: Floats, name: str) -> Floats:
        """The probabilities of being drawn and rated, where some that were drawn are not rated."""
        rated = ~np.isnan(y)
        share = float((1 / inclusion[rated]).sum()) / len(y) if rated.any() else 1.0
        if share < 0.9:
            self.warnings.append(
                f"{name}: about {1 - share:.0%} of the replies that were drawn are not rated; the others stand for "
                "them, which is right only if what is missing is missing by chance."
            )
        return np.asarray(inclusion * min(1.0, share))


def _is_rated(values: Floats) -> bool:
    return bool((~np.isnan(values)).all())


def _mean(values: Floats, strict: bool = False) -> float:
    """The mean of the known values; ``strict``: of all, and NaN where one is missing."""
    known = values if strict else values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan


def _column_means(values: Floats) -> Floats:
    return np.array([_mean(column) for column in values.T])


def _make_notes(result: PoweredEstimates) -> list[str]:
    """What a reader of the table must know."""
    sample, alone = result.sample, [one.powered for one in result.estimates if one.quantity == "mean"]
    n = int((~np.isnan(sample.ratings)).sum())
    estimand = (
        "the mean over these replies, had all been rated as the rated ones were; [low, high]: 95% interval with "
        f"finite-population correction, drawn by {sample.drawn}"
        if result.population == "these"
        else "the mean over future replies in conversations like these; [low, high]: 95% interval, clustered by "
        "conversation"
    )
    notes = [
        f"{n:,} rated of {format_count(len(sample.ratings), 'reply', 'replies')}. Estimand: {estimand}.",
        "Both: PPI++ (Angelopoulos et al. 2024), the ratings corrected by the scores of all replies, which are used by "
        "the share lambda. Effective ratings: how many ratings alone would give as narrow an interval.",
    ]
    how = "one line through all rated replies puts it on the scale of the ratings" if result.is_mapped else "as it is"
    notes.append(f"Metric alone: {how}; it has no interval, because its bias is not known without ratings.")
    if any(one.effective_n < one.alone.n * 1.05 for one in alone):
        notes.append("Where few ratings are saved, the metric hardly follows people: see rejoinder trust.")
    return [*notes, *sample.notes, *result.warnings]
