"""The replies of a run with ratings, scores and strata: each quantity that ``estimate`` reports, from its rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.comparison.rated_sample import RatedSample, encode_units
from rejoinder.comparison.rating_scale import RatingScale
from rejoinder.comparison.sample_strata import label_strata, merge_small_strata
from rejoinder.data.collection import Collection
from rejoinder.errors import InputError
from rejoinder.scoring.result import Scores
from rejoinder.stats.arrays import Bools, Floats, Ints
from rejoinder.stats.prediction_powered import Population, PoweredMean, powered_mean

Quantity: TypeAlias = Literal["mean", "difference", "win rate", "share"]
_TOO_MANY = 1.5  # replies by the probabilities, for each reply of the run


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
class EstimateFrame:
    """The replies of a run with ratings, scores and strata, from which each quantity takes its rows."""

    scores: Scores
    data: Collection
    sample: RatedSample
    specs: Sequence[str]
    strata: str | None
    population: Population
    tuning: float | None
    scale: RatingScale
    level: float
    warnings: list[str]

    @cached_property
    def is_mapped(self) -> bool:
        """Whether the metric's scores are not on the scale of the ratings."""
        facts, (least, most) = self.scores.facts[self.specs[0]], self.sample.range
        low, high = facts.range
        is_same = math.isfinite(low) and math.isfinite(high) and low <= least and most <= high
        wide = is_same and 2 * (most - least) >= high - low
        return len(self.specs) > 1 or facts.higher_is_better is False or not wide

    @cached_property
    def items(self) -> Ints:
        """The item of each reply, as a number."""
        return encode_units(self.scores, "item")

    @cached_property
    def strata_labels(self) -> NDArray[np.str_]:
        """The stratum of each reply."""
        return label_strata(self.scores, self.data, self.strata or "system")

    @cached_property
    def columns(self) -> Floats:
        """The scores, one column per metric."""
        return np.stack([self.scores.values[spec] for spec in self.specs], axis=1)

    @cached_property
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
        sides = [self._rows([system]) for system in (first, second)]
        y = [self._item_means(self.sample.ratings, side, keep_missing=True) for side in sides]
        shared = np.flatnonzero(self._has_replies(sides[0]) & self._has_replies(sides[1]))
        difference = (y[0] - y[1])[shared]
        if np.isnan(difference).all():
            self.warnings.append(f"No item has ratings of both {first} and {second}: they are not compared.")
            return []
        x = [np.stack([self._item_means(column, side)[shared] for column in self.columns.T], axis=1) for side in sides]
        predicted = [self._item_means(self.predicted, side)[shared] for side in sides]
        inclusion = self._pair_inclusion(sides)
        rows = np.unique(self.items[sides[0]], return_index=True)
        places = sides[0][rows[1][np.searchsorted(rows[0], shared)]]
        quantities: list[tuple[Quantity, str, Callable[[Floats], Floats]]] = [
            ("difference", f"{first} − {second}", lambda values: values),
            ("win rate", f"{first} beats {second}", lambda values: np.sign(values) / 2 + 0.5),
        ]
        return [
            self._estimate(
                quantity,
                name,
                places,
                score(difference),
                _mean(score(predicted[0] - predicted[1])),
                x[0] - x[1],
                None if inclusion is None else inclusion[shared],
            )
            for quantity, name, score in quantities
        ]

    def _rows(self, systems: Sequence[str]) -> Ints:
        codes = [list(self.scores.systems).index(system) for system in systems]
        return np.flatnonzero(np.isin(self.scores.system_codes, codes))

    def _has_replies(self, rows: Ints) -> Bools:
        return np.bincount(self.items[rows], minlength=int(self.items.max()) + 1) > 0

    def _item_means(self, values: Floats, rows: Ints, keep_missing: bool = False) -> Floats:
        """The mean over a system's replies to each item; ``keep_missing``: NaN where one of them has no value."""
        size = int(self.items.max()) + 1
        if not keep_missing:
            rows = rows[np.isfinite(values[rows])]
        n = np.bincount(self.items[rows], minlength=size)
        return np.bincount(self.items[rows], weights=values[rows], minlength=size) / np.where(n > 0, n, math.nan)

    def _pair_inclusion(self, sides: Sequence[Ints]) -> Floats | None:
        """The probability that the replies of both were drawn: together with their item, or each by itself."""
        if self.sample.probabilities is None:
            return None
        both = [self._item_means(self.sample.probabilities, side) for side in sides]
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
            labels = self.strata_labels[rows]
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
            scale=self._scale_of(quantity),
            level=self.level,
        )
        if powered.reason:
            self.warnings.append(f"{name}: {powered.reason}.")
        return PoweredEstimate(quantity, name, alone, powered)

    def _scale_of(self, quantity: Quantity) -> tuple[float, float]:
        """The lowest and the highest value that a row of the quantity can have."""
        if quantity == "mean":
            return self.scale
        width = self.scale.high - self.scale.low
        return (-width, width) if quantity == "difference" else (0.0, 1.0)

    def _allow_for_unrated(self, inclusion: Floats, y: Floats, name: str) -> Floats:
        """The probabilities of being drawn and rated, where some that were drawn are not rated."""
        rated = ~np.isnan(y)
        share = float((1 / inclusion[rated]).sum()) / len(y) if rated.any() else 1.0
        if share > _TOO_MANY:
            raise InputError(
                f"{name}: the probabilities are those of a draw from about {share * len(y):,.0f} replies, but the run "
                f"has {len(y):,}; score all replies that they were drawn from, not only those that were drawn"
            )
        if share < 0.9:
            self.warnings.append(
                f"{name}: about {1 - share:.0%} of the replies that were drawn are not rated; the others stand for "
                "them, which is right only if what is missing is missing by chance."
            )
        return np.asarray(inclusion * min(1.0, share))


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan
