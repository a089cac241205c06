"""The SSREM reproduction on made-up dialogues, scores and ratings.

No rated row is read here: the rows are an examination.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import tiny_models
from rejoinder_lab.papers.base import Figure, Reproduction, write_reproduction
from rejoinder_lab.papers.own.relevance.rows import COLUMNS, RelevanceColumn, RelevanceRows
from rejoinder_lab.papers.ssrem import claims as findings
from rejoinder_lab.papers.ssrem import figures as drawings
from rejoinder_lab.papers.ssrem import jobs, rows, scorers, ssrem, stored
from rejoinder_lab.papers.ssrem import scores as apart
from rejoinder_lab.papers.ssrem.example import AGREEMENT, PEOPLE, REPLIES, answer_example, example_figures, read_example
from rejoinder_lab.papers.ssrem.rows import (
    BASELINES,
    GUPTA_SET,
    METHODS,
    TRUTH,
    USR_SET,
    RatedSet,
    attach_truth,
    drop_human_responses,
    score_set,
)
from rejoinder_lab.papers.ssrem.scorers import (
    BOTH,
    CORPORA,
    GLOVE,
    KIND_LABELS,
    MINILM,
    ONE,
    OWN_GLOVE,
    OWN_MINILM,
    READINGS,
    SHIPPED,
    ComparedScorer,
    TrainedScorer,
    digest_dialogues,
    list_compared,
    list_scorers,
    load_trained,
    train_or_load,
)
from rejoinder_lab.papers.ssrem.scores import COPY, SET_LABELS, HeldOutScores, PlaceScores, score_held_out
from rejoinder_lab.papers.ssrem.tables import CORRELATIONS, MOVIE, TWITTER
from rejoinder_lab.training.speaker.evaluation import COLUMNS as FIVE_COLUMNS
from rejoinder_lab.training.speaker.evaluation import SetScores as Drawn
from rejoinder_lab.training.speaker.evaluation import evaluate_scores
from scipy import stats
from tiny_talks import talks

from rejoinder.data.collection import Collection, collect
from rejoinder.errors import InputError
from rejoinder.models import weight_sets
from rejoinder.models.speaker.model import CARD_FILE, open_scorer
from rejoinder.stats.interval import Interval
from rejoinder.types import Dialogue, Item, Rating, Reference, Response, Turn

QUICK = {"epochs": 2, "batch": 16, "rate": 0.02}


@pytest.fixture(autouse=True)
def models(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_models.install(own_cache)
    monkeypatch.setattr(scorers, "log", lambda line: None)


def dialogues(n: int = 60) -> list[Dialogue]:
    """Talks under the names of the two corpora."""
    return [
        replace(one, id=f"{corpus}-{one.id}", corpus=corpus)
        for seed, corpus in enumerate(CORPORA)
        for one in talks(n, seed=seed)
    ]


def made_told(seed: int, apart_by: Sequence[float], copy: float, n: int = 400) -> PlaceScores:
    """Scores of places with a set's mean so far below the true replies'; two places a dialogue, some sets empty."""
    random = np.random.default_rng(seed)
    base = 0.1 * random.normal(size=(n, 1))
    scores = base + 0.2 * random.normal(size=(n, 5)) - np.r_[0, apart_by]
    scores[::9, 1] = np.nan
    copied = scores[:, 0] + copy + 0.1 * random.normal(size=n)
    return PlaceScores(scores, copied, (-1.0, 1.0), np.arange(n) // 2)


def made_held() -> HeldOutScores:
    """SSREM the best in everything over GloVe; over MiniLM RSREM, so that claims hold in part."""
    steps = {"ssrem": 0.3, "rsrem": 0.15, "ruber": 0.05}
    better_rsrem = {"ssrem": 0.15, "rsrem": 0.3, "ruber": 0.05}
    held = {}
    for scorer in list_scorers():
        step = (better_rsrem if scorer.reading in (MINILM, OWN_MINILM) else steps)[scorer.kind]
        step += 0.05 * scorer.ranking
        copy = -0.2 if scorer.copies else {"ssrem": 0.02, "rsrem": 0.1, "ruber": 0.2}[scorer.kind]
        for corpus in CORPORA:
            seed = 3 if corpus == "friends" else 4
            held[scorer, corpus] = made_told(seed, [step * f for f in (1, 1.3, 1.6, 2)], copy)
    return held


def made_judged(name: str, seed: int, rows: Sequence[str], n: int = 60) -> RatedSet:
    random = np.random.default_rng(seed)
    ratings = random.integers(1, 6, n).astype(float)
    noise = {"SSREM": 1.0, "RSREM": 3.0, "RUBER": 9.0}
    scores = {row: ratings + noise.get(row.partition(",")[0], 50.0) * random.normal(size=n) for row in rows}
    scores["EMB" if "EMB" in rows else rows[0]][0] = np.nan
    return RatedSet(name, ratings, scores, [f"u{i // 2}" for i in range(n)], seed, 7)


@pytest.fixture(scope="module")
def found() -> Reproduction:
    compared = [scorer for reading in READINGS for scorer in list_compared(reading)]
    names = [scorer.row for scorer in compared]
    whole = [made_judged(column.name, i, [*BASELINES, *names]) for i, column in enumerate((GUPTA_SET, USR_SET))]
    before = [made_judged(column.name, i + 50, [*BASELINES, *names]) for i, column in enumerate((GUPTA_SET, USR_SET))]
    alone = [made_judged(column.name, column.seed + 10, names) for column in COLUMNS]
    bounds = {scorer.name: [0.1, 0.7] for scorer in compared}
    measured = ssrem.SsremMeasures(READINGS, made_held(), whole, before, alone, bounds)
    return ssrem.assemble_ssrem(measured, ["Not measured: something."], n_resamples=200)


def at(found: Reproduction, table: str, row: str, column: str) -> Figure:
    [one] = [f for f in found.figures if (f.table, f.row, f.column) == (table, row, column)]
    return one


def sentence(found: Reproduction, begins: str) -> str:
    [one] = [note for note in found.notes if note.startswith(begins)]
    return one


# Figures as means over places


def test_the_means_of_the_values_are_the_figures_that_a_card_has() -> None:
    told = made_told(0, (0.1, 0.2, 0.3, 0.4), 0.1)
    known = evaluate_scores(Drawn(np.arange(len(told.scores)), told.scores))
    assert told.first().value == pytest.approx(known.first)
    for name, of in known.sets.items():
        assert told.gap(name).value == pytest.approx(of.gap)
        assert told.auc(name).value == pytest.approx(of.auc)
        assert told.won(name).value == pytest.approx(of.won)
        assert told.gap(name).n == of.n


def test_ties_count_half_in_an_auc_and_in_a_win() -> None:
    true, other = np.array([1.0, 2.0, 2.0]), np.array([1.0, 2.0, 0.0])
    by_hand = stats.mannwhitneyu(true, other).statistic / 9
    assert apart.true_reply_auc_values(true, other).mean() == pytest.approx(by_hand)
    assert apart.true_reply_win_values(true, other).tolist() == [0.5, 0.5, 1.0]
    assert np.isnan(apart.true_reply_win_values(np.array([1.0]), np.array([np.nan]))).all()


@pytest.mark.parametrize("figure", ["gap", "auc"])
def test_the_intervals_are_as_wide_as_the_figures_scatter(figure: str) -> None:
    drawn = [getattr(made_told(seed, (0.2, 0.3, 0.3, 0.4), 0.0), figure)("random") for seed in range(200)]
    scatter = np.std([one.value for one in drawn])
    half = np.mean([(one.high - one.low) / 2 for one in drawn])
    assert half == pytest.approx(1.97 * scatter, rel=0.15)
    middle = np.mean([one.value for one in drawn])
    assert 0.91 <= np.mean([one.low <= middle <= one.high for one in drawn]) <= 0.99


def test_a_constant_score_has_no_gap_and_no_scores_no_figure() -> None:
    assert apart.true_reply_gap_values(np.ones(3), np.ones(3)).tolist() == [0, 0, 0]
    assert np.isnan(apart.clustered_mean(apart.true_reply_gap_values(np.zeros(0), np.zeros(0)), np.zeros(0)).value)
    assert np.isnan(apart.true_reply_gap_values(np.ones(2), np.full(2, np.nan))).all()


def test_mean_scores_are_on_the_unit_range_of_the_training_data_and_clipped() -> None:
    told = PlaceScores(np.array([[3.0, 0, 0, 0, 0], [0.0, -9, 0, 0, 0]]), np.ones(2), (-1, 1), np.arange(2))
    assert told.mean("true").value == pytest.approx((1 + 0.5) / 2)
    assert told.mean("same_conversation").value == pytest.approx((0.5 + 0) / 2)
    assert told.raised(COPY).value == pytest.approx(1 - 0.75)


# Scorers


def test_a_scorer_is_trained_once_for_a_recipe_and_some_dialogues(own_cache: Path) -> None:
    scorer = ComparedScorer("rsrem", OWN_GLOVE)
    first = train_or_load(scorer, dialogues(), **QUICK)
    assert first.folder is not None
    written = (first.folder / CARD_FILE).stat().st_mtime_ns
    assert first.folder.parent == own_cache / "scorers"
    again = train_or_load(scorer, dialogues(), **QUICK)
    assert again == first
    assert (first.folder / CARD_FILE).stat().st_mtime_ns == written
    others = [
        train_or_load(replace(scorer, copies=True), dialogues(), **QUICK),
        train_or_load(scorer, dialogues(54), **QUICK),
    ]
    others.append(train_or_load(replace(scorer, on=("friends",)), dialogues(), **QUICK))
    assert len({one.folder for one in (first, *others)}) == 4
    assert open_scorer("rsrem", first.folder).card.bounds.keys() == {"f", "sentence_mover(encoder='glove-6b-50d')"}


def test_a_training_that_was_killed_is_not_taken_for_a_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*given: Any, **named: Any) -> None:
        raise KeyboardInterrupt

    scorer = ComparedScorer("ruber", GLOVE)
    with monkeypatch.context() as patch:
        patch.setattr("rejoinder_lab.training.speaker.trainer.compute_scorer_bounds", killed)
        with pytest.raises(KeyboardInterrupt):
            train_or_load(scorer, dialogues(30), **QUICK)
    found = train_or_load(scorer, dialogues(30), **QUICK)
    assert open_scorer("ruber", found.folder).card.kind == "ruber"


def test_who_speaks_and_in_which_split_names_the_dialogues_too() -> None:
    one = Dialogue("d", (Turn("hi", "A"), Turn("you", "B")), "cornell", "train")
    others = [replace(one, split="test"), replace(one, turns=(Turn("hi", "B"), Turn("you", "A")))]
    assert len({digest_dialogues([d]) for d in (one, *others)}) == 3


def test_every_scorer_has_a_name_of_its_own() -> None:
    found = list(list_scorers())
    assert len(found) == len({scorer.name for scorer in found}) == 6 * 4 + 3 + 3 + 6 + 2
    assert {scorer.trained_on for scorer in found} == {BOTH, ("cornell",), ONE}
    assert {scorer.kind for scorer in found if scorer.ranking} == {"ssrem"}


def test_both_modes_train_all_three_scorers_from_the_same_dialogues() -> None:
    places = {}
    for reading in (GLOVE, OWN_GLOVE):
        for kind in KIND_LABELS:
            opened = train_or_load(ComparedScorer(kind, reading), dialogues(30), epochs=1)
            card = open_scorer(kind, opened.folder).card
            assert card.about["recipe"]["paper"] is reading.paper
            places[kind, reading.paper] = card.about["places"]["train"]
    assert len({places[kind, True] for kind in KIND_LABELS}) == len({places[kind, False] for kind in KIND_LABELS}) == 1
    assert places["ssrem", True] < places["ssrem", False]


def test_vectors_that_are_missing_are_named_before_any_work_begins() -> None:
    with pytest.raises(InputError, match=r"no-such-vectors.*nor-these"):
        jobs.check_vectors(("no-such-vectors", "glove-6b-50d", "nor-these"))


def test_what_is_not_trained_is_not_scored() -> None:
    scorer = ComparedScorer("rsrem", replace(OWN_GLOVE, on=ONE))
    assert load_trained(scorer, dialogues(30)) is None
    assert train_or_load(scorer, dialogues(30)) == load_trained(scorer, dialogues(30))


def test_without_any_scores_the_command_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "read_places", lambda scorers: {})
    with pytest.raises(InputError, match="no scores are stored; make them with"):
        ssrem.reproduce()


# Held-out dialogues


def test_held_out_places_have_all_sets_and_a_copy_of_the_context(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = dialogues()
    glove = train_or_load(ComparedScorer("ssrem", OWN_GLOVE), given, **QUICK)
    monkeypatch.setattr(weight_sets, "WEIGHTS", own_cache / "shipped")
    monkeypatch.setattr(apart, "_is_film_measured", lambda dialogue: True)
    (own_cache / "shipped").mkdir()
    assert glove.folder is not None
    (own_cache / "shipped" / "ssrem").symlink_to(glove.folder)
    shipped = TrainedScorer(ComparedScorer("ssrem", scorers.TurnReading("own", GLOVE.encoder, shipped=True)), None)
    held = {(scorer, corpus): scores for scorer, corpus, scores in score_held_out([glove, shipped], given)}
    assert set(held) == {(one.scorer, corpus) for one in (glove, shipped) for corpus in CORPORA}
    for corpus in CORPORA:
        mine, same = held[glove.scorer, corpus], held[shipped.scorer, corpus]
        np.testing.assert_array_equal(mine.scores, same.scores)
        assert mine.ahead(same, "random") == Interval(0, 0, 0, *mine.ahead(same, "random")[3:])
        test = [d for d in given if d.corpus == corpus and d.split == "test"]
        assert 0 < len(mine.scores) < sum(len(d.turns) - 1 for d in test)
        assert not np.isnan(mine.scores).any()
        assert np.isfinite(mine.copied).any()
    scorer = open_scorer("ssrem", glove.folder)
    first = next(d for d in given if d.corpus == "cornell" and d.split == "test")
    said = [turn.text for turn in first.turns]
    expected = scorer.raw_of_texts([said[:1]], [said[1]])[0]
    assert held[glove.scorer, "cornell"].scores[0, 0] == pytest.approx(expected, abs=1e-6)
    assert shipped.alone == "ssrem_f"


def test_a_third_of_the_films_is_measured_and_all_of_friends() -> None:
    films = [
        Dialogue(f"d{i}", (Turn("hi", f"m{i}/ANN"), Turn("you", f"m{i}/BOB")), corpus, split)
        for i in range(300)
        for corpus in CORPORA
        for split in ("train", "test")
    ]
    measured = apart.select_test_dialogues(films)
    assert {d.split for d in measured} == {"test"}
    assert sum(d.corpus == "friends" for d in measured) == 300
    assert 70 < sum(d.corpus == "cornell" for d in measured) < 130


# What is stored


def test_stored_scores_keep_their_order_and_ties_and_lose_next_to_nothing() -> None:
    random = np.random.default_rng(0)
    scores = np.tanh(3 * random.normal(size=(2_000, 6)))
    scores[::7, 5] = np.nan
    scores[:50, 0] = scores[50:100, 0]
    coded = stored.code_scores(scores)
    found = coded.decode()
    assert (np.isnan(found) == np.isnan(scores)).all()
    assert (found[:50, 0] == found[50:100, 0]).all()
    order = np.argsort(scores[:, 1])
    assert (np.diff(found[order, 1]) >= 0).all()
    assert found[:, 0].mean() == pytest.approx(scores[:, 0].mean(), abs=1e-3)
    assert np.abs(found - scores)[:, :5].max() < 0.05


def test_a_few_scores_and_none_at_all_can_be_stored() -> None:
    assert stored.code_scores(np.array([[0.5, np.nan, 0.25]])).decode()[0] == pytest.approx(
        [0.5, np.nan, 0.25], nan_ok=True
    )
    assert stored.code_scores(np.zeros((0, 6))).decode().shape == (0, 6)
    assert np.isnan(stored.code_scores(np.full((2, 1), np.nan)).decode()).all()


def test_what_is_written_is_read_again_and_gives_the_same_bytes(tmp_path: Path) -> None:
    held = made_held()
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
        stored.write_places([(scorer, corpus, one) for (scorer, corpus), one in held.items()], "digest", folder)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == [f"stored_places_{n}.json.gz" for n in ("aptness", "glove", "glove_more", "minilm")]
    assert all((tmp_path / "a" / n).read_bytes() == (tmp_path / "b" / n).read_bytes() for n in names)
    again = stored.read_places(list_scorers(), tmp_path / "a")
    assert again.keys() == held.keys()
    for key, one in again.items():
        assert one.bounds == held[key].bounds
        assert one.gap("random").value == pytest.approx(held[key].gap("random").value, rel=0.01)
        assert one.auc("random").value == pytest.approx(held[key].auc("random").value, abs=0.003)
        assert one.won(COPY).value == pytest.approx(held[key].won(COPY).value, abs=0.02)
    assert stored.read_places(list_scorers(), tmp_path) == {}


def test_scores_of_other_scorers_stay_if_they_are_of_the_same_dialogues(tmp_path: Path) -> None:
    held = made_held()
    first, second = ({one: held[one]} for one in list(held)[:2])
    for part, dialogues, expected in ((first, "a", 1), (second, "a", 2), (second, "b", 1)):
        stored.write_places([(*key, one) for key, one in part.items()], dialogues, tmp_path)
        assert len(stored.read_places(list_scorers(), tmp_path)) == expected
    for name, replies, expected in (("f", "x", ["f"]), ("g", "x", ["f", "g"]), ("g", "y", ["g"])):
        content = {"sets": {"Gupta": {"replies": replies, "scores": {name: "0"}}}, "bounds": {name: [0, 1]}}
        stored.add_stored("ratings_glove", content, tmp_path)
        kept = stored.read_stored("ratings_glove", tmp_path)
        assert sorted(kept["sets"]["Gupta"]["scores"]) == sorted(kept["bounds"]) == expected


def test_some_scorers_alone_can_be_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    trained: list[str] = []
    monkeypatch.setattr(jobs, "check_vectors", lambda encoders: None)
    monkeypatch.setattr(jobs, "read_dialogues", list)
    monkeypatch.setattr(jobs, "train_or_load", lambda scorer, dialogues: trained.append(scorer.name))
    jobs.commands(["train", "--only", "seed 1"], standalone_mode=False)
    assert trained == [f"{kind}, GloVe, paper; cornell+friends; seed 1" for kind in ("RUBER", "RSREM", "SSREM")]


def test_scores_of_replies_are_stored_to_four_decimals() -> None:
    assert stored.unpack_scores(stored.pack_scores([0.12345, -1.0, np.nan, 3.2])) == pytest.approx(
        [0.1234, -1, np.nan, 3.2], abs=1e-4, nan_ok=True
    )
    with pytest.raises(ValueError, match="cannot be stored"):
        stored.pack_scores([9.0])


def test_a_damaged_file_says_how_to_write_it(tmp_path: Path) -> None:
    (tmp_path / "stored_x.json.gz").write_bytes(b"no gzip")
    with pytest.raises(InputError, match=r"stored_x.json.gz: cannot be read"):
        stored.read_stored("x", tmp_path)


def test_figures_of_table_2_come_back_with_what_is_missing(tmp_path: Path) -> None:
    figures = [Figure("t", "r", "c", 0.5, float("nan")), Figure("t", "r", "d", None, 0.25, 0.1, 0.3, 9, "n")]
    stored.write_similarity(figures, tmp_path)
    first, second = stored.read_similarity(tmp_path)
    assert np.isnan(first.measured)
    assert second == figures[1]


def test_the_tables_of_held_out_dialogues_are_those_of_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_DATA", "/nowhere")
    rebuilt = ssrem.reproduce()
    assert any(note.startswith("Not rebuilt: agreement with people") for note in rebuilt.notes)
    results = Path(__file__).parents[2] / "docs" / "results" / "ssrem.json"
    written = {(f["table"], f["row"], f["column"]): f for f in orjson.loads(results.read_bytes())}
    assert len(rebuilt.figures) > 300
    for figure in rebuilt.figures:
        one = written[figure.table, figure.row, figure.column]
        for name in ("measured", "low", "high", "published"):
            value = getattr(figure, name)
            missing = value is None or np.isnan(value)
            assert one[name] == (None if missing else pytest.approx(value, abs=1e-6)), figure


# People


def rated() -> Collection:
    """Two contexts with replies of two systems and two people, rated in one aspect."""
    texts = {TRUTH: "the cat sat", "New Human Generated": "good night", "A": "the cat ran", "B": "see you soon"}
    records: list[Any] = []
    for i in range(4):
        records.append(Item(f"i{i}", (Turn("what about the cat"), Turn("i think so"))))
        for place, (system, text) in enumerate(texts.items()):
            name = f"i{i}/{system}"
            records.append(Response(name, f"i{i}", system, text + (" no" * i)))
            records.append(Rating("r", "overall", 5 - place + i % 2, name))
    return collect(records)


def test_the_original_reply_is_the_reference_and_what_people_wrote_is_left_out() -> None:
    data = attach_truth(rated())
    assert data.items["i0"].references == (Reference("the cat sat"),)
    rows = RelevanceRows(
        RelevanceColumn("made", "made", "overall", None, 0), data, {name: r.item for name, r in data.responses.items()}
    )
    kept, left = drop_human_responses(rows)
    assert left == 8
    assert {response.system for response in kept.data.responses.values()} == {"A", "B"}
    found, names = score_set(rows, BASELINES)
    assert (len(found.ratings), found.n_left_out) == (len(names), 8) == (8, 8)
    assert set(found.units) == {"i0", "i1", "i2", "i3"}
    assert all(a > b for a, b in zip(found.scores["ROUGE"][::2], found.scores["ROUGE"][1::2], strict=True))


def test_a_scorer_is_held_against_people_whole_and_by_f_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    data = attach_truth(rated())
    made = RelevanceRows(
        RelevanceColumn("made", "made", "overall", None, 0), data, {name: r.item for name, r in data.responses.items()}
    )
    monkeypatch.setattr(rows, "read_whole_rows", lambda: [made])
    monkeypatch.setattr(rows, "read_alone_rows", lambda: [replace(made, column=replace(made.column, name="alone"))])
    opened = [train_or_load(ComparedScorer(kind, OWN_GLOVE), dialogues(30), **QUICK) for kind in ("ruber", "ssrem")]
    compared = [one.scorer for one in opened]
    answers = rows.answer_ratings(opened)
    (whole,), (before,) = (rows.rebuild_whole(answers, compared, old) for old in (False, True))
    (alone,) = rows.rebuild_alone(answers, compared)
    assert list(whole.scores) == [*BASELINES, "RUBER, GloVe, ours", "SSREM, GloVe, ours"]
    assert list(alone.scores) == ["RUBER, GloVe, ours", "SSREM, GloVe, ours"]
    # h by hand, of one reply.
    low, high = answers["bounds"][compared[1].name]
    direct, _ = score_set(made, {"f": opened[1].alone, "g": compared[1].reference})
    for sets, top in ((whole, high), (before, 1.0)):
        g = np.clip((direct.scores["g"] - low) / (top - low), 0, 1)
        assert sets.scores["SSREM, GloVe, ours"] == pytest.approx((direct.scores["f"] + g) / 2, abs=1e-3)
    answers["sets"]["alone"]["replies"] = "others"
    with pytest.raises(InputError, match="are not those whose scores are stored"):
        rows.rebuild_alone(answers, compared)


TEXT = """
Utterance
A1
N3

