"""Questions out of pools: who decides, which three stand in a question, and when there is a second one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rejoinder.data.questions import find_right_candidates
from rejoinder.errors import InputError
from rejoinder.selection.acceptability import Acceptability, ErrorRates
from rejoinder.selection.assembly import QuestionAssembler, draw_candidates
from rejoinder.selection.build import PoolSet, make_questions
from rejoinder.selection.settings import SelectionSettings
from rejoinder.stats.interval import Interval
from rejoinder.types import Candidate, Question, Turn

NO = (1, 1, 1, 2, 2)  # five scores of what cannot be a reply
YES = (5, 4, 4, 3, 1)
BROKEN = (0, 0, 0, 1, 2)
FINE = (5, 5, 4, 4, 2)  # of a true reply
POOR = (5, 5, 3, 3, 2)
CONTEXT = (Turn("Where is the cat?", "A"), Turn("I do not know.", "B"), Turn("Look again.", "A"))
NOWHERE = Interval(0.8, 0.7, 0.9, 10, 0, 5)
HALF = Acceptability(
    "says", "s", 4.0, 0.0, 0.0, 0.5, *[ErrorRates(5, 0, NOWHERE, NOWHERE, {"adversarial": NOWHERE})] * 2
)


def pool(scores: Sequence[Sequence[int]], truth: Sequence[int] = FINE, name: str = "p") -> Question:
    """A pool with a candidate for each list of scores."""
    sources = ("bm25", "sif")
    metas = [{"ratings": list(given), "place": n} for n, given in enumerate(scores, start=1)]
    found = [
        Candidate(f"Candidate number {n} sits alone.", f"c{n}", None, sources[n % 2], (), meta)
        for n, meta in enumerate(metas, start=1)
    ]
    true = Candidate("Under the stairs.", "c0", "true", "human", (), {"ratings": list(truth)})
    return Question(name, CONTEXT, (*found[:2], true, *found[2:]), dialogue=name)


def by_people(**settings: object) -> QuestionAssembler:
    return QuestionAssembler(SelectionSettings(judge=None, **settings), by_people=True)  # type: ignore[arg-type]


def test_three_false_candidates_and_the_truth_make_a_question() -> None:
    made = by_people().questions(pool([NO, NO, YES, NO, BROKEN]))
    assert len(made) == 1
    assert made[0].id == "p"
    assert made[0].context == CONTEXT
    grades = {one.text: one.grade for one in made[0].candidates}
    assert len(grades) == 4
    assert grades["Under the stairs."] == "true"
    assert sorted(map(str, grades.values())) == ["false", "false", "false", "true"]
    assert not {"Candidate number 3 sits alone.", "Candidate number 5 sits alone."} & grades.keys()
    assert made[0].candidates[min(find_right_candidates(made[0]))].text == "Under the stairs."


@pytest.mark.parametrize(
    ("scores", "truth", "reason"),
    [
        ([NO, NO, YES], FINE, "pools with too few false candidates"),
        ([NO, NO, BROKEN], FINE, "pools with too few false candidates"),
        ([NO, NO, (1, 1)], FINE, "pools with too few false candidates"),  # two people decide nothing
        ([NO, NO, NO], POOR, "pools with a truth that is doubtful"),
        ([NO, NO, NO], (), "pools with a truth that is unjudged"),
    ],
)
def test_a_pool_that_gives_no_question_is_counted_with_its_reason(
    scores: list[Sequence[int]], truth: Sequence[int], reason: str
) -> None:
    assembling = by_people()
    assert assembling.questions(pool(scores, truth)) == []
    assert assembling.counts[reason] == 1
    assert assembling.counts["questions"] == 0


def test_six_usable_ones_and_an_accepted_one_make_a_second_question() -> None:
    assembling = by_people()
    first, second = assembling.questions(pool([NO] * 6 + [YES, (5, 5, 5, 5, 5), YES]))
    assert (first.id, second.id) == ("p", "p-2")
    assert second.context == first.context
    assert {one.text for one in first.candidates} & {one.text for one in second.candidates} == set()
    truth = second.candidates[min(find_right_candidates(second))]
    assert truth.text == "Candidate number 8 sits alone."  # what people accepted most clearly
    assert truth.source == "bm25"
    assert assembling.counts["second questions"] == 1


@pytest.mark.parametrize(
    ("scores", "second"),
    [
        ([NO] * 5 + [YES], "people"),  # five are not six
        ([NO] * 6, "people"),  # nothing was accepted
        ([NO] * 6 + [BROKEN], "people"),  # nor is what is ungrammatical
        ([NO] * 6 + [YES], "none"),
        ([NO] * 6 + [YES], "model"),  # people decided, and the model was asked for
    ],
)
def test_otherwise_there_is_one_question(scores: list[Sequence[int]], second: str) -> None:
    assert len(by_people(second=second).questions(pool(scores))) == 1


def judged(probabilities: Sequence[float | None]) -> Question:
    found = [
        Candidate(f"Thing {n} of many here.", f"c{n}", None, "bm25", (), {} if p is None else {"acceptable": p})
        for n, p in enumerate(probabilities, start=1)
    ]
    return Question("q", CONTEXT, (Candidate("Under the stairs.", "c0", "true", "human"), *found))


def test_the_model_decides_where_no_people_did_and_says_nothing_of_what_it_has_no_score_for() -> None:
    assembling = QuestionAssembler(SelectionSettings(), by_people=False, acceptability=HALF)  # accepts from .5 on
    made = assembling.questions(judged([0.2, 0.5, 0.49, 0.9, None, 0.1]))
    assert {one.id for one in made[0].candidates} == {"c0", "c1", "c3", "c6"}
    assert assembling.counts["candidates acceptable"] == 2
    assert assembling.counts["candidates unjudged"] == 1
    assert assembling.counts["candidates false"] == 3


def test_the_model_decides_on_a_second_truth_only_where_that_is_asked_for() -> None:
    found = judged([0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.7, 0.9])
    assert len(QuestionAssembler(SelectionSettings(), by_people=False, acceptability=HALF).questions(found)) == 1
    made = QuestionAssembler(SelectionSettings(second="model"), by_people=False, acceptability=HALF).questions(found)
    assert len(made) == 2
    assert made[1].candidates[min(find_right_candidates(made[1]))].id == "c8"


def test_where_nobody_judges_everything_is_usable() -> None:
    made = QuestionAssembler(SelectionSettings(judge=None), by_people=False).questions(judged([0.9, None, 0.8]))
    assert {one.id for one in made[0].candidates} == {"c0", "c1", "c2", "c3"}


def test_a_candidate_that_says_the_same_as_the_truth_never_stands_beside_it() -> None:
    found = [Candidate(text, f"c{n}") for n, text in enumerate(["UNDER the stairs!", "a b", "c d", "e f"], start=1)]
    given = Question("q", CONTEXT, (*found, Candidate("Under the stairs.", "t", "true", "human")))
    made = QuestionAssembler(SelectionSettings(judge=None), by_people=False).questions(given)
    assert {one.id for one in made[0].candidates} == {"t", "c2", "c3", "c4"}


def test_another_seed_picks_others_in_another_order_and_the_same_seed_the_same() -> None:
    found = pool([NO] * 9)
    sets = [by_people(seed=seed).questions(found)[0] for seed in range(12)]
    assert by_people(seed=3).questions(found)[0] == sets[3]
    assert len({frozenset(one.id for one in made.candidates) for made in sets}) > 3
    assert len({min(find_right_candidates(made)) for made in sets}) > 1


def test_the_sources_are_mixed_and_the_texts_unlike_each_other() -> None:
    texts = ["the red house stands", "the red house stood", "the red house is", "a blue boat", "my old car"]
    found = [Candidate(text, str(n), source="bm25" if n < 3 else "sif") for n, text in enumerate(texts)]
    for seed in range(8):
        chosen = draw_candidates(found, 3, seed)
        assert {one.source for one in chosen} == {"bm25", "sif"}
        assert len({one.id for one in chosen}) == 3
    alone = [Candidate(text, str(n), source="bm25") for n, text in enumerate(texts)]
    for seed in range(8):
        assert (
            len({"0", "1", "2"} & {one.id for one in draw_candidates(alone, 3, seed)}) == 1
        )  # one red house is enough


def test_questions_whose_truth_is_always_the_shortest_are_left_out_once_there_are_too_many() -> None:
    texts = [f"a much longer candidate number {n}" for n in range(4)]
    pools = [
        Question(
            f"q{number}",
            (Turn("well"),),
            (
                Candidate("yes", id="t", grade="true"),
                *(Candidate(text, id=f"c{n}") for n, text in enumerate(texts)),
            ),
        )
        for number in range(40)
    ]
    assembler = QuestionAssembler(SelectionSettings(judge=None), by_people=False)
    made = [question for pool in pools for question in assembler.questions(pool)]
    assert 6 <= len(made) < 12
    assert assembler.counts["pools that would let length give the truth away"] == 40 - len(made)
    loose = QuestionAssembler(SelectionSettings(judge=None, alike=False), by_people=False)
    assert sum(len(loose.questions(pool)) for pool in pools) == 40


def test_a_set_of_pools_is_in_their_order_and_no_larger_than_wanted() -> None:
    pools = PoolSet(tuple(pool([NO] * 4, name=f"p{n}") for n in (3, 1, 2)))
    built = make_questions(pools, SelectionSettings(judge=None))
    assert [one.id for one in built.questions] == ["p3", "p1", "p2"]
    assert built.card["judged by"] == "people"
    assert len(make_questions(pools, SelectionSettings(judge=None, questions=2)).questions) == 2


def test_pools_that_give_nothing_are_an_error_that_says_why() -> None:
    expected = r"no question can be made from 1 pool .*1 pools with too few false candidates"
    with pytest.raises(InputError, match=expected):
        make_questions(PoolSet((pool([NO, NO, YES]),)), SelectionSettings(judge=None))
    ungraded = Question("q", CONTEXT, (Candidate("a", "1"), Candidate("b", "2")))
    with pytest.raises(InputError, match="question q: is not a pool"):
        make_questions(PoolSet((ungraded,)), SelectionSettings(judge=None))
