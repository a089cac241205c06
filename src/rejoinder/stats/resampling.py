"""Resampling rows, items, dialogues or systems with replacement; a draw holds how often each of them counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.errors import InputError
from rejoinder.stats.arrays import (
    NAN,
    Floats,
    Ints,
    Labels,
    check_one_of,
    check_probability,
    check_same_length,
    encode_labels,
    make_generator,
)
from rejoinder.stats.interval import Interval

ResamplingUnit: TypeAlias = Literal["rows", "items", "dialogues", "systems", "both"]
_CELLS = 2**14  # resamples times rows held at once: few enough to stay in the processor's cache


class ResampleDraw(NamedTuple):
    """Some resamples: how often each row, each system and each item counts in each of them."""

    rows: Ints
    systems: Ints
    items: Ints


@dataclass(frozen=True)
class ResamplingDesign:
    """Which system, which item and which dialogue each row belongs to; an item belongs to one dialogue."""

    systems: Ints
    items: Ints
    dialogues: Ints

    @classmethod
    def of(
        cls, n: int, systems: Labels | None = None, items: Labels | None = None, dialogues: Labels | None = None
    ) -> ResamplingDesign:
        """A design from labels.

        Without systems all rows belong to one; without items every row is its own item; without dialogues every item is
        its own dialogue.
        """
        for name, labels in {"systems": systems, "items": items, "dialogues": dialogues}.items():
            if labels is not None:
                check_same_length(**{"rows": range(n), name: labels})
        item_codes = np.arange(n) if items is None else encode_labels(items, "items")[0]
        design = cls(
            np.zeros(n, dtype=np.int64) if systems is None else encode_labels(systems, "systems")[0],
            item_codes,
            item_codes if dialogues is None else encode_labels(dialogues, "dialogues")[0],
        )
        for row in np.flatnonzero(design.dialogue_of_item()[item_codes] != design.dialogues)[:1]:
            name = row if items is None else items[row]
            raise InputError(f"item {name} belongs to two dialogues; give the items of each dialogue their own names")
        return design

    def only(self, rows: Ints) -> ResamplingDesign:
        """The design of some of the rows, with systems, items and dialogues renumbered."""
        parts = (self.systems, self.items, self.dialogues)
        return ResamplingDesign(*(np.unique(codes[rows], return_inverse=True)[1] for codes in parts))

    def dialogue_of_item(self) -> Ints:
        """The dialogue of each item."""
        dialogue_codes = np.zeros(self.n_items, dtype=np.int64)
        dialogue_codes[self.items] = self.dialogues
        return dialogue_codes

    @property
    def n_systems(self) -> int:
        """How many systems there are."""
        return int(self.systems.max(initial=-1)) + 1

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return int(self.items.max(initial=-1)) + 1

    @property
    def n_dialogues(self) -> int:
        """How many dialogues there are."""
        return int(self.dialogues.max(initial=-1)) + 1

    def n_units(self, unit: ResamplingUnit) -> int:
        """The number of units to resample; of both, the smaller, which limits the precision."""
        check_one_of(unit, ResamplingUnit, "unit of resampling")
        if unit == "both":
            return min(self.n_dialogues, self.n_systems)
        return self.n_systems if unit == "systems" else self._n_draws(unit)

    def _n_draws(self, unit: ResamplingUnit) -> int:
        """How many units the second generator draws: rows, items or (with both) dialogues; none for systems alone."""
        sizes = {"rows": len(self.systems), "items": self.n_items}
        return 0 if unit == "systems" else sizes.get(unit, self.n_dialogues)

    def full_sample(self) -> ResampleDraw:
        """The data themselves: everything counts once."""
        return ResampleDraw(
            *(np.ones((1, n), dtype=np.int64) for n in (len(self.systems), self.n_systems, self.n_items))
        )

    def draws(self, unit: ResamplingUnit, n_resamples: int, seed: int) -> Iterator[ResampleDraw]:
        """Seeded resamples, in batches; the size of a batch changes no number."""
        return self.draws_from(unit, n_resamples, make_generators(seed))

    @property
    def batch_size(self) -> int:
        """How many resamples are held at a time; levels compare all pairs of systems, so many systems count too."""
        return max(1, _CELLS // max(1, len(self.systems), self.n_systems**2 // 64))

    def skip(self, unit: ResamplingUnit, n_resamples: int, generators: Sequence[np.random.Generator]) -> None:
        """Skip this many resamples: the generators end where they would after drawing them."""
        batch_size = self.batch_size
        for start in range(0, n_resamples, batch_size):
            size = min(batch_size, n_resamples - start)
            if unit in ("systems", "both") and self.n_systems:
                generators[0].integers(0, self.n_systems, (size, self.n_systems))
            n_draws = self._n_draws(unit)
            if n_draws:
                generators[1].integers(0, n_draws, (size, n_draws))

    def draws_from(
        self, unit: ResamplingUnit, n_resamples: int, generators: Sequence[np.random.Generator]
    ) -> Iterator[ResampleDraw]:
        """Resamples from the current state of the generators."""
        check_one_of(unit, ResamplingUnit, "unit of resampling")
        batch_size = self.batch_size
        for start in range(0, n_resamples, batch_size):
            size = min(batch_size, n_resamples - start)
            systems, items = (np.ones((size, n), dtype=np.int64) for n in (self.n_systems, self.n_items))
            if unit in ("systems", "both"):
                systems = resample_counts(self.n_systems, size, generators[0])
            if unit == "items":
                items = resample_counts(self.n_items, size, generators[1])
            if unit in ("dialogues", "both"):
                items = resample_counts(self.n_dialogues, size, generators[1]).take(self.dialogue_of_item(), axis=1)
            if unit == "rows":
                rows = resample_counts(len(self.systems), size, generators[1])
            else:
                rows = self._rows(systems, items, unit)
            yield ResampleDraw(rows, systems, items)

    def _rows(self, systems: Ints, items: Ints, unit: ResamplingUnit) -> Ints:
        if unit == "systems":
            return systems.take(self.systems, axis=1)
        item_counts = items.take(self.items, axis=1)
        return item_counts * systems.take(self.systems, axis=1) if unit == "both" else item_counts


def make_generators(seed: int) -> list[np.random.Generator]:
    """The generator for systems, and the one for dialogues, items or rows."""
    return [make_generator(seed, stream) for stream in range(2)]


def resample_counts(n: int, n_resamples: int, random: np.random.Generator) -> Ints:
    """How often each of n things is drawn in n draws with replacement, one row per resample."""
    if n == 0:
        return np.zeros((n_resamples, 0), dtype=np.int64)
    indices = random.integers(0, n, (n_resamples, n))
    indices += n * np.arange(n_resamples)[:, None]
    return np.bincount(indices.ravel(), minlength=n_resamples * n).reshape(n_resamples, n)


IntervalKind: TypeAlias = Literal["percentile", "expanded", "corrected"]
_OFF_CENTRE = 0.025  # a smaller share of resamples on one side of the estimate: they do not estimate it
_UNDEFINED = 0.1  # the share of resamples without a value above which there is no interval


def percentile_interval(
    value: float,
    samples: Floats,
    n: int,
    n_missing: int,
    n_units: int,
    level: float = 0.95,
    kind: IntervalKind = "expanded",
) -> Interval:
    """The interval around an estimate from its values on resamples; NaN marks a resample without one."""
    check_probability(level, "level")
    check_one_of(kind, IntervalKind, "interval")
    empty = Interval(value, NAN, NAN, n, n_missing, n_units)
    defined = samples[~np.isnan(samples)]
    n_undefined = len(samples) - len(defined)
    if math.isnan(value):
        return empty._replace(reason="the estimate is undefined")
    if n_units < 2:
        return empty._replace(reason="fewer than 2 units to resample")
    reason = f"undefined in {n_undefined} of {len(samples)} resamples" if n_undefined else None
    if not len(defined) or n_undefined > _UNDEFINED * len(samples):
        return empty._replace(reason=reason or "no resamples")
    same = np.isclose(defined, value, rtol=1e-12, atol=1e-12)  # a perfect correlation may differ from 1 by rounding
    below = float((~same & (defined < value)).sum() + same.sum() / 2) / len(defined)
    off_centre = empty._replace(reason="the resamples miss the estimate; resample other units")
    if not _OFF_CENTRE <= below <= 1 - _OFF_CENTRE:
        return off_centre
    low, high = np.quantile(defined, _interval_probabilities(below, n_units, level, kind))
    if not low - 1e-12 <= value <= high + 1e-12:
        return off_centre
    return empty._replace(low=float(low), high=float(high), reason=reason)


def bootstrap_p_value(samples: Floats, n_units: int, kind: IntervalKind = "expanded") -> float:
    """The two-sided p-value of an estimate above 0: twice the share of its values on resamples that are not above 0.

    For the expanded kind, the share is widened as the interval is, so that p is below 1 - level where the interval of
    that level lies above 0. The estimate itself counts as a resample, so p is never 0.
    """
    from scipy.special import ndtri, stdtr

    check_one_of(kind, IntervalKind, "interval")
    defined = samples[~np.isnan(samples)]
    if not len(defined) or n_units < 2:
        return NAN
    share = min(0.5, (1 + int((defined <= 0).sum())) / (1 + len(defined)))
    if kind == "expanded":
        return 2 * float(stdtr(n_units - 1, ndtri(share) * math.sqrt((n_units - 1) / n_units)))
    return 2 * share


def _interval_probabilities(below: float, n_units: int, level: float, kind: IntervalKind) -> tuple[float, float]:
    from scipy.special import ndtr, ndtri, stdtrit

    reach = float(-ndtri((1 - level) / 2))
    if kind != "percentile":
        reach = math.sqrt(n_units / (n_units - 1)) * float(stdtrit(n_units - 1, (1 + level) / 2))
    shift = 2 * float(ndtri(below)) if kind == "corrected" else 0.0
    return float(ndtr(shift - reach)), float(ndtr(shift + reach))
