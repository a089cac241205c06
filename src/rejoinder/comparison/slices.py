"""Where is it good, and where bad? Means per slice of the replies: by topic, by length of the dialogue, by any key.

Each slice's mean is compared with the mean of the other replies of the same system (``stats.group_difference``), and
two systems are compared within each slice as they are over all items. Many slices give many chances of a false alarm,
so p-values are corrected by Holm's method over all slices of one table. A slice with fewer than 8 conversations is not
tested, and is said to be too small.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import InputError
from rejoinder.scoring.result import Cluster, Scores
from rejoinder.stats.group_difference import group_difference
from rejoinder.stats.holm import holm
from rejoinder.stats.interval import mean_interval
from rejoinder.table import Cell, Estimate, Probability, Table, format_count, list_names

ALPHA = 0.05
MIN_CONVERSATIONS = 8  # with fewer, no test could survive the correction, and an interval says little
MAX_SLICES = 30
_MAX_NUMBERS = 8  # more different numbers than these are cut into quarters
_QUARTERS = 4
_NAME_LENGTH = 60
_TOO_SMALL = "too small"

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Slicing:
    """The slices of some replies: which replies are in each, how many are in none, and what is not shown."""

    by: str
    masks: Mapping[str, Mask]
    n_without: int
    n_hidden: int = 0
    n_hidden_replies: int = 0
    cluster: Cluster = "conversation"

    def notes(self) -> list[str]:
        """Return what the table leaves out."""
        notes = []
        if self.n_without:
            verb = "has" if self.n_without == 1 else "have"
            notes.append(f"{format_count(self.n_without, 'reply', 'replies')} {verb} no {self.by}.")
        if self.n_hidden:
            replies = format_count(self.n_hidden_replies, "reply", "replies")
            notes.append(f"{format_count(self.n_hidden, 'smaller slice')} ({replies}) not shown and not tested.")
        return notes


class SystemDifference(NamedTuple):
    """One system's mean minus another's, on the items that both answered."""

    first: str
    second: str
    difference: Estimate
    p: float
    corrected: float
    n: int
    reason: str | None

    @property
    def survives(self) -> bool:
        """Whether the difference is significant after correction."""
        return self.corrected < ALPHA


class SliceMean(NamedTuple):
    """One system's mean in one slice, and its difference from the system's other replies."""

    slice: str
    system: str | None
    n: int
    n_clusters: int
    mean: Estimate
    difference: Estimate
    p: float
    corrected: float
    reason: str | None

    @property
    def survives(self) -> bool:
        """Whether the difference is significant after correction."""
        return self.corrected < ALPHA


class SliceDifference(NamedTuple):
    """The difference of two systems in one slice, corrected over all slices and pairs."""

    slice: str
    difference: SystemDifference
    corrected: float
    reason: str | None


@dataclass(frozen=True)
class SliceComparison:
    """One metric by slice: the mean of each slice, and the systems compared within each."""

    metric: str
    slicing: Slicing
    means: Sequence[SliceMean]
    differences: Sequence[SliceDifference] = ()

    def means_table(self) -> Table:
        """One line per slice (and system): mean with interval, and whether it differs from the other replies."""
        with_system = any(row.system is not None for row in self.means)
        rows: list[list[Cell]] = []
        for row in self.means:
            names: list[Cell] = [row.slice, *([row.system] if with_system else [])]
            difference = None if row.reason else row.difference
            verdict = describe_verdict(row.reason, row.survives)
            rows.append([*names, row.n, row.mean, difference, _as_probability(row.corrected), verdict])
        tested = sum(not math.isnan(row.corrected) for row in self.means)
        others = "the system's other replies" if with_system else "all other replies"
        notes = [
            f"minus the rest: the mean minus that of {others}, with its 95% interval over "
            f"{self.slicing.cluster}s; p (Holm): corrected over {format_count(tested, 'test')}; differs? at {ALPHA:g}.",
            *note_small_slices([(row.slice, row.reason) for row in self.means], self.slicing.cluster),
            *self.slicing.notes(),
        ]
        heads = [self.slicing.by, *(["system"] if with_system else []), "n", "mean", "minus the rest", "p (Holm)"]
        return Table(f"{self.metric} by {self.slicing.by}", [*heads, "differs?"], rows, notes)

    def differences_table(self) -> Table:
        """One line per slice and pair of systems: the paired difference, and whether it survives correction."""
        rows: list[list[Cell]] = []
        for one in self.differences:
            if is_too_small(one.reason):
                continue
            d = one.difference
            verdict = one.reason or ("yes" if one.corrected < ALPHA else "no")
            cells: list[Cell] = [one.slice, d.first, d.second, d.n, None if one.reason else d.difference]
            rows.append([*cells, _as_probability(one.corrected), verdict])
        tested = sum(not math.isnan(one.corrected) for one in self.differences)
        notes = [
            f"difference: paired on items, with its 95% interval over {self.slicing.cluster}s; p (Holm): corrected "
            f"over {format_count(tested, 'test')} (slices and pairs of systems); differ? at {ALPHA:g}.",
            *note_small_slices([(one.slice, one.reason) for one in self.differences], self.slicing.cluster),
        ]
        heads = [self.slicing.by, "system", "minus", "items", "difference", "p (Holm)", "differ?"]
        return Table(f"{self.metric}: differences by {self.slicing.by}", heads, rows, notes)

    def tables(self) -> list[Table]:
        """The means and, where systems were compared, their differences."""
        return [self.means_table(), *([self.differences_table()] if self.differences else [])]


def cut_slices(column: NDArray[Any], by: str) -> Slicing:
    """Return the slices of replies by a column of ``ReplyFields`` and its name, the largest first."""
    values = [_list_values(value) for value in column.tolist()]
    n_without = sum(not members for members in values)
    if n_without == len(values):
        raise InputError(f"no reply has {by}, so there are no slices; choose another --by")
    if _are_numbers(values):
        return Slicing(by, _make_masks(_group_numbers(values), len(values)), n_without)
    groups = _group_names(values)
    names = sorted(groups, key=lambda name: -len(groups[name]))
    shown, hidden = names[:MAX_SLICES], names[MAX_SLICES:]
    n_hidden = len({row for name in hidden for row in groups[name]})
    masks = _make_masks({name: groups[name] for name in shown}, len(values))
    return Slicing(by, masks, n_without, len(hidden), n_hidden)


def compute_slice_means(
    name: str, values: NDArray[np.float64], scores: Scores, slicing: Slicing, bounds: tuple[float, float]
) -> SliceComparison:
    """Return the mean of a column (a metric, a rating) in each slice, for each system by itself."""
    codes = np.unique(scores.system_codes)
    by_system = len(codes) > 1 and slicing.by != "system"
    rows = []
    for slice_name, mask in slicing.masks.items():
        for code in codes.tolist() if by_system else [None]:
            own = np.ones(len(scores), dtype=bool) if code is None else scores.system_codes == code
            if (own & mask).any():
                system = None if code is None else scores.systems[code]
                rows.append(_compute_mean(slice_name, system, values[own], mask[own], scores.clusters[own], bounds))
    return SliceComparison(name, slicing, _correct(rows, slicing))


def compute_slice_differences(
    scores: Scores, slicing: Slicing, compare_pairs: Callable[[Scores], Sequence[SystemDifference]]
) -> list[SliceDifference]:
    """Return the differences of systems within each slice; ``compare_pairs`` compares them on some replies."""
    found = [(name, d) for name, mask in slicing.masks.items() for d in compare_pairs(scores.subset(mask))]
    clusters = {name: scores.clusters[mask] for name, mask in slicing.masks.items()}
    reasons = [d.reason or describe_size(min(d.n, len(np.unique(clusters[name])))) for name, d in found]
    p_values = [math.nan if reason else d.p for (_, d), reason in zip(found, reasons, strict=True)]
    corrected = holm(p_values).tolist() if p_values else []
    return [SliceDifference(*one, p, why) for one, p, why in zip(found, corrected, reasons, strict=True)]


def _compute_mean(
    name: str,
    system: str | None,
    values: NDArray[np.float64],
    inside: Mask,
    clusters: NDArray[np.int64],
    bounds: tuple[float, float],
) -> SliceMean:
    interval = mean_interval(values[inside], clusters[inside])
    mean = Estimate(interval.value, max(interval.low, bounds[0]), min(interval.high, bounds[1]))
    difference = group_difference(values, inside, clusters)
    reason = "no scores" if not interval.n else describe_size(interval.n_clusters) or difference.reason
    if reason is None and difference.clusters_second < MIN_CONVERSATIONS:
        reason = "too few others"
    if interval.n_clusters < MIN_CONVERSATIONS:
        mean = Estimate(interval.value, math.nan, math.nan)
    estimate = Estimate(difference.value, difference.low, difference.high)
    p = math.nan if reason else difference.p
    return SliceMean(name, system, interval.n, interval.n_clusters, mean, estimate, p, math.nan, reason)


def describe_size(n_clusters: int) -> str | None:
    """Return that a slice is too small to be tested, and how small; None if it is not."""
    if n_clusters >= MIN_CONVERSATIONS:
        return None
    return f"{_TOO_SMALL} ({format_count(n_clusters, 'conversation')})"


def is_too_small(reason: str | None) -> bool:
    """Whether a reason says that a slice is too small."""
    return reason is not None and reason.startswith(_TOO_SMALL)


def describe_verdict(reason: str | None, survives: bool) -> str:
    """The verdict on a slice in a word or two, for a table; a note says more about slices that are too small."""
    return _TOO_SMALL if is_too_small(reason) else reason or ("yes" if survives else "no")


def note_small_slices(reasons: Iterable[tuple[str, str | None]], cluster: Cluster) -> list[str]:
    """A note that names the slices that are too small to be tested, where there are any."""
    names = list(dict.fromkeys(name for name, reason in reasons if is_too_small(reason)))
    fewer = f"with fewer than {MIN_CONVERSATIONS} {cluster}s"
    return [f"Too small to be tested, {fewer}: {list_names(names)}."] if names else []


def _correct(rows: Sequence[SliceMean], slicing: Slicing) -> list[SliceMean]:
    """Holm's correction; where two slices hold all replies between them, both are the same test."""
    masks = list(slicing.masks.values())
    if len(masks) == 2 and bool((masks[0] ^ masks[1]).all()):
        families = [[row for row in rows if row.slice == name] for name in slicing.masks]
    else:
        families = [list(rows)]
    return [
        row._replace(corrected=float(p))
        for family in families
        for row, p in zip(family, holm([row.p for row in family]), strict=True)
    ]


