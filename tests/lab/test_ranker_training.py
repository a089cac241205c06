"""Training a ranker: loss, schedule, labels, negatives and held-out nDCG by hand; a seed decides the bytes."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_rankers

from rejoinder.errors import InputError
from rejoinder.models.aptness_card import SpecialTokens
from rejoinder.models.ranker.settings import RankerLimits
from rejoinder.models.ranker.statement_choice import WordTable
from rejoinder.types import Candidate as Offer
from rejoinder.types import Question, Turn

torch = pytest.importorskip("torch", reason="the torch extra is not installed")

from rejoinder_lab.training.ranker import chooser  # noqa: E402
from rejoinder_lab.training.ranker.chooser import _statement_loss as chooser_loss  # noqa: E402
from rejoinder_lab.training.ranker.chooser import label_statements, plan_situated_reading, read_every_statement  # noqa: E402
from rejoinder_lab.training.ranker.examples import (  # noqa: E402
    CandidateExample,
    RankerExample,
    StatementExample,
    add_negatives,
    build_ranker_examples,
    collect_best_responses,
    drop_held_out_references,
)
from rejoinder_lab.training.ranker.start import RankerStart, open_ranker_start  # noqa: E402
from rejoinder_lab.training.ranker.steps import _TOKENS, RankerOptimizer, ranker_margin_loss, split_ranker_batch  # noqa: E402
from rejoinder_lab.training.ranker.trainer import _reader_losses, measure_ranker_held_out  # noqa: E402
from rejoinder_lab.training.recipes import RankerRecipe  # noqa: E402

from rejoinder.models.ranker import card  # noqa: E402

CPU = torch.device("cpu")
MARKS = SpecialTokens(first=101, last=102, between=1, padding=0)


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Sums are added in one order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def example(name: str = "a", grades: Sequence[float] = (2, 1, 0), **changed: Any) -> RankerExample:
    """One whose candidates are of the words 30, 31, 32 ..."""
    candidates = tuple(CandidateExample((30 + n,), grade, None) for n, grade in enumerate(grades))
    return replace(RankerExample(name, f"ask {name}", "", (20,), (), candidates, {"u+S": ()}), **changed)


class Prefers(torch.nn.Module):  # type: ignore[misc,name-defined]
    """Likes candidates by their first word, and remembers what it was shown."""

    def __init__(self, liked: dict[int, float]) -> None:
        super().__init__()
        self.one = torch.nn.Parameter(torch.ones(()))
        self.liked, self.rows = liked, []  # type: ignore[var-annotated]

    def forward(self, ids: Any, real: Any, of_candidate: Any) -> Any:
        self.rows += [row[mask == 1].tolist() for row, mask in zip(ids, real, strict=True)]
        first = ids.gather(1, of_candidate.argmax(1, keepdim=True)).squeeze(1)
        return self.one * torch.tensor([self.liked[int(word)] for word in first])


def start(reader: Any = None, words: Any = None) -> RankerStart:
    nothing: Any = None
    return RankerStart(reader, None, MARKS, words, nothing, RankerLimits(), nothing, MARKS)


def test_the_loss_is_the_mean_over_pairs_of_unlike_grades_in_one_question() -> None:
    scores = torch.tensor([1.0, 0.5, 0.0, 9.0, 9.5])
    grades, questions = torch.tensor([2, 1, 0, 1, 1]), torch.tensor([0, 0, 0, 1, 1])
    # 1 - .5, 1 - 1 and 1 - .5; the two of the other question have one grade.
    assert float(ranker_margin_loss(scores, grades, questions, 1.0)) == pytest.approx(1 / 3)
    assert float(ranker_margin_loss(scores, grades, questions, 0.1)) == 0
    # A better one that is behind by 2 costs the margin and these 2.
    behind = ranker_margin_loss(torch.tensor([0.0, 2.0]), torch.tensor([1, 0]), torch.tensor([0, 0]), 0.5)
    assert float(behind) == pytest.approx(2.5)
    assert float(ranker_margin_loss(scores[3:], grades[3:], questions[3:], 1.0)) == 0, "no pair, nothing to lose"


def test_a_batch_in_parts_has_the_loss_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = [example("a"), example("b", (0, 2)), example("c", (2, 0, 1), goal=(5, 6, 7))]
    reading, liked = read_every_statement("u+S"), {30: 0.3, 31: 0.1, 32: 0.4}

    def parts() -> list[float]:
        found = _reader_losses(start(Prefers(liked)), batch, reading, RankerRecipe(), CPU, random.Random(0))
        return [float(loss.detach()) for loss in found]

    [whole] = parts()
    monkeypatch.setitem(_TOKENS, "cpu", 1)
    assert len(parts()) == 3
    assert sum(parts()) == pytest.approx(whole)


def test_questions_of_about_the_same_length_are_read_together() -> None:
    lengths = [[10, 12], [1_600], [11], [1_500], []]
    assert split_ranker_batch(lengths, CPU) == [[1], [3], [0, 2, 4]]
    assert split_ranker_batch(lengths, torch.device("cuda")) == [[1, 3, 0, 2, 4]]


def test_the_schedule_warms_up_and_goes_down_on_a_line() -> None:
    network = torch.nn.ModuleDict({"trunk": torch.nn.Linear(1, 1), "head": torch.nn.Linear(1, 1)})
    steps = RankerOptimizer(network, 10, 1.0, RankerRecipe(warm_up=0.2, head_rate=0.5))
    trunk, head = [], []
    for _ in range(11):
        rates = [group["lr"] for group in steps._optimizer.param_groups]
        trunk.append(rates[0])
        head.append(rates[1])
        steps.step([sum(p.sum() for p in network.parameters())])
    # Two steps of warm-up, then from 8/8 down by an eighth a step.
    assert trunk == pytest.approx([0.5, 1, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0])
    assert head == pytest.approx([rate / 2 for rate in trunk])


def test_one_step_is_taken_at_the_full_rate() -> None:
    network = torch.nn.ModuleDict({"trunk": torch.nn.Linear(1, 1), "head": torch.nn.Linear(1, 1)})
    steps = RankerOptimizer(network, 1, 0.25, RankerRecipe())
    assert steps._optimizer.param_groups[0]["lr"] == 0.25


def test_held_out_ndcg_is_what_a_hand_computes() -> None:
    held = [example("a"), example("b", (0, 2)), example("c", situations={"u+S": (), "15": ()})]
    found = measure_ranker_held_out(
        start(Prefers({30: 0, 31: 1, 32: 2})), held, read_every_statement("u+S"), RankerRecipe(), CPU
    )
    # a and c: worst first, (0 + 1 / log2(3) + 2 / log2(4)) / (2 + 1 / log2(3)); b: best first.
    turned = (1 / math.log2(3) + 1) / (2 + 1 / math.log2(3))
    assert found == {"u+S": pytest.approx((turned + 1 + turned) / 3)}
    far = measure_ranker_held_out(
        start(Prefers({30: 2, 31: 1, 32: 0})), held, read_every_statement("15"), RankerRecipe(), CPU
    )
    assert far == {"15": 1.0}, "who has no such situation does not count"


def test_questions_can_be_asked_by_their_goal() -> None:
    reader = Prefers({30: 0.0, 31: 0.25})
    one = example("a", (1, 0), goal=(77, 78), situations={"u+S": (StatementExample((40,), True),)})
    reading, drawn = read_every_statement("u+S"), random.Random(0)
    [loss] = _reader_losses(start(reader), [one], reading, RankerRecipe(goal=1.0), CPU, drawn)
    assert float(loss.detach()) == pytest.approx(1.25)
    assert reader.rows == [[101, 40, 1, 77, 78, 102, 30 + n, 102] for n in (0, 1)]
    reader.rows.clear()
    list(_reader_losses(start(reader), [replace(one, goal=())], reading, RankerRecipe(goal=1.0), CPU, drawn))
    assert reader.rows[0] == [101, 40, 1, 20, 102, 30, 102], "who has no goal is asked by the request"


@pytest.fixture
def words(tmp_path: Path) -> WordTable:
    """Two words at a right angle."""
    scales = np.array([0.1, 0.1], "<f4")
    (tmp_path / "words").write_bytes(np.array([[10, 0], [0, 10]], np.int8).tobytes() + scales.tobytes())
    return WordTable(tmp_path / "words", 2)


def test_what_people_said_of_statements_is_what_a_chooser_learns(words: WordTable) -> None:
    told = (StatementExample((0,), True), StatementExample((1,), False), StatementExample((0, 1), None))
    found = label_statements(example(situations={"u+S": told}), words, np.ones(2, np.float32))
    assert [ids for ids, _ in found] == [(0,), (1,), (0, 1)]
    assert [label for _, label in found] == pytest.approx([1, 0, math.nan], nan_ok=True)


def test_where_nobody_said_it_the_ranking_tells(words: WordTable) -> None:
    silent = tuple(StatementExample(ids, None) for ids in [(0,), (1,), (0, 1), ()])
    offers = (CandidateExample((0,), 2, None), CandidateExample((1,), 1, None))
    one = example(candidates=offers, situations={"u+S": silent})
    found = [label for _, label in label_statements(one, words, np.ones(2, np.float32))]
    # Like the best only, like the other only, as like both, like none.
    assert found == pytest.approx([1, 0, math.nan, math.nan], nan_ok=True)
    assert label_statements(example(situations={"u+S": ()}), words, np.ones(2, np.float32)) == []


def test_the_choosers_loss_is_the_mean_over_what_is_known() -> None:
    odds = torch.tensor([[0.0, 2.0, 5.0], [-1.0, 7.0, 7.0]])
    found = chooser_loss(odds, [[1.0, 0.0, math.nan], [0.0]], 3)
    by_hand = (math.log(2) + math.log(1 + math.exp(2)) + math.log(1 + math.exp(-1))) / 3
    assert float(found) == pytest.approx(by_hand, abs=1e-6)
    assert float(chooser_loss(odds, [[math.nan], []], 0)) == 0


def test_references_of_questions_that_are_not_trained_on_are_left_out() -> None:
    offers = tuple(CandidateExample((30 + n,), 2 - n, name) for n, name in enumerate(["a", "b", "far"]))
    first, second = example("a", candidates=offers), example("b", candidates=(offers[1], offers[2]))
    free = example("c")
    kept = drop_held_out_references([first, second, free])
    assert [one.id for one in kept] == ["a", "c"], "b has one grade left"
    assert kept[0].candidates == offers[:2]
    assert kept[1] == free, "nobody said whom its candidates were written for"


def test_negatives_are_best_replies_to_other_requests_of_the_same_polarity() -> None:
    yes = [
        example(name, polarity="yes", candidates=(CandidateExample((n,), 3, name), *ONES))
        for n, name in enumerate("abc")
    ]
    no = example("d", polarity="no", candidates=(CandidateExample((9,), 2, "d"), *ONES))
    others = collect_best_responses([*yes, no])
    found = add_negatives(yes[0], others, 50, random.Random(0))
    added = found.candidates[2:]
    assert {one.ids for one in added} == {(1,), (2,)}
    assert {one.grade for one in added} == {1.0}, "as bad as the worst"
    assert add_negatives(no, others, 5, random.Random(0)) == no, "the only reply of its polarity is its own"
    assert add_negatives(yes[0], others, 0, random.Random(0)) == yes[0]


ONES = (CandidateExample((8,), 1, None),)


def encode(texts: Sequence[str]) -> list[list[int]]:
    return [[len(word) for word in text.split()] for text in texts]


def test_questions_become_examples_with_all_inputs_that_are_known() -> None:
    (one, *_), left = build_ranker_examples(tiny_rankers.questions(), encode, MARKS, RankerLimits())
    assert left == 0
    assert {given: len(found) for given, found in one.situations.items()} == {"u+S": 11, "u+S1": 2, "15": 14}
    assert one.request == (6, 4, 3, 7)
    assert [(c.grade, c.written_for) for c in one.candidates] == [(2, "q0"), (1, "q1"), (0, "q2")]
    (bare, *_), _ = build_ranker_examples(tiny_rankers.questions(flags=False), encode, MARKS, RankerLimits())
    assert set(bare.situations) == {"u+S"}


def asked(*candidates: tuple[str, str | float], name: str = "q") -> Question:
    return Question(name, (Turn("hi"),), tuple(Offer(text, grade=grade) for text, grade in candidates))


def test_what_teaches_nothing_is_counted_and_nothing_at_all_is_an_error() -> None:
    good = asked(("x", "Best"), ("y", "Bad"), (" ", "Acceptable"))
    equal, blank = asked(("x", 1), ("y", 1), name="e"), asked(("x", "Best"), (" ", "Bad"), name="b")
    found, left = build_ranker_examples(
        [good, equal, blank, asked(("x", 3), name="one")], encode, MARKS, RankerLimits()
    )
    assert [one.id for one in found] == ["q"]
    assert (left, len(found[0].candidates)) == (3, 2), "a blank candidate is none"
    with pytest.raises(InputError, match="none has candidates of different grades"):
        build_ranker_examples([equal, blank], encode, MARKS, RankerLimits())
    with pytest.raises(InputError, match="question q: has the grade -1; grades must not be negative"):
        build_ranker_examples([asked(("x", 1), ("y", -1))], encode, MARKS, RankerLimits())


def test_a_chooser_tells_only_of_requests_that_it_has_not_seen(
    words: WordTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, set[str]] = {}

    def learn(trunk: Any, some: Sequence[RankerExample], *rest: Any) -> set[str]:
        return {one.request_text for one in some}

    def tell(seen: Any, situations: Sequence[Any], *rest: Any) -> list[Any]:
        told.update({str(request): seen for request, _ in situations})
        return [np.zeros(len(statements), np.float32) for _, statements in situations]

    monkeypatch.setattr(chooser, "train_chooser", learn)
    monkeypatch.setattr(chooser, "compute_odds", tell)
    some = (StatementExample((0,), True), StatementExample((1,), False), StatementExample((1,), None))
    examples = [
        replace(example(f"{name}{n}"), candidates=(CandidateExample((0,), 1, None), CandidateExample((1,), 0, None)))
        for n, name in enumerate("abcdefg")
    ]
    examples = [
        replace(one, request=(1,) * (n + 1), request_text=f"{n // 2}", situations={"u+S": some})
        for n, one in enumerate(examples)
    ]
    held = [replace(examples[0], id="held", request=(0,), request_text="held out")]
    reading = plan_situated_reading(
        start(words=words), examples, held, RankerRecipe(), CPU, random.Random(0), lambda _: None
    )
    for one in examples:
        assert one.request_text not in told[str(one.request)]
        assert len(told[str(one.request)]) >= 2
    assert told["(0,)"] == {one.request_text for one in examples}, "the last chooser has seen all"
    assert reading.inputs == ("u", "u+S", "u+S")
    assert reading.measured["chooser_auc"]["u+S"] == 0.5, "equal odds, and a statement nobody said anything of"
    assert list(reading.read(examples[0], 0, "u+S")) == [(0,), (1,), (1,)]
    assert list(reading.read(examples[0], 0, "u")) == []


def check(told: str, train: Sequence[Question], valid: Sequence[Question], target: Path, **changed: Any) -> None:
    from rejoinder_lab.training.ranker.trainer import train_ranker

    with pytest.raises(InputError, match=told):
        train_ranker(train, valid, target, RankerRecipe(**changed), {}, None, "cpu", lambda _: None)
    assert not target.exists()


def test_what_cannot_be_trained_on_is_told_before_anything_is_written(tmp_path: Path) -> None:
    train, valid, bare = tiny_rankers.questions(0, 4), tiny_rankers.held_out(), tiny_rankers.questions(0, 4, False)
    target = tmp_path / "new"
    check("question q1 occurs twice", train, train[1:2], target)
    check("question q0 occurs twice", train + train, valid, target, kind="cross")
    check(
        "question q0: its statements are not marked as relevant or not", bare, valid, target, kind="cross", input="u+S1"
    )
    check("no expanded situation with 5 distractors", train, valid, target, kind="cross", input="5")
    check("train on these too", train[:1], valid, target)


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    cards = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        told = tiny_rankers.trained(tmp_path / name, seed=seed, few=3, chooser_layers=1)
        assert set(told["held_out_ndcg3"]) == {"u", "u+S1", "u+S", "15"}
        cards.append(card.read_ranker_card(tmp_path / name))
    assert cards[0].files == cards[1].files
    assert cards[0].digest() == cards[1].digest()
    assert cards[0].files["reader.onnx"] != cards[2].files["reader.onnx"]
    assert cards[0].about["measured"]["questions"] == 2, "the third has but references of others"
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted([*cards[0].files, "ranker.json"])


def test_questions_without_statements_or_flags_train_a_situated_ranker_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rejoinder.models.ranker.model import open_ranker

    silent = tiny_rankers.questions(flags=False)
    bare = [replace(one, situation=(), meta={}) if n % 2 else one for n, one in enumerate(silent)]
    monkeypatch.setattr(tiny_rankers, "questions", lambda first=0, last=12: bare[first:last])
    monkeypatch.setattr(tiny_rankers, "held_out", lambda: [replace(bare[9], id="x"), replace(bare[10], id="y")])
    told = tiny_rankers.trained(tmp_path / "new", few=4, chooser_layers=1)
    assert set(told["held_out_ndcg3"]) == {"u", "u+S"}
    assert math.isnan(told["chooser_auc"]["u+S"]), "nobody said what matters"
    found = open_ranker(tmp_path / "new").rank(bare)
    assert not any(math.isnan(score) for one in found for score in one.scores)
    assert [len(one.used[0]) for one in found[:2]] == [3, 0]


def test_a_reader_with_fewer_layers_and_what_cannot_be_read_so() -> None:
    whole = open_ranker_start(RankerRecipe()).reader.trunk
    few = open_ranker_start(RankerRecipe(layers=2)).reader.trunk
    assert (len(whole.encoder.layer), len(few.encoder.layer), few.config.num_hidden_layers) == (12, 2, 2)
    assert torch.equal(few.encoder.layer[1].output.dense.weight, whole.encoder.layer[1].output.dense.weight)
    with pytest.raises(InputError, match="has 12 layers; choose 1 to 12 of them, not 13"):
        open_ranker_start(RankerRecipe(layers=13))
    with pytest.raises(InputError, match="only the embedded encoder can be read with fewer layers, not hf:mpnet"):
        open_ranker_start(RankerRecipe(encoder="hf:mpnet", layers=2))
