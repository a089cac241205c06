"""``rejoinder reproduce sugar``: counts in the released files, TF-IDF against the paper, made-up trained rankers."""

from __future__ import annotations

import dataclasses
import gzip
import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rejoinder_lab.papers.base import EARLIER, NOT_MEASURED, Figure, Reproduction, write_reproduction
from rejoinder_lab.papers.base import reproduction_tables as shown_tables
from rejoinder_lab.papers.loader import load_published
from rejoinder_lab.papers.stored_answers import read_stored_answers, stored_answers_path
from rejoinder_lab.papers.sugar import REQUIREMENTS, answers, earlier, folds, jobs, measures, statistics, sugar, tables
from rejoinder_lab.papers.sugar.figures import draw_bars, draw_curves
from rejoinder_lab.papers.sugar.rankers import (
    CROSS,
    CROSS_MPNET,
    CROSS_OWN,
    OURS,
    OURS_EVERY,
    OURS_MPNET,
    RATES,
    TFIDF,
    VARIANTS,
    RankerJob,
)
from rejoinder_lab.papers.sugar.rankers import list_ranker_jobs as all_jobs
from rejoinder_lab.papers.sugar.sugar import list_sugar_notes
from rejoinder_lab.training.recipes import RankerRecipe

from rejoinder.data.dataset_reader import DatasetRow
from rejoinder.data.questions import INPUTS
from rejoinder.errors import InputError
from rejoinder.models.ranker.card import read_ranker_card
from rejoinder.models.ranker.model import shipped_ranker_folder
from rejoinder.selection.ranking.result import NDCG, PRECISION, RankingResult
from rejoinder.systems import System
from rejoinder.types import Question
from tests.ranking_sets import situated

