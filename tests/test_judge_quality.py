"""How good is this judge: its ways are known here, and what the command says of them must be true."""

from __future__ import annotations

import json
import math
import random
from itertools import permutations
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from judge_server import Judge as Server
from judge_server import forget_endpoints, judges, says, served
from scipy.stats import kendalltau, rankdata

import rejoinder
from rejoinder.cli import program
from rejoinder.comparison.judge_quality import _permutation_p, quality_table
from rejoinder.errors import BudgetError, SpecError
from rejoinder.reports.judge import judge_tables
from rejoinder.types import Item, Rating, Record, Reference, Response, Turn

JUDGE = "judge(model='m')"
LEVEL = {"ann": 2, "bob": 1, "cleo": 0, "dora": -1, "emil": -2}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_endpoints(monkeypatch)


def reach(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("REJOINDER_JUDGE_URL", server.url)
    return server


def write_rated(folder: Path, systems: tuple[str, ...], n: int, rated: bool = True) -> Path:
    """Replies whose quality is a number in them; people rate by it, with some noise. Their length is another matter."""
    rng = random.Random(5)
    records: list[Record] = []
    for i in range(n):
        context = Turn(f"Hello {i}.", "A"), Turn(f"Question number {i}?", "B")
        records.append(Item(f"i{i}", context, (Reference("so so so so so so"),), dialogue=f"d{i}"))
        for system in systems:
            quality = rng.gauss(LEVEL[system], 1.5)
            words = " ".join(["so"] * rng.randint(1, 40))
            response = Response(f"i{i}/{system}", f"i{i}", system, f"{system} {i} {quality:.3f} {words}")
            records.append(response)
            if rated:
                records.append(Rating("eva", "apt", round(quality + rng.gauss(0, 0.7), 2), response.id))
    rejoinder.write(records, folder / "rated.jsonl")
    return folder / "rated.jsonl"


def rate_by(quality: float = 0.0, length: float = 0.0, system: float = 0.0, noise: float = 0.0) -> Any:
    """A judge whose scores follow a reply's quality, its length, its system, and chance."""

    def rate(reply: str, context: list[str]) -> int:
        parts = reply.split()
        known = len(parts) > 2 and parts[0] in LEVEL and parts[2].replace(".", "").replace("-", "").isdigit()
        if not known:
            return 1
        value = 3 + quality * float(parts[2]) + length * (len(parts) - 23) / 10 + system * LEVEL[parts[0]]
        return min(5, max(1, round(value + random.Random(reply).gauss(0, noise))))

    return rate


def assess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rate: Any, systems: tuple[str, ...] = tuple(LEVEL), n: int = 60
) -> rejoinder.reports.JudgeSummary:
    file = write_rated(tmp_path, systems, n)
    with served(judges(rate=rate)) as server:
        reach(server, monkeypatch)
        rejoinder.run([file], rejoinder.Plan.of([JUDGE, "rouge_l", "length"]), tmp_path / "run")
        before = len(server.sent)
        (summary,) = rejoinder.judge(tmp_path / "run", resamples=300)
        assert len(server.sent) == before, "nothing is asked"
    return summary


# What it may be used for


def test_a_judge_that_follows_quality_may_be_used_for_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = assess(tmp_path, monkeypatch, rate_by(quality=0.6, noise=0.4))
    (quality,) = summary.quality
    assert quality.rates_replies
    assert quality.ranks_systems
    assert quality.order.p == pytest.approx(1 / 120)
    assert quality.best is not None
    assert quality.best.name == "rouge_l"
    assert quality.best.lead.low > 0
    assert quality.verbosity.low < 0 < quality.verbosity.high
    # Kendall within systems, against scipy: the mean over the five systems.
    scores, data = rejoinder.load(tmp_path / "run"), rejoinder.read(tmp_path / "run" / "data.jsonl")
    people: dict[str, list[float]] = {}
    for rating in data.ratings:
        people.setdefault(rating.response or "", []).append(rating.value)
    judged, names = scores[JUDGE], [scores.systems[code] for code in scores.system_codes]
    rows = {name: [i for i, one in enumerate(names) if one == name] for name in LEVEL}
    mean = {
        name: kendalltau([judged[i] for i in of], [fmean(people[scores.responses[i]]) for i in of]).statistic
        for name, of in rows.items()
    }
    assert quality.within_kendall.value == pytest.approx(fmean(mean.values()))
    assert 0 < quality.within_kendall.low < quality.within_kendall.value < quality.within.value
    assert "Kendall within" in str(quality_table([quality]))
    (said,) = summary.sentences()
    assert said.startswith("judge(model='m'), by 300 ratings of apt: may rank systems (Kendall ")
    assert "; may be used for single replies (agreement within systems ." in said
    assert "may not" not in said