one cat
two dogs
three cats ran
the weather
a sight
so long

A: what about the cat?
B: i think so
A: the cat sat
BLEU
"""


def test_table_1_is_read_from_a_copy_of_the_paper_and_scored(tmp_path: Path) -> None:
    pairs = read_example(TEXT)
    assert [pair.response.text for pair in pairs] == [
        "one cat",
        "two dogs",
        "three cats ran",
        "the weather",
        "a sight",
        "so long",
    ]
    assert [turn.text for turn in pairs[0].item.context] == ["what about the cat?", "i think so"]
    assert pairs[0].item.references == (Reference("the cat sat"),)
    opened = train_or_load(ComparedScorer("ssrem", GLOVE), dialogues(30), **QUICK)
    answers = answer_example(pairs, [opened])
    assert "cat" not in str(answers)
    figures = list(example_figures(answers, {opened.scorer.name: [0.0, 1.0]}, [opened.scorer]))
    cells = {(figure.row, figure.column): figure for figure in figures}
    assert cells[PEOPLE, "A3"].published == 3.8
    assert [cells["SSREM, GloVe, paper", name].published for name in REPLIES] == [0.64, 0.62, 0.49, 0.44, 0.38, 0.33]
    assert cells["SSREM, GloVe, paper", AGREEMENT].published == pytest.approx(
        stats.spearmanr([0.64, 0.62, 0.49, 0.44, 0.38, 0.33], [5, 5, 3.8, 2.6, 1, 1]).statistic
    )
    assert cells["BLEU", "A1"].measured == pytest.approx(0, abs=0.3)
    assert list(example_figures({}, {}, [])) == []


@pytest.mark.parametrize("text", ["", "N3\n", "N3\none\ntwo\nA: hi\nB: you\nA: yes"])
def test_a_text_without_table_1_is_an_error(text: str) -> None:
    with pytest.raises(InputError, match="has no Table 1 as expected"):
        read_example(text)


def test_correlations_p_values_and_coefficients_are_those_of_scipy() -> None:
    one = made_judged("made", 5, ["EMB", "SSREM, GloVe"])
    known = ~np.isnan(one.scores["EMB"])
    for method, function in (("spearman", stats.spearmanr), ("pearson", stats.pearsonr)):
        value, p = function(one.scores["EMB"][known], one.ratings[known])
        assert one.correlations(method, 50)["EMB"].interval.value == pytest.approx(value)  # type: ignore[arg-type]
        assert one.p("EMB", method) == pytest.approx(p)  # type: ignore[arg-type]
    assert one.slope("EMB") == pytest.approx(stats.linregress(one.ratings[known], one.scores["EMB"][known]).slope)


# What is written


def test_the_printed_tables_put_ssrem_first() -> None:
    for column in (TWITTER, MOVIE):
        for method in METHODS:
            values = {row: printed[method]["value"] for row, printed in CORRELATIONS[column].items()}
            assert max(values, key=lambda row: values[row]) == "SSREM"
    assert CORRELATIONS[TWITTER]["SSREM"]["spearman"]["value"] == 0.392


def test_every_table_of_the_paper_is_there_with_its_printed_figures(found: Reproduction) -> None:
    titles = list(dict.fromkeys(figure.table for figure in found.figures))
    for begins in (
        "Table 2",
        "Figure 3",
        "Section 6",
        "Section 3.2",
        "Tables 4 and 5",
        "f alone",
        "Figure 5",
        "Section 8",
    ):
        assert any(title.startswith(begins) for title in titles), begins
    table = "Tables 4 and 5: Spearman, whole metrics"
    assert at(found, table, "SSREM, GloVe, paper", TWITTER).published == 0.392
    assert at(found, table, "BLEU", MOVIE).published == 0.036
    assert not [f for f in found.figures if "MiniLM" in f.row and f.column == TWITTER]
    assert not [f for f in found.figures if "ranking" in f.row and f.column == TWITTER]
    bounded = at(found, "Tables 4 and 5: p of Spearman, whole metrics", "SSREM, GloVe, paper", MOVIE)
    assert (bounded.published, bounded.note) == (0.001, "printed as < 0.001")
    assert at(found, "Section 8: copying, Cornell test", "RUBER, GloVe, paper", "copy minus true").published == 0.07
    copies = at(found, "Section 8: copying, Cornell test", "SSREM, GloVe, paper, --copies", "copy minus true")
    assert copies.published is None
    for shown in CORPORA.values():
        for short in SET_LABELS.values():
            one = at(found, f"Figure 3: mean score, {shown} test", "SSREM, shipped †", short)
            assert one.low is not None
            assert one.high is not None
            assert one.low < one.measured < one.high


def test_no_two_figures_stand_in_one_cell(found: Reproduction) -> None:
    cells = [(f.table, f.row, f.column) for f in found.figures]
    assert len(cells) == len(set(cells))


def test_the_findings_say_what_holds_where_in_both_modes(found: Reproduction) -> None:
    for mode in ("Paper mode", "Our mode"):
        assert ": confirmed in part (" in sentence(found, f"{mode}: SSREM separates true replies from SC")
        assert ": confirmed in part (" in sentence(found, f"{mode}: SSREM ranks the true reply first")
        assert ": confirmed, by" in sentence(found, f"{mode}: SSREM's mean score falls")
        assert ": confirmed, by" in sentence(found, f"{mode}: Copied utterances")
        assert ": confirmed;" in sentence(found, f"{mode}: Training against copies")
        assert ": confirmed" in sentence(found, f"{mode}: SSREM agrees with people more than RSREM")
        assert "reaches 0.80" in sentence(found, f"{mode}: targets for SSREM's AUC")
    assert ": confirmed in part (" in sentence(found, "Paper mode: On a corpus it was not trained on")
    assert "SSREM, RSREM" in sentence(found, "Paper mode: SSREM separates")
    assert "SSREM 1.32, 1.32;" in sentence(found, "Paper mode, Cornell: gaps")
    assert found.notes[-1] == "Not measured: something."


def test_a_lead_counts_in_both_directions_and_only_beyond_its_interval() -> None:
    sure, unsure, below, behind = (
        findings.compare_leads([Interval(v, v - 0.1, v + 0.1, 9, 0, 9)]) for v in (0.2, 0.05, -0.05, -0.2)
    )
    assert [one.state for one in (sure, unsure, below, behind)] == [
        "ahead",
        "cannot be decided",
        "cannot be decided",
        "behind",
    ]
    assert findings.judge_leads([sure, sure]) == "confirmed (ahead in 2, behind in 0, cannot be decided in 0)"
    assert findings.judge_leads([sure, unsure]).startswith("confirmed in part (ahead in 1,")
    assert findings.judge_leads([sure, behind]).startswith("confirmed in part (ahead in 1, behind in 1,")
    assert findings.judge_leads([unsure, below]).startswith("cannot be decided (")
    assert findings.judge_leads([unsure, behind]).startswith("refuted (ahead in 0, behind in 1,")
    assert findings.judge_leads([]) == "not measured"
    assert sure.mark == " (ahead: +0.200 [0.100, 0.300])"
    both = findings.compare_leads([*sure.differences, *behind.differences])
    assert both.mark == " (behind: +0.200 [0.100, 0.300], -0.200 [-0.300, -0.100])"


def test_networks_that_were_not_trained_to_the_end_refute_nothing() -> None:
    behind = findings.compare_leads([Interval(-0.2, -0.3, -0.1, 9, 0, 9)])
    for verdict in (
        findings.judge_leads([behind], [GLOVE]),
        findings.claim_verdict([False, False], [GLOVE]),
    ):
        assert verdict.startswith("cannot be decided before the networks are trained to the end")
    assert findings.judge_leads([behind], [OWN_GLOVE]).startswith("refuted")
    assert findings.claim_verdict([False], [OWN_GLOVE]) == "refuted"
    assert findings.claim_verdict([True], [GLOVE]) == "confirmed"


def test_the_shipped_scorers_decide_no_claim() -> None:
    held = dict(made_held())
    for (scorer, corpus), told in made_held().items():
        if scorer.reading == SHIPPED and scorer.kind == "ssrem":
            held[scorer, corpus] = replace(told, scores=told.scores[:, ::-1].copy())
    [claim, *_] = findings.describe_separation(held, (OWN_GLOVE, SHIPPED))
    assert ": confirmed (" in claim
    assert "shipped" in claim
    assert "(behind: " in claim


def test_what_is_written_names_no_folder_and_is_the_same_twice(found: Reproduction, tmp_path: Path) -> None:
    written = write_reproduction(found, tmp_path / "a")
    again = write_reproduction(found, tmp_path / "b")
    names = {path.name for path in written}
    expected = {f"ssrem-figure-{n}.svg" for n in (2, 4)}
    assert names >= {"ssrem.md", "ssrem.json", "ssrem-figure-3-cornell.svg", "ssrem-figure-5.svg", *expected}
    for one, other in zip(written, again, strict=True):
        assert one.read_bytes() == other.read_bytes()
        assert "folder=" not in one.read_text(encoding="utf-8")


def test_the_drawings_are_well_formed_and_have_a_panel_a_scorer(found: Reproduction) -> None:
    for name, svg in found.drawings.items():
        root = ElementTree.fromstring(svg)
        assert root.tag.endswith("svg"), name
        assert "nan" not in svg
    figure = found.drawings["figure-2"]
    assert all(f"{row}, coeff: " in figure for row in (*BASELINES, *KIND_LABELS.values()))
    # GloVe in two directions, four readings in one; three scorers, three kinds of replies.
    assert found.drawings["figure-5"].count("<g ") == (2 + 4) * 3 * 3


def test_an_empty_or_level_cloud_is_drawn_without_a_line() -> None:
    nothing = np.full(3, np.nan)
    drawn = drawings.draw_scatters("t", {"a": drawings.ScatterCloud(np.ones(3), nothing, np.nan)})
    assert 'class="fit"' not in drawn
    level = drawings.draw_scatters("t", {"a": drawings.ScatterCloud(np.array([1.0, 2, 3]), np.ones(3), 0.0)})
    assert level.count('class="fit"') == 1
    missing = {"p": {"g": {name: Interval(np.nan, np.nan, np.nan, 0, 0, 0) for name in FIVE_COLUMNS}}}
    assert "<g " not in drawings.draw_points("t", missing)
