"""Mining requests and offers from common sense: triples and dialogues by hand."""

from __future__ import annotations

import random
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from rejoinder_lab.training.ranker.mining import GoalPursuit, mine_pursuits

from rejoinder.cli import program
from rejoinder.data.goals import count_requested_phrases, mine_requests, write_requests
from rejoinder.data.writer import write
from rejoinder.errors import InputError
from rejoinder.situation.projects import read_situation_requests
from rejoinder.types import Dialogue, Turn

TRIPLES = """\
PersonX bakes a cake\txNeed\tto buy flour
PersonX bakes a cake\txNeed\tto heat the oven
PersonX bakes a cake\txNeed\tto be hungry
PersonX bakes a cake\txNeed\tnone
PersonX bakes a cake\txWant\tto open the window
PersonX calls PersonY\txIntent\tto make a friend
PersonX writes a letter\txIntent\tto make a friend
PersonX writes ___ down\txIntent\tto make a friend
"""
CONCEPTS = """\
HasPrerequisite\tgo on a trip\tbuy a ticket\t1
HasPrerequisite\tgo on a trip\tpack a bag\t1
HasPrerequisite\tgo on a trip\tlearn to fly\t0
MotivatedByGoal\tpack a bag\tleave home\t1
MotivatedByGoal\tclean the house\tleave home\t1
IsA\tticket\tpaper\t1
"""


@pytest.fixture
def knowledge(tmp_path: Path) -> list[Path]:
    (tmp_path / "atomic.tsv").write_text(TRIPLES)
    (tmp_path / "conceptnet.txt").write_text(CONCEPTS)
    return [tmp_path / "atomic.tsv", tmp_path / "conceptnet.txt"]


def talk(*texts: str) -> Dialogue:
    return Dialogue("d", tuple(Turn(text) for text in texts))


def times(n: int, text: str) -> list[Dialogue]:
    return [talk(text)] * n


def test_what_a_goal_needs_is_read_backwards(knowledge: list[Path]) -> None:
    said = times(5, "Could you buy the flour?") + times(5, "Please buy me a ticket, now!")
    assert mine_pursuits(knowledge, said) == [
        GoalPursuit("bake a cake", ("buy flour",), ("buy flour", "heat the oven")),
        GoalPursuit("go on a trip", ("buy a ticket",), ("buy a ticket", "pack a bag")),
    ]


def test_what_somebody_does_for_a_goal_helps_the_goal(knowledge: list[Path]) -> None:
    said = times(5, "I want to call someone.") + times(5, "Let us pack my bag")
    assert mine_pursuits(knowledge, said) == [
        GoalPursuit("go on a trip", ("pack a bag",), ("buy a ticket", "pack a bag")),
        GoalPursuit("leave home", ("pack a bag",), ("clean the house", "pack a bag")),
        GoalPursuit("make a friend", ("call someone",), ("call someone", "write a letter")),
    ]


def test_a_phrase_counts_from_five_times_on(knowledge: list[Path]) -> None:
    said = times(5, "Can you heat the oven?") + times(4, "Please buy a ticket.")
    assert [one.goal for one in mine_pursuits(knowledge, said)] == ["bake a cake"]
    more = [one.goal for one in mine_pursuits(knowledge, [*said, talk("well", "may i buy the ticket")])]
    assert more == ["bake a cake", "go on a trip"]


