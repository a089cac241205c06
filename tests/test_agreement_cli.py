"""``rejoinder agreement``, ``aggregate`` and ``compare`` on preferences, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import orjson
import pytest
from click.testing import CliRunner, Result

import rejoinder
from rejoinder.cli import program
from rejoinder.comparison.aggregation import aggregate_ratings
from rejoinder.comparison.preferences import rank_by_preference
from rejoinder.comparison.trust import trust
from rejoinder.comparison.trust_tables import metric_agreement_table
from rejoinder.data.writer import write
from rejoinder.errors import InputError, RejoinderError
from rejoinder.scoring.reader import load_data
from rejoinder.stats.ceiling import reachable_by_labels, reachable_by_means
from rejoinder.types import Item, Preference, Rating, Record, Response, Turn
from tests.test_agreement_quality import crowd


def run(*argv: object) -> Result:
    done = CliRunner().invoke(program, [str(word) for word in argv])
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


def tables(done: Result) -> dict[str, list[dict[str, object]]]:
    return {table["title"]: table["rows"] for table in json.loads(done.stdout)}


def test_agreement_reads_ratings_without_what_they_rate(tmp_path: Path) -> None:
    write(crowd(), tmp_path / "ratings.jsonl")
    found = tables(run("agreement", tmp_path / "ratings.jsonl", "--format", "json", "--resamples", 200))
    assert list(found) == ["Agreement", "Ratings given", "Raters: apt", "Raters to look at"]
    row = found["Agreement"][0]
    assert (row["units"], row["raters"], row["ratings per unit"]) == (40, 7, 7.0)
    alpha = row["Krippendorff's alpha"]
    assert isinstance(alpha, dict)
    assert alpha["low"] < alpha["value"] < alpha["high"]
    assert sum(int(str(one["n"])) for one in found["Ratings given"]) == 280
    assert {str(one["rater"]) for one in found["Raters to look at"]} == {"hasty", "liner", "random"}


def test_raters_can_be_left_out_and_misspelt_ones_are_told(tmp_path: Path) -> None:
    file = write(crowd(), tmp_path / "ratings.jsonl") and tmp_path / "ratings.jsonl"
    found = tables(run("agreement", file, "--without", "liner", "--without", "random", "--format", "json"))
    assert found["Agreement"][0]["raters"] == 5
    with pytest.raises(InputError, match="no rater is called 'linear'; did you mean 'liner'"):
        run("agreement", file, "--without", "linear")
    with pytest.raises(InputError, match="nobody rated the aspect 'apd'; did you mean 'apt'"):
        run("agreement", file, "--aspect", "apd")


def test_a_file_without_ratings_is_told(tmp_path: Path) -> None:
    write([Item("i", (Turn("Hi."),))], tmp_path / "items.jsonl")
    with pytest.raises(InputError, match=r"has no ratings and no preferences"):
        run("agreement", tmp_path / "items.jsonl")
    with pytest.raises(InputError, match="there are no ratings to aggregate"):
        run("aggregate", tmp_path / "items.jsonl", "-o", tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_the_released_scores_of_chosen_give_the_kappas_of_its_table_1(published: Path, tmp_path: Path) -> None:
    # Sato et al. 2020, Table 1: .22 in six classes and .63 in two (scores above 3 or not)
    released = published / "judgements" / "eval_via_selection" / "human_scores.jsonl"
    records = [
        Rating(f"rater-{place}", "appropriate", float(score), f"chosen-{number:04}/{candidate}")
        for number, line in enumerate(released.read_bytes().splitlines())
        for candidate, scores in enumerate(orjson.loads(line))
        for place, score in enumerate(scores, start=1)
    ]
    assert len(records) == 1019 * 4 * 5
    write(records, tmp_path / "scores.jsonl")
    six = tables(run("agreement", tmp_path / "scores.jsonl", "--format", "json", "--resamples", 100))
    two = tables(run("agreement", tmp_path / "scores.jsonl", "--above", 3, "--format", "json", "--resamples", 100))
    # the released scores give .2156 and .6155
    assert round(six["Agreement"][0]["Fleiss' kappa"]["value"], 2) == 0.22  # type: ignore[index]
    assert round(two["Agreement"][0]["Fleiss' kappa"]["value"], 2) in (0.62, 0.63)  # type: ignore[index]
    assert [row["rating"] for row in six["Ratings given"]] == ["0", "1", "2", "3", "4", "5"]


def replies(raters: int = 4, items: int = 40, seed: int = 0) -> list[Record]:
    """Replies of three systems with noisy ratings of a known quality, which their length gives away."""
    random = np.random.default_rng(seed)
    records: list[Record] = []
    for i in range(items):
        records.append(Item(f"i{i}", (Turn("What now?"),)))
        for s, system in enumerate("abc"):
            words = int(random.integers(1, 6)) + s
            name = f"i{i}/{system}"
            records.append(Response(name, f"i{i}", system, " ".join(["word"] * words)))
            for r in range(raters):
                value = float(np.clip(np.rint(words - 1 + random.normal() * 0.7), 1, 5))
                records.append(Rating(f"r{r}", "apt", value, name))
    return records


@pytest.mark.parametrize("method", ["mean", "mode", "dawid_skene", "minimax_entropy_ordinal"])
def test_trust_holds_metrics_against_aggregated_ratings_and_says_how_sure_they_are(method: str, tmp_path: Path) -> None:
    data, made = tmp_path / "data.jsonl", tmp_path / "made.jsonl"
    write(replies(), data)
    done = run("aggregate", data, "--method", method, "-o", made)
    assert "apt: 120 of 120 units by 4 raters" in done.stderr
    only = [record for record in replies() if not isinstance(record, Rating)]
    write(only, tmp_path / "bare.jsonl")
    run("score", tmp_path / "bare.jsonl", made, "-m", "length", "-o", tmp_path / "run")
    scores = rejoinder.load(tmp_path / "run")
    found = trust(scores, load_data(tmp_path / "run"), resamples=100)
    assert found.evidence.method == method
    assert found.evidence.certainty is not None
    assert 0.8 < found.evidence.certainty.value < 1
    table = metric_agreement_table(found)
    row = next(row for row in table.rows if row[0] == "people: the truth against the aggregated ratings")
    assert row[2] == found.evidence.certainty.value
    assert any(f"aggregated by {method}" in note for note in table.notes)


def test_with_the_ratings_themselves_at_hand_people_are_judged_by_them(tmp_path: Path) -> None:
    data, made = tmp_path / "data.jsonl", tmp_path / "made.jsonl"
    write(replies(), data)
    run("aggregate", data, "--method", "mean", "-o", made)
    run("aggregate", data, "--method", "mean", "-o", tmp_path / "all.jsonl", "--all")
    run("score", data, made, "-m", "length", "-o", tmp_path / "run")
    run("score", tmp_path / "all.jsonl", "-m", "length", "-o", tmp_path / "alone")
    found = [trust(rejoinder.load(f), load_data(f), resamples=100) for f in (tmp_path / "run", tmp_path / "alone")]
    run("score", data, "-m", "length", "-o", tmp_path / "plain")
    plain = trust(rejoinder.load(tmp_path / "plain"), load_data(tmp_path / "plain"), resamples=100)
    for one in found:
        assert one.evidence.matrix.raters == ("r0", "r1", "r2", "r3")
        assert one.one_rater.value == pytest.approx(plain.one_rater.value)
        assert one.metrics[0].levels["pooled"].value == pytest.approx(plain.metrics[0].levels["pooled"].value)
    assert plain.evidence.method is None


def test_two_ways_of_aggregation_at_once_are_refused(tmp_path: Path) -> None:
    write(replies(), tmp_path / "data.jsonl")
    for method in ("mean", "mode"):
        run("aggregate", tmp_path / "data.jsonl", "--method", method, "-o", tmp_path / f"{method}.jsonl")
    made = tmp_path / "mean.jsonl", tmp_path / "mode.jsonl"
    run("score", tmp_path / "data.jsonl", *made, "-m", "length", "-o", tmp_path / "run")
    with pytest.raises(InputError, match="aggregated in several ways"):
        run("trust", tmp_path / "run")


def test_aggregated_ratings_say_how_sure_they_are(tmp_path: Path) -> None:
    records = [Rating(f"r{r}", "apt", float(v), "x") for r, v in enumerate([1, 1, 2, 1])]
    (made,) = aggregate_ratings(records, "mode")
    assert made.records[0].rater == "aggregate:mode"
    assert made.records[0].meta == {
        "n": 4,
        "confidence": 0.75,
        "expected": 1.25,
        "spread": pytest.approx(0.433013),
        "low": 1.0,
        "high": 2.0,
        "probabilities": {"1": 0.75, "2": 0.25},
    }
    (made,) = aggregate_ratings(records, "mean")
    assert set(made.records[0].meta) == {"n", "standard_error", "low", "high"}


def test_the_truth_correlates_with_labels_as_simulation_says() -> None:
    random = np.random.default_rng(5)
    probabilities = random.dirichlet([0.4] * 5, size=4000)
    classes = np.arange(5.0)
    truth = np.array([random.choice(5, p=p) for p in probabilities], dtype=float)
    labels = classes[probabilities.argmax(axis=1)]
    expected = probabilities @ classes
    spread = np.sqrt(probabilities @ classes**2 - expected**2)
    said = reachable_by_labels(labels, expected, spread).value
    assert said == pytest.approx(np.corrcoef(labels, truth)[0, 1], abs=0.02)
    quality, noise = random.normal(size=4000), random.normal(size=(4000, 3))
    ratings = quality[:, None] + noise
    means, errors = ratings.mean(axis=1), ratings.std(axis=1, ddof=1) / np.sqrt(3)
    assert reachable_by_means(means, errors).value == pytest.approx(np.corrcoef(means, quality)[0, 1], abs=0.02)


def test_where_ratings_say_nothing_of_their_certainty_neither_do_we() -> None:
    assert reachable_by_means([1, 2, 3], [None, None, None]).reason == "fewer than 3 units state their uncertainty"
    assert reachable_by_labels([2, 2, 2], [2, 2, 2], [1, 1, 1]).reason == "the labels are all the same"
    assert reachable_by_means([1, 2, 3], [5, 5, 5]).value == 0.0


def duels(seed: int = 0) -> list[Record]:
    """Preferences between three systems, of which a is best and c worst; sides change."""
    random = np.random.default_rng(seed)
    records: list[Record] = []
    for i in range(60):
        records.append(Item(f"i{i}", (Turn("What now?"),)))
        records += [Response(f"i{i}/{system}", f"i{i}", system, "Well.") for system in "abc"]
        for first, second in (("a", "b"), ("c", "b"), ("c", "a")):
            for rater in range(2):
                won = random.random() < (0.75 if first < second else 0.25)
                choice = "tie" if random.random() < 0.1 else "first" if won else "second"
                records.append(Preference(f"i{i}", f"i{i}/{first}", f"i{i}/{second}", f"r{rater}", choice))  # type: ignore[arg-type]
    return records


def test_compare_ranks_systems_by_preferences(tmp_path: Path) -> None:
    write(duels(), tmp_path / "duels.jsonl")
    done = run("compare", tmp_path / "duels.jsonl")
    assert "Preferred systems: overall (Bradley-Terry)" in done.stdout
    assert "people prefer a to b, c (the intervals do not overlap)" in done.stdout
    run("score", tmp_path / "duels.jsonl", "-m", "length", "-o", tmp_path / "run")
    both = run("compare", tmp_path / "run")
    assert "length" in both.stdout
    assert "Preferred systems" in both.stdout
    assert "length" not in run("compare", tmp_path / "run", "--preferences").stdout


def test_a_system_that_never_lost_is_shrunk_and_said_to_be() -> None:
    records = [r for r in duels() if not isinstance(r, Preference)]
    records += [Preference(f"i{i}", f"i{i}/a", f"i{i}/b", "r", "first") for i in range(20)]
    (found,) = rank_by_preference(records)
    assert found.ranking.strengths[0].system == "a"
    assert "Strengths are shrunk towards 0 (by 0.1): nobody took a point from a" in " ".join(found.table().notes)


def test_preferences_without_the_replies_are_told(tmp_path: Path) -> None:
    write([r for r in duels() if isinstance(r, Preference)], tmp_path / "bare.jsonl")
    with pytest.raises(RejoinderError, match="which is not in the file"):
        run("compare", tmp_path / "bare.jsonl")
    write(replies(), tmp_path / "ratings.jsonl")
    with pytest.raises(RejoinderError, match="has no preferences"):
        run("compare", tmp_path / "ratings.jsonl")


def test_preferences_are_aggregated_to_one_choice(tmp_path: Path) -> None:
    write(duels(), tmp_path / "duels.jsonl")
    with pytest.raises(InputError, match="preferences have no mean"):
        run("aggregate", tmp_path / "duels.jsonl", "-o", tmp_path / "out.jsonl")
    run("aggregate", tmp_path / "duels.jsonl", "--method", "mode", "-o", tmp_path / "out.jsonl")
    made = [orjson.loads(line) for line in (tmp_path / "out.jsonl").read_bytes().splitlines()]
    assert len(made) == 180
    assert {one["rater"] for one in made} == {"aggregate:mode"}
    assert all(one["first"] < one["second"] for one in made)


PROJECT = """
form = "rate"
data = ["data.jsonl"]
title = "Replies"
raters_per_unit = 3