SIZES = {"test": 6, "dev": 4, "train": 8}


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five small folds instead of the published ones."""

    def questions(fold: int, split: str) -> tuple[Question, ...]:
        expanded = [{"text": f"s{n}", "category": "time", "relevant": n == 0} for n in range(16)]
        meta = {"expanded": expanded, "distractors": {str(n): list(range(1, n + 1)) for n in (5, 10, 15)}}
        meta["polarity"] = "yes" if fold % 2 else "no"
        names = [f"{split}{fold}.{n}" for n in range(SIZES[split])]
        made = [situated(name, "Bab", f"request {n % 3} of {split}{fold}") for n, name in enumerate(names)]
        return tuple(dataclasses.replace(question, meta=meta) for question in made)

    monkeypatch.setattr(folds, "fold_questions", questions)
    monkeypatch.setattr(measures, "rank_by_shipped", dict)
    monkeypatch.setattr(
        measures,
        "_rank_by_tfidf",
        lambda fold, split, given: RankingResult(
            questions(fold, split), given, {TFIDF: [(1.0, 1.0, 0.0)] * SIZES[split]}
        ),
    )


@dataclasses.dataclass(frozen=True)
class Knows(System):
    """Likes the reference as long as it is shown no more than three statements."""

    most: int = 3
    best_score: float = 1.0
    alone = True

    def score(self, questions: Sequence[Question]) -> list[list[float]]:
        best = [self.best_score, 0.5, 0.0]
        return [best if len(question.situation) <= self.most else best[::-1] for question in questions]

    def used(self, questions: Sequence[Question]) -> list[list[tuple[int, ...]]] | None:
        return [[(0,) if q.situation else ()] * len(q.candidates) for q in questions]


def fill(folder: Path, wanted: Sequence[RankerJob], most: int = 3) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for job in wanted:
        answers.write_ranker_answers(job, Knows(most), jobs.answers_path(folder, job))


def store(folder: Path) -> str:
    done = CliRunner().invoke(jobs.commands, ["store", str(folder)])
    assert done.exit_code == 0, done.output
    return done.output


# The released files


def test_tables_2_and_3_come_out_exactly(published: Path) -> None:
    rows = statistics.read_sugar_examples(published)
    assert len(rows) == 1760
    found = [*statistics.sugar_table_2(rows), *statistics.sugar_table_3(rows)]
    exact = [figure for figure in found if figure.table.startswith("Table")]
    assert len(exact) == 12 + 2 + 6
    for figure in exact:
        assert figure.measured == figure.published, figure
    told = {figure.row: figure for figure in found if figure.table.startswith("Section")}
    assert told["different"].measured == 4371, "the paper's 4,375 are of an earlier step"
    assert told["examples with behavior"].measured == pytest.approx(0.696, abs=0.0005)


def test_figure_4_is_counted(published: Path) -> None:
    rows = statistics.read_sugar_examples(published)
    assert statistics.grade_counts(rows) == {
        (2, 0, 1): 715,
        (1, 1, 1): 684,
        (0, 2, 1): 236,
        (1, 0, 2): 85,
        (0, 1, 2): 40,
    }
    told = {figure.row: figure for figure in statistics.sugar_figure_4(rows)}
    assert told["more than one candidate is Best or Acceptable"].measured == pytest.approx(1045 / 1760)


def test_tfidf_is_as_near_to_the_paper_as_asked(published: Path) -> None:
    for given in ("u", "u+S1", "u+S"):
        score = load_published("sugar")["Table 4"][TFIDF][given]
        whole = measures._rank_all(given, "test").evaluated()
        first = dataclasses.replace(whole, scores={"x": measures.break_ties_by_place(whole.scores[TFIDF])})
        (shared,), (broken,) = measures.ranker_standings(whole), measures.ranker_standings(first)
        assert broken.measures[PRECISION].estimate.value == pytest.approx(score["precision"], abs=0.012)
        assert shared.measures[NDCG].estimate.value == pytest.approx(score["ndcg"], abs=0.02)
        assert len(whole.questions) == 1484


def test_the_page_has_what_is_measured_again(published: Path) -> None:
    page = json.loads((Path(__file__).parents[2] / "docs/results/sugar.json").read_text(encoding="utf-8"))
    cells = {(one["table"], one["row"], one["column"]): one["measured"] for one in page}
    rows = statistics.read_sugar_examples(published)
    counted = [*statistics.sugar_table_2(rows), *statistics.sugar_table_3(rows), *statistics.sugar_figure_4(rows)]
    assert counted
    for figure in counted:
        assert figure.measured == pytest.approx(cells[figure.table, figure.row, figure.column], abs=2e-6)
    (standing,) = measures.ranker_standings(measures._rank_all("u+S1", "dev").evaluated())
    for measure in (PRECISION, NDCG):
        value = standing.measures[measure].estimate.value
        assert value == pytest.approx(cells["Validation splits", f"{TFIDF}, u+S1", measure], abs=2e-6)


def test_folds_share_no_example_but_requests_and_texts(published: Path) -> None:
    test = [question for question in folds.fold_questions(0, "test") if question.meta["has_bad"]]
    counts = folds.read_fold_overlap(0).count(test)
    assert counts == (308, 0, 130, 6, 183, 272, 137, 306)


# Jobs


def test_every_ranker_is_trained_once_a_fold_and_input() -> None:
    wanted = all_jobs()
    ours, plain = 3 + 5, 6 + 4 + 3
    assert len(wanted) == 5 * (ours + plain), "three ways of ours, one with five seeds; inputs of the plain ones"
    assert len({job.name for job in wanted}) == len(wanted)
    assert [job.seed for job in wanted] == sorted(job.seed for job in wanted), "a whole seed before the next"
    assert {job.name for job in all_jobs(["situated"])} == {f"situated-u+S-{fold}" for fold in range(5)}
    assert RankerJob(CROSS, "15", 2).name == "cross-15-2"
    assert RankerJob(OURS, "u+S", 2).inputs == INPUTS
    job = all_jobs(["situated-mpnet"])[5]
    assert (job.name, job.is_trial) == ("situated-mpnet-u+S-0-1", False)
    recipe = RankerRecipe(encoder="hf:mpnet", seed=1, own=False, epochs=5, rate=2e-5)
    assert job.recipe(2e-5) == recipe
    assert RankerJob(CROSS, "u+S1", 3).recipe() == RankerRecipe("cross", "u+S1", epochs=10, negatives=0, own=False)
    assert [job.name for job in wanted if job.is_trial] == [
        *(f"situated-mpnet-u+S-{fold}-0" for fold in (0, 1)),
        *(f"cross-mpnet-u+S-{fold}" for fold in (0, 1)),
    ]


def train(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(jobs.commands, ["train", str(folder), "--together", "1", *options])


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float | None]]:
    """Rankers that nobody trains: those with a low rate know more; fold 2 of ours fails. What was trained is listed."""
    trained: list[tuple[str, float | None]] = []

    def pretend_training(training: jobs.RankerTraining, folder: Path) -> None:
        trained.append((training.job.name, training.rate))
        folder.mkdir(parents=True, exist_ok=True)
        if training.job.name == "situated-u+S-2":
            raise InputError("it fell over")

    def pretend_asking(training: jobs.RankerTraining, folder: Path) -> None:
        most = 99 if training.rate == RATES[0] else 3
        answers.write_ranker_answers(training.job, Knows(most), training.answers, training.rate)

    monkeypatch.setattr(jobs, "train_one", pretend_training)
    monkeypatch.setattr(jobs, "ask_one", pretend_asking)
    return trained


@pytest.mark.usefixtures("made_up")
def test_what_is_missing_is_trained_and_a_failure_stops_nobody_else(
    tmp_path: Path, pretend: list[tuple[str, float | None]]
) -> None:
    done = train(tmp_path, "--only", "situated", "--drop-models")
    assert done.exit_code == 1
    assert "situated-u+S-2 failed: InputError: it fell over" in done.output
    assert len(pretend) == 5
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["situated-u+S-2"], "the others are dropped"
    pretend.clear()
    train(tmp_path, "--only", "situated")
    assert pretend == [("situated-u+S-2", None)], "only the missing one is trained again"
    assert "situated-u+S-2: not begun in time" in train(tmp_path, "--only", "situated", "--seconds", "0").output


@pytest.mark.usefixtures("made_up")
def test_the_rate_is_chosen_on_validation_splits_before_the_others_are_trained(
    tmp_path: Path, pretend: list[tuple[str, float | None]]
) -> None:
    done = train(tmp_path, "--only", "cross-mpnet")
    assert done.exit_code == 0, done.output
    trials = [(f"cross-mpnet-u+S-{fold}", rate) for fold in (0, 1) for rate in RATES]
    assert pretend[:4] == trials
    assert len(pretend) == 4 + 20 - 2, "the trials of the chosen rate are not trained again"
    assert {rate for _, rate in pretend[4:]} == {RATES[0]}
    assert list(jobs.read_trials(tmp_path)["cross-mpnet"]) == ["2e-05", "5e-05"]
    assert "cross-mpnet.jsonl.gz: the answers of 20 rankers" in store(tmp_path)
    told = " ".join(list_sugar_notes(measures.measure_rankers(), []))
    assert f"{CROSS_MPNET.row}: one seed, 4 epochs at most" in told
    assert "The learning rate is 2e-05" in told


@pytest.mark.usefixtures("made_up")
def test_a_failed_trial_leaves_the_rate_open(
    tmp_path: Path, pretend: list[tuple[str, float | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = jobs.ask_one

    def fail(training: jobs.RankerTraining, folder: Path) -> None:
        if training.rate == RATES[1]:
            raise InputError("it fell over")
        asked(training, folder)

    monkeypatch.setattr(jobs, "ask_one", fail)
    assert train(tmp_path, "--only", "cross-mpnet").exit_code == 1
    assert len(pretend) == 4, "without a rate nothing else is trained"
    assert jobs.read_trials(tmp_path) == {}


@pytest.mark.usefixtures("made_up")
def test_answers_are_read_back_by_the_ranker_that_gave_them(tmp_path: Path) -> None:
    fill(tmp_path, [RankerJob(OURS, "u+S", 1)])
    path = tmp_path / "situated-u+S-1.jsonl.gz"
    assert len(answers.read_ranker_answers(path, RankerJob(OURS, "u+S", 1)).lines) == 10 * 6
    with pytest.raises(InputError, match="another network"):
        answers.read_ranker_answers(path, RankerJob(OURS, "u+S", 2))


@pytest.mark.usefixtures("made_up")
def test_answers_of_all_folds_are_stored_in_one_file_without_texts(tmp_path: Path) -> None:
    fill(tmp_path, all_jobs(["situated"]))
    told = store(tmp_path)
    assert "situated.jsonl.gz: the answers of 5 rankers" in told
    assert "cross: 0 of 30 rankers have answers; not stored" in told
    stored = read_stored_answers(stored_answers_path("sugar", "situated"), "situated", folds.digest_folds())
    assert len(stored.lines) == 5 * 10 * 6
    assert stored.lines["0", "3", "dev", "15", "dev3.0"] == ((0.0, 0.5, 1.0), [[0], [0], [0]])
    ranked = answers.rank_by_answers(OURS, 3, "dev", "15")
    assert len(ranked.questions) == 4
    assert ranked.used[OURS.row][0] == [[0], [0], [0]]
    with pytest.raises(InputError, match="the answers of cross are not stored here"):
        answers.rank_by_answers(CROSS, 3, "dev", "15")


@pytest.mark.usefixtures("made_up")
def test_scores_of_several_seeds_are_averaged(tmp_path: Path) -> None:
    for job in all_jobs([OURS_MPNET.name])[:-1]:
        answers.write_ranker_answers(job, Knows(3, float(job.seed)), jobs.answers_path(tmp_path, job))
    assert "situated-mpnet.jsonl.gz: the answers of 20 rankers" in store(tmp_path), "one fold of the last seed lacks"
    ranked = answers.rank_by_answers(OURS_MPNET, 0, "test", "u")
    assert ranked.scores[OURS_MPNET.row][0] == (1.5, 0.5, 0.0), "the mean of 0 to 3"
    assert ranked.used == {}
    told = " ".join(list_sugar_notes(measures.measure_rankers(), []))
    assert f"{OURS_MPNET.row}: the scores of 4 seeds are averaged" in told


@pytest.mark.usefixtures("made_up")
def test_broken_answers_are_not_stored(tmp_path: Path) -> None:
    fill(tmp_path, all_jobs(["situated"]))
    path = jobs.answers_path(tmp_path, all_jobs(["situated"])[0])
    path.write_bytes(gzip.compress(b"\n".join(gzip.decompress(path.read_bytes()).splitlines()[:-3])))
    done = CliRunner().invoke(jobs.commands, ["store", str(tmp_path)])
    assert done.exit_code == 1
    assert "57 answers instead of 60" in done.output
    path.write_text("nothing")
    assert "has no stored answers" in CliRunner().invoke(jobs.commands, ["store", str(tmp_path)]).output


# Tables


@pytest.mark.usefixtures("made_up")
def test_without_answers_the_rows_say_so_and_how_to_make_them() -> None:
    found = measures.measure_rankers()
    assert found.missing == list(VARIANTS)
    figures = tables.list_ranker_figures(found)
    told = " ".join(list_sugar_notes(found, figures))
    assert "papers.sugar.jobs train FOLDER" in told
    rows = {figure.row: figure for figure in figures if figure.table == tables.TABLE_4}
    assert rows["TF-IDF, ties shared, u"].note == ""
    for variant in VARIANTS:
        assert rows[f"{variant.row}, u+S"].note.startswith(f"{NOT_MEASURED}, since their answers are not stored")


@pytest.mark.usefixtures("made_up")
def test_with_answers_every_row_and_what_was_reached(tmp_path: Path) -> None:
    fill(tmp_path, all_jobs(["situated"]), most=99)
    fill(tmp_path, all_jobs([variant.name for variant in VARIANTS if variant is not OURS]))
    store(tmp_path)
    found = measures.measure_rankers()
    assert found.missing == []
    figures = tables.list_ranker_figures(found)
    assert earlier.add_earlier(figures) != figures, "figures of the published folds: other rows than those made up"
    value = {(figure.table, figure.row, figure.column): figure.measured for figure in figures}
    assert value["Table 4: five folds", f"{OURS.row}, u+S", PRECISION] == 1.0
    assert value["Table 4: five folds", "TF-IDF, u", PRECISION] == 1.0, "the first of equal ones, as published"
    assert value["Table 4: five folds", "TF-IDF, ties shared, u", PRECISION] == 0.5
    curve = f"Figure 5: {PRECISION} by number of distractors"
    assert [value[curve, CROSS.row, n] for n in ("0", "5", "10", "15")] == [1.0, 0.0, 0.0, 0.0]
    figures = [*tables.candidate_figures(figures), *figures]
    alike = {figure.row: figure for figure in figures if figure.table == tables.SAME_CANDIDATES}
    assert (alike[f"{OURS_EVERY.row}, u+S"].published, alike[f"{CROSS.row}, 15"].published) == (0.785, 0.73)
    other = {figure.row for figure in figures if figure.table == tables.FEWER_CANDIDATES}
    assert {f"{OURS.row}, u+S", f"{CROSS_OWN.row}, u+S"} <= other
    assert not other & set(alike)
    told = " ".join(list_sugar_notes(found, figures))
    assert "loses +0.000 of Precision@1 (target: at most 0.02: reached)" in told
    assert "target 0.785: reached" in told
    assert any(figure.table == "By polarity, u+S" for figure in figures)
    read = value["Statements read vs. statements that matter", f"{OURS.row}, for the first, u+S", "F1"]
    assert read == 1.0, "it reads the one statement that matters"
    assert len(shown_tables(Reproduction("sugar", "SUGAR", figures))) > 8


def test_figures_from_earlier_give_way_to_measured_ones_and_keep_the_pages_order() -> None:
    row = f"{OURS_EVERY.row}, u+S"
    first = [Figure("Before", "a", "b", None, 1.0), Figure(tables.TABLE_4, row, PRECISION, None, float("nan"))]
    (kept,) = [f for f in earlier.add_earlier(first) if (f.table, f.row, f.column) == (tables.TABLE_4, row, PRECISION)]
    assert (round(kept.measured, 3), kept.note) == (0.749, EARLIER)
    assert [round(float(end or 0), 3) for end in (kept.low, kept.high)] == [0.724, 0.771]
    new = [Figure(tables.TABLE_4, row, PRECISION, None, 0.8), Figure("Validation splits", "a", "b", None, 1.0)]
    figures = earlier.add_earlier([*first[:1], *new])
    assert [f.note for f in figures if (f.table, f.row, f.column) == (tables.TABLE_4, row, PRECISION)] == [""]
    order = list(dict.fromkeys(figure.table for figure in figures))
    assert order[:2] == ["Before", tables.TABLE_4]
    assert order[-1] == "Validation splits"


@pytest.mark.usefixtures("made_up")
def test_the_whole_reproduction_has_tables_notes_and_drawings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fields = {
        "u": "Sing.",
        "u.sents.tok": ["Sing ."],
        "r": "Yes. What?",
        "r.sents.tok": ["Yes .", "What ?"],
        "g": "to fill [user]'s hall",
        "s.sents": ["It is noon.", "It rains."],
        "s.sents.tok": ["It is noon .", "It rains ."],
        "s.labels": ["time", "environment"],
        "s.gold.sents.indices": [1],
        "r.label": 2,
        "r.distractors": [{"r.label": 0, "r.sents.tok": ["No ."]}, {"r.label": 1, "r.sents.tok": ["Hm ."]}],
    }
    rows = [DatasetRow(fields, "made up"), DatasetRow({**fields, "u": "Dance."}, "made up")]
    monkeypatch.setattr(statistics, "read_sugar_examples", lambda: rows)
    fill(tmp_path / "jobs", all_jobs(["situated"]))
    store(tmp_path / "jobs")
    found = sugar.reproduce()
    value = {(figure.table, figure.row, figure.column): figure.measured for figure in found.figures}
    assert value["Table 2: dataset statistics", "g", "tokens"] == 2 * 5
    assert value["Table 2: dataset statistics", "all", "sentences"] == 2 * (1 + 1 + 2 + 2 + 2)
    assert value["Table 3: statements that matter (S1)", "environment", "statements"] == 2
    assert value["Figure 4: examples by number of Bad, Acceptable and Best candidates", "1, 1, 1", "examples"] == 2
    assert set(found.drawings) == {"figure-4", "figure-5", "figure-5-ndcg"}
    assert OURS.row in found.drawings["figure-5"]
    assert f"{OURS_EVERY.row} ({EARLIER})" in found.drawings["figure-5"]
    assert "figures are marked as measured earlier" in found.notes[0]
    assert "The answers of 6 kinds of trained rankers are not stored" in found.notes[1]
    assert len(write_reproduction(found, tmp_path)) == 5


def test_the_first_of_equal_scores_wins_only_where_the_paper_is_repeated() -> None:
    assert measures.break_ties_by_place([(1.0, 1.0, 0.0), (0.0, 2.0, 2.0)]) == [(0.0, -1.0, -2.0), (-2.0, 0.0, -1.0)]


def test_drawings_are_whole_and_show_every_name() -> None:
    drawn = [
        draw_bars("Examples", {"2, 0, 1": 715, "1, 1, 1": 684}),
        draw_curves("P@1", ["0", "5"], {"ours": {"0": 0.9, "5": 0.8}, "<b>": {"0": 0.7}}, ["<b>"]),
        draw_curves("nothing", ["0", "5"], {}, []),
    ]
    for svg in drawn:
        ElementTree.fromstring(svg)
    assert "715" in drawn[0]
    assert "&lt;b&gt;" in drawn[1]


def test_all_variants_have_names_and_rows_of_their_own() -> None:
    assert REQUIREMENTS["sugar"].answers == tuple(variant.name for variant in VARIANTS)
    assert len({variant.name for variant in VARIANTS}) == len({variant.row for variant in VARIANTS}) == len(VARIANTS)


def test_the_packages_ranker_is_measured_on_the_fold_that_it_was_trained_on() -> None:
    about = read_ranker_card(shipped_ranker_folder()).about
    assert about["train"] == [f"dataset:sugar/{measures.SHIPPED_FOLD}/train"]
    assert about["recipe"]["own"], "as its row says: references of held-out questions are left out"
