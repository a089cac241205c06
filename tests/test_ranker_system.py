"""A ranker among systems: the contract, odd questions, ``rejoinder select`` and ``rejoinder rank``."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
import tiny_rankers
from click.testing import CliRunner
from tiny_systems import QUESTIONS, shuffled

from rejoinder import cli
from rejoinder.data.writer import write
from rejoinder.errors import InputError
from rejoinder.systems import parse_system, system_signature
from rejoinder.systems.ranker import Ranker
from rejoinder.types import Candidate, Question, Statement, Turn

pytest.importorskip("torch", reason="the torch extra is not installed")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    found = {kind: tmp_path_factory.mktemp("rankers") / kind for kind in ("situated", "cross")}
    for kind, folder in found.items():
        tiny_rankers.written(folder, kind)
    return found


@pytest.fixture(params=["situated", "cross"])
def ranker(folders: dict[str, Path], request: pytest.FixtureRequest) -> Ranker:
    return Ranker(str(folders[request.param]))


def question(*statements: str, context: str = "Please open the window.", offers: tuple[str, ...] = ()) -> Question:
    candidates = tuple(Candidate(text) for text in offers or ("Sure, it is smoky.", "Sure, here is water."))
    said = (Turn(context),) if context else ()
    return Question("q", said, candidates, tuple(Statement(text) for text in statements))


def same(first: list[float], second: list[float]) -> bool:
    return first == pytest.approx(second, abs=1e-4, nan_ok=True)


def test_a_ranker_is_held_to_the_contract_of_systems(ranker: Ranker) -> None:
    assert parse_system(str(ranker)) == ranker
    assert system_signature(ranker).startswith("ranker|folder:")
    assert ranker.details()["ranker"] in system_signature(ranker)
    found = ranker.score(QUESTIONS)
    by_id = {one.id: scores for one, scores in zip(QUESTIONS, found, strict=True)}
    assert math.isnan(by_id["blank"][0]), "nothing can be said of a blank candidate"
    assert sum(math.isnan(score) for scores in found for score in scores) == 1
    assert by_id["twice"][0] == by_id["twice"][1], "what says the same is worth the same"
    turned, orders = shuffled(QUESTIONS)
    for before, after, order in zip(found, ranker.score(turned), orders, strict=True):
        assert same([before[k] for k in order], after)
    assert all(same(ranker.score([one])[0], scores) for one, scores in zip(QUESTIONS, found, strict=True))
    assert ranker.score([]) == []
    assert ranker.used([]) == []


def test_grades_sources_categories_and_flags_are_not_looked_at(ranker: Ranker) -> None:
    questions = tiny_rankers.questions(0, 4)
    hidden = [
        replace(
            one,
            candidates=tuple(Candidate(c.text) for c in one.candidates),
            situation=tuple(Statement(s.text, "a category of my own") for s in one.situation),
            meta={},
        )
        for one in questions
    ]
    assert ranker.score(hidden) == ranker.score(questions)
    assert ranker.used(hidden) == ranker.used(questions)


def test_the_situation_is_read(ranker: Ranker) -> None:
    with_it, without = ranker.score([question("The room is smoky."), question()])
    assert not same(with_it, without)
    assert ranker.used([question("The room is smoky."), question()]) == [[(0,), (0,)], [(), ()]]


def test_one_candidate_and_no_context_have_scores(ranker: Ranker) -> None:
    found = ranker.score([question("It rains.", offers=("Sure.",)), question("It rains.", context=""), question()])
    assert [len(scores) for scores in found] == [1, 2, 2]
    assert not any(math.isnan(score) for scores in found for score in scores)


def test_a_statement_of_5000_words_is_read_as_far_as_its_first_forty_tokens(ranker: Ranker) -> None:
    long, cut = question("It rains. " * 2500, "Smoke."), question("It rains. " * 20, "Smoke.")
    assert same(*ranker.score([long, cut]))
    assert ranker.used([long])[0] == [(0, 1), (0, 1)]  # type: ignore[index]
    assert not any(map(math.isnan, ranker.score([long])[0]))


def folder_kind(ranker: Ranker) -> str:
    return Path(str(ranker.folder)).name


def test_of_a_request_of_2000_words_the_last_tokens_are_read(ranker: Ranker) -> None:
    tail = " please open the window" * 40
    long, short = question("It rains.", context="hm " * 1840 + tail), question("It rains.", context=tail)
    assert same(*ranker.score([long, short]))


def test_a_candidate_of_2000_words_loses_its_end(ranker: Ranker) -> None:
    long, short = question(offers=("sure " * 2000,)), question(offers=("sure " * 64,))
    assert same(*ranker.score([long, short]))


def test_300_statements_are_chosen_from_or_read_as_far_as_there_is_room(ranker: Ranker) -> None:
    many = question(*(f"Thing number {n} lies in the house of [someone] next to a tree." for n in range(300)))
    (used,) = ranker.used([many]) or []
    if folder_kind(ranker) == "situated":
        assert all(len(places) == 3 for places in used)
        assert same(ranker.score([many])[0], ranker.score([many, *tiny_rankers.questions(0, 3)])[0])
        return
    read = len(used[0])
    assert used[0] == tuple(range(read))
    assert 20 < read < 60, "a row has 510 tokens"
    kept = replace(many, situation=many.situation[:read])
    assert same(ranker.score([many])[0], ranker.score([kept])[0]), "what is said to be read is what was read"


def test_blank_statements_are_not_read(ranker: Ranker) -> None:
    found = ranker.used([question(" ", "It rains.", "\u200b"), question(*[" "] * 12)])
    assert found == [[(1,), (1,)], [(), ()]]
    assert same(*ranker.score([question(" ", "It rains."), question("It rains.")]))


def test_every_script_and_every_bracket_has_a_score(ranker: Ranker) -> None:
    statements = [
        "雨が降っている。",
        "الجو حار",
        "Идёт дождь",
        "🌧️",
        "[user]",
        "[someone] [",
        "]] [[",
        "[SEP] [CLS] [PAD]",
    ]
    found = ranker.score([question(*statements, offers=("はい。", "\ud800 sure", "Да"))])[0]
    assert len(found) == 3
    assert not any(map(math.isnan, found))
    marked, plain = question("[user] has a ticket."), question("the user has a ticket.")
    assert ranker.score([marked]) == ranker.score([plain])


def test_without_a_folder_and_a_shipped_one_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rejoinder.models.weight_sets.WEIGHTS", tmp_path)
    with pytest.raises(InputError, match="rejoinder train ranker -o FOLDER"):
        Ranker().score(tiny_rankers.questions(0, 1))


def test_rank_orders_and_tells_what_was_read(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tiny_rankers.questions(0, 4), tmp_path / "set.jsonl")
    specs = [part for folder in folders.values() for part in ("--ranker", f"ranker(folder='{folder}')")]
    inputs = [part for given in ("u", "u+S1", "u+S", "15") for part in ("--input", given)]
    done = CliRunner().invoke(cli.program, ["rank", "set.jsonl", *specs, *inputs, "--write", "out.jsonl"])
    assert done.exit_code == 0, done.output
    assert "Statements read" in done.stdout
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(lines) == 4 * 2 * 4
    reads = {(line["input"], "situated" in line["ranker"]): len(line["used"][0]) for line in lines}
    assert reads[("u", True)] == reads[("u", False)] == 0
    assert reads[("u+S", True)] == reads[("15", True)] == 3
    assert (reads[("u+S", False)], reads[("15", False)]) == (11, 14)
    assert reads[("u+S1", True)] == reads[("u+S1", False)] == 2


def test_select_takes_a_ranker_for_a_system(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tiny_rankers.questions(0, 4), tmp_path / "set.jsonl")
    spec = f"ranker(folder='{folders['situated']}')"
    done = CliRunner().invoke(cli.program, ["select", "set.jsonl", "--system", spec, "-o", "run"])
    assert done.exit_code == 0, done.output
    assert "ranker" in done.stdout
