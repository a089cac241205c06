"""The model pass: how a judge is measured, where its threshold lies, and what is made of its scores."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import rejoinder
from rejoinder.errors import InputError, SpecError
from rejoinder.models.weight_sets import WeightSet, use_weights
from rejoinder.selection.acceptability import fit_acceptability
from rejoinder.selection.acceptability_file import (
    SHIPPED,
    acceptability_to_object,
    load_acceptability,
    measure_judge,
    read_acceptability,
    write_acceptability,
)
from rejoinder.selection.build import PoolSet, make_questions
from rejoinder.selection.grade_separation import auc_interval, collect_graded_scores
from rejoinder.selection.model_pass import attach_acceptability, is_acceptable, score_candidates
from rejoinder.selection.settings import JUDGE, SelectionSettings
from rejoinder.types import Candidate, Question, Turn

METRIC = '''
from dataclasses import dataclass
from rejoinder.metric import Metric

@dataclass(frozen=True)
class Says(Metric):
    """The number that a reply says, over 100."""
    needs = frozenset({"context"})

    def score(self, pairs):
        words = [[word for word in pair.response.text.split() if word.isdigit()] for pair in pairs]
        return [int(found[0]) / 100 if found else float("nan") for found in words]
'''


@pytest.fixture
def says(tmp_path: Path) -> str:
    path = tmp_path / "says.py"
    path.write_text(METRIC)
    return str(path)


def question(name: str, positive: list[int], adversarial: list[int]) -> Question:
    candidates = [Candidate(f"Reply {n} here.", f"p{i}", "positive") for i, n in enumerate(positive)]
    candidates += [Candidate(f"Reply {n} here.", f"a{i}", "adversarial") for i, n in enumerate(adversarial)]
    candidates.append(Candidate("Reply 1 here.", "r", "random"))
    return Question(name, (Turn("Well?"),), tuple(candidates))


def drawn(n: int, seed: int) -> list[Question]:
    random = np.random.default_rng(seed)
    return [
        question(f"q{k}", random.integers(30, 100, 5).tolist(), random.integers(0, 70, 5).tolist()) for k in range(n)
    ]


def test_the_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    given = [question("a", [9, 5], [5, 1]), question("b", [3], [4])]
    scores = [[9, 5, 5, 1, math.nan], [3, 4, math.nan]]
    found = auc_interval(collect_graded_scores(given, scores), "positive", "adversarial")
    # 9 is above 5, 1, 4; 5 is above 1 and 4 and even with 5; 3 is above 1 only: 3 + 2.5 + 1 of 9.
    assert found.value == pytest.approx(6.5 / 9)
    assert collect_graded_scores(given, scores).n_missing == 2


def test_the_interval_of_the_auc_covers_what_it_should() -> None:
    random = np.random.default_rng(0)
    inside = 0
    for _ in range(300):
        shift = random.normal(size=(40, 1)) * 0.5  # replies to one context go up and down together
        scores = np.concatenate([random.normal(1, 1, (40, 3)), random.normal(0, 1, (40, 3))], axis=1) + shift
        given = [
            Question(str(n), (), tuple(Candidate("x", grade=g) for g in ["positive"] * 3 + ["adversarial"] * 3))
            for n in range(40)
        ]
        found = auc_interval(collect_graded_scores(given, scores.tolist()), "positive", "adversarial")
        # Two normals one apart, each of variance 1.25 over contexts: Phi(1 / sqrt(2.5)).
        inside += found.low <= 0.7365 <= found.high
    assert 0.92 <= inside / 300 <= 0.98


def test_the_threshold_misses_no_more_than_it_may_on_the_split_it_is_chosen_on(says: str) -> None:
    dev, test = drawn(60, 0), drawn(80, 1)
    found = measure_judge(dev, test, says, missed=0.1)
    assert 0.05 < found.chosen.missed.value <= 0.1
    assert found.measured.questions == 80
    fitting = sorted(int(c.text.split()[1]) for q in dev for c in q.candidates if c.grade == "positive")
    assert found.threshold == found.probability(fitting[len(fitting) // 10] / 100, 0)
    lost = [found.probability(number_of(c) / 100, 0) for q in test for c in q.candidates if c.grade == "positive"]
    assert found.measured.missed.value == pytest.approx(sum(x < found.threshold for x in lost) / len(lost))
    assert found.measured.passed["random"].value == 0.0
    assert set(found.measured.passed) == {"adversarial", "random"}
    assert found.probability(0.9, 0) > 0.9 > 0.5 > found.probability(0.2, 0)


def number_of(candidate: Candidate) -> int:
    return int(candidate.text.split()[1])


def test_words_that_the_context_has_already_count_against_a_reply() -> None:
    fits = [Candidate("Sure thing.", grade="positive"), Candidate("A blue bird sang.", grade="positive")]
    not_so = [Candidate("The old train broke.", grade="adversarial"), Candidate("My train.", grade="adversarial")]
    context = (Turn("Was the train late?"), Turn("The old train, yes."))
    given = [Question(f"q{n}", context, (*fits, *not_so)) for n in range(20)]
    found = collect_graded_scores(given, [[0.5] * 4] * 20)
    assert found.repeated[:4].tolist() == [0, 0, 2, 1]
    assert fit_acceptability("m", "s", found, found).repeating < 0


def test_what_was_measured_is_written_and_read_back(says: str, tmp_path: Path) -> None:
    found = measure_judge(drawn(20, 0), drawn(20, 1), says)
    write_acceptability([found], tmp_path / "judges.json")
    back = read_acceptability(tmp_path / "judges.json")[found.signature]
    assert acceptability_to_object(back) == acceptability_to_object(found)
    assert load_acceptability(rejoinder.parse(says), tmp_path / "judges.json") == back
    write_acceptability([found], tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "judges.json").read_bytes()


def test_a_judge_that_nobody_measured_or_that_has_changed_is_refused(says: str, tmp_path: Path) -> None:
    found = measure_judge(drawn(20, 0), drawn(20, 1), says)
    write_acceptability([found], tmp_path / "judges.json")
    with pytest.raises(SpecError, match="idk has no measured threshold for what is acceptable"):
        load_acceptability(rejoinder.parse("idk"), tmp_path / "judges.json")
    Path(says).write_text(METRIC + "\n# changed\n")
    with pytest.raises(SpecError, match="has changed since its threshold was chosen"):
        load_acceptability(rejoinder.parse(says), tmp_path / "judges.json")
    (tmp_path / "judges.json").write_text("[]")
    with pytest.raises(InputError, match="has no measurements of judges"):
        read_acceptability(tmp_path / "judges.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_acceptability(tmp_path / "nowhere.json")


@pytest.mark.parametrize("spec", ["bleu", "length", "distinct", "context_overlap"])
def test_a_metric_that_cannot_judge_by_the_context_alone_is_refused(spec: str) -> None:
    with pytest.raises(SpecError, match="cannot judge whether a candidate is acceptable"):
        score_candidates(drawn(1, 0), rejoinder.parse(spec))


def test_grades_without_which_nothing_can_be_measured_are_told() -> None:
    with pytest.raises(InputError, match="no candidate with a score has the grade 'adversarial'"):
        collect_graded_scores([question("a", [1], [])], [[1.0, 0.0]])
    both = collect_graded_scores([question("a", [1], [2])], [[1.0, 2.0, 0.0]])
    with pytest.raises(InputError, match="missed must be at least 0 and below 1"):
        fit_acceptability("m", "s", both, both, missed=1.0)


def test_pools_carry_the_probability_and_the_card_says_how_often_the_judge_errs(says: str) -> None:
    known = measure_judge(drawn(60, 0), drawn(80, 1), says)
    texts = ["Reply 1 is blue.", "Reply 2 was green.", "Reply 99 fits well.", "Reply 3 was never sent.", "No number."]
    found = [Candidate(text, f"c{n}", None, "bm25", (), {"place": n}) for n, text in enumerate(texts)]
    truth = Candidate("Reply 98 is the truth.", "t", "true", "human")
    pool = Question("p", (Turn("Well?"),), (*found, truth))
    (judged,) = attach_acceptability([pool], rejoinder.parse(says), known)
    accepted = {one.id: is_acceptable(one, known) for one in judged.candidates}
    assert accepted == {"c0": False, "c1": False, "c2": True, "c3": False, "c4": None, "t": True}
    assert "acceptable" not in judged.candidates[4].meta
    built = make_questions(PoolSet((pool,)), SelectionSettings(judge=says), acceptability=known)
    assert {one.id for one in built.questions[0].candidates} == {"t", "c0", "c1", "c3"}
    model = built.card["model"]
    assert built.card["judged by"] == "model"
    assert model["true replies that it accepts"]["value"] == 1.0
    assert model["measured"]["auc"]["value"] == pytest.approx(known.measured.auc.value, abs=1e-4)
    assert model["against people"] is None


def test_where_people_scored_they_decide_and_the_judge_is_held_against_them(says: str) -> None:
    known = measure_judge(drawn(60, 0), drawn(80, 1), says)
    numbers, scores = [1, 2, 3, 90, 80], [(1, 1, 1), (1, 1, 1), (1, 2, 1), (4, 4, 4), (1, 1, 1)]
    found = [
        Candidate(f"Reply {n} of {n}.", f"c{n}", None, "bm25", (), {"ratings": list(s)})
        for n, s in zip(numbers, scores, strict=True)
    ]
    truth = Candidate("Reply 98 is the truth.", "t", "true", "human", (), {"ratings": [5, 5, 5]})
    built = make_questions(
        PoolSet((Question("p", (Turn("Well?"),), (*found, truth)),)), SelectionSettings(judge=says), acceptability=known
    )
    assert "c90" not in {one.id for one in built.questions[0].candidates}
    assert built.card["judged by"] == "people"
    assert built.card["model"]["against people"] == {
        "candidates": 5,
        "auc": {"value": 1.0, "low": None, "high": None, "n": 5},
    }


def test_the_package_knows_its_own_judge_as_it_is() -> None:
    known = load_acceptability(rejoinder.parse(JUDGE))
    assert known.measured.auc.value >= 0.80
    assert known.chosen.missed.value <= 0.15
    assert SHIPPED.is_file()


@pytest.mark.usefixtures("installed_set")
@pytest.mark.parametrize("weights", ["permissive", "research"])
def test_the_judge_of_every_set_of_weights_has_been_measured(weights: WeightSet) -> None:
    with use_weights(weights):
        metric = rejoinder.parse("aptness(model='bi')")
        known = load_acceptability(metric)
    assert known.signature == rejoinder.signature(rejoinder.parse(f"aptness(model='bi', weights={weights!r})"))
    assert known.measured.auc.value > 0.85
