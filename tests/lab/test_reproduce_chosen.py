"""`rejoinder reproduce chosen`: the arithmetic behind its tables on made-up losses, and its page from stored ones."""

from __future__ import annotations

import gzip
import json
import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import orjson
import pytest
from rejoinder_lab.papers.base import Figure
from rejoinder_lab.papers.chosen import answers, chosen, jobs, ladders, measures, selectors, tables
from rejoinder_lab.papers.chosen.context import drop_words, list_spoilt_contexts
from rejoinder_lab.papers.chosen.figures import draw_boxes
from rejoinder_lab.papers.chosen.ladders import AT_RANDOM, KnownOrder, Rung
from rejoinder_lab.papers.chosen.measures import LadderMeasures, Scoring
from rejoinder_lab.papers.chosen.sets import PairedSets
from rejoinder_lab.papers.chosen.stored import (
    STORED_FILE,
    CandidateKind,
    StoredLosses,
    SystemLosses,
    read_stored_losses,
    write_stored_losses,
)
from scipy import stats

from rejoinder.errors import InputError
from rejoinder.systems import parse_system
from rejoinder.types import Candidate, Question, Turn

QUESTIONS, SETS = 60, 4
RESULTS = Path(__file__).parents[2] / "docs" / "results" / "chosen.json"


def question(number: int, kind: str, seed: int) -> Question:
    candidates = [Candidate(f"the true answer {number}", grade="true")]
    candidates += [Candidate(f"{kind} {seed} {number} {place} answer", grade="false") for place in range(3)]
    turn = (number + seed) % 4
    return Question(f"q{number}", (Turn(f"context {number}"),), tuple(candidates[turn:] + candidates[:turn]))


def made_sets() -> dict[CandidateKind, Sequence[Sequence[Question]]]:
    return {
        kind: [[question(n, kind.value, seed) for n in range(QUESTIONS)] for seed in range(SETS)]
        for kind in CandidateKind
    }


def made_losses(request: answers.LossRequest, skill: float, seed: int = 0) -> SystemLosses:
    """Losses of a system that finds true replies likelier after their context the more skill it has."""
    texts = [text for texts in request.texts for text in texts]
    alone = np.random.default_rng(seed).normal(5, 1, len(texts)).astype(np.float32)
    lower = np.array([skill if text.startswith("the true") else 0.0 for text in texts], np.float32)
    noise = np.random.default_rng(seed + 100).normal(0, 1, len(texts)).astype(np.float32)
    return SystemLosses(alone - lower + noise, alone)


@pytest.fixture(scope="module")
def stored() -> StoredLosses:
    request = answers.make_loss_request(made_sets())
    losses = request.start_storing()
    for seed, skill in enumerate((0.2, 1.0, 2.5)):
        losses = losses.add_system(f"skill {skill:g}", made_losses(request, skill, seed), seed=seed)
    return losses


def test_the_highest_score_is_chosen_ties_share_and_a_missing_score_is_never_chosen() -> None:
    scores = np.array([-1.0, -2.0, -3.0, -1.0, np.nan], np.float32)
    at = np.array([[0, 1, 2, 4], [0, 3, 1, 2], [1, 0, 2, 3], [4, 1, 2, 0], [0, 4, 4, 4]])
    assert measures.score_choices(scores, at).tolist() == [1.0, 0.5, 0.0, 0.0, 1.0]


def test_spearman_equals_scipys() -> None:
    rows = np.random.default_rng(0).integers(0, 4, (20, 7)).astype(float)
    expected = [stats.spearmanr(row, np.arange(7)).statistic for row in rows]
    assert measures.spearman_with_order(rows) == pytest.approx(expected)
    assert math.isnan(measures.spearman_with_order(np.ones((1, 5)))[0])


def test_the_p_value_of_a_coefficient_equals_scipys() -> None:
    x, y = np.random.default_rng(1).normal(size=(2, 10))
    rho, p = stats.spearmanr(x, y)
    assert tables.spearman_p_value(rho, 10) == pytest.approx(p)


