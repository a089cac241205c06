"""Bootstrap intervals of correlations: against a plain loop over scipy, by coverage, and their edges."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from rejoinder.engines.base import TaskResult, WorkerSpec
from rejoinder.engines.local import LocalEngine
from rejoinder.errors import InputError, SpecError
from rejoinder.stats import bootstrap, resampling
from rejoinder.stats.bootstrap import (
    BootstrapPlan,
    correlation_difference,
    correlation_intervals,
    resample_correlations,
    resample_plans,
)
from rejoinder.stats.levels import correlation_at_level
from rejoinder.stats.resampling import ResamplingDesign, bootstrap_p_value, percentile_interval, resample_counts

SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
N_SYSTEMS, N_ITEMS = 6, 15


def judged():
    """Rows of six systems on fifteen items, some left out, with ties."""
    random = np.random.default_rng(5)
    kept = np.flatnonzero(random.random(N_SYSTEMS * N_ITEMS) < 0.9)
    systems, items = kept // N_ITEMS, kept % N_ITEMS
    x = np.round(random.normal(size=len(kept)) + systems * 0.3, 1)
    y = np.round(x + random.normal(size=len(kept)))
    return x, y, random.normal(size=len(kept)), ResamplingDesign.of(len(kept), systems, items, items // 3)


def plain(method, x, y):
    return SCIPY[method](x, y).statistic if len(x) >= 3 and np.ptp(x) and np.ptp(y) else math.nan


def plain_level(level, method, x, y, design, counts, of_systems, of_items):
    """The correlation at a level on data in which each row stands as often as it counts, by loops."""
    rows = np.repeat(np.arange(len(x)), counts)
    if level == "pooled":
        return plain(method, x[rows], y[rows])
    if level == "system":
        means = [
            (x[mine].mean(), y[mine].mean())
            for system, times in enumerate(of_systems)
            for mine in [rows[design.systems[rows] == system]]
            for _ in range(times if len(mine) else 0)
        ]
        return plain(method, *(np.array(side) for side in zip(*means, strict=True)))
    codes, times = (design.systems, of_systems) if level == "within_system" else (design.items, of_items)
    inside = [
        plain(method, x[codes_of], y[codes_of]) for g in range(len(times)) for codes_of in [rows[codes[rows] == g]]
    ]
    defined = [(value, t) for value, t in zip(inside, times, strict=True) if not math.isnan(value)]
    total = sum(t for _, t in defined)
    return sum(value * t for value, t in defined) / total if total else math.nan


UNITS = ["rows", "items", "dialogues", "systems", "both"]


@pytest.mark.parametrize("method", SCIPY)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("level", ["pooled", "within_system", "within_item", "system"])
def test_every_resample_equals_a_loop_over_scipy(level, unit, method) -> None:
    x, y, other, design = judged()
    correlations = correlation_at_level(level, method, [x, other], y, design)
    for draw in design.draws(unit, 6, seed=3):
        found = correlations(draw)
        for b in range(len(draw.rows)):
            counts = draw.rows[b], draw.systems[b], draw.items[b]
            expected = [plain_level(level, method, scores, y, design, *counts) for scores in (x, other)]
            assert found[b] == pytest.approx(expected, abs=1e-10, nan_ok=True)


@pytest.mark.parametrize("unit", UNITS)
def test_how_many_resamples_are_held_at_once_changes_nothing(unit, monkeypatch) -> None:
    x, y, other, design = judged()
    plan = BootstrapPlan(resample=unit, n_resamples=37)
    labels = {"systems": design.systems, "items": design.items, "dialogues": design.dialogues}
    whole = resample_correlations({"x": x, "other": other}, y, plan, **labels)
    monkeypatch.setattr(resampling, "_CELLS", 3 * len(x))
    parts = resample_correlations({"x": x, "other": other}, y, plan, **labels)
    assert (whole.samples == parts.samples).all()


@pytest.mark.parametrize("unit", ["dialogues", "both"])
def test_rows_of_a_dialogue_are_drawn_together(unit) -> None:
    _, _, _, design = judged()
    for draw in design.draws(unit, 20, seed=1):
        for dialogue in range(design.n_dialogues):
            for system in range(design.n_systems):
                mine = (design.dialogues == dialogue) & (design.systems == system)
                assert (np.ptp(draw.rows[:, mine], axis=1) == 0).all()
    assert design.n_units("dialogues") == 5


def test_dialogues_of_one_item_are_drawn_as_items_are() -> None:
    x, y, _, design = judged()
    named = {"systems": design.systems, "items": design.items}
    items = resample_correlations({"x": x}, y, BootstrapPlan(resample="items", n_resamples=30), **named)
    alone = [f"dialogue {item}" for item in design.items]
    for dialogues in (None, alone):
        plan = BootstrapPlan(resample="dialogues", n_resamples=30)
        found = resample_correlations({"x": x}, y, plan, **named, dialogues=dialogues)
        assert (found.samples == items.samples).all()
        assert found.n_units == items.n_units


def test_an_item_lies_in_one_dialogue() -> None:
    with pytest.raises(InputError, match="item b belongs to two dialogues; give the items of each"):
        correlation_intervals({"x": [1, 2, 3]}, [1, 2, 3], items=["a", "b", "b"], dialogues=["d", "d", "e"])


def test_p_from_resamples_by_hand() -> None:
    # 24 of 999 values are not above 0; with the estimate itself 25 of 1,000, and twice that is .05.
    samples = np.where(np.arange(999) < 24, -1.0, 1.0)
    assert bootstrap_p_value(samples, 30, "corrected") == pytest.approx(0.05)
    # The expanded interval is sqrt(30 / 29) t(29) / z as wide: z = 1.95996 becomes t = 1.92702, p = 2 T29(-1.92702).
    assert bootstrap_p_value(samples, 30, "expanded") == pytest.approx(2 * stats.t.cdf(-1.92702, 29), abs=1e-5)
    assert bootstrap_p_value(np.ones(99), 10**6, "expanded") == pytest.approx(2 / 100, rel=1e-4)
    assert bootstrap_p_value(-np.ones(99), 30) == 1
    assert math.isnan(bootstrap_p_value(np.full(9, np.nan), 30))
    assert math.isnan(bootstrap_p_value(samples, 1))


def test_p_is_below_5_percent_where_the_interval_of_95_percent_is_above_0() -> None:
    random = np.random.default_rng(0)
    for mean in np.linspace(0.1, 0.5, 40):
        samples = random.normal(mean, 0.15, 1999)
        interval = percentile_interval(float(mean), samples, 90, 0, 12, kind="expanded")
        if abs(interval.low) > 0.01:
            assert (bootstrap_p_value(samples, 12, "expanded") < 0.05) == (interval.low > 0)


def test_the_seed_decides() -> None:
    x, y, _, _ = judged()
    found = [correlation_intervals({"x": x}, y, BootstrapPlan(n_resamples=50, seed=seed))["x"] for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


def test_a_metric_is_left_out_where_it_is_missing_and_nowhere_else() -> None:
    x, y, other, _ = judged()
    holes = np.where(np.arange(len(x)) % 7 == 0, np.nan, other)
    plan = BootstrapPlan(n_resamples=50)
    together = correlation_intervals({"x": x, "holes": holes}, y, plan)
    assert together["x"] == correlation_intervals({"x": x}, y, plan)["x"]
    assert together["holes"] == correlation_intervals({"holes": holes}, y, plan)["holes"]
    assert together["holes"].n_missing == int(np.isnan(holes).sum())
    assert together["x"].value == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)


def test_a_metric_does_not_differ_from_itself() -> None:
    x, y, other, _ = judged()
    same = correlation_difference(x, x, y, BootstrapPlan(n_resamples=50))
    assert same[:3] == (0.0, 0.0, 0.0)
    better = correlation_difference(x, other, y, BootstrapPlan(n_resamples=200))
    assert 0 < better.low < better.value < better.high


def test_a_perfect_correlation_has_an_interval_without_width() -> None:
    x = np.arange(20.0)
    for method in SCIPY:
        found = correlation_intervals({"x": x}, 3 * x, BootstrapPlan(method=method, n_resamples=100))["x"]
        assert found[:3] == pytest.approx((1, 1, 1))


@pytest.mark.parametrize("method", ["pearson", "spearman"])
@pytest.mark.parametrize("n", [20, 60, 200])
def test_an_interval_of_95_percent_covers_the_correlation(method, n) -> None:
    random = np.random.default_rng(n)
    r = 0.5
    truth = r if method == "pearson" else 6 / math.pi * math.asin(r / 2)
    rounds, covered = 1200, 0
    for turn in range(rounds):
        x = random.normal(size=n)
        y = r * x + math.sqrt(1 - r * r) * random.normal(size=n)
        found = correlation_intervals({"x": x}, y, BootstrapPlan(method=method, n_resamples=300, seed=turn))["x"]
        covered += found.low <= truth <= found.high
    assert 0.93 <= covered / rounds <= 0.97


def test_kinds_of_interval_by_hand() -> None:
    samples = np.arange(1001) / 1000
    at = {"n": 10, "n_missing": 0, "n_units": 10}
    assert percentile_interval(0.5, samples, **at, kind="percentile")[1:3] == pytest.approx((0.025, 0.975))
    # Phi(-sqrt(10 / 9) * t(0.975, 9)) = Phi(-1.0541 * 2.2622) = Phi(-2.3845) = 0.008551
    assert percentile_interval(0.5, samples, **at, kind="expanded").low == pytest.approx(0.008551, abs=1e-6)
    # Without bias nothing more moves; with 0.6 below the estimate both ends move up by Phi^-1(0.6) twice.
    centred = percentile_interval(0.5, samples, **at, kind="corrected")
    assert centred.low == pytest.approx(0.008551, abs=1e-6)
    shift = 2 * stats.norm.ppf(600.5 / 1001)  # 600 lie below and one is the estimate itself
    moved = percentile_interval(0.6, samples, **at, kind="corrected")
    assert moved[1:3] == pytest.approx(stats.norm.cdf([shift - 2.38452, shift + 2.38452]), abs=1e-5)


def test_an_interval_tells_why_it_has_no_ends() -> None:
    samples = np.linspace(0, 1, 100)
    few = np.where(np.arange(100) < 5, np.nan, samples)
    many = np.where(np.arange(100) < 50, np.nan, samples)
    assert percentile_interval(math.nan, samples, 9, 0, 9).reason == "the estimate is undefined"
    assert percentile_interval(0.5, samples, 9, 0, 1).reason == "fewer than 2 units to resample"
    assert percentile_interval(2.0, samples, 9, 0, 9).reason == "the resamples miss the estimate; resample other units"
    assert percentile_interval(0.5, many, 9, 0, 9).reason == "undefined in 50 of 100 resamples"
    assert math.isnan(percentile_interval(0.5, many, 9, 0, 9).low)
    some = percentile_interval(0.5, few, 9, 0, 9)
    assert some.low < 0.5 < some.high
    assert some.reason == "undefined in 5 of 100 resamples"


def test_wrong_words_are_named() -> None:
    x = [1.0, 2.0, 3.0]
    with pytest.raises(SpecError, match="no level is called 'segment'"):
        correlation_intervals({"x": x}, x, BootstrapPlan(at="segment"))  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="no unit of resampling is called 'raters'"):
        correlation_intervals({"x": x}, x, BootstrapPlan(resample="raters"))  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="no interval is called 'bca'"):
        correlation_intervals({"x": x}, x, BootstrapPlan(kind="bca"))  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="no correlation is called 'r'"):
        correlation_intervals({"x": x}, x, BootstrapPlan(method="r"))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="n_resamples must be a whole number of at least 1"):
        correlation_intervals({"x": x}, x, BootstrapPlan(n_resamples=0))
    with pytest.raises(InputError, match="mine 2, ratings 3"):
        correlation_intervals({"mine": [1, 2]}, x)


def test_a_seed_is_a_whole_number() -> None:
    with pytest.raises(InputError, match="seed must be a whole number of at least 0, not -1"):
        correlation_intervals({"x": [1, 2, 3]}, [1, 2, 3], BootstrapPlan(seed=-1))


@pytest.mark.parametrize("unit", UNITS)
def test_workers_draw_what_one_process_draws(unit, monkeypatch) -> None:
    x, y, other, design = judged()
    plans = [
        BootstrapPlan(at=level, resample=unit, method=method, n_resamples=53, seed=4)
        for level, method in (("pooled", "spearman"), ("within_item", "kendall"), ("system", "pearson"))
    ]
    missing = np.where(np.arange(len(x)) % 5 == 0, np.nan, other)
    given = {"x": x, "other": other, "missing": missing}, y, plans
    labels = {"systems": design.systems, "items": design.items, "dialogues": design.dialogues}
    monkeypatch.setattr(resampling, "_CELLS", 3 * len(x))
    alone = resample_plans(*given, **labels)
    for start, stretch in ((0, 1), (0, 10 * len(x))):
        monkeypatch.setattr(bootstrap, "_MIN_WORK", start)
        monkeypatch.setattr(bootstrap, "_TASK_WORK", stretch)
        seen = []
        engine = Alone()
        shared = resample_plans(*given, **labels, engine=engine, progress=lambda *now, seen=seen: seen.append(now))
        assert engine.tasks > 3
        assert seen[-1] == (2 * 3 * 53, 2 * 3 * 53)
        for one, other_one in zip(alone, shared, strict=True):
            assert one.names == other_one.names
            for mine, theirs in zip(one[1:], other_one[1:], strict=True):
                np.testing.assert_array_equal(mine, theirs)


def test_processes_draw_what_one_process_draws(monkeypatch) -> None:
    x, y, other, design = judged()
    monkeypatch.setattr(bootstrap, "_MIN_WORK", 0)
    monkeypatch.setattr(bootstrap, "_TASK_WORK", 1)
    given = {"x": x, "other": other}, y, [BootstrapPlan(n_resamples=30)]
    alone, shared = (resample_plans(*given, items=design.items, engine=LocalEngine(n)) for n in (1, 2))
    np.testing.assert_array_equal(alone[0].samples, shared[0].samples)


def test_little_work_is_not_shared_out() -> None:
    x, y, _, _ = judged()
    engine = Alone()
    resample_plans({"x": x}, y, [BootstrapPlan(n_resamples=30)], engine=engine)
    assert engine.tasks == 0


class Alone(LocalEngine):
    """An engine that says that it has two workers, passes everything as JSON does, and computes the last task first."""

    def __init__(self) -> None:
        super().__init__(2)
        object.__setattr__(self, "tasks", 0)

    def compute(self, work, tasks):
        given = tuple(json.loads(json.dumps(work.arguments)))
        worker = WorkerSpec(work.factory, given).worker()
        numbered = list(enumerate(json.loads(json.dumps(list(tasks)))))
        object.__setattr__(self, "tasks", len(numbered))
        for number, task in reversed(numbered):
            yield TaskResult(number, json.loads(json.dumps(worker.compute(task))))


def test_nothing_is_resampled_to_nothing() -> None:
    assert resample_counts(0, 3, np.random.default_rng(0)).shape == (3, 0)
