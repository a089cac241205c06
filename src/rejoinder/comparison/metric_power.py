"""How many ratings an estimate needs, with a metric's scores of all replies and without them.

Scores that correlate by r with the ratings reduce the variance of a mean to 1 - r^2 of what it was, and the fit of the
scores to n ratings adds about one part in n - 2 (``stats.prediction_powered``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rejoinder.comparison.rated_sample import read_ratings, take_sample
from rejoinder.data.collection import Collection
from rejoinder.errors import InputError, nearest
from rejoinder.scoring.reader import load_data
from rejoinder.scoring.run import load
from rejoinder.stats.arrays import Floats
from rejoinder.stats.power import power_at, rows_needed
from rejoinder.table import Cell, Table, format_count

_MOST = 10**9
_FEW = 30


@dataclass(frozen=True)
class MetricPower:
    """How many replies must be rated for a half-width (or a difference between two systems), with and without a metric.

    ``alone`` and ``both`` are NaN where no number of ratings is enough; ``n_pilot`` is 0 without a pilot.
    """

    alone: float
    both: float
    sd: float
    correlation: float
    half_width: float | None
    difference: float | None
    replies: int | None
    what: str
    n_pilot: int

    def table(self) -> Table:
        """One line without the metric, one with it."""
        goal = "half-width" if self.difference is None else "difference"
        size = self.half_width if self.difference is None else self.difference
        rows: list[list[Cell]] = [
            ["ratings alone", _count(self.alone), size, None],
            ["ratings and metric", _count(self.both), size, _count(self.alone - self.both)],
        ]
        each = "replies to rate" if self.difference is None else "items to rate, of both systems"
        notes = [
            f"Standard deviation {self.sd:.3g}, correlation of the metric with people {self.correlation:.2f}: a metric "
            f"makes the interval {math.sqrt(1 - self.correlation**2):.2f} of what it was."
        ]
        if self.n_pilot:
            rated = ("rated reply", "rated replies") if self.difference is None else ("rated item",)
            notes.append(f"From {format_count(self.n_pilot, *rated)} of the pilot.")
        if 0 < self.n_pilot < _FEW:
            notes.append("With so few, the correlation is uncertain itself: plan for more.")
        if self.replies is not None:
            notes.append(f"Of {self.replies:,} replies, with finite-population correction.")
        return Table(f"How many ratings an estimate needs{self.what}", ["with", each, goal, "saved"], rows, notes)


def _count(value: float) -> int | None:
    return None if math.isnan(value) else round(value)


def power_with_metric(
    pilot: str | Path | None = None,
    *,
    half_width: float | None = None,
    difference: float | None = None,
    metric: str | None = None,
    correlation: float | None = None,
    sd: float | None = None,
    replies: int | None = None,
    ratings: Collection | str | Path | None = None,
    aspect: str | None = None,
    systems: Sequence[str] = (),
    power: float = 0.8,
    alpha: float = 0.05,
) -> MetricPower:
    """How many ratings an estimate by ``rejoinder.estimate`` needs, with the metric's scores and without them.

    - ``pilot``: a run folder with ratings; it gives the correlation and the standard deviation.
    - ``half_width``: half of the width of the interval of a system's mean that is wanted.
    - ``difference``: or the difference between two systems, on the same items, that is to be detected.
    - ``metric``: the metric of the pilot.
    - ``correlation``: without a pilot: of the metric's scores (for a difference, of its differences) with the ratings.
    - ``sd``: without a pilot: the standard deviation of the ratings (of the differences) between items.
    - ``replies``: how many replies of a system there are, for the finite-population correction of a half-width.
    - ``ratings``: the pilot's ratings, where they are not in the run folder: a file, or a collection, such as
      ``read_project_ratings`` gives.
    - ``aspect``: the pilot's aspect.
    - ``systems``: a system of the pilot, or two for a difference.
    - ``power``: the probability with which the difference is to be detected.
    - ``alpha``: the significance level; a half-width is that of the interval of level 1 - alpha.

    >>> import rejoinder
    >>> plan = rejoinder.comparison.power_with_metric(half_width=0.2, correlation=0.7, sd=1.0)
    >>> plan.alone, plan.both
    (99.0, 53.0)
    """
    if (half_width is None) == (difference is None):
        raise InputError("give either a half-width or a difference")
    what, n_pilot = "", 0
    if pilot is None:
        if correlation is None or sd is None:
            raise InputError("without a pilot, give the correlation of the metric with people and a standard deviation")
    else:
        if correlation is not None or sd is not None:
            raise InputError("a pilot gives the correlation and the standard deviation; leave them out")
        y, x, what = _read_pilot(pilot, metric, ratings, aspect, systems, difference is not None)
        n_pilot, sd, correlation = len(y), float(y.std(ddof=1)), _correlate(y, x)
    if not (sd > 0 and math.isfinite(sd) and -1 <= correlation <= 1):
        raise InputError(
            f"a standard deviation above 0 and a correlation up to 1 are needed, not {sd:g}, {correlation:g}"
        )
    if (half_width is not None and not half_width > 0) or difference == 0:
        raise InputError("the half-width or difference must not be 0")
    if half_width is not None:
        counts = [_ratings_needed(half_width, sd, r, replies, alpha) for r in (0.0, correlation)]
    else:
        counts = [_items_needed(float(difference or 0), sd, r, power, alpha) for r in (0.0, correlation)]
    return MetricPower(counts[0], counts[1], sd, correlation, half_width, difference, replies, what, n_pilot)


def _correlate(y: Floats, x: Floats) -> float:
    if len(y) < 4 or y.std() == 0:
        raise InputError(f"the pilot has {len(y)} rated rows, too few or all rated the same; rate more replies")
    return 0.0 if x.std() == 0 else float(np.corrcoef(x, y)[0, 1])


def _read_pilot(
    pilot: str | Path,
    metric: str | None,
    ratings: Collection | str | Path | None,
    aspect: str | None,
    systems: Sequence[str],
    is_paired: bool,
) -> tuple[Floats, Floats, str]:
    """Ratings and scores of the rated replies (their deviations from each system's mean), or of paired differences."""
    scores = load(pilot)
    if metric is None and len(scores.facts) > 1:
        raise InputError(f"the run has several metrics; choose one with -m: {', '.join(scores.facts)}")
    spec = next(iter(scores.facts)) if metric is None else scores.spec(metric)
    for name in systems:
        if name not in scores.systems:
            raise InputError(f"no system of the run is called {name!r}; {nearest(name, scores.systems)}")
    records = None if ratings is None else read_ratings(ratings)
    sample = take_sample(scores, load_data(pilot), records, aspect, ())
    chosen = list(systems) or list(scores.systems)
    names = [scores.systems[code] for code in scores.system_codes]
    known = np.isfinite(scores.values[spec]) & ~np.isnan(sample.ratings)
    values: dict[str, dict[str, tuple[float, float]]] = {system: {} for system in chosen}
    for i in np.flatnonzero(known).tolist():
        if names[i] in values:
            key = scores.items[i] if is_paired else scores.responses[i]
            values[names[i]][key] = float(sample.ratings[i]), float(scores.values[spec][i])
    what = f": {sample.aspect}, {spec}"
    if not is_paired:
        parts = [np.array(list(by.values())) for by in values.values() if len(by) > 1]
        rows = np.concatenate([part - part.mean(axis=0) for part in parts]) if parts else np.empty((0, 2))
        return rows[:, 0], rows[:, 1], what
    if len(chosen) != 2:
        raise InputError(f"a difference needs two systems, found {len(chosen)}; name two of: {', '.join(chosen)}")
    first, second = values[chosen[0]], values[chosen[1]]
    pairs = np.array([np.subtract(first[item], second[item]) for item in first if item in second]).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1], f"{what}, {chosen[0]} vs. {chosen[1]}"


