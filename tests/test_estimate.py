"""Estimates from few ratings and many scores: on runs with made-up ratings, from the draw to the table."""

from __future__ import annotations

import csv
import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rejoinder
from benchmarks import estimate_coverage
from rejoinder.annotation.exports import export_judgements
from rejoinder.annotation.store import open_store
from rejoinder.annotation.units import make_units
from rejoinder.comparison.random_draw import draw_replies
from rejoinder.comparison.rated_sample import find_differences
from rejoinder.data.collection import collect, read_files
from rejoinder.data.writer import write
from rejoinder.errors import InputError, InputWarning
from rejoinder.scoring.result import MetricFacts, Scores
from rejoinder.types import Item, Rating, Record, Response, Turn
from tests.annotation_projects import project_of
from tests.importing import save
from tests.test_agreement_cli import run

SIZE = 240


def talk(size: int = SIZE, systems: tuple[str, ...] = ("old", "new"), seed: int = 0) -> list[Record]:
    """Items in dialogues of two; a reply is as long as it is good, more or less, so that its length is a metric."""
    random = np.random.default_rng(seed)
    records: list[Record] = []
    for n in range(size):
        records.append(Item(f"i{n}", (Turn("Well?"),), dialogue=f"d{n // 2}", meta={"topic": "ab"[n % 2]}))
        for s, system in enumerate(systems):
            quality = float(np.clip(random.normal(3 + 0.5 * s, 1), 1, 5))
            words = max(1, round(4 * quality + random.normal(0, 3)))
            records.append(
                Response(f"i{n}/{system}", f"i{n}", system, " ".join(["word"] * words), {"quality": quality})
            )
    return records


