"""What people would say of all replies, from few ratings and many scores, with an interval that holds.

Ratings of some replies of a run and a metric's scores of all of them give, for each system, the mean rating, its
difference from another system, how often it wins, and the share of its replies that are rated so high; by the ratings
alone, by the metric alone, and by both (``stats.prediction_powered``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rejoinder.comparison.estimate_frame import EstimateFrame, PoweredEstimate
from rejoinder.comparison.rated_sample import RatedSample, read_ratings, take_sample
from rejoinder.comparison.rating_scale import RatingScale, choose_scale
from rejoinder.data.collection import Collection
from rejoinder.errors import InputError, nearest
from rejoinder.scoring.reader import load_data
from rejoinder.scoring.result import Scores
from rejoinder.scoring.run import Run, load
from rejoinder.stats.interval import interval_estimate
from rejoinder.stats.prediction_powered import Population
from rejoinder.table import Cell, Table, format_count

_MANY = 4  # systems: of more, only means are estimated unless the user names systems


@dataclass(frozen=True)
class PoweredEstimates:
    """What the ratings of one aspect and the scores of the metrics say together."""

    sample: RatedSample
    metrics: Sequence[str]
    estimates: Sequence[PoweredEstimate]
    population: Population
    level: float
    scale: RatingScale
    is_scale_inferred: bool
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
    scale: tuple[float, float] | None = None,
    level: float = 0.95,
) -> PoweredEstimates:
    """Estimate what people would say of all replies of a run, from ratings of some and a metric's scores of all.

    - ``run``: the run folder, or scores with their data.
    - ``metrics``: one metric of the run or several, whose best linear combination is fitted by cross-fitting.
    - ``ratings``: the ratings, where they are not in the run folder: a file (JSONL, or CSV with the columns
      ``response`` and ``rating``), or a collection, such as ``read_project_ratings`` gives.
    - ``aspect``: the aspect that was rated; optional where there is only one.
    - ``systems``: only these systems.
    - ``above``: also estimate the share of replies rated this or more.
    - ``strata``: groups of known size: ``meta.KEY``, a metric (four equal parts by its scores), or ``system``, which
      adds the mean over all systems.
    - ``population``: the mean over ``these`` replies, or over ``future`` replies in conversations like these.
    - ``tuning``: lambda, how far the metric is used: 0 not at all, 1 is plain PPI; by default what is best (PPI++).
    - ``assume_random``: believe that the rated replies are a random sample although they look chosen.
    - ``scale``: the lowest and the highest rating that people could give, such as ``(1, 5)``: they bound what
      unrated replies can be. By default the usual scale that the ratings suggest.
    - ``level``: of the intervals. There is none below 20 ratings, or 10 conversations (or items) that were drawn whole.

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
    records = None if ratings is None else read_ratings(ratings)
    sample = take_sample(scores, data, records, aspect, specs)
    _refuse_chosen(sample, run, specs, assume_random)
    ends = choose_scale(scale, sample.range)
    frame = EstimateFrame(scores, data, sample, specs, strata, population, tuning, ends, level, [])
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
    for spec in specs:
        if missing := int((~np.isfinite(scores.values[spec])).sum()):
            frame.warnings.append(f"{spec}: {missing:,} replies have no score; the mean of the others stands for it.")
    warnings = [*_warn_of_sample(sample, assume_random), *dict.fromkeys(frame.warnings)]
    return PoweredEstimates(sample, specs, estimates, population, level, ends, scale is None, frame.is_mapped, warnings)


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


def _make_notes(result: PoweredEstimates) -> list[str]:
    """What a reader of the table must know."""
    sample, alone = result.sample, [one.powered for one in result.estimates if one.quantity == "mean"]
    n = int((~np.isnan(sample.ratings)).sum())
    estimand = (
        "the mean over these replies, had all been rated as the rated ones were; [low, high]: "
        f"{result.level:.0%} interval with "
        f"finite-population correction, drawn by {sample.drawn}"
        if result.population == "these"
        else "the mean over future replies in conversations like these; [low, high]: "
        f"{result.level:.0%} interval, clustered by conversation"
    )
    notes = [
        f"{n:,} rated of {format_count(len(sample.ratings), 'reply', 'replies')}. Estimand: {estimand}.",
        f"Scale {result.scale.name}"
        + (", as the ratings suggest; --scale LOW..HIGH names another one. " if result.is_scale_inferred else ". ")
        + "An interval allows for replies at either end of it that nobody rated (Gaffke's bound in its mid-P form).",
        "Both: PPI++ (Angelopoulos et al. 2024), the ratings corrected by the scores of all replies, which are used by "
        "the share lambda. Effective ratings: how many ratings alone would have as small a standard error.",
    ]
    if n == len(sample.ratings) and result.population == "these":
        notes.append("Every reply is rated, so nothing is left to estimate. For replies to come: --population future.")
    how = "one line through all rated replies puts it on the scale of the ratings" if result.is_mapped else "as it is"
    notes.append(f"Metric alone: {how}; it has no interval, because its bias is not known without ratings.")
    if any(one.effective_n < one.alone.n * 1.05 for one in alone):
        notes.append("Where few ratings are saved, the metric hardly follows people: see rejoinder trust.")
    return [*notes, *sample.notes, *result.warnings]
