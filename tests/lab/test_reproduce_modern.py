"""``reproduce modern``: the figures against hand-made pairs and independent computations."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from rejoinder_lab.papers.base import Figure, Reproduction, reproduction_tables, write_reproduction
from rejoinder_lab.papers.own.modern import modern, stored
from rejoinder_lab.papers.own.modern.measures import (
    SETS,
    DuelSet,
    MetricPreferences,
    PublishedSet,
    RatedDuel,
    collect_duels,
    compare_annotators,
    duel_mean_interval,
    prefer_by_scores,
    prefer_without_length,
    rank_agreement,
    read_duels,
    regress_out,
    score_decided,
    score_with_ties,
)
from scipy import stats

from rejoinder.judges import PairComparison
from rejoinder.judges.pairs import ResponsePair as Asked
from rejoinder.metric import metric_names, parse
from rejoinder.stats.bootstrap import BootstrapPlan
from rejoinder.types import Choice, Item, Preference, Record, Response, Turn

FEW = BootstrapPlan(n_resamples=50)
ONE = PublishedSet("pandalm", "PandaLM", True, 20)
SYSTEMS = ("a", "b", "c")


class Longest:
    """A judge that takes the longer reply, and in every third pair whatever is shown first."""

    def __init__(self) -> None:
        self.asked = 0

    def compare(self, duels: Sequence[Asked]) -> list[PairComparison]:
        self.asked += len(duels)
        found = []
        for i, duel in enumerate(duels):
            longer = float(np.sign(len(duel.first) - len(duel.second)))
            found.append(PairComparison.of_odds(1.0, -1.0) if i % 3 == 0 else PairComparison.of_odds(longer, longer))
        return found


def records(n: int = 60, seed: int = 0) -> list[Record]:
    """Pairs in which people prefer longer replies, mostly; system c says most, a least."""
    r = random.Random(seed)
    made: list[Record] = []
    for i in range(n):
        item = Item(f"i{i}", (Turn("What is new?"),))
        lengths = {s: r.randint(1, 6) + 3 * k for k, s in enumerate(SYSTEMS)}
        made += [item, *(Response(f"i{i}/{s}", item.id, s, " ".join(["word"] * lengths[s])) for s in SYSTEMS)]
        for first, second in (("a", "b"), ("c", "a"), ("b", "c")):
            right: Choice = "first" if lengths[first] > lengths[second] else "second"
            for rater in ("x", "y", "z"):
                choice: Choice = r.choices([right, "tie"], [8, 2])[0]
                made.append(Preference(item.id, f"i{i}/{first}", f"i{i}/{second}", rater, choice))
    return made


def duel(choices: Sequence[Choice], first: str = "x", second: str = "y", item: str = "i") -> RatedDuel:
    return RatedDuel(
        Item(item, (Turn("Well?"),)),
        Response(f"{item}/1", item, "a", first),
        Response(f"{item}/2", item, "b", second),
        tuple(choices),
    )


def at(found: Reproduction, table: str, row: str, column: str) -> Figure:
    (figure,) = [f for f in found.figures if (f.table, f.row, f.column) == (table, row, column)]
    return figure


def test_the_majority_is_more_than_half() -> None:
    assert duel(["first", "first", "tie"]).majority == "first"
    assert duel(["first", "second", "tie"]).majority is None
    assert duel(["first", "second"]).majority is None
    assert duel(["tie", "tie", "second"]).majority == "tie"


def test_accuracies_by_hand() -> None:
    choices: list[list[Choice]] = [["first"], ["second"], ["second"], ["tie"], ["first", "second"], ["first"]]
    rows = DuelSet("x", tuple(duel(c, item=f"i{i}") for i, c in enumerate(choices)), False)
    found = MetricPreferences("m", np.array([2.0, 1.0, 0.0, 0.0, 5.0, math.nan]))
    np.testing.assert_array_equal(score_decided(found, rows), [1.0, 0.0, 0.5, math.nan, math.nan, math.nan])
    np.testing.assert_array_equal(score_with_ties(found, rows), [1.0, 0.0, 0.0, 1.0, math.nan, math.nan])
    items = [d.item.id for d in rows.duels]
    assert duel_mean_interval(score_decided(found, rows), items, FEW)[0] == 0.5
    assert duel_mean_interval(score_decided(found, rows), items, FEW).n == 3
    assert duel_mean_interval(np.full(6, math.nan), items, FEW).n == 0


def test_length_is_taken_out_by_a_line_from_the_other_folds_and_without_any_choice() -> None:
    lengths, folds = np.arange(12.0), np.arange(12) % 3
    noise = np.random.default_rng(0).normal(size=12)
    values = 2.0 - 0.5 * lengths + noise
    values[4] = math.nan
    found = regress_out(values, lengths, folds)
    assert math.isnan(found[4])
    for i in (0, 5, 11):
        others = (folds != folds[i]) & ~np.isnan(values)
        line = stats.linregress(lengths[others], values[others])
        assert found[i] == pytest.approx(values[i] - line.intercept - line.slope * lengths[i])
    np.testing.assert_allclose(regress_out(3 * lengths + 1, lengths, folds), 0, atol=1e-9)
    np.testing.assert_allclose(regress_out(np.arange(4.0), np.ones(4), np.array([0, 0, 1, 1])), [-2.5, -1.5, 1.5, 2.5])
    assert np.isnan(regress_out(np.arange(3.0), np.arange(3.0), np.zeros(3))).all()


def test_a_metric_that_only_counts_words_prefers_nothing_without_length() -> None:
    rows = collect_duels("PandaLM", records(), True)
    longer = prefer_by_scores(parse("length"), rows, "")
    left = prefer_without_length(parse("length"), rows, "")
    assert left.row == "length, length taken out"
    assert abs(np.corrcoef(longer.advantages, left.advantages)[0, 1]) < 0.5 < abs(longer.advantages).mean()


def test_people_are_held_against_each_other_by_hand() -> None:
    rows = DuelSet(
        "x",
        (
            duel(["first", "first", "first"]),  # each agrees with the two others
            duel(["first", "first", "tie"]),  # only the third faces two who agree, and is half right
            duel(["first", "first", "second"]),  # the third is wrong
            duel(["tie", "tie", "first"]),  # nobody faces two who decided
        ),
        False,
    )
    assert compare_annotators(rows) == ([1.0, 1.0, 1.0, 0.5, 0.0], ["i"] * 5)
    assert compare_annotators(DuelSet("x", (duel(["first"]), duel(["first", "first"])), False)) == ([], [])


def test_the_sample_is_drawn_by_seed_and_keeps_the_order() -> None:
    rows = collect_duels("x", records(), True)
    assert rows.drawn(20, 1) == rows.drawn(20, 1) != rows.drawn(20, 2)
    assert rows.drawn(20, 1) == sorted(set(rows.drawn(20, 1)))
    assert len(rows.drawn(10**6, 1)) == len(rows.duels) == 180
    assert len(rows.pairs()) == 180


def test_rank_agreement_is_scipys() -> None:
    mine, wanted = {"a": 0.3, "b": -1.0, "c": 0.9, "d": 0.1}, {"a": 0.5, "b": 0.1, "c": 0.2, "d": -0.8}
    columns = [mine[k] for k in "abcd"], [wanted[k] for k in "abcd"]
    rho, tau, n = rank_agreement(mine, wanted)
    assert (rho, tau, n) == (
        pytest.approx(stats.spearmanr(*columns).statistic),
        pytest.approx(stats.kendalltau(*columns).statistic),
        4,
    )


def test_made_up_pairs_give_what_was_put_into_them(tmp_path: Path) -> None:
    rows = collect_duels("PandaLM", records(), True)
    judge = Longest()
    one = modern.measure_preferences(
        ONE, rows, ["length", "context_overlap"], ["length(unit='characters')"], judge=judge
    )
    found = modern.assemble_modern([one], ["Not measured: nup (no such model)."], FEW)
    words = {p.response.id: len(p.response.text.split()) for p in rows.pairs()}
    expected = []
    for d in rows.duels:
        if d.majority in ("first", "second"):
            ahead = words[d.first.id] - words[d.second.id]
            expected.append(0.5 if ahead == 0 else float((ahead > 0) == (d.majority == "first")))
    figure = at(found, modern.ACCURACY, "length", "PandaLM")
    assert (figure.measured, figure.n) == (pytest.approx(np.mean(expected)), len(expected))
    assert at(found, modern.ACCURACY, "one annotator vs. the others", "PandaLM").measured > 0.8
    assert at(found, modern.SAMPLE, "length(unit='characters')", "PandaLM").n is not None
    assert judge.asked == 20
    assert at(found, modern.POSITION, modern.PAIRWISE, "PandaLM: same choice in both orders").measured == 13 / 20
    assert at(found, modern.RANKING, "length", "Spearman over 3 systems").measured == 1.0
    assert (
        at(found, modern.RANKING, "annotators", "c").measured
        > 0
        > at(found, modern.RANKING, "annotators", "a").measured
    )
    assert [t.title for t in reproduction_tables(found)] == [
        modern.ACCURACY,
        modern.TIES,
        modern.SAMPLE,
        modern.POSITION,
        modern.RANKING,
    ]
    notes = "\n".join(found.notes)
    assert "cannot be told from chance" in notes
    assert "Not measured: nup" in notes
    assert "trained on chat" in notes
    assert "20 of 180 PandaLM pairs" in notes
    page, data = (path.read_text() for path in write_reproduction(found, tmp_path))
    assert "Replies by language models" in page
    assert "NaN" not in data


def test_empty_replies_are_left_out_and_not_shown_to_the_judge() -> None:
    rows = DuelSet("x", (duel(["first"], "yes", " "), duel(["first"], "yes", "no", "j")), False)
    judge = Longest()
    one = modern.measure_preferences(PublishedSet("x", "x", False, 2), rows, ["length"], [], judge=judge)
    assert judge.asked == 1
    assert math.isnan(one.preferences[0].advantages[0])
    assert math.isnan(one.on_sample[-1].advantages[0])


def test_every_spec_that_is_here_needs_at_most_the_context() -> None:
    for spec in (*modern.SPECS, *modern.SLOW):
        if spec.partition("(")[0] in metric_names() and "folder" not in spec:
            assert parse(spec).needs <= {"context"}


def test_the_published_pairs_are_read(published: Path) -> None:
    panda, llmbar = (read_duels(one) for one in SETS)
    assert (len(panda.duels), len(llmbar.duels)) == (999, 100)
    assert {len(d.choices) for d in panda.duels} == {3}
    assert len({d.first.system for d in panda.duels} | {d.second.system for d in panda.duels}) == 5


def test_stored_scores_count_for_what_was_asked_and_with_the_same_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = collect_duels("PandaLM", records(), True)
    judge = Longest()
    monkeypatch.setattr(stored, "SLOW", ("length",))
    monkeypatch.setattr(stored, "open_judge", lambda name: judge)
    *_, found = stored.compute_scores([rows])
    assert judge.asked == len(rows.duels)
    assert stored.list_unknown([rows], found) == []
    direct = prefer_by_scores(parse("length"), rows, "")
    again = stored.prefer_by_stored("length", rows, found)
    np.testing.assert_array_equal(again.advantages, direct.advantages)
    assert again.note == found.signatures["length"]
    _, asked = stored.list_choices(rows)
    monkeypatch.setattr(stored, "_sign", lambda row: None)  # the language model is not here
    assert stored.compare_by_stored(judge, asked, found) == judge.compare(asked)
    assert judge.asked == 2 * len(rows.duels)
    # Other pairs, or another metric, are computed.
    fewer = rows.only(range(50))
    assert stored.list_unknown([rows, fewer], found) == ["length"]
    stored.compare_by_stored(judge, asked[:9], found)
    assert judge.asked == 2 * len(rows.duels) + 9
    monkeypatch.setattr(stored, "_sign", lambda row: "another")
    assert stored.list_unknown([rows], found) == ["length"]


def test_stored_scores_survive_a_file_and_an_unknown_one_is_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "SLOW", ("length",))
    monkeypatch.setattr(stored, "open_judge", lambda name: Longest())
    monkeypatch.setattr(stored, "PATH", tmp_path / "scores.json.gz")
    monkeypatch.setattr(stored, "read_duels", lambda one: collect_duels(one.name, records(), one.has_systems))
    done = CliRunner().invoke(stored.main, [])
    assert done.exit_code == 0, done.output
    found = stored.read_stored_scores(tmp_path / "scores.json.gz")
    assert set(found.values) == {"length", modern.PAIRWISE}
    assert {len(values) for values in found.values.values()} == {len(SETS)}
    assert stored.read_stored_scores(tmp_path / "none.json.gz") == stored.StoredScores()