def _ratings_needed(half_width: float, sd: float, correlation: float, replies: int | None, alpha: float) -> float:
    """The fewest ratings whose interval is no wider; NaN where none are enough."""
    from scipy.special import stdtrit

    def width(n: int) -> float:
        fit = 1 + 1 / max(n - 2, 1) if correlation else 1.0
        rest = 1 - n / replies if replies else 1.0
        error = sd * math.sqrt((1 - correlation**2) * fit * max(rest, 0.0) / n)
        return float(stdtrit(n - 1, 1 - alpha / 2)) * error

    low, high = 3, 4
    most = min(replies or _MOST, _MOST)
    while width(high) > half_width:
        low, high = high, 2 * high
        if low > most:
            return math.nan
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if width(middle) <= half_width else (middle, high)
    return float(min(high, most))


def _items_needed(difference: float, sd: float, correlation: float, power: float, alpha: float) -> float:
    rest = sd * math.sqrt(1 - correlation**2)
    if rest == 0:
        return 3.0
    n = rows_needed(difference, rest, power=power, alpha=alpha).n
    while correlation and n < _MOST:
        fitted = rest * math.sqrt(1 + 1 / max(n - 2, 1))
        if power_at(n, difference, fitted, alpha=alpha).power >= power:
            break
        n += 1
    return float(n)
