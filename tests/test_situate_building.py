"""Situated sets as a whole: questions, their order, their card, and seeds of which none can be made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from situated_seeds import axes, seeds, spread

from rejoinder.data.collection import read_files
from rejoinder.data.inputs.seeds import extract_seeds
from rejoinder.data.questions import limit_situation
from rejoinder.data.writer import write
from rejoinder.errors import InputError
from rejoinder.selection.card import write_test_set_card
from rejoinder.situation.build import situate
from rejoinder.situation.card import read_situation_card, render_situation_card
from rejoinder.situation.contradictions import ContradictionKeywords
from rejoinder.situation.settings import SituationSettings
from rejoinder.types import Statement


def test_a_question_has_one_reference_distractors_and_twelve_statements(tmp_path: Path) -> None:
    given = seeds(16, "yes")
    made = situate(given, encode=spread())
    assert [question.id for question in made.questions] == [seed.id for seed in given]
    for seed, question in zip(given, made.questions, strict=True):
        sources = sorted(str(one.source) for one in question.candidates)
        assert sources == ["distractor", "distractor", "reference"]
        assert next(one for one in question.candidates if one.source == "reference").text == seed.reply
        assert {one.grade for one in question.candidates} == {None}
        assert len(question.situation) == 12
        assert {one.text for one in question.situation if one.relevant} == {one.text for one in seed.statements}
        assert question.context[0].text == seed.request
        assert (question.meta["goal"], question.meta["polarity"], question.meta["has_bad"]) == (seed.goal, "yes", None)
    write(made.questions, tmp_path / "set.jsonl")
    assert tuple(read_files([tmp_path / "set.jsonl"]).questions.values()) == made.questions


def test_distractors_bring_their_statements_along() -> None:
    given = seeds(16, "yes")
    by_id = {seed.id: seed for seed in given}
    made = situate(given, encode=axes)
    for question in made.questions:
        told = {one.text for one in question.situation}
        for one in question.candidates:
            assert {statement.text for statement in by_id[str(one.id)].statements} <= told


def test_longer_situations_are_nested_and_hold_that_many_distractors() -> None:
    made = situate(seeds(16, "yes"), encode=spread())
    for n in ("5", "10", "15"):
        for question in limit_situation(made.questions, n):
            assert sum(not one.relevant for one in question.situation) == int(n)
            assert sum(bool(one.relevant) for one in question.situation) == 2
    for question in made.questions:
        places = question.meta["distractors"]
        assert places["5"] == places["10"][:5] == places["15"][:5]


def test_what_there_is_too_little_of_is_left_out_of_the_longer_situations() -> None:
    made = situate(seeds(4, "yes"), encode=axes)  # eight statements, two of them relevant
    assert all(list(question.meta["distractors"]) == ["5"] for question in made.questions)
    assert made.card["counts"]["questions with fewer statements"] == 4


def test_the_same_seed_gives_the_same_set_and_another_another_order() -> None:
    given = seeds(16, "yes")
    once, twice, other = (situate(given, SituationSettings(seed=n), encode=spread()) for n in (0, 0, 1))
    assert once == twice
    assert once.card == twice.card
    assert once.questions != other.questions
    places = [[one.source for one in question.candidates].index("reference") for question in once.questions]
    assert len(set(places)) > 1


def test_seeds_without_a_distractor_are_left_out_and_counted() -> None:
    given = [*seeds(6, "yes"), replace(seeds(7)[6], polarity="no")]
    made = situate(given, encode=axes)
    assert len(made.questions) == 6
    assert made.card["counts"]["seeds without a distractor, left out"] == 1
    two = situate(given[:2], encode=axes)
    assert [len(question.candidates) for question in two.questions] == [2, 2]
    assert two.card["counts"]["questions with fewer candidates"] == 2


def test_seeds_of_which_no_set_can_be_made_are_an_error() -> None:
    with pytest.raises(InputError, match="there is only one seed; distractors are replies of other seeds"):
        situate(seeds(1), encode=axes)
    with pytest.raises(InputError, match="there are no seeds"):
        situate([], encode=axes)
    same = [replace(seeds(1)[0], id=str(n)) for n in range(4)]
    with pytest.raises(InputError, match="none of the 4 seeds has a distractor"):
        situate(same, encode=axes)
    with pytest.raises(InputError, match="two seeds have the id 's0'"):
        situate([*seeds(2), *seeds(1)], encode=axes)
    with pytest.raises(InputError, match="seed s0: its request, goal or reply is empty"):
        situate([replace(seeds(1)[0], goal=" "), *seeds(3)[1:]], encode=axes)


def test_an_unknown_category_is_named() -> None:
    given = [replace(seeds(1)[0], statements=(Statement("a", "mood"),)), *seeds(4)[1:]]
    with pytest.raises(InputError, match="seed s0: no category is called 'mood'"):
        situate(given, encode=axes)
    given[0] = replace(given[0], statements=(Statement("a"),))
    with pytest.raises(InputError, match="a statement has no category"):
        situate(given, encode=axes)


def test_seeds_without_statements_give_questions_without_relevant_ones() -> None:
    bare = [replace(seed, statements=()) for seed in seeds(6, "yes")]
    made = situate(bare, encode=axes)
    assert all(question.situation == () for question in made.questions)
    assert made.card["counts"]["questions without relevant statements"] == 6
    mixed = situate([*bare[:3], *seeds(6, "yes")[3:]], encode=axes)
    assert [sum(bool(one.relevant) for one in question.situation) for question in mixed.questions] == [0] * 3 + [2] * 3


def test_a_statement_of_5000_words_is_kept_whole() -> None:
    long = Statement("word " * 5_000 + "end.", "environment", True)
    given = [replace(seeds(1, "yes")[0], statements=(long,)), *seeds(6, "yes")[1:]]
    made = situate(given, encode=axes)
    assert long in made.questions[0].situation


def test_a_set_can_be_taken_apart_and_built_again() -> None:
    given = seeds(12, "yes")
    made = situate(given, encode=axes)
    again = [seed for question in made.questions for seed in extract_seeds(question, "here")]
    assert [(seed.id, seed.reply, set(seed.statements)) for seed in again] == [
        (seed.id, seed.reply, set(seed.statements)) for seed in given
    ]


def test_keywords_keep_statements_out() -> None:
    made = situate(seeds(12, "yes"), keywords=ContradictionKeywords(("nearby",)), encode=axes)
    added = [one for question in made.questions for one in question.situation if not one.relevant]
    assert added
    assert all("nearby" not in one.text for one in added)
    assert made.card["counts"]["statements that keywords rule out"] == 12


def test_the_card_says_what_was_done_and_comes_back(tmp_path: Path) -> None:
    made = situate(seeds(16, "yes"), encode=spread(), inputs=[{"name": "x", "licence": "none", "sha256": "0" * 64}])
    page = render_situation_card(made.card, "set.jsonl")
    assert "**not graded yet**" in page
    assert "Adversarial filtering" in page
    assert made.card["encoder"] == "vectors that were given"
    assert made.card["counts"]["distractors"] == 32
    write_test_set_card(made.card, tmp_path / "set.jsonl", render_situation_card)
    assert read_situation_card(tmp_path / "set.jsonl") == made.card
    (tmp_path / "set.card.json").write_text("{}")
    with pytest.raises(InputError, match=r"set\.card\.json: is not the card of a situated set"):
        read_situation_card(tmp_path / "set.jsonl")
    assert read_situation_card(tmp_path / "other.jsonl") == {}


@pytest.mark.parametrize(
    "wrong", [{"candidates": 1}, {"folds": 1}, {"overlap": 0.0}, {"similarity": 1.5}, {"penalty": 0.0}]
)
def test_settings_that_mean_nothing_are_an_error(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="must be"):
        SituationSettings(**wrong)  # type: ignore[arg-type]


def test_more_candidates_and_fewer_statements_can_be_had() -> None:
    made = situate(seeds(16, "yes"), SituationSettings(candidates=6, statements=4), encode=axes)
    assert {len(question.candidates) for question in made.questions} == {6}
    assert {len(question.situation) for question in made.questions} == {4}
    assert np.isfinite([one["right"] for one in made.card["rounds"]]).all()
