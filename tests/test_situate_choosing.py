"""Statement selection of SUGAR's Appendix B.2 on cases computed by hand: equation 2, keywords, the two stages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from situated_seeds import known

from rejoinder.data.inputs.seeds import Seed
from rejoinder.errors import InputError
from rejoinder.situation.contradictions import ContradictionKeywords, find_contradictions, read_contradiction_keywords
from rejoinder.situation.overlap import OverlapIndex
from rejoinder.situation.settings import SituationSettings
from rejoinder.situation.statements import (
    GrowingSituation,
    StatementPool,
    choose_further_statements,
    choose_situation_statements,
    collect_statements,
)
from rejoinder.types import Statement

REPLY = "Sure, shall I bring cold water?"
REPLIES = np.array([[1.0, 0.0, 0.0]])


def _shelf(
    statements: dict[tuple[str, str], list[float]], keywords: ContradictionKeywords | None = None
) -> StatementPool:
    told = tuple(Statement(text, category, True) for text, category in statements)
    vectors = {text: vector for (text, _), vector in statements.items()}
    return collect_statements(
        [Seed("1", "a", "b", "c", told)], SituationSettings(), keywords or ContradictionKeywords(), known(vectors)
    )


def test_equation_2_is_computed_by_hand() -> None:
    shelf = _shelf(
        {
            ("alpha", "possession"): [0.6, 0.8, 0.0],  # taken in
            ("beta", "possession"): [0.8, 0.6, 0.0],
            ("gamma", "environment"): [1.0, 0.0, 0.0],
            ("delta", "environment"): [-0.6, 0.0, 0.8],
        }
    )
    empty = GrowingSituation(shelf, [REPLY], REPLIES, [], 0.75)
    assert empty.worth() == pytest.approx([0.6, 0.8, 1.0, -0.6])  # a maximum over nothing is 0
    one = GrowingSituation(shelf, [REPLY], REPLIES, [0], 0.75)
    # beta: .8 - (.48 + .48); gamma: 1 - .6 / 2; delta: -.6 - (-.36) / 2
    assert one.worth() == pytest.approx([0.6 - 1.0, 0.8 - 0.96, 1.0 - 0.3, -0.6 + 0.18])
    two = GrowingSituation(shelf, [REPLY], np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), [0, 2], 0.75)
    # beta: .8 - .96 - .8 / 2; delta: max(-.6, .8) + .6 + .36 / 2
    assert two.worth()[[1, 3]] == pytest.approx([0.8 - 0.96 - 0.4, 0.8 + 0.6 + 0.18])


def test_categories_take_turns_and_the_first_stage_stops_below_0() -> None:
    shelf = _shelf(
        {
            ("near one", "possession"): [0.9, 0.0, np.sqrt(0.19)],
            ("near two", "possession"): [0.8, 0.6, 0.0],
            ("near three", "environment"): [0.7, 0.0, -np.sqrt(0.51)],
            ("near four", "environment"): [0.6, 0.0, -0.8],
            ("far", "possession"): [-0.2, 0.0, np.sqrt(0.96)],
        }
    )
    near = np.array([True, True, True, True, False])
    found = choose_situation_statements(GrowingSituation(shelf, [REPLY], REPLIES, [], 0.75), [], near, 12)
    # possession: near one (.9). environment: near three, .7 - (.63 - .436 * .714) / 2 = .54, before near four, .50.
    # possession again: near two is .8 - .72 - .56 / 2 = -.2; environment again: near four is .6 - .99 - .19 / 2. Stop.
    assert found.near == (0, 2)
    # Then from all, without a bound, still by turns: far is -.2 - (-.18 + .436 * .980) - (-.14 - .714 * .980) / 2 =
    # -.03, above near two; then near four; then near two.
    assert found.filled == (4, 3, 1)


def test_no_more_than_l_and_what_is_relevant_stays_whole() -> None:
    shelf = _shelf({(f"thing number{i}", "possession"): [1.0, 0.0, 0.0] for i in range(6)})
    everything = np.ones(6, bool)
    assert (
        len(
            choose_situation_statements(
                GrowingSituation(shelf, [REPLY], REPLIES, [0, 1], 0.75), [0, 1], everything, 4
            ).added
        )
        == 2
    )
    whole = choose_situation_statements(
        GrowingSituation(shelf, [REPLY], REPLIES, [0, 1, 2], 0.75), [0, 1, 2], everything, 2
    )
    assert (whole.relevant, whole.added) == ((0, 1, 2), ())


def test_statements_that_overlap_a_candidate_are_dropped() -> None:
    shelf = _shelf(
        {("There is cold water.", "possession"): [1.0, 0.0, 0.0], ("A cat sits here.", "possession"): [0.1, 0.0, 0.0]}
    )
    found = choose_situation_statements(GrowingSituation(shelf, [REPLY], REPLIES, [], 0.75), [], np.ones(2, bool), 12)
    assert found.added == (1,)  # {cold, water} are both in the reply


@pytest.mark.parametrize("category", ["time", "date", "behavior", "location"])
def test_one_of_time_date_behavior_and_location_is_enough(category: str) -> None:
    shelf = _shelf({(f"fact number{i}", category): [1.0, 0.0, 0.0] for i in range(3)})
    everything = np.ones(3, bool)
    assert choose_situation_statements(
        GrowingSituation(shelf, [REPLY], REPLIES, [], 0.75), [], everything, 12
    ).added == (0,)
    assert (
        choose_situation_statements(GrowingSituation(shelf, [REPLY], REPLIES, [2], 0.75), [2], everything, 12).added
        == ()
    )


def test_the_same_text_is_not_said_twice_whatever_its_category() -> None:
    shelf = _shelf({("It is warm.", "environment"): [1.0, 0.0, 0.0], ("it is  warm.", "possession"): [1.0, 0.0, 0.0]})
    assert choose_situation_statements(
        GrowingSituation(shelf, [REPLY], REPLIES, [], 0.75), [], np.ones(2, bool), 12
    ).added == (1,)


KEYWORDS = ContradictionKeywords(
    ("midnight",), ("not", "no"), ((("rain", "raining"), ("sunny",)), (("hot",), ("cold",)))
)


def _contradicting(texts: list[str]) -> list[list[int]]:
    found = find_contradictions(texts, KEYWORDS, OverlapIndex(texts), 0.75)
    return [np.flatnonzero(found.find(n)).tolist() for n in range(len(texts))]


def test_words_of_different_lists_exclude_each_other() -> None:
    texts = ["It is raining.", "It is SUNNY.", "The rain is cold.", "A hot, sunny day.", "A train came."]
    assert _contradicting(texts) == [[1, 3], [0, 2], [1, 3], [0, 2], []]


def test_a_denial_excludes_what_it_denies() -> None:
    texts = ["[user] has a red car.", "[user] does not have a red car.", "There is no cat."]
    assert _contradicting(texts) == [[1], [0], []]


def test_discarded_statements_are_never_added_but_may_be_relevant() -> None:
    shelf = _shelf(
        {("It is midnight.", "time"): [1.0, 0.0, 0.0], ("A cat sits.", "environment"): [1.0, 0.0, 0.0]}, KEYWORDS
    )
    assert choose_situation_statements(
        GrowingSituation(shelf, [REPLY], REPLIES, [], 0.75), [], np.ones(2, bool), 12
    ).added == (1,)
    assert choose_situation_statements(
        GrowingSituation(shelf, [REPLY], REPLIES, [0], 0.75), [0], np.ones(2, bool), 12
    ).relevant == (0,)


def test_further_statements_are_drawn_until_nothing_may_be_added() -> None:
    shelf = _shelf({(f"fact number{i}", "time" if i < 3 else "possession"): [1.0, 0.0, 0.0] for i in range(6)})
    drawn = choose_further_statements(GrowingSituation(shelf, [REPLY], REPLIES, [], 0.75), 15, np.random.default_rng(0))
    assert len(drawn) == len(set(drawn)) == 4  # three of possession, one of time
    assert (
        len(choose_further_statements(GrowingSituation(shelf, [REPLY], REPLIES, [], 0.75), 2, np.random.default_rng(0)))
        == 2
    )


def test_the_shipped_keywords_are_read() -> None:
    found = read_contradiction_keywords()
    assert "midnight" in found.discard
    assert "injured" in found.discard
    assert len(found.groups) > 5
    assert all(len(group) > 1 for group in found.groups)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("discard = 3", "expected a list of words"),
        ("drop = []", "unknown key 'drop'; known: discard, exclude, negations"),
        ("[[exclude]]\nname = 'x'", "must have 'words'"),
        ("[[exclude]]\nwords = [['a'], 'b']", "expected a list of words"),
        ("exclude = 1", "must have 'words'"),
        ("discard = [", "is not valid TOML"),
    ],
)
def test_a_broken_file_of_keywords_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "words.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=f"words.toml: .*{message}"):
        read_contradiction_keywords(path)
    with pytest.raises(InputError, match=r"nowhere\.toml: cannot be read"):
        read_contradiction_keywords(tmp_path / "nowhere.toml")