[checks]
every = 2

[[attention]]
context = [{speaker = "user", text = "What time is it?"}]
reply = "Please choose 5."
answer = { appropriate = 5 }

[[attention]]
context = [{speaker = "user", text = "What day is it?"}]
reply = "Please choose 1."
answer = { appropriate = 1 }
"""


def test_a_project_tells_its_agreement_and_its_checks(tmp_path: Path) -> None:
    from rejoinder.annotation.fields import list_fields
    from rejoinder.annotation.project_file import read_project
    from rejoinder.annotation.store import open_store
    from rejoinder.annotation.units import make_units

    write([record for record in replies(items=5) if not isinstance(record, Rating)], tmp_path / "data.jsonl")
    (tmp_path / "project.toml").write_text(PROJECT)
    project = read_project(tmp_path / "project.toml")
    store = open_store(project)
    store.load(make_units(project))
    for name in ("ann", "bob", "careless"):
        rater = store.who(store.add_rater(name))
        assert rater is not None
        while (assignment := store.next_unit(rater)) is not None:
            unit = assignment.unit
            shown = unit.payload["replies"][0]["text"]
            wanted = 1 if "choose 1" in shown else 5 if "choose 5" in shown else 1 + len(shown.split()) % 5
            answer = {field.name: 3 if name == "careless" else wanted for field in list_fields(project, unit)}
            store.submit(rater, assignment.id, answer, seconds=7.0)
    store.close()
    found = tables(run("agreement", tmp_path / "project.toml", "--format", "json", "--resamples", 100))
    assert [(row["units"], row["raters"]) for row in found["Agreement"]] == [(15, 3), (15, 3)]
    signs = {(row["rater"], row["sign"]) for row in found["Raters to look at"]}
    assert ("careless", "share of checks right") in signs
    assert ("careless", "share of one answer") in signs
    assert not any(rater in ("ann", "bob") for rater, _ in signs)
    run("aggregate", tmp_path / "project.toml", "--method", "majority", "-o", tmp_path / "made.jsonl")
    run("score", tmp_path / "data.jsonl", tmp_path / "made.jsonl", "-m", "length", "-o", tmp_path / "run")
    assert "aggregated by majority" in run("trust", tmp_path / "run", "--resamples", 100).stdout
