"""The ranker and the writer of statements that come with the package."""

from __future__ import annotations

import pytest

from rejoinder.models.ranker import card as cards
from rejoinder.models.ranker.model import open_ranker, shipped_ranker_folder
from rejoinder.models.weight_sets import WEIGHTS
from rejoinder.types import Candidate, Question, Statement, Turn

WAKE_ME = "Sure. Shall I set an alarm for tomorrow morning, too?"
MILK = "Sure. Shall I order milk and eggs, too?"
SITUATION = (
    "The user is in bed.",
    "It is 11 PM now.",
    "The user has a cat.",
    "There is a bicycle in the hall.",
    "The user has a meeting early tomorrow morning.",
    "The user likes jazz.",
    "It is sunny outside.",
    "The user has a lamp.",
    "There is a book on the shelf.",
    "The user has a car.",
)


def a_question(situation: tuple[str, ...]) -> Question:
    return Question(
        id="1",
        context=(Turn("Could you turn off the lights?"),),
        candidates=(Candidate(MILK), Candidate(WAKE_ME)),
        situation=tuple(Statement(text) for text in situation),
    )


def test_the_files_of_the_ranker_are_those_of_its_card() -> None:
    card = cards.read_ranker_card(shipped_ranker_folder())
    cards.check_ranker_files(shipped_ranker_folder(), card)
    assert card.kind == "situated"
    assert card.about["licence"] == "CC-BY-SA-4.0"
    assert (shipped_ranker_folder() / "README.md").is_file()


def test_the_offer_that_the_situation_asks_for_comes_first() -> None:
    [found] = open_ranker().rank([a_question(SITUATION)])
    assert found.scores[1] > found.scores[0]


def test_of_ten_statements_three_are_read_and_the_bicycle_is_not_among_them() -> None:
    [found] = open_ranker().rank([a_question(SITUATION)])
    assert [len(places) for places in found.used] == [3, 3]
    assert SITUATION.index("There is a bicycle in the hall.") not in found.used[1]


def test_without_a_situation_the_request_alone_is_read() -> None:
    [found] = open_ranker().rank([a_question(())])
    assert found.used == [(), ()]
    assert all(score == score for score in found.scores)


@pytest.mark.parametrize("folder", ["ranker", "statements"])
def test_a_card_names_base_data_and_licence(folder: str) -> None:
    told = (WEIGHTS / folder / "README.md").read_text(encoding="utf-8").lower()
    assert all(
        word in told for word in ("smollm2" if folder == "statements" else "aptness", "sugar", "licence", "cc by")
    )
