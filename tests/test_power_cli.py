"""Planning: components of noise and power against simulated studies, and what the command says."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from rejoinder.data.writer import write
from rejoinder.errors import InputError
from rejoinder.stats.power import power_at, rows_needed
from rejoinder.stats.rating_noise import RatingNoise, estimate_noise, plan_ratings
from rejoinder.types import Record
from tests.test_agreement_cli import duels, replies, run


def study(random: np.random.Generator, items: int, raters: int, difference: float) -> tuple[np.ndarray, np.ndarray]:
    """Ratings of two systems: differences vary by .8 from item to item, a rating by 1 around its reply's mean."""
    second = random.normal(size=(items, 1))
    first = second + difference + 0.8 * random.normal(size=(items, 1))
    return first + random.normal(size=(items, raters)), second + random.normal(size=(items, raters))


def test_a_pilot_tells_items_and_raters_apart() -> None:
    random = np.random.default_rng(1)
    first, second = study(random, 4000, 3, 0.2)
    hidden = random.random(first.shape) < 0.3
    for x in (first, np.where(hidden, np.nan, first)):
        noise = estimate_noise(x, second)
        assert noise.between == pytest.approx(0.8, abs=0.04)
        assert noise.within == pytest.approx(1.0, abs=0.03)
        assert noise.difference == pytest.approx(0.2, abs=0.05)
    assert estimate_noise(first, second).raters == pytest.approx(3)
    assert estimate_noise(first, second).sd(3) == pytest.approx((first - second).mean(axis=1).std(), rel=0.001)


@pytest.mark.parametrize("raters", [1, 4])
def test_the_power_is_what_simulated_studies_find(raters: int) -> None:
    random = np.random.default_rng(raters)
    found = 0
    for _ in range(2000):
        first, second = study(random, 40, raters, 0.5)
        found += stats.ttest_1samp((first - second).mean(axis=1), 0).pvalue < 0.05
    planned = plan_ratings(RatingNoise(0.8, 1.0), 0.5, items=40, raters=raters)
    assert planned.power.power == pytest.approx(found / 2000, abs=0.03)
    assert planned.ratings == 2 * raters * 40


def test_what_is_left_open_is_found() -> None:
    noise = RatingNoise(0.8, 1.0)
    sd = math.sqrt(0.64 + 2 / 3)
    needed = plan_ratings(noise, 0.3, raters=3)
    assert needed.power == rows_needed(0.3, sd)
    assert needed.ratings == 6 * needed.power.n
    assert plan_ratings(noise, 0.3, items=needed.power.n, raters=3).power.power >= 0.8
    detected = plan_ratings(noise, items=needed.power.n, raters=3).power.difference
    assert detected == pytest.approx(0.3, rel=0.01)
    assert detected <= 0.3
    assert plan_ratings(noise, 0.3, items=50, raters=3).power == power_at(50, 0.3, sd)
    with pytest.raises(InputError, match="give the difference to detect, or the number of items"):
        plan_ratings(noise)


def test_pairs_have_one_side() -> None:
    assert RatingNoise(0.3, 0.4, sides=1).sd(4) == pytest.approx(math.sqrt(0.09 + 0.04))


def test_dialogues_whose_items_are_alike_need_more_items() -> None:
    apart = plan_ratings(RatingNoise(1.0, 0.0), 0.3).power.n
    alike = plan_ratings(RatingNoise(1.0, 0.0, icc=0.5, cluster_size=4.0), 0.3).power.n
    assert alike > 2 * apart
    # raters' noise is not shared by a dialogue's items: with few raters they are less alike
    noise = RatingNoise(1.0, 1.0, icc=0.4, cluster_size=4.0, raters=10.0)
    assert noise.icc_at(1) == pytest.approx(0.4 * 1.2 / 3)
    assert noise.icc_at(10) == pytest.approx(0.4)


def test_one_rating_a_reply_tells_nothing_of_raters() -> None:
    noise = estimate_noise([[1.0], [2.0], [4.0]], [[1.0], [1.0], [1.0]])
    assert noise.reason == "no reply has two ratings, so the noise of raters cannot be estimated"
    assert noise.within == 0.0
    assert noise.sd(1) == noise.sd(10) == pytest.approx(np.std([0, 1, 3], ddof=1))


def rows_of(*argv: object) -> list[dict[str, object]]:
    return json.loads(run("power", *argv, "--format", "json").stdout)["rows"]  # type: ignore[no-any-return]


def pilot(tmp_path: Path, records: list[Record]) -> Path:
    write(records, tmp_path / "pilot.jsonl")
    return tmp_path / "pilot.jsonl"


def test_given_numbers_make_a_plan() -> None:
    rows = rows_of("--sd-items", 1, "--sd-ratings", 1, "--difference", 0.25)
    assert [row["raters per reply"] for row in rows] == ["1", "2", "3", "5", "10"]
    assert rows[0]["items"] == rows_needed(0.25, math.sqrt(3)).n
    assert [int(str(row["items"])) for row in rows] == sorted((int(str(row["items"])) for row in rows), reverse=True)
    known = rows_of("--sd-items", 1, "--sd-ratings", 1, "--difference", 0.25, "--items", 100, "--raters", 2)
    assert known[0]["power"] == pytest.approx(power_at(100, 0.25, math.sqrt(2)).power)


def test_a_pilot_makes_a_plan(tmp_path: Path) -> None:
    file = pilot(tmp_path, replies())
    two = "--system", "a", "--system", "b"
    done = run("power", file, *two, "--difference", 0.3, "--raters", 2)
    assert "apt, a vs. b" in done.stdout
    assert "From 40 items, 4 ratings per reply" in done.stdout
    rows = rows_of(file, *two)  # as many items as the pilot had: what difference do they find?
    assert {row["items"] for row in rows} == {40}
    assert {row["power"] for row in rows} == {0.8}
    with pytest.raises(InputError, match="a comparison needs two systems, found 3; choose two of: a, b, c"):
        run("power", file)
    with pytest.raises(InputError, match="there is no system 'd'"):
        run("power", file, "--system", "a", "--system", "d")


def test_preferences_make_a_pilot_too(tmp_path: Path) -> None:
    file = pilot(tmp_path, duels())
    done = run("power", file, "--system", "c", "--system", "a", "--difference", 0.1)
    assert "overall (preference), c vs. a" in done.stdout
    assert "raters per pair" in done.stdout
    # c gets about a quarter of the points: a difference to a draw of about -.25
    told = done.stdout.partition("own difference is ")[2]
    assert -0.4 < float(told.partition(";")[0]) < -0.1


def test_scores_make_a_pilot_too(tmp_path: Path) -> None:
    run("score", pilot(tmp_path, replies()), "-m", "length", "-o", tmp_path / "run")
    rows = rows_of(tmp_path / "run", "-m", "length", "--system", "a", "--system", "c", "--difference", 1)
    assert len(rows) == 1
    assert int(str(rows[0]["items"])) > 2


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        ([], "without a pilot, give 'sd_items' and 'sd_ratings'"),
        (["--sd-items", 1, "--sd-ratings", 1], "give 'difference', 'items' or both"),
        (["--sd-items", -1, "--sd-ratings", 1, "--items", 9], "must be 0 or more"),
        (["nosuch.jsonl", "--sd-items", 1], "are for planning without a pilot"),
        (["nosuch.jsonl"], "nosuch.jsonl: no such file"),
    ],
)
def test_what_is_missing_is_said(argv: list[object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        run("power", *argv)
