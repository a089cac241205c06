"""Drawing items, systems or both again with replacement; a draw is how often each of them and each row counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from rejoinder.stats.arrays import Ints, Labels, encode, generator, one_of, same_length

Unit: TypeAlias = Literal["rows", "items", "systems", "both"]
_CELLS = 2**14  # resamples times rows that are held at once: few enough to stay in the processor's cache


class Draw(NamedTuple):
    """Some resamples: how often each row, each system and each item counts in each of them."""

    rows: Ints
    systems: Ints
    items: Ints


@dataclass(frozen=True)
class Design:
    """Which system and which item each row belongs to."""

    systems: Ints
    items: Ints

    @classmethod
    def of(cls, n: int, systems: Labels | None, items: Labels | None) -> Design:
        """A design from labels; without systems all rows are of one, without items every row is its own."""
        if systems is not None:
            same_length(rows=range(n), systems=systems)
        if items is not None:
            same_length(rows=range(n), items=items)
        return cls(
            np.zeros(n, dtype=np.int64) if systems is None else encode(systems, "systems")[0],
            np.arange(n) if items is None else encode(items, "items")[0],
        )

    def only(self, rows: Ints) -> Design:
        """The design of some of the rows, with systems and items numbered anew."""
        return Design(*(np.unique(codes[rows], return_inverse=True)[1] for codes in (self.systems, self.items)))

    @property
    def n_systems(self) -> int:
        """How many systems there are."""
        return int(self.systems.max(initial=-1)) + 1

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return int(self.items.max(initial=-1)) + 1

    def n_units(self, unit: Unit) -> int:
        """How many units are drawn; of both, the fewer, which limit what can be known."""
        one_of(unit, Unit, "unit of resampling")
        sizes = {"rows": len(self.systems), "items": self.n_items, "systems": self.n_systems}
        return min(sizes["items"], sizes["systems"]) if unit == "both" else sizes[unit]

    def as_it_is(self) -> Draw:
        """The data themselves: everything counts once."""
        return Draw(*(np.ones((1, n), dtype=np.int64) for n in (len(self.systems), self.n_systems, self.n_items)))

    def draws(self, unit: Unit, n_resamples: int, seed: int) -> Iterator[Draw]:
        """Seeded resamples, some at a time; how many at a time changes nothing."""
        return self.drawn(unit, n_resamples, generators(seed))

    @property
    def at_once(self) -> int:
        """How many resamples are held at a time; levels compare systems with systems, so many systems count too."""
        return max(1, _CELLS // max(1, len(self.systems), self.n_systems**2 // 64))

    def skip(self, unit: Unit, n_resamples: int, generators: Sequence[np.random.Generator]) -> None:
        """Leave out so many resamples: the generators stand where they would after drawing them."""
        at_once = self.at_once
        for start in range(0, n_resamples, at_once):
            size = min(at_once, n_resamples - start)
            if unit in ("systems", "both") and self.n_systems:
                generators[0].integers(0, self.n_systems, (size, self.n_systems))
            drawn = {"rows": len(self.systems), "items": self.n_items, "both": self.n_items}.get(unit, 0)
            if drawn:
                generators[1].integers(0, drawn, (size, drawn))

    def drawn(self, unit: Unit, n_resamples: int, generators: Sequence[np.random.Generator]) -> Iterator[Draw]:
        """Resamples from where the generators stand."""
        one_of(unit, Unit, "unit of resampling")
        at_once = self.at_once
        for start in range(0, n_resamples, at_once):
            size = min(at_once, n_resamples - start)
            systems, items = (np.ones((size, n), dtype=np.int64) for n in (self.n_systems, self.n_items))
            if unit in ("systems", "both"):
                systems = resample_counts(self.n_systems, size, generators[0])
            if unit in ("items", "both"):
                items = resample_counts(self.n_items, size, generators[1])
            if unit == "rows":
                rows = resample_counts(len(self.systems), size, generators[1])
            else:
                rows = self._rows(systems, items, unit)
            yield Draw(rows, systems, items)

    def _rows(self, systems: Ints, items: Ints, unit: Unit) -> Ints:
        if unit == "systems":
            return systems.take(self.systems, axis=1)
        of_items = items.take(self.items, axis=1)
        return of_items if unit == "items" else of_items * systems.take(self.systems, axis=1)


def generators(seed: int) -> list[np.random.Generator]:
    """What draws systems, and what draws items or rows."""
    return [generator(seed, stream) for stream in range(2)]


def resample_counts(n: int, n_resamples: int, random: np.random.Generator) -> Ints:
    """How often each of n things is drawn in n draws with replacement, one line a resample."""
    if n == 0:
        return np.zeros((n_resamples, 0), dtype=np.int64)
    drawn = random.integers(0, n, (n_resamples, n))
    drawn += n * np.arange(n_resamples)[:, None]
    return np.bincount(drawn.ravel(), minlength=n_resamples * n).reshape(n_resamples, n)