def test_nothing_that_is_asked_for_is_an_error(knowledge: list[Path], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing could be mined"):
        mine_pursuits(knowledge, times(4, "Please buy a ticket."))
    with pytest.raises(InputError, match="nothing could be mined"):
        mine_pursuits(knowledge, times(9, "I bought a ticket, buy a ticket"))
    (tmp_path / "alone.tsv").write_text("PersonX eats\txNeed\tto buy bread\n")
    with pytest.raises(InputError, match="nothing could be mined"):
        mine_pursuits([tmp_path / "alone.tsv"], times(9, "please buy bread"))


def test_requests_are_counted_by_their_words_that_are_not_small() -> None:
    wanted = {"open", "open window", "call", "window"}
    said = [
        talk("Please open the window.", "Could you please open my window and call him?"),
        talk("I'd like to call her. Let's open it up!", "open the window"),
    ]
    assert count_requested_phrases(said, wanted) == {
        "open": {"please": 1, "could you": 1, "let's": 1},
        "open window": {"please": 1, "could you": 1},
        "call": {"i'd like to": 1},
        "window": {},
    }


def test_requests_are_worded_as_most_people_ask_and_come_with_their_goals(
    knowledge: list[Path], tmp_path: Path
) -> None:
    said = times(3, "Could you buy the flour?") + times(4, "Please buy some flour!") + times(5, "Can I pack a bag?")
    mined = mine_requests(knowledge, said)
    assert mined == [
        ("Please buy flour.", "to bake a cake", 7),
        ("Can I pack a bag?", "to go on a trip", 5),
        ("Can I pack a bag?", "to leave home", 5),
    ]
    assert [one.times for one in mine_requests(knowledge, said, 6)] == [7]
    with pytest.raises(InputError, match="occurs in 8 requests of the corpus"):
        mine_requests(knowledge, said, 8)
    assert write_requests(mined, tmp_path / "requests.jsonl") == 3
    (first, *_) = read_situation_requests(tmp_path / "requests.jsonl")
    assert (first.id, first.context[0].text, first.meta["goal"]) == ("mined-1", "Please buy flour.", "to bake a cake")


def test_phrases_that_differ_in_small_words_are_one_request(tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("HasPrerequisite\teat\tbuy bread\nHasPrerequisite\teat\tbuy the bread\n")
    assert len(mine_requests([tmp_path / "c.txt"], times(5, "please buy bread"))) == 1


def test_the_command_mines_files_that_are_named(knowledge: list[Path], tmp_path: Path) -> None:
    write([Dialogue(f"d{n}", (Turn("Could you buy the flour?"),)) for n in range(5)], tmp_path / "talks.jsonl")
    output = tmp_path / "requests.jsonl"
    files = [*map(str, knowledge), "--corpus", str(tmp_path / "talks.jsonl"), "-o", str(output)]
    done = CliRunner().invoke(program, ["situate", "seeds", "--mine", *files])
    assert done.exit_code == 0, done.output
    assert "written: 1 requests with a goal" in done.stderr
    assert orjson.loads(output.read_bytes()) == {
        "id": "mined-1",
        "request": "Could you buy flour?",
        "goal": "to bake a cake",
        "times": 5,
    }
    project = CliRunner().invoke(
        program, ["situate", "project", "write", str(output), "-o", str(tmp_path / "write.toml")]
    )
    assert project.exit_code == 0, project.output
    assert CliRunner().invoke(program, ["situate", "seeds"]).exit_code == 2


def test_the_published_knowledge_is_mined_by_default(published: Path, tmp_path: Path) -> None:
    write(
        [Dialogue(f"d{n}", (Turn("Please open the window, will you buy food?"),)) for n in range(5)],
        tmp_path / "t.jsonl",
    )
    output = tmp_path / "requests.jsonl"
    arguments = ["situate", "seeds", "--mine", "--corpus", str(tmp_path / "t.jsonl"), "-o", str(output)]
    done = CliRunner().invoke(program, arguments)
    assert done.exit_code == 0, done.output
    lines = [orjson.loads(line) for line in output.read_bytes().splitlines()]
    requests = {line["request"] for line in lines}
    assert {"Please open window.", "Will you buy food?"} & requests
    assert all(line["goal"].startswith("to ") for line in lines)


def test_each_mined_question_has_one_offer_that_serves_the_goal() -> None:
    pytest.importorskip("torch", reason="the torch extra is not installed")
    from rejoinder_lab.training.ranker.mining import _make_question

    mined = [
        GoalPursuit("bake a cake", ("buy flour",), ("buy flour", "heat the oven")),
        GoalPursuit("travel", ("buy a ticket",), ("buy a ticket", "pack a bag")),
    ]
    drawn = random.Random(0)
    for _ in range(50):
        goal, asked, right, *wrong = _make_question(drawn, mined)
        cake = "flour" in asked
        assert goal in ("", f"The user wants to {'bake a cake' if cake else 'travel'}.")
        assert ("heat the oven" if cake else "pack a bag") in right, "what is asked for is not offered"
        assert len(wrong) == 5
        assert all(("ticket" in one or "bag" in one) if cake else ("flour" in one or "oven" in one) for one in wrong)


def test_pursuits_that_leave_no_wrong_offer_are_an_error_and_no_endless_search() -> None:
    torch = pytest.importorskip("torch", reason="the torch extra is not installed")
    from rejoinder_lab.training.ranker.mining import train_on_pursuits
    from rejoinder_lab.training.recipes import RankerRecipe

    mined = [GoalPursuit("bake", ("buy flour",), ("buy flour", "heat the oven"))]
    nothing: object = None
    with pytest.raises(InputError, match="none has a wrong offer"):
        train_on_pursuits(nothing, mined, RankerRecipe(mined=1), torch.device("cpu"), random.Random(0))  # type: ignore[arg-type]
