"""Drawing without replacement from many pools at once, each draw independent of the other pools.

A pool is a range of a long array of turns with one gap in it. There is no random generator with a state: a draw is a
function of the seed, the row's key and the number of the draw (the finaliser of SplitMix64, Steele et al. 2014), so
that a moment gets the same candidates alone, among millions, and in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from rejoinder.indexes.corpus import Codes, Numbers

Keys: TypeAlias = NDArray[np.uint64]
# Which of some (row, turn) pairs may be drawn.
Allowed: TypeAlias = Callable[[Numbers, Numbers], NDArray[np.bool_]]

_ROUNDS = 12  # a draw that is refused this often is decided by sorting the whole pool
_SMALL = 16  # pools of up to this many turns per candidate are sorted at once
_BATCH_TURNS = 2**20  # turns sorted together
_GOLDEN = 0x9E3779B97F4A7C15


@dataclass(frozen=True)
class TurnPools:
    """For each row a range ``low`` to ``high`` of positions with a gap in it; ``turn_at`` maps positions to turns."""

    low: Numbers
    high: Numbers
    gap_low: Numbers
    gap_high: Numbers
    turn_at: Callable[[Numbers], Numbers]

    @property
    def size(self) -> Numbers:
        """The number of turns in each pool."""
        return (self.high - self.low) - (self.gap_high - self.gap_low)

    def turns(self, rows: Numbers, numbers: Numbers) -> Numbers:
        """Return the turns with some numbers (from 0) in the pools of some rows."""
        places = self.low[rows] + numbers
        places += np.where(places >= self.gap_low[rows], (self.gap_high - self.gap_low)[rows], 0)
        return self.turn_at(places)


def draw_keys(names: NDArray[np.integer], seed: int, salt: int = 0) -> Keys:
    """Return a key for each row from the row's number, the seed, and a number for the source that draws."""
    base = _mix_keys(np.array([seed & (2**64 - 1)], dtype=np.uint64) + np.uint64((salt * _GOLDEN) & (2**64 - 1)))
    return _mix_keys(names.astype(np.uint64) ^ base)


def draw_turns(pools: TurnPools, k: int, keys: Keys, text_codes: Codes, allowed: Allowed) -> Numbers:
    """Return up to k turns from each pool, one line per row, -1 where there are no more.

    Each allowed turn of a pool has the same chance at each draw; once a turn is drawn, no other with the same text is.
    """
    drawn_turns = np.full((len(keys), k), -1, dtype=np.int64)
    size = pools.size
    few = np.flatnonzero((size > 0) & (size <= _SMALL * k))
    many = np.flatnonzero(size > _SMALL * k)
    left = np.concatenate([few, _draw_by_trying(pools, k, keys, text_codes, allowed, many, drawn_turns)])
    for rows in _split_rows(left, size[left]):
        drawn_turns[rows] = _draw_by_sorting(pools, k, keys, text_codes, allowed, rows)
    return drawn_turns


def _draw_by_trying(
    pools: TurnPools, k: int, keys: Keys, text_codes: Codes, allowed: Allowed, rows: Numbers, drawn_turns: Numbers
) -> Numbers:
    """Draw from large pools by rejection; return the rows for which a draw was refused too often."""
    size = pools.size.astype(np.uint64)
    undecided = []
    for slot in range(k if len(rows) else 0):
        pending = rows
        for attempt in range(_ROUNDS):
            random = _mix_keys(keys[pending] + np.uint64(((slot * _ROUNDS + attempt + 1) * _GOLDEN) & (2**64 - 1)))
            numbers = ((random >> np.uint64(32)) * size[pending]) >> np.uint64(32)
            turns = pools.turns(pending, numbers.astype(np.int64))
            good = allowed(pending, turns)
            for earlier in range(slot):
                good &= text_codes[drawn_turns[pending, earlier]] != text_codes[turns]
            drawn_turns[pending[good], slot] = turns[good]
            pending = pending[~good]
            if not len(pending):
                break
        undecided.append(pending)
        rows = np.setdiff1d(rows, pending, assume_unique=True)
    return np.concatenate([np.zeros(0, dtype=np.int64), *undecided])


def _draw_by_sorting(
    pools: TurnPools, k: int, keys: Keys, text_codes: Codes, allowed: Allowed, rows: Numbers
) -> Numbers:
    """Draw by giving each turn of each pool a random number and taking the k smallest that are allowed."""
    size = pools.size[rows]
    line = np.repeat(np.arange(len(rows)), size)
    numbers = np.arange(len(line)) - np.repeat(np.cumsum(size) - size, size)
    turns = pools.turns(rows[line], numbers)
    random = _mix_keys(keys[rows[line]] ^ _mix_keys((numbers + 1).astype(np.uint64)))
    good = allowed(rows[line], turns)
    line, turns, random = line[good], turns[good], random[good]
    order = np.lexsort((random, line))
    line, turns = line[order], turns[order]
    if k > 1:  # of those with the same text, the first
        same = line * (int(text_codes.max(initial=0)) + 1) + text_codes[turns]
        first = np.sort(np.unique(same, return_index=True)[1])
        line, turns = line[first], turns[first]
    rank = np.arange(len(line)) - np.searchsorted(line, line)
    within = rank < k
    drawn_turns = np.full((len(rows), k), -1, dtype=np.int64)
    drawn_turns[line[within], rank[within]] = turns[within]
    return drawn_turns


def _split_rows(rows: Numbers, sizes: Numbers) -> Iterator[Numbers]:
    """Yield the rows in batches whose pools together have about ``_BATCH_TURNS`` turns."""
    if len(rows):
        portion = np.cumsum(sizes) // _BATCH_TURNS
        yield from np.split(rows, np.flatnonzero(np.diff(portion)) + 1)


def _mix_keys(numbers: Keys) -> Keys:
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    last: Keys = mixed ^ (mixed >> np.uint64(31))
    return last
