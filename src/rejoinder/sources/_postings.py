"""Turns sorted under keys, to be found by halving: all turns of a key, and those between two numbers, are a stretch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rejoinder.sources._corpus import Numbers


@dataclass(frozen=True, eq=False)
class Postings:
    """``keys`` sorted; the turns of the i-th stand, sorted, from ``starts[i]`` to ``starts[i + 1]``."""

    keys: Numbers
    starts: Numbers
    _order: Numbers  # run * width + turn, sorted
    _width: int

    @classmethod
    def of(cls, keys: Numbers, turns: Numbers, n_turns: int) -> Postings:
        """The postings of turns under their keys; a turn may stand under several."""
        distinct, run, counts = np.unique(keys, return_inverse=True, return_counts=True)
        width = max(1, n_turns)
        starts = np.concatenate([[0], np.cumsum(counts) if len(counts) else [0]])  # no key has an empty run too
        return cls(distinct, starts, np.sort(run * width + turns), width)

    def turn_at(self, places: Numbers) -> Numbers:
        """The turns at some places."""
        return self._order[places] % self._width

    def find(self, keys: Numbers) -> tuple[Numbers, NDArray[np.bool_]]:
        """The run of each key (any, where there is none), and whether there is one."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.int64), np.zeros(len(keys), dtype=bool)
        run = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return run, self.keys[run] == keys

    def between(self, run: Numbers, first: Numbers, end: Numbers) -> tuple[Numbers, Numbers]:
        """The stretch of a run's turns from ``first`` to before ``end``."""
        base = run * self._width
        return np.searchsorted(self._order, base + first), np.searchsorted(self._order, base + end)