def test_a_judge_that_follows_length_may_be_used_for_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = assess(tmp_path, monkeypatch, rate_by(length=0.8))
    (quality,) = summary.quality
    assert not quality.rates_replies
    assert not quality.ranks_systems
    assert quality.verbosity.low > 0.8
    said, more = summary.sentences()
    assert more.endswith("it scores longer replies of apt higher than people do.")
    assert "may not rank systems: " in said
    assert "may not be used for single replies: agreement within systems " in said


def test_a_judge_that_knows_only_systems_may_rank_them_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = assess(tmp_path, monkeypatch, rate_by(system=0.7, noise=0.8))
    (said,) = summary.sentences()
    assert summary.quality[0].ranks_systems
    assert not summary.quality[0].rates_replies
    assert "may rank systems (Kendall " in said
    assert "; may not be used for single replies: agreement within systems " in said
    assert "may be none at all" in said


def test_three_systems_are_too_few_to_say_that_they_are_ranked_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = assess(tmp_path, monkeypatch, rate_by(quality=0.6), ("ann", "bob", "cleo"), 40)
    assert not summary.quality[0].ranks_systems
    assert "may not rank systems: 3 rated systems are too few for any test" in summary.sentences()[0]
    assert summary.quality[0].rates_replies


def test_few_ratings_recommend_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = assess(tmp_path, monkeypatch, rate_by(quality=0.6, noise=1.0), ("ann", "bob"), 4)
    assert not summary.quality[0].rates_replies
    assert not summary.quality[0].ranks_systems