def test_the_request_has_each_text_once_and_every_set_says_where_its_losses_are() -> None:
    sets = made_sets()
    request = answers.make_loss_request(sets)
    assert len(request.contexts) == QUESTIONS
    assert all(len(set(texts)) == len(texts) == 1 + 3 * 2 * SETS for texts in request.texts)
    flat = [text for texts in request.texts for text in texts]
    one = sets[CandidateKind.RANDOM][2][3]
    at = request.positions[CandidateKind.RANDOM][2][3]
    assert [flat[place] for place in at] == list(answers.candidate_texts(one))
    assert answers.candidate_texts(one)[0] == "the true answer 3"
    with pytest.raises(ValueError, match="q1 is not in all sets"):
        answers.make_loss_request({**sets, CandidateKind.RANDOM: [sets[CandidateKind.RANDOM][0][1:]]})


def test_a_request_is_read_back(tmp_path: Path) -> None:
    request = answers.make_loss_request(made_sets())
    answers.write_request(tmp_path / "asked.gz", request)
    read = answers.read_request(tmp_path / "asked.gz")
    assert read == request
    assert read.digest == request.digest
    assert np.array_equal(read.positions[CandidateKind.CHOSEN], request.positions[CandidateKind.CHOSEN])


def test_losses_are_stored_in_thousandths_without_any_text(tmp_path: Path, stored: StoredLosses) -> None:
    path = tmp_path / "losses.json.gz"
    write_stored_losses(path, stored)
    read = read_stored_losses(path)
    assert (read.asked, read.about) == (stored.asked, stored.about)
    for name, losses in stored.systems.items():
        assert np.allclose(read.systems[name].after, losses.after, atol=0.00051)
    assert read.owners.tolist() == stored.owners.tolist()
    assert b"answer" not in gzip.decompress(path.read_bytes())
    first = path.read_bytes()
    write_stored_losses(path, read)
    assert path.read_bytes() == first
    path.write_bytes(b"nothing")
    with pytest.raises(InputError, match="has no stored losses"):
        read_stored_losses(path)


def test_a_stored_file_is_continued_only_for_the_same_questions(tmp_path: Path, stored: StoredLosses) -> None:
    request = answers.make_loss_request(made_sets())
    path = tmp_path / "losses.json.gz"
    assert not jobs._open_stored(path, request).systems
    write_stored_losses(path, stored)
    assert set(jobs._open_stored(path, request).systems) == set(stored.systems)
    fewer = {kind: [one[1:] for one in sets] for kind, sets in made_sets().items()}
    with pytest.raises(InputError, match="other questions"):
        jobs._open_stored(path, answers.make_loss_request(fewer))


@pytest.mark.parametrize("scoring", Scoring)
def test_a_ladder_climbs_on_both_kinds_of_sets(stored: StoredLosses, scoring: Scoring) -> None:
    order = KnownOrder("skills", (Rung("skill 0.2"), Rung("skill 1"), Rung("skill 2.5")))
    measured = measures.measure_ladder(stored, order, scoring)
    assert measured is not None
    assert measured.coefficients(CandidateKind.CHOSEN) == [1.0] * SETS
    summaries = measured.summaries()
    assert summaries["CHOSEN mean"].value == 1.0
    assert summaries["CHOSEN mean"].low > 0.7
    assert summaries["difference of means"].value == 0.0
    assert summaries["RANDOM standard deviation"].value == 0.0
    unknown = KnownOrder("unknown", (Rung("skill 0.2"), Rung("nobody")))
    assert measures.measure_ladder(stored, unknown, scoring) is None


def test_the_context_adds_nothing_to_a_system_that_does_not_read_it(stored: StoredLosses) -> None:
    one = next(iter(stored.systems.values()))
    blind = StoredLosses(stored.asked, stored.positions, {"blind": SystemLosses(one.alone, one.alone)})
    measured = measures.measure_ladder(blind, KnownOrder("blind", (Rung("blind"), Rung("blind"))), Scoring.ADDED)
    assert measured is not None
    assert np.all(measured.right[CandidateKind.CHOSEN] == 0.25)
    assert measured.summaries()["CHOSEN mean"].value == 0.0