def _list_values(value: Any) -> list[Any]:
    """The values of a reply under a key: the members of a list, or the value; none where it is missing."""
    values = value if isinstance(value, list) else [value]
    return [v for v in values if v is not None and not (isinstance(v, float) and math.isnan(v)) and v != ""]


def _are_numbers(values: Sequence[Sequence[Any]]) -> bool:
    """Whether all values are single numbers, or texts of numbers."""
    return all(len(members) <= 1 and all(_parse_number(v) is not None for v in members) for members in values)


def _parse_number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _group_numbers(values: Sequence[Sequence[Any]]) -> dict[str, Sequence[int]]:
    """The rows of each slice of numbers, in ascending order: one per number, or quarters where there are many."""
    numbers = np.array([(_parse_number(members[0]) or 0.0) if members else math.nan for members in values])
    known = numbers[~np.isnan(numbers)]
    distinct = np.unique(known)
    if len(distinct) <= _MAX_NUMBERS:
        return {_format_number(number): np.flatnonzero(numbers == number).tolist() for number in distinct.tolist()}
    edges = np.unique(np.quantile(known, np.arange(1, _QUARTERS) / _QUARTERS, method="inverted_cdf"))
    bins = np.searchsorted(edges, numbers, side="left")
    groups: dict[str, Sequence[int]] = {}
    for code in range(len(edges) + 1):
        rows = np.flatnonzero((bins == code) & ~np.isnan(numbers))
        if len(rows):
            ends = [_format_number(end) for end in (float(numbers[rows].min()), float(numbers[rows].max()))]
            groups[" to ".join(dict.fromkeys(ends))] = rows.tolist()
    return groups


def _group_names(values: Sequence[Sequence[Any]]) -> dict[str, Sequence[int]]:
    """The rows of each value, as text."""
    rows: dict[str, list[int]] = {}
    for i, members in enumerate(values):
        for name in dict.fromkeys(map(_format_value, members)):
            rows.setdefault(name, []).append(i)
    return dict(rows)


def _make_masks(groups: Mapping[str, Sequence[int]], n: int) -> dict[str, Mask]:
    masks = {name: np.zeros(n, dtype=bool) for name in groups}
    for name, rows in groups.items():
        masks[name][rows] = True
    return masks


def _format_value(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    line = " ".join(text.split())
    return line if len(line) <= _NAME_LENGTH else line[: _NAME_LENGTH - 1] + "…"


def _format_number(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:.4g}"


def _as_probability(p: float) -> Cell:
    return None if math.isnan(p) else Probability(p)