def rating_of(response: Response, rater: str = "synthetic") -> Rating:
    return Rating(rater, "apt", float(round(response.meta["quality"])), response.id)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over replies of two systems, scored by their length; ``replies.jsonl`` beside it."""
    home = tmp_path_factory.mktemp("estimate")
    write(talk(), home / "replies.jsonl")
    done = run(
        "score", home / "replies.jsonl", "-m", "length", "-m", "context_overlap", "-o", home / "run", "--no-cache"
    )
    assert done.exit_code == 0, done.output
    return home


def sample_ratings(folder: Path, n: int, seed: int = 2, name: str = "ratings.jsonl") -> Path:
    """The ratings of n items that are drawn at random."""
    data = read_files([folder / "replies.jsonl"])
    chosen = set(np.random.default_rng(seed).permutation(SIZE)[:n].tolist())
    write([rating_of(r) for r in data.responses.values() if int(r.item[1:]) in chosen], folder / name)
    return folder / name


def truth(folder: Path, system: str) -> float:
    data = read_files([folder / "replies.jsonl"])
    return float(np.mean([rating_of(r).value for r in data.responses.values() if r.system == system]))


def test_estimates_are_near_the_truth_and_narrower_than_the_ratings_alone(folder: Path) -> None:
    file = sample_ratings(folder, 80)
    found = rejoinder.estimate(folder / "run", "length", file, above=4)
    by_name = {one.name: one for one in found.estimates}
    assert list(by_name) == [
        "old",
        "new",
        "old: share rated 4 or more",
        "new: share rated 4 or more",
        "old − new",
        "old beats new",
    ]
    for system in ("old", "new"):
        both, alone = by_name[system].powered.both, by_name[system].powered.alone
        assert both.low < truth(folder, system) < both.high
        assert both.high - both.low < alone.high - alone.low
        assert by_name[system].powered.effective_n > 100
    difference = by_name["old − new"].powered.both
    assert difference.low < truth(folder, "old") - truth(folder, "new") < difference.high
    assert 0 < by_name["old beats new"].powered.both.high < 0.5
    assert found.sample.drawn == "item"


def test_the_command_prints_what_the_function_returns(folder: Path) -> None:
    file = sample_ratings(folder, 80)
    done = run("estimate", folder / "run", "-m", "length", "--ratings", file, "--format", "json")
    assert done.exit_code == 0, done.output
    table = json.loads(done.stdout)
    found = rejoinder.estimate(folder / "run", "length", file)
    assert [row["estimate of"] for row in table["rows"]] == [one.name for one in found.estimates]
    assert table["rows"][0]["both"]["value"] == found.estimates[0].powered.both.value
    assert "finite-population correction" in " ".join(table["notes"])
    future = run("estimate", folder / "run", "-m", "length", "--ratings", file, "--population", "future")
    assert "future replies in conversations like these" in future.stdout


def test_the_scale_is_said_and_can_be_given(folder: Path) -> None:
    words = ("estimate", folder / "run", "-m", "length", "--ratings", sample_ratings(folder, 80), "--format", "json")
    inferred, wider = (json.loads(run(*words, *more).stdout) for more in ((), ("--scale", "0..10")))
    assert "Scale 1 to 5, as the ratings suggest; --scale LOW..HIGH names another one." in " ".join(inferred["notes"])
    assert "Scale 0 to 10. " in " ".join(wider["notes"])
    assert wider["rows"][0]["both"]["low"] < inferred["rows"][0]["both"]["low"]
    for scale, problem in (("2..5", "outside the scale 2 to 5"), ("five", "is not a scale")):
        with pytest.raises(InputError, match=problem):
            run(*words, "--scale", scale)
    found = rejoinder.estimate(folder / "run", "length", folder / "ratings.jsonl", scale=(0, 10))
    assert found.estimates[0].powered.both.low == wider["rows"][0]["both"]["low"]


def test_few_ratings_have_no_interval_and_a_line_that_says_so(folder: Path) -> None:
    found = rejoinder.estimate(folder / "run", "length", sample_ratings(folder, 12, name="few.jsonl"))
    assert all(np.isnan(one.powered.both.low) for one in found.estimates)
    assert not np.isnan(found.estimates[0].powered.both.value)
    assert any(line.startswith("old: no interval, which takes 20 ratings (there are 12)") for line in found.warnings)


def test_skewed_ratings_are_answered(folder: Path, tmp_path: Path) -> None:
    data = read_files([folder / "replies.jsonl"])
    chosen = set(np.random.default_rng(2).permutation(SIZE)[:100].tolist())
    drawn = [one for one in data.responses.values() if int(one.item[1:]) in chosen]
    values = np.random.default_rng(3).choice([5.0, 4.0, 1.0], len(drawn), p=[0.87, 0.1, 0.03]).tolist()
    write(
        [Rating("synthetic", "apt", v, one.id) for v, one in zip(values, drawn, strict=True)], tmp_path / "skew.jsonl"
    )
    found = rejoinder.estimate(folder / "run", "length", tmp_path / "skew.jsonl")
    for one in found.estimates:
        assert one.powered.both.low < one.powered.both.value < one.powered.both.high
        assert one.powered.alone.low < one.powered.alone.value < one.powered.alone.high


def test_the_first_replies_of_the_file_are_refused_and_the_line_says_what_works(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = read_files([folder / "replies.jsonl"])
    first = [rating_of(r) for r in data.responses.values() if int(r.item[1:]) < 40]
    write(first, tmp_path / "first.jsonl")
    words = ("estimate", folder / "run", "-m", "length", "--ratings", tmp_path / "first.jsonl")
    with pytest.raises(InputError, match="no random sample of the run") as refused:
        run(*words)
    assert "their place in the file" in str(refused.value)
    assert "\n" not in str(refused.value)
    monkeypatch.chdir(tmp_path)
    suggested = str(refused.value).partition("draw some with: ")[2].partition(" (or")[0]
    assert run(*shlex.split(suggested)[1:]).exit_code == 0
    assert (tmp_path / "next.jsonl").exists()
    anyway = run(*words, "--assume-random")
    assert anyway.exit_code == 0
    assert "Warning" in anyway.stdout


def test_random_samples_are_rarely_refused(folder: Path) -> None:
    data, scores = read_files([folder / "replies.jsonl"]), rejoinder.load(folder / "run")
    items = np.array([int(item[1:]) for item in scores.items])
    refused = 0
    for seed in range(200):
        rated = np.isin(items, np.random.default_rng(seed).permutation(SIZE)[:50])
        refused += bool(find_differences(scores, data, rated, "item", ["length"]))
    assert refused <= 6


def test_the_worst_and_the_best_alone_are_no_random_sample(folder: Path) -> None:
    data, scores = read_files([folder / "replies.jsonl"]), rejoinder.load(folder / "run")
    order = np.argsort(scores["length"])
    rated = np.zeros(len(scores), bool)
    rated[[*order[:20], *order[-20:]]] = True  # their mean is that of all
    assert "their scores of length" in find_differences(scores, data, rated, "reply", ["length"])


def test_csv_with_two_columns_is_enough(folder: Path, tmp_path: Path) -> None:
    ratings = [one for one in rejoinder.stream(sample_ratings(folder, 60)) if isinstance(one, Rating)]
    lines = "".join(f"{one.response},{one.value:g}\n" for one in ratings)
    (tmp_path / "ratings.csv").write_text("response,rating\n" + lines)
    by_csv = rejoinder.estimate(folder / "run", "length", tmp_path / "ratings.csv")
    by_jsonl = rejoinder.estimate(folder / "run", "length", folder / "ratings.jsonl")
    assert by_csv.estimates == by_jsonl.estimates
    (tmp_path / "ratings.csv").write_text("response,rating\ni0/old,soon\n")
    with pytest.raises(InputError, match=r"ratings.csv line 2: 'rating' holds 'soon'; a rating must be a number"):
        rejoinder.estimate(folder / "run", "length", tmp_path / "ratings.csv")
    (tmp_path / "ratings.csv").write_text("reply,rating\ni0/old,3\n")
    with pytest.raises(InputError, match="no column 'response'"):
        rejoinder.estimate(folder / "run", "length", tmp_path / "ratings.csv")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("response,rating\ni0/old,4\ni1/old,good\n", "1 are numbers, but not 'good'"),
        ("response,rater,rating\ni0/old,ann,4\ni0/old,ann,5\n", "line 3: 'ann' already rated 'i0/old' in line 2"),
        ("response,rating\ni0/old,4\ni0/old,4\ni0/old,5\n", "line 3: repeats another row in every column, while"),
        ("response,rating\ni0/old,1e300\n", "the rating 1e\\+300, which is too large for a mean"),
        ("response,rating,probability\ni0/old,1,often\n", "line 2: the probability 'often' is not a number"),
    ],
)
def test_a_table_of_ratings_that_is_unclear_is_refused(folder: Path, tmp_path: Path, text: str, said: str) -> None:
    path = save(tmp_path / "ratings.csv", text)
    with pytest.raises(InputError, match=said):
        rejoinder.estimate(folder / "run", "length", path)


def test_a_table_of_ratings_says_what_it_was_taken_for(folder: Path, tmp_path: Path) -> None:
    rows = [f"i{number}/old,{1 + number % 5}/5,x" for number in range(30)]
    path = save(tmp_path / "ratings.csv", "\n".join(["response,stars,note", *rows, rows[0], "i40/old,n/a,x"]) + "\n")
    with pytest.warns(
        InputWarning, match=r"not used: note; left out: empty ratings \(1\), rows that repeat another \(1\)"
    ):
        found = rejoinder.estimate(folder / "run", "length", path, assume_random=True)
    assert sum(~np.isnan(found.sample.ratings)) == 30
    assert "Left out: new, of which no reply is rated." in found.sample.notes
    rows += [f"i{number}/old,{1 + (number + 1) % 5}/5,y" for number in range(30)]
    path = save(tmp_path / "two.csv", "\n".join(["response,stars,note", *rows]) + "\n")
    found = rejoinder.estimate(folder / "run", "length", path, assume_random=True)
    assert any("by people without names, 2 per reply" in note for note in found.sample.notes)


def test_several_raters_are_averaged_and_their_noise_is_said(folder: Path, tmp_path: Path) -> None:
    ratings = [one for one in rejoinder.stream(sample_ratings(folder, 60)) if isinstance(one, Rating)]
    strict = [replace(one, rater="synthetic-2", value=one.value - 1) for one in ratings]
    write([*ratings, *strict], tmp_path / "two.jsonl")
    one = rejoinder.estimate(folder / "run", "length", folder / "ratings.jsonl").estimates[0].powered
    two = rejoinder.estimate(folder / "run", "length", tmp_path / "two.jsonl")
    assert two.estimates[0].powered.both.value == pytest.approx(one.both.value - 0.5)
    assert two.estimates[0].powered.alone.n == one.alone.n  # a reply counts once
    assert "One rating is 0.71" in " ".join(two.table().notes)


def test_strata_and_several_metrics(folder: Path) -> None:
    file = sample_ratings(folder, 80)
    for strata in ("meta.topic", "length"):
        found = rejoinder.estimate(folder / "run", ["length", "context_overlap"], file, strata=strata)
        assert found.estimates[0].powered.both.low < truth(folder, "old") < found.estimates[0].powered.both.high
    every = rejoinder.estimate(folder / "run", "length", file, strata="system").estimates[0]
    assert every.name == "all systems"
    assert every.powered.n_rows == 2 * SIZE
    with pytest.raises(InputError, match=r"meta.theme"):
        rejoinder.estimate(folder / "run", "length", file, strata="meta.theme")


def test_whole_dialogues_are_noticed(folder: Path, tmp_path: Path) -> None:
    data = read_files([folder / "replies.jsonl"])
    chosen = set(np.random.default_rng(3).permutation(SIZE // 2)[:30].tolist())
    ratings = [rating_of(r) for r in data.responses.values() if int(r.item[1:]) // 2 in chosen]
    write(ratings, tmp_path / "dialogues.jsonl")
    found = rejoinder.estimate(folder / "run", "length", tmp_path / "dialogues.jsonl")
    assert found.sample.drawn == "dialogue"
    assert found.estimates[0].powered.alone.n_clusters == 30


def test_what_cannot_be_estimated_is_one_line(folder: Path, tmp_path: Path) -> None:
    file = sample_ratings(folder, 60)
    for options, words in (
        ({"metrics": "lenght"}, "length"),
        ({"systems": ["newer"]}, "did you mean 'new'"),
        ({"aspect": "fun"}, "nobody rated"),
        ({"tuning": 2.0}, "lambda"),
    ):
        with pytest.raises(rejoinder.RejoinderError, match=words):
            rejoinder.estimate(folder / "run", **{"metrics": "length", "ratings": file, **options})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no ratings"):
        rejoinder.estimate(folder / "run", "length")
    write([Rating("synthetic", "apt", 3.0, "elsewhere")], tmp_path / "other.jsonl")
    with pytest.raises(InputError, match="none of the rated replies is in the run"):
        rejoinder.estimate(folder / "run", "length", tmp_path / "other.jsonl")


def test_a_metric_on_the_scale_of_the_ratings_is_taken_as_it_is(folder: Path) -> None:
    scores, data = rejoinder.load(folder / "run"), read_files([folder / "replies.jsonl"])
    judged = np.array([data.responses[name].meta["quality"] + 0.3 for name in scores.responses])
    facts = {"judge": MetricFacts("judge", (1.0, 5.0), True, frozenset())}
    judge = replace(scores, facts=facts, values={"judge": judged}, data=data)
    ratings = collect([*data, *rejoinder.stream(sample_ratings(folder, 80))])
    plain = rejoinder.estimate(judge, "judge", ratings, tuning=1.0, systems=["old"])
    assert not plain.is_mapped
    assert plain.estimates[0].powered.tuning == 1.0
    assert plain.estimates[0].bias == pytest.approx(0.3, abs=0.1)


def test_from_the_draw_to_the_table(folder: Path, tmp_path: Path) -> None:
    """The loop: next --for estimate, a project with synthetic answers, its ratings, estimate."""
    drawn = run("next", folder / "run", "--for", "estimate", "-n", 120, "-o", tmp_path / "next.jsonl", "--seed", 4)
    assert drawn.exit_code == 0, drawn.output
    assert "A random sample" in drawn.stdout
    data = read_files([tmp_path / "next.jsonl"])
    assert len(data.responses) == 120
    assert {r.meta["probability"] for r in data.responses.values()} == {0.25}
    project = project_of(data=(str(tmp_path / "next.jsonl"),), replies_per_unit=1)
    store = open_store(project, str(tmp_path / "project.sqlite"))
    store.load(make_units(project, data))
    for unit in store.units():
        names = [reply["response"] for reply in unit.hidden["replies"].values()]
        values = {name: round(data.responses[name].meta["quality"]) for name in names}
        answer: dict[str, Any] = {}
        for aspect in project.aspects:
            for key, reply in unit.hidden["replies"].items():
                answer[f"{aspect.name}.{key}"] = values[reply["response"]]
        store.record("synthetic", unit.id, answer, 1)
    (tmp_path / "ratings.jsonl").write_bytes(export_judgements(store, "ratings").content)
    store.close()
    ratings = [one for one in rejoinder.stream(tmp_path / "ratings.jsonl") if isinstance(one, Rating)]
    assert {(one.meta["probability"], one.meta["drawn"]) for one in ratings} == {(0.25, "item")}
    aspect = project.aspects[0].name
    found = rejoinder.estimate(folder / "run", "length", tmp_path / "ratings.jsonl", aspect=aspect)
    assert found.sample.is_marked
    assert not found.warnings
    assert found.estimates[0].powered.both.low < truth(folder, "old") < found.estimates[0].powered.both.high


def fake_scores(sizes: dict[str, int], columns: int = 2) -> tuple[Scores, rejoinder.Collection]:
    """A run of systems that answered different items."""
    records: list[Record] = []
    for system, size in sizes.items():
        for n in range(size):
            records += [
                Item(f"{system}-{n}", (Turn("Well?"),)),
                Response(f"{system}-{n}/r", f"{system}-{n}", system, "So."),
            ]
    data = collect(records)
    base, random = rejoinder.score(data, "length"), np.random.default_rng(0)
    facts = {f"m{i}": MetricFacts(f"m{i}", (0.0, 1.0), True, frozenset()) for i in range(columns)}
    return replace(base, facts=facts, values={name: random.random(len(base)) for name in facts}), data


def test_systems_that_answered_different_items_get_equally_many() -> None:
    scores, data = fake_scores({"a": 300, "b": 60, "c": 5})
    drawn = draw_replies(scores, data, 60)
    by_system = [scores.systems[scores.system_codes[one.place]] for one in drawn]
    assert {name: by_system.count(name) for name in "abc"} == {"a": 28, "b": 27, "c": 5}
    assert {round(one.probability, 4) for one in drawn} == {round(28 / 300, 4), 0.45, 1.0}


def test_a_draw_depends_on_the_seed_alone_and_every_item_has_its_probability() -> None:
    scores, data = fake_scores({"a": 40})
    assert draw_replies(scores, data, 10, seed=3) == draw_replies(scores, data, 10, seed=3)
    assert draw_replies(scores, data, 10, seed=3) != draw_replies(scores, data, 10, seed=4)
    counts, sums = np.zeros(40), np.zeros(40)
    for seed in range(600):
        for one in draw_replies(scores, data, 10, by_uncertainty=True, seed=seed):
            counts[one.place] += 1
            sums[one.place] = one.probability
    assert counts.sum() == 6000
    assert np.abs(counts / 600 - sums).max() < 0.08
    assert sums.max() > 1.5 * sums.min()


def test_strata_and_dialogues_of_a_draw(folder: Path) -> None:
    scores, data = rejoinder.load(folder / "run"), read_files([folder / "replies.jsonl"])
    drawn = draw_replies(scores, data, 80, strata="meta.topic")
    topics = [data.items[scores.items[one.place]].meta["topic"] for one in drawn]
    assert topics.count("a") == topics.count("b") == 40
    whole = draw_replies(scores, data, 80, together="dialogue")
    assert len({scores.clusters[one.place] for one in whole}) == 20
    assert len(whole) == 80
    done = run("next", folder / "run", "--by-uncertainty")
    assert done.exit_code == 2
    assert "--for estimate" in done.output


def test_replies_that_were_drawn_and_not_rated_are_said(folder: Path, tmp_path: Path) -> None:
    records = rejoinder.comparison.next_for_estimate(folder / "run", 120, seed=2).records()
    drawn = [one for one in records if isinstance(one, Response)]
    write([*records, *(rating_of(one) for one in drawn[:90])], tmp_path / "some.jsonl")
    found = rejoinder.estimate(folder / "run", "length", tmp_path / "some.jsonl")
    assert any("were drawn are not rated" in warning for warning in found.warnings)
    assert found.sample.is_marked


def test_ratings_without_a_probability_are_left_out_beside_those_with_one(folder: Path, tmp_path: Path) -> None:
    records = rejoinder.comparison.next_for_estimate(folder / "run", 120, seed=2).records()
    drawn = [one for one in records if isinstance(one, Response)]
    data = read_files([folder / "replies.jsonl"])
    others = [one for one in data.responses.values() if one.id not in {r.id for r in drawn}][:30]
    write([*records, *map(rating_of, drawn), *map(rating_of, others)], tmp_path / "more.jsonl")
    found = rejoinder.estimate(folder / "run", "length", tmp_path / "more.jsonl")
    assert sum(one.powered.alone.n for one in found.estimates[:2]) == 120
    assert any("30 rated replies without a probability" in note for note in found.table().notes)


def test_power_with_a_metric_by_hand_and_from_a_pilot(folder: Path) -> None:
    plan = rejoinder.comparison.power_with_metric(half_width=0.2, correlation=0.8, sd=1.0)
    assert plan.both / plan.alone == pytest.approx(1 - 0.8**2, abs=0.05)
    file = sample_ratings(folder, 80)
    done = run("power", folder / "run", "--with-metric", "-m", "length", "--ratings", file, "--half-width", 0.15)
    assert done.exit_code == 0, done.output
    assert "ratings and metric" in done.stdout
    pair = rejoinder.comparison.power_with_metric(folder / "run", difference=0.3, metric="length", ratings=file)
    assert 20 < pair.both < pair.alone
    limited = rejoinder.comparison.power_with_metric(half_width=0.05, correlation=0.5, sd=1.0, replies=300)
    assert limited.both < limited.alone <= 300
    for words in (["--half-width", 1], ["--with-metric", "--half-width", 1, "--items", 5]):
        assert run("power", *words).exit_code == 2
    for options in ({}, {"half_width": 1.0}, {"half_width": 1.0, "difference": 1.0}, {"half_width": 0.0, "sd": 1.0}):
        with pytest.raises(InputError):
            rejoinder.comparison.power_with_metric(**options)


def test_a_plan_keeps_its_promise() -> None:
    plan = rejoinder.comparison.power_with_metric(half_width=0.25, correlation=0.7, sd=1.0)
    random, widths = np.random.default_rng(0), []
    from rejoinder.stats.prediction_powered import powered_mean

    for _ in range(60):
        y = random.normal(size=4000)
        x = 0.7 * y + np.sqrt(0.51) * random.normal(size=4000)
        y[int(plan.both) :] = np.nan
        found = powered_mean(y, x).both
        widths.append((found.high - found.low) / 2)
    assert np.mean(widths) == pytest.approx(0.25, rel=0.06)


def test_a_run_of_only_the_drawn_replies_is_refused(folder: Path, tmp_path: Path) -> None:
    records = rejoinder.comparison.next_for_estimate(folder / "run", 60).records()
    ratings = [rating_of(one) for one in records if isinstance(one, Response)]
    write([*records, *ratings], tmp_path / "drawn.jsonl")
    scores = rejoinder.score(rejoinder.read(tmp_path / "drawn.jsonl"), "length")
    with pytest.raises(InputError, match="score all replies that they were drawn from"):
        rejoinder.estimate(replace(scores, data=rejoinder.read(tmp_path / "drawn.jsonl")), "length")


def test_missing_scores_are_counted(folder: Path) -> None:
    scores, data = rejoinder.load(folder / "run"), read_files([folder / "replies.jsonl"])
    gaps = np.where(np.arange(len(scores)) % 7 == 0, np.nan, scores["length"])
    ratings = collect([*data, *rejoinder.stream(sample_ratings(folder, 80))])
    found = rejoinder.estimate(replace(scores, values={**scores.values, "length": gaps}), "length", ratings)
    assert any("69 replies have no score" in warning for warning in found.warnings)
    assert found.estimates[0].powered.both.low < truth(folder, "old") < found.estimates[0].powered.both.high


def test_the_measured_coverage_reaches_the_target() -> None:
    entries = json.loads(estimate_coverage.TARGET.read_text("utf-8"))
    assert len(entries) > 100
    assert min(one["rounds"] for one in entries) >= 2000
    assert {20, 50, 100} <= {one["rated"] for one in entries if one["condition"] == "skewed"}
    assert not [one for one in entries if not estimate_coverage.reaches(one)]
    assert estimate_coverage.TARGET.with_suffix(".md").read_text("utf-8") == estimate_coverage.page(entries)


def test_the_simulation_runs() -> None:
    for condition in estimate_coverage.CONDITIONS:
        entries = list(estimate_coverage.measure(condition, 3))
        assert len(entries) == 12
        assert all(0 < one["narrowest"] <= one["width"] < 4 for one in entries)


def test_the_table_of_a_draw_can_be_filled_in_by_hand(folder: Path, tmp_path: Path) -> None:
    assert run("next", folder / "run", "--for", "estimate", "-n", 100, "-o", tmp_path / "next.csv").exit_code == 0
    data = read_files([folder / "replies.jsonl"])
    with (tmp_path / "next.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert all(row["reply"] == data.responses[row["response"]].text and row["context"] for row in rows)
    with (tmp_path / "filled.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "rating": f"{rating_of(data.responses[row['response']]).value:g}"} for row in rows)
    found = rejoinder.estimate(folder / "run", "length", tmp_path / "filled.csv")
    assert found.sample.is_marked
    assert found.sample.drawn == "item"
    assert found.estimates[0].powered.alone.n == 50