def test_a_smaller_share_of_spoilt_questions_lies_within_a_larger_one(stored: StoredLosses) -> None:
    parts = [measures.draw_spoilt(1_000, share) for share in (0.1, 0.4, 1.0)]
    assert not (parts[0] & ~parts[1]).any()
    assert 60 < parts[0].sum() < 140
    assert parts[2].all()
    plain = measures.score_rung(stored, Rung("skill 1"), Scoring.LOSS)
    worse = measures.score_rung(stored, Rung("skill 1", 0.4, "skill 0.2"), Scoring.LOSS)
    spoilt = measures.draw_spoilt(QUESTIONS, 0.4)[stored.owners]
    assert np.array_equal(worse[~spoilt], plain[~spoilt])
    assert np.array_equal(worse[spoilt], measures.score_rung(stored, Rung("skill 0.2"), Scoring.LOSS)[spoilt])
    noise = measures.score_rung(stored, Rung("skill 1", 1.0, AT_RANDOM), Scoring.LOSS)
    assert 0 <= noise.min() < noise.max() < 1


def test_sets_that_agree_less_have_a_larger_deviation() -> None:
    random = np.random.default_rng(0)
    clear = (random.random((5, SETS, 400)) < np.linspace(0.2, 0.9, 5)[:, None, None]).astype(float)
    noise = (random.random((5, SETS, 400)) < 0.5).astype(float)
    ladder = LadderMeasures(
        KnownOrder("x", ()), Scoring.LOSS, {CandidateKind.CHOSEN: clear, CandidateKind.RANDOM: noise}
    )
    found = ladder.summaries()
    assert found["difference of means"].low > 0
    assert found["difference of standard deviations"].value < 0


def test_words_of_a_context_are_left_out_one_after_another() -> None:
    context = ("one two three four five six", "seven eight nine ten")
    assert drop_words(context, 0.0) == context
    few, many = (drop_words(context, share) for share in (0.25, 0.75))
    assert set(" ".join(many).split()) < set(" ".join(few).split()) < set(" ".join(context).split())
    spoilt = list_spoilt_contexts("x", [context, ("other",), ("third",), ("last",)])
    assert spoilt["x"][0] == context
    assert all(a != b for a, b in zip(spoilt[ladders.name_other("x")], spoilt["x"], strict=True))


def test_every_system_of_a_ladder_is_computed_by_a_job() -> None:
    orders = ladders.list_all_ladders()
    names = {name for order in orders for rung in order.rungs for name in (rung.system, rung.otherwise)}
    computed = {*map(ladders.name_noisy, ladders.NOISE_LEVELS), *ladders.list_network_folders(), AT_RANDOM}
    for system in (ladders.TFIDF, ladders.MINILM, ladders.LANGUAGE_MODEL):
        computed |= set(list_spoilt_contexts(system, [("a",)]))
    assert names <= computed


def test_vectors_of_tfidf_give_the_scores_of_the_system() -> None:
    questions = made_sets()[CandidateKind.CHOSEN][0][:8]
    request = answers.make_loss_request({CandidateKind.CHOSEN: [questions], CandidateKind.RANDOM: [questions]})
    texts = [text for texts in request.texts for text in texts]
    contexts = [" ".join(context) for context in request.contexts]
    encode = selectors.make_tfidf_encoder([*contexts, *texts])
    losses = selectors.compare_vectors(encode(contexts), encode(texts), request.start_storing().owners)
    expected = parse_system("tfidf").score(questions)
    for question, scores, at in zip(questions, expected, request.positions[CandidateKind.CHOSEN][0], strict=True):
        by_text = {one.text: score for one, score in zip(question.candidates, scores, strict=True)}
        truth_first = [by_text[text] for text in answers.candidate_texts(question)]
        assert 1 - losses.after[at] == pytest.approx(truth_first, abs=1e-5)
    everywhere = np.array([1 - encode(contexts) @ encode(texts).T])[0].mean(axis=0)
    assert losses.alone == pytest.approx((everywhere * 8 - losses.after) / 7, abs=1e-5)


def test_every_network_is_trained_once_with_the_paper_sizes(tmp_path: Path) -> None:
    commands = ladders.list_training_commands(tmp_path, 100, ["d.jsonl"], ["rejoinder"])
    assert len(commands) == 10
    written = {Path(command[command.index("-o") + 1]).name for command in commands}
    folders = ladders.list_network_folders()
    assert {folder.partition("/")[0] for folder in folders.values()} == written
    assert {rung.system for order in ladders.list_network_ladders() for rung in order.rungs} <= set(folders)
    assert len(folders) == 10 + 3 * len(ladders.SNAPSHOTS)
    assert [size.number for size in ladders.TEN_SIZES] == list(range(1, 11))