def test_without_ratings_the_sentence_says_what_to_type_and_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_rated(tmp_path, ("ann", "bob"), 10, rated=False)
    with served(judges(rate=rate_by(quality=0.6))) as server:
        reach(server, monkeypatch)
        rejoinder.run([file], rejoinder.Plan.of([JUDGE]), tmp_path / "run")
    done = CliRunner().invoke(program, ["judge", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    words = " ".join(done.stdout.split()).partition("choose replies to rate with: rejoinder ")[2].split()
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(program, words).exit_code == 0
    assert (tmp_path / "to_rate.jsonl").exists()


def test_the_aspect_can_be_chosen_and_an_unknown_one_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assess(tmp_path, monkeypatch, rate_by(quality=0.6), ("ann", "bob"), 10)
    assert len(rejoinder.judge(tmp_path / "run", aspect="apt", resamples=50)[0].quality) == 1
    with pytest.raises(SpecError, match="nobody rated replies in the aspect 'apd'; did you mean 'apt'"):
        rejoinder.judge(tmp_path / "run", aspect="apd")


# Its figures


def test_the_partial_correlation_with_length_equals_an_independent_computation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = assess(tmp_path, monkeypatch, rate_by(quality=0.4, length=0.4), ("ann",), 80)
    scores, data = rejoinder.load(tmp_path / "run"), rejoinder.read(tmp_path / "rated.jsonl")
    ratings = {rating.response: rating.value for rating in data.ratings}
    columns = [scores[JUDGE], scores["length"], [ratings[name] for name in scores.responses]]
    ranks = [rankdata(column) for column in columns]
    left = [x - np.polyval(np.polyfit(ranks[2], x, 1), ranks[2]) for x in ranks[:2]]
    expected = np.corrcoef(left[0], left[1])[0, 1]
    assert summary.quality[0].verbosity.value == pytest.approx(expected, abs=1e-9)
    assert summary.quality[0].verbosity.low > 0.3


def test_the_test_of_the_order_of_systems_equals_one_over_all_orders() -> None:
    rng = np.random.default_rng(3)
    judge, people = rng.normal(size=5), rng.normal(size=5)
    own = kendalltau(judge, people).statistic
    others = [kendalltau(judge[list(order)], people).statistic for order in permutations(range(5))]
    assert _permutation_p(judge, people, 0) == pytest.approx(np.mean(np.array(others) >= own - 1e-9))
    many = np.arange(12.0)
    assert _permutation_p(many, many, 0) == pytest.approx(1 / 20_001)


def test_choices_of_an_arena_say_what_sways_the_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_rated(tmp_path, ("ann", "bob"), 30)
    with served(judges(choose=lambda first, second: "first", rate=rate_by(quality=0.5))) as server:
        reach(server, monkeypatch)
        rejoinder.run([file], rejoinder.Plan.of([JUDGE]), tmp_path / "run")
        assert rejoinder.judge(tmp_path / "run", resamples=50)[0].bias is None
        rejoinder.arena(tmp_path / "run", "m", n=20)
        (summary,) = rejoinder.judge(tmp_path / "run", resamples=50)
        assert len(server.sent) == 60 + 40
    assert summary.bias is not None
    assert (summary.bias.first.value, summary.bias.same.n) == (1.0, 20)
    assert any("prefers the place shown first" in said for said in summary.sentences())
    assert "choices between two replies" in judge_tables([summary])[2].title


def test_unreadable_answers_are_shown_by_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_rated(tmp_path, ("ann",), 3)
    with served(says("Rather good, I think."), judges()) as server:
        reach(server, monkeypatch)
        monkeypatch.setenv("REJOINDER_JUDGE_IN_FLIGHT", "1")
        rejoinder.run([file], rejoinder.Plan.of([JUDGE]), tmp_path / "run")
        (summary,) = rejoinder.judge(tmp_path / "run", resamples=50)
    assert sum(summary.problems.values()) == 1
    assert "answers that could not be read: 1 " in str(judge_tables([summary])[0])


# Changed replies


def test_changed_replies_are_asked_about_only_where_it_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write_rated(tmp_path, ("ann", "bob"), 30)
    with served(judges(rate=rate_by(quality=0.5))) as server:
        reach(server, monkeypatch)
        rejoinder.run([file], rejoinder.Plan.of([JUDGE]), tmp_path / "run")
        lines: list[str] = []
        (summary,) = rejoinder.judge(tmp_path / "run", attacks=20, resamples=50, log=lines.append)
        assert lines == [f"{JUDGE}: {len(server.sent) - 60} requests about changed replies"], (
            "the replies themselves were asked about before"
        )
        sent = len(server.sent)
        done = CliRunner().invoke(program, ["judge", str(tmp_path / "run"), "--attacks", "20", "--format", "json"])
        assert len(server.sent) == sent
    assert done.exit_code == 0, done.output
    assert f"{JUDGE}: 0 requests about changed replies" in done.stderr
    titles = [table["title"] for table in json.loads(done.stdout)]
    assert titles == ["Judges", "Judges and people", f"{JUDGE}: changed replies"]
    by_name = {trial.name: trial for trial in summary.attacks}
    # Of a reply that does not begin with a system's name and a number this judge thinks nothing.
    assert by_name["copy"].lowered.value == 1.0
    assert by_name["generic"].lowered.value == 1.0
    assert by_name["repeated"].lowered.value == 0.0
    assert by_name["case"].change.value == 0.0 or math.isnan(by_name["case"].change.value)
    assert 0.5 < by_name["copy"].lowered.low < 1.0
    assert "replies changed for the worse: " in summary.sentences()[-1]
    assert "repeated 0%" in summary.sentences()[-1]


def test_attack_sends_a_sample_to_the_judge_and_says_how_many_requests_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(judges(rate=lambda reply, context: 5 if len(reply.split()) > 4 else 2)) as server:
        reach(server, monkeypatch)
        done = CliRunner().invoke(program, ["attack", "-m", JUDGE, "-n", "6"])
        assert done.exit_code == 0, done.output
        assert 6 * 6 <= len(server.sent) <= 78
        assert "6 contexts, at most 78 requests to the judge" in done.stderr
        assert "judge(model='m')" in done.stdout
        sent = len(server.sent)
        assert CliRunner().invoke(program, ["attack", "-m", JUDGE, "-n", "6"]).exit_code == 0
        assert len(server.sent) == sent
    quiet = CliRunner().invoke(program, ["attack", "-m", "length", "-n", "6"])
    assert "requests" not in quiet.stderr


def test_requests_about_changed_replies_stay_within_a_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_JUDGE_INPUT_PRICE", "1000")
    monkeypatch.setenv("REJOINDER_JUDGE_OUTPUT_PRICE", "1000")
    with served(judges(rate=rate_by(quality=0.6))) as server:
        reach(server, monkeypatch)
        rejoinder.run([write_rated(tmp_path, ("ann", "bob"), 4)], rejoinder.Plan.of([JUDGE]), tmp_path / "run")
        before = len(server.sent)
        with pytest.raises(BudgetError, match=r"the budget of 4\.00 does not allow another request"):
            rejoinder.judge(tmp_path / "run", attacks=5, budget=4)
        assert (len(server.sent) - before) * 110 / 1000 <= 4
        (summary,) = rejoinder.judge(tmp_path / "run", attacks=5, budget=400)
        assert summary.attacks
