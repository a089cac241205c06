"""Strata of replies: groups of known size by a key of ``meta``, by the system, or by a metric's scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.collection import Collection
from rejoinder.errors import InputError
from rejoinder.scoring.result import Scores
from rejoinder.stats.arrays import Bools, Ints, encode_labels
from rejoinder.stats.correlation import midranks

PARTS = 4
_META = "meta."


def label_strata(scores: Scores, data: Collection, strata: str) -> NDArray[np.str_]:
    """The stratum of each reply. A metric's strata are four equal parts of the items, by the mean score of each."""
    if strata == "system":
        return np.array([scores.systems[code] for code in scores.system_codes])
    if not strata.startswith(_META):
        items = np.unique(scores.items, return_inverse=True)[1]
        column = scores.values[scores.spec(strata)]
        known = np.isfinite(column)
        sums = np.bincount(items, weights=np.where(known, column, 0.0))
        counts = np.bincount(items, weights=known.astype(np.float64))
        means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
        means = np.where(np.isnan(means), np.nanmean(means) if known.any() else 0.0, means)
        parts = np.minimum((midranks(means) - 0.5) / len(means) * PARTS, PARTS - 1).astype(np.int64)
        return np.array([f"part {part + 1} of {PARTS}" for part in parts])[items]
    key, labels = strata.removeprefix(_META), []
    for name in scores.responses:
        response = data.responses.get(name)
        item = data.items.get(response.item) if response else None
        meta = {**(item.meta if item else {}), **(response.meta if response else {})}
        labels.append(str(meta.get(key, "")))
    if not any(labels):
        raise InputError(f"no reply and no item has {strata!r}; name a key of meta, a metric of the run, or system")
    return np.array(labels)


def merge_small_strata(labels: NDArray[np.str_], units: Ints, rated: Bools) -> tuple[Ints, int]:
    """Strata as numbers, and how many were put with others because fewer than two units in them are rated."""
    codes, names = encode_labels(labels, "strata")
    n_units = np.array([len(np.unique(units[rated & (codes == code)])) for code in range(len(names))])
    small = np.flatnonzero(n_units < 2)
    if not len(small) or len(small) == len(names):
        return (codes, 0) if not len(small) else (np.zeros_like(codes), len(names) - 1)
    target = int(small[0]) if n_units[small].sum() >= 2 else int(np.argmax(n_units))
    codes = np.where(np.isin(codes, small), target, codes)
    return np.unique(codes, return_inverse=True)[1].astype(np.int64), len(small)