def test_how_long_a_network_was_trained_is_read_off_its_card(tmp_path: Path) -> None:
    (tmp_path / "generator.json").write_bytes(orjson.dumps({"about": {"recipe": {"steps": 700}}}))
    assert jobs.read_steps(tmp_path) == 700
    (tmp_path / "generator.json").write_text("{}")
    with pytest.raises(InputError, match="no card of a generator"):
        jobs.read_steps(tmp_path)


def test_kappas_come_from_the_released_file(tmp_path: Path) -> None:
    file = tmp_path / tables.SCORES
    file.parent.mkdir(parents=True)
    file.write_bytes(b"\n".join(orjson.dumps([[5, 5, 5, 4, 4], [1, 1, 1, 2, 1], [0, 0, 1, 5, 1]]) for _ in range(6)))
    indices = tmp_path / tables.INDICES
    indices.parent.mkdir()
    indices.write_text("1\t2\t3\n" * 4 + "1\t2\t3\t4\n" * 2)
    six, _, six_few, two, two_first, two_few, _ = tables.agreement_figures(tmp_path)
    assert (two.published, two_few.published) == (0.63, None)
    assert two_few.measured == pytest.approx(1.0)
    assert two.measured < 1
    assert 0 < six.measured < six_few.measured < 1
    assert two.n is not None
    assert two_first.n == two.n * 4 / 6


def test_tfidf_is_compared_on_the_same_questions_or_said_to_be_missing() -> None:
    sets = made_sets()
    pair = PairedSets(tuple(sets[CandidateKind.CHOSEN][0]), tuple(sets[CandidateKind.RANDOM][0]))
    rows = {figure.row: figure for figure in tables.tfidf_figures(pair)}
    assert rows["RANDOM minus CHOSEN"].measured == pytest.approx(rows["RANDOM"].measured - rows["CHOSEN"].measured)
    assert [figure.published for figure in rows.values()] == [0.461, 0.671, 0.21]
    assert all(figure.low is not None for figure in rows.values())
    without = list(tables.tfidf_figures(None))
    assert [figure.published for figure in without] == [0.461, 0.671, 0.21]
    assert all(math.isnan(figure.measured) for figure in (*without, *tables.length_figures(None)))
    assert all(0 <= figure.measured <= 1 for figure in tables.length_figures(pair))


def test_the_drawing_is_well_formed_and_escapes_names() -> None:
    drawn = draw_boxes("Spearman <&>", {"a & b": ([0.1, 0.5, 0.9], [0.7, 0.8]), "none": ([], [])})
    root = ElementTree.fromstring(drawn)
    assert len([e for e in root.iter() if e.tag.endswith("circle")]) == 2


def test_a_machine_without_data_or_models_still_gets_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REJOINDER_DATA", str(tmp_path))
    monkeypatch.setenv("REJOINDER_CACHE", str(tmp_path))
    assert chosen.list_missing() == [chosen.SCORES, *chosen.DIALOGUES, chosen.VECTORS]
    page = chosen.reproduce()
    assert any("Not on this machine" in note and chosen.VECTORS in note for note in page.notes)
    rows = {figure.row: figure for figure in page.figures if "TF-IDF" in figure.table}
    assert math.isnan(rows["CHOSEN"].measured)
    human = next(figure for figure in page.figures if (figure.row, figure.column) == ("HUMAN", "Spearman"))
    assert human.published == 0.87
    missing = [figure for figure in page.figures if figure.row.startswith("checkpoints of gru-1-256")]
    assert missing
    assert all(math.isnan(figure.measured) for figure in missing)


def test_the_ladders_on_the_results_page_are_those_of_the_stored_losses() -> None:
    assert STORED_FILE.stat().st_size < 300_000
    results = chosen.measure_ladders()
    rebuilt = [*tables.ladder_figures(*results), *tables.rung_figures(results.measured)]
    page = {(row["table"], row["row"], row["column"]): row for row in json.loads(RESULTS.read_text())}
    assert results.measured
    for figure in rebuilt:
        _assert_same(figure, page[figure.table, figure.row, figure.column])


def _assert_same(figure: Figure, row: dict[str, float | None]) -> None:
    for name in ("measured", "low", "high"):
        value = getattr(figure, name)
        if value is None or math.isnan(value):
            assert row[name] is None
        else:
            assert row[name] == pytest.approx(value, abs=1e-6)
